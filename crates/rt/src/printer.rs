//! The process that prints findings while the program runs.
//!
//! It is `fencepost report-raw --follow`, started with the first finding and fed through a socket. When the
//! program ends, in whatever way, the socket ends, and the process has printed all that it was told. It is no
//! child of the program, which may wait for its children: it leaves its parent as soon as it runs. A program that
//! ends by itself waits until all is printed.

use crate::registry;
use std::io::Read;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

/// Where `fencepost` is; written over by `fencepost` itself when it unpacks this library.
#[unsafe(no_mangle)]
#[used]
static FENCEPOST_REPORTER: [u8; 1024] = *include_bytes!("reporter.path");

/// How long the program waits for its findings to be printed.
const PATIENCE: Duration = Duration::from_secs(30);

struct Printer {
    socket: UnixStream,
    /// What the socket is: the program may close it, and use its number for a file of its own.
    inode: u64,
}

static PRINTER: Mutex<Option<Printer>> = Mutex::new(None);

/// Has these lines printed; says whether somebody listens.
pub fn print(lines: &str) -> bool {
    let mut printer = PRINTER.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if printer.is_none() {
        *printer = start();
    }
    printer.as_ref().is_some_and(|printer| printer.send(lines.as_bytes()))
}

/// Waits until all is printed.
pub fn finish() {
    let printer = PRINTER.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
    let Some(mut printer) = printer.filter(Printer::is_open) else { return };
    let _ = printer.socket.shutdown(Shutdown::Write);
    let _ = printer.socket.set_read_timeout(Some(PATIENCE));
    // It says nothing: this ends when it does.
    let _ = printer.socket.read(&mut [0]);
}

/// The printer is the parent's.
pub fn forked() {
    *PRINTER.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
}

/// Keeps others from printing, as long as what is returned lives.
pub fn hold() -> impl Sized {
    PRINTER.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Printer {
    fn is_open(&self) -> bool {
        inode(&self.socket) == Some(self.inode)
    }

    fn send(&self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if !self.is_open() {
                return false;
            }
            // SAFETY: bytes that are there; a signal if nobody listens would end the program.
            let sent = unsafe {
                let socket = self.socket.as_raw_fd();
                libc::send(socket, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL)
            };
            match usize::try_from(sent) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(_) if std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
                Err(_) => return false,
            }
        }
        true
    }
}

fn inode(socket: &UnixStream) -> Option<u64> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the system writes what it is given room for; read only if it did.
    unsafe {
        (libc::fstat(socket.as_raw_fd(), status.as_mut_ptr()) == 0)
            .then(|| status.assume_init().st_ino)
    }
}

fn start() -> Option<Printer> {
    let reporter = std::env::var("FENCEPOST_REPORTER").ok().or_else(|| {
        // Read as volatile: the compiler must not assume that it knows what is there.
        // SAFETY: the array is there.
        let bytes = unsafe { std::ptr::read_volatile(&raw const FENCEPOST_REPORTER) };
        let path = bytes.strip_prefix(b"fencepost-reporter-path:")?;
        let end = path.iter().position(|&byte| byte == 0)?;
        String::from_utf8(path[..end].to_vec()).ok().filter(|path| !path.is_empty())
    })?;
    let (ours, theirs) = UnixStream::pair().ok()?;
    let options = registry::options();
    let mut command = Command::new(reporter);
    command.args(["report-raw", "--follow"]).env_remove("FENCEPOST_OPTIONS");
    command.stdin(Stdio::from(OwnedFd::from(theirs)));
    if let Some(path) = &options.log_path {
        command.arg("--log-path").arg(path).arg("--pid").arg(std::process::id().to_string());
    }
    if let Some(path) = &options.suppressions {
        command.arg("--suppressions").arg(path);
    }
    let mut child = command.spawn().ok()?;
    drop(command);
    // It has left by now, or the program itself has waited for it.
    let left = child.wait().map_or(true, |status| status.success());
    let inode = inode(&ours)?;
    left.then_some(Printer { socket: ours, inode })
}
