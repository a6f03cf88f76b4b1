//! Messages on standard input and output: a header with a length, an empty line, JSON.
//!
//! The length says where a message ends even if it is not JSON, so one bad message is not the end. What has no readable
//! length is: nobody knows where the next message begins.

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use lsp_server::{ErrorCode, Message};
use serde_json::Value;
use std::io::{BufRead, Read, Write};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest message.
const MOST: u64 = 64 << 20;
/// The longest line of a header.
const MOST_HEADER: u64 = 4 << 10;
/// How often to look whether the editor is still there.
const WATCH: Duration = Duration::from_secs(3);

/// What came in.
pub(super) enum Incoming {
    /// A message.
    Message(Message),
    /// Something else.
    Bad {
        /// What kind of mistake.
        code: ErrorCode,
        /// What is wrong with it.
        why: String,
    },
}

/// Reads messages until there are no more.
pub(super) fn reader(mut input: impl BufRead + Send + 'static) -> Receiver<Incoming> {
    let (sender, receiver) = bounded(16);
    std::thread::spawn(move || {
        while let Some(body) = body(&mut input) {
            if sender.send(parsed(&body)).is_err() {
                break;
            }
        }
    });
    receiver
}

/// The bytes of the next message; none if there is none, or nobody can say where it ends.
fn body(input: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        let read = input.by_ref().take(MOST_HEADER).read_until(b'\n', &mut line).ok()?;
        if read == 0 || !line.ends_with(b"\n") {
            return None;
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        match line.split_once(':') {
            None if line.is_empty() && length.is_some() => break,
            // Blank lines between messages harm nobody.
            None if line.is_empty() => {}
            Some((name, value)) if name.eq_ignore_ascii_case("Content-Length") => {
                length = Some(value.trim().parse::<u64>().ok().filter(|n| *n <= MOST)?);
            }
            Some(_) => {}
            None => return None,
        }
    }
    let mut body = Vec::new();
    let length = length?;
    let read = input.by_ref().take(length).read_to_end(&mut body).ok()?;
    (read as u64 == length).then_some(body)
}

fn parsed(body: &[u8]) -> Incoming {
    let value: Value = match serde_json::from_slice(body) {
        Ok(value) => value,
        Err(error) => {
            return Incoming::Bad {
                code: ErrorCode::ParseError,
                why: format!("not JSON: {error}"),
            };
        }
    };
    match serde_json::from_value(value) {
        Ok(message) => Incoming::Message(message),
        Err(_) => Incoming::Bad {
            code: ErrorCode::InvalidRequest,
            why: "neither a request nor a notification nor a response".to_string(),
        },
    }
}

/// Writes messages until nobody sends any more.
pub(super) fn writer(mut output: impl Write + Send + 'static) -> (Sender<Value>, JoinHandle<()>) {
    let (sender, receiver) = unbounded::<Value>();
    let thread = std::thread::spawn(move || {
        for message in receiver {
            let text = message.to_string();
            let written = write!(output, "Content-Length: {}\r\n\r\n{text}", text.len());
            if written.and_then(|()| output.flush()).is_err() {
                break;
            }
        }
    });
    (sender, thread)
}

/// Says so when a process ends. Usually standard input ends then, too; but another process that the editor started may
/// hold its other end.
#[cfg(unix)]
pub(super) fn end_of(process: u32) -> Receiver<()> {
    let (sender, receiver) = bounded(1);
    if let Some(process) = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw) {
        std::thread::spawn(move || {
            while rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH) {
                std::thread::sleep(WATCH);
            }
            let _ = sender.send(());
        });
        return receiver;
    }
    crossbeam_channel::never()
}

/// Where processes cannot be asked about, the end of standard input has to do.
#[cfg(not(unix))]
pub(super) fn end_of(_: u32) -> Receiver<()> {
    crossbeam_channel::never()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &str) -> Vec<String> {
        let incoming = reader(std::io::Cursor::new(input.to_string().into_bytes()));
        let name = |incoming| match incoming {
            Incoming::Message(Message::Request(request)) => request.method,
            Incoming::Message(Message::Notification(note)) => format!("!{}", note.method),
            Incoming::Message(Message::Response(_)) => "response".to_string(),
            Incoming::Bad { code, .. } => (code as i32).to_string(),
        };
        incoming.iter().map(name).collect()
    }

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    /// A message that is not JSON, or not a message, is told apart from the ones around it.
    #[test]
    fn bad_messages_are_skipped() {
        let input = [
            framed(r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#),
            framed("{nonsense"),
            framed("[1, 2]"),
            framed(r#"{"jsonrpc":"2.0","method":"b"}"#),
            "content-length: 37\r\nContent-Type: x\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"c\"}".into(),
        ];
        assert_eq!(read(&input.concat()), ["a", "-32700", "-32600", "!b", "c"]);
    }

    /// Without a length there is no next message; with too little text there is none either.
    #[test]
    fn the_end_is_the_end() {
        for input in [
            "",
            "GET / HTTP/1.1\r\n\r\n",
            "Content-Length: x\r\n\r\n{}",
            "Content-Length: 99999999999\r\n\r\n{}",
            "Content-Length: -1\r\n\r\n{}",
            "Content-Length: 10\r\n\r\n{}",
            "Content-Length: 2",
        ] {
            assert_eq!(read(input), Vec::<String>::new(), "{input}");
        }
        assert_eq!(read(&"x".repeat(1 << 20)), Vec::<String>::new());
    }
}
