//! How processes find each other.
//!
//! Process `i` listens at its own address of the hosts file, and nowhere else, and calls all processes with smaller
//! numbers. Both sides of a connection say who they are: their number, how many processes and workers they expect, and
//! digests of whatever has to be the same everywhere, the binary and the programs among them. If something differs,
//! both end with a message that says what.

use crate::health::{Health, Link};
use crate::hosts::Hosts;
use search::encoding::{Reader, put};
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first bytes on every connection; the number grows when the rest changes.
const MAGIC: &[u8; 20] = b"fencepost cluster 1\n";
/// How long to wait before calling again.
const PAUSE: Duration = Duration::from_millis(50);
/// A greeting that is longer is none.
const MOST_GREETING: usize = 1 << 20;

/// How to become one of several processes.
#[derive(Clone, Debug)]
pub struct Join<'a> {
    /// All processes.
    pub hosts: &'a Hosts,
    /// The number of this one.
    pub process: usize,
    /// How many workers each has.
    pub workers: usize,
    /// What must be the same everywhere: what it is ("binary"), and a digest of it.
    pub digests: &'a [(String, u64)],
    /// How long to wait for the others.
    pub patience: Duration,
}

/// Why a process could not join the others.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// There is no such line in the hosts file.
    #[error("there is no process {process}: the hosts file has {processes} lines, so processes are numbered 0 to {}", .processes - 1)]
    NoSuchProcess {
        /// The number given.
        process: usize,
        /// How many there are.
        processes: usize,
    },
    /// The own address cannot be used.
    #[error("cannot listen at {address}, the address of process {process}: {source}")]
    Listen {
        /// The number of this process.
        process: usize,
        /// Its address.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// Another process was not heard of in time.
    #[error("process {process} at {address} did not answer within {} s{}", .patience.as_secs(), .last.as_ref().map(|e| format!(" ({e})")).unwrap_or_default())]
    Silent {
        /// The other process.
        process: usize,
        /// Its address.
        address: String,
        /// How long it was waited for.
        patience: Duration,
        /// What the system said last.
        last: Option<io::Error>,
    },
    /// Something is not the same everywhere.
    #[error("process {me} and process {process} at {address} do not have the same {what}")]
    Differs {
        /// The other process.
        process: usize,
        /// Its address.
        address: String,
        /// What differs.
        what: String,
        /// This process.
        me: usize,
    },
    /// Two processes have the same number.
    #[error("process {process} joined twice: two hosts were given the same number")]
    Twice {
        /// The number.
        process: usize,
    },
    /// The system has no more threads or sockets.
    #[error("cannot start: {0}")]
    System(#[from] io::Error),
}

/// Who somebody is, and what must be the same everywhere.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Greeting {
    process: usize,
    shared: Vec<(String, u64)>,
}

impl Greeting {
    fn write(&self, mut to: &TcpStream) -> io::Result<()> {
        let mut told = Vec::new();
        put(self.process as u128, &mut told);
        put(self.shared.len() as u128, &mut told);
        for (what, digest) in &self.shared {
            put(what.len() as u128, &mut told);
            told.extend_from_slice(what.as_bytes());
            put(u128::from(*digest), &mut told);
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&(told.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&told);
        to.write_all(&bytes)
    }

    /// Reads a greeting; an error if it is something else.
    fn read(mut from: &TcpStream) -> io::Result<Greeting> {
        let strange =
            || io::Error::new(io::ErrorKind::InvalidData, "it does not speak our language");
        let mut start = [0; MAGIC.len() + 4];
        from.read_exact(&mut start)?;
        let (magic, length) = start.split_at(MAGIC.len());
        let length = u32::from_le_bytes(length.try_into().map_err(|_| strange())?) as usize;
        if magic != MAGIC || length > MOST_GREETING {
            return Err(strange());
        }
        let mut told = vec![0; length];
        from.read_exact(&mut told)?;
        let mut told = Reader::new(&told);
        let process = told.take_index();
        let count = told.take_index().min(MOST_GREETING);
        let mut shared = Vec::new();
        while shared.len() < count && !told.is_empty() {
            let length = told.take_index();
            let what = String::from_utf8_lossy(told.take_bytes(length)).into_owned();
            shared.push((what, told.take() as u64));
        }
        Ok(Greeting { process, shared })
    }

    /// The first thing that differs, if anything does.
    fn differs(&self, other: &Greeting) -> Option<String> {
        let here = self.shared.iter().map(Some).chain(std::iter::repeat(None));
        let there = other.shared.iter().map(Some).chain(std::iter::repeat(None));
        let (what, _) = here
            .zip(there)
            .take(self.shared.len().max(other.shared.len()))
            .find(|(here, there)| here != there)
            .and_then(|(here, there)| here.or(there))?;
        Some(what.clone())
    }
}

/// Connects to all other processes: a link to each, none to this one.
pub(crate) fn connect(
    join: &Join<'_>,
    health: &Arc<Health>,
) -> Result<Vec<Option<Link>>, JoinError> {
    let Join { hosts, process: me, workers, digests, patience } = *join;
    let processes = hosts.len();
    if me >= processes {
        return Err(JoinError::NoSuchProcess { process: me, processes });
    }
    let deadline = Instant::now() + patience;
    let list = xxhash_rust::xxh3::xxh3_64(hosts.to_string().as_bytes());
    let mut shared =
        vec![("hosts file".into(), list), ("number of workers".into(), workers as u64)];
    shared.extend_from_slice(digests);
    let own = Greeting { process: me, shared };
    let mut links: Vec<Option<Link>> = (0..processes).map(|_| None).collect();
    // Listening comes first: who calls may wait in the queue, but must not be refused.
    let address = hosts.address(me).to_string();
    let listener = TcpListener::bind(&address).map_err(|source| JoinError::Listen {
        process: me,
        address,
        source,
    })?;
    for (process, link) in links.iter_mut().enumerate().take(me) {
        let socket = call(join, &own, process, deadline)?;
        *link = Some(Link { socket, remote: process as u32, health: Arc::clone(health) });
    }
    listener.set_nonblocking(true)?;
    while let Some(missing) = (me + 1..processes).find(|&process| links[process].is_none()) {
        let Some((socket, process)) = answer(join, &own, &listener, deadline)? else {
            if Instant::now() >= deadline {
                let address = hosts.address(missing).to_string();
                return Err(JoinError::Silent { process: missing, address, patience, last: None });
            }
            std::thread::sleep(PAUSE / 10);
            continue;
        };
        if links[process].is_some() {
            return Err(JoinError::Twice { process });
        }
        links[process] = Some(Link { socket, remote: process as u32, health: Arc::clone(health) });
    }
    Ok(links)
}

/// Calls another process until it answers.
fn call(
    join: &Join<'_>,
    own: &Greeting,
    process: usize,
    deadline: Instant,
) -> Result<TcpStream, JoinError> {
    let address = join.hosts.address(process);
    let mut last = None;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let (address, patience) = (address.to_string(), join.patience);
            return Err(JoinError::Silent { process, address, patience, last });
        }
        match greet(address, own, left) {
            Ok((socket, other)) if other.process == process && other.differs(own).is_none() => {
                return Ok(socket);
            }
            Ok((_, other)) => return Err(differs(join, own, process, &other)),
            Err(error) => last = Some(error),
        }
        std::thread::sleep(PAUSE);
    }
}

/// Exchanges greetings with whoever listens at an address.
fn greet(address: &str, own: &Greeting, left: Duration) -> io::Result<(TcpStream, Greeting)> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left) {
            Ok(socket) => {
                prepare(&socket)?;
                own.write(&socket)?;
                socket.set_read_timeout(Some(left))?;
                let other = Greeting::read(&socket)?;
                socket.set_read_timeout(None)?;
                return Ok((socket, other));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Answers whoever calls, if somebody does and is one of us.
fn answer(
    join: &Join<'_>,
    own: &Greeting,
    listener: &TcpListener,
    deadline: Instant,
) -> Result<Option<(TcpStream, usize)>, JoinError> {
    let Ok((socket, _)) = listener.accept() else { return Ok(None) };
    let left = deadline.saturating_duration_since(Instant::now()).max(PAUSE);
    let greeted = || {
        socket.set_nonblocking(false)?;
        prepare(&socket)?;
        socket.set_read_timeout(Some(left.min(Duration::from_secs(2))))?;
        let other = Greeting::read(&socket)?;
        own.write(&socket)?;
        socket.set_read_timeout(None)?;
        Ok::<_, io::Error>(other)
    };
    // Whoever calls and says nothing sensible is none of us.
    let Ok(other) = greeted() else { return Ok(None) };
    let expected = own.process + 1..join.hosts.len();
    match other.differs(own) {
        None if expected.contains(&other.process) => Ok(Some((socket, other.process))),
        None if other.process == own.process => Err(JoinError::Twice { process: own.process }),
        _ => Err(differs(join, own, other.process, &other)),
    }
}

fn differs(join: &Join<'_>, own: &Greeting, process: usize, other: &Greeting) -> JoinError {
    let address = match process < join.hosts.len() {
        true => join.hosts.address(process).to_string(),
        false => "an unknown address".into(),
    };
    let what = own.differs(other).unwrap_or_else(|| "idea of who is who".into());
    JoinError::Differs { process, address, what, me: own.process }
}

/// Small messages are sent at once, and a host that vanishes without a word is noticed.
fn prepare(socket: &TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let socket = SockRef::from(socket);
    let second = Duration::from_secs(1);
    let keepalive = TcpKeepalive::new().with_time(2 * second).with_interval(second);
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    let keepalive = keepalive.with_retries(5);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(30 * second))?;
    Ok(())
}

/// Addresses on this machine at which nobody listens at the moment, for processes that all run here.
pub fn local_hosts(processes: usize) -> io::Result<Hosts> {
    let listeners: Vec<TcpListener> =
        (0..processes).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<io::Result<_>>()?;
    let mut text = String::new();
    for listener in &listeners {
        text.push_str(&format!("{}\n", listener.local_addr()?));
    }
    Hosts::parse(&text).map_err(io::Error::other)
}
