//! Who of the others is still there.
//!
//! Timely expects connections to last: the threads that read and write them panic when one ends. A check must not end
//! that way, so timely is handed [`Link`]s. A link notes that its process is [lost](Health), after which all workers
//! end what they do, and lets nobody know: reading from it takes for ever, and what is written to it goes nowhere. The
//! threads that wait there end with the process.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use timely::communication::allocator::zero_copy::stream::Stream;

/// What is known of the other processes, and how far the search of this one has come.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// The first process that was lost, counted from 1; 0 if none was.
    lost: AtomicU32,
    /// The level that the search had reached when a process was lost.
    level: AtomicU64,
    /// The level that the search has reached.
    now: AtomicU64,
    /// The most bytes of states that a worker had sent to another which that had not inserted.
    in_flight: AtomicUsize,
}

impl Health {
    /// Notes that a process is gone.
    pub(crate) fn lose(&self, process: u32) {
        let first = self.lost.compare_exchange(0, process + 1, Ordering::AcqRel, Ordering::Relaxed);
        if first.is_ok() {
            self.level.store(self.now.load(Ordering::Relaxed), Ordering::Release);
        }
    }

    /// The process that was lost first, and the level at which it was.
    pub(crate) fn lost(&self) -> Option<Lost> {
        let process = self.lost.load(Ordering::Acquire).checked_sub(1)?;
        Some(Lost { process, level: self.level.load(Ordering::Acquire) })
    }

    /// Notes how much was in flight.
    pub(crate) fn note_in_flight(&self, bytes: usize) {
        self.in_flight.fetch_max(bytes, Ordering::Relaxed);
    }

    /// The most that ever was in flight.
    pub(crate) fn most_in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Notes how far the search has come.
    pub(crate) fn reach(&self, level: u64) {
        self.now.store(level, Ordering::Relaxed);
    }
}

/// A process that is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lost {
    pub process: u32,
    pub level: u64,
}

impl From<Lost> for search::Limit {
    fn from(Lost { process, level }: Lost) -> Self {
        search::Limit::Lost { process, level }
    }
}

/// A connection to another process.
pub(crate) struct Link {
    pub socket: TcpStream,
    pub remote: u32,
    pub health: Arc<Health>,
}

impl Read for Link {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.socket.read(buffer) {
                Ok(read) if read > 0 => return Ok(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => break,
            }
        }
        self.health.lose(self.remote);
        loop {
            std::thread::park();
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.socket.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Ok(written) if written > 0 || bytes.is_empty() => Ok(written),
            _ => {
                self.health.lose(self.remote);
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Link {
    fn try_clone(&self) -> io::Result<Self> {
        let socket = self.socket.try_clone()?;
        Ok(Link { socket, remote: self.remote, health: Arc::clone(&self.health) })
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.socket.set_nonblocking(nonblocking)
    }

    /// The other side may be gone already.
    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        let _ = self.socket.shutdown(how);
        Ok(())
    }
}
