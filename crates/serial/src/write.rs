//! Writing recordings: what a runtime or a sanitizer calls while the program runs.
//!
//! [`Recorder`] turns calls into lines of the text format. It needs nothing but `std`, allocates
//! nothing per event beyond its output buffer, and writes the bytes through one [`Write`]: wrap a
//! file in a `BufWriter`, or use one recorder per thread and merge. Names must be single words
//! without `#` or a leading `@`; anything else would not read back, and is refused.
//!
//! ```
//! use fencepost_serial::write::Recorder;
//!
//! let mut out = Vec::new();
//! let mut recorder = Recorder::new(&mut out);
//! recorder.begin("T1", Some("take"))?;
//! recorder.read("T1", "head", Some(("pool.c", 12)))?;
//! recorder.end("T1")?;
//! assert_eq!(out, b"T1 begin take\nT1 rd head @pool.c:12\nT1 end\n");
//! # std::io::Result::Ok(())
//! ```

use std::io::{self, Write};

/// Where in the source an event happens: file and line.
pub type At<'a> = Option<(&'a str, u32)>;

/// Writes events as lines of the text format.
pub struct Recorder<W> {
    out: W,
}

impl<W: Write> Recorder<W> {
    /// Records into `out`.
    pub fn new(out: W) -> Self {
        Recorder { out }
    }

    /// A transaction of `thread` begins.
    pub fn begin(&mut self, thread: &str, name: Option<&str>) -> io::Result<()> {
        self.line(thread, "begin", name, None)
    }

    /// The transaction of `thread` ends.
    pub fn end(&mut self, thread: &str) -> io::Result<()> {
        self.line(thread, "end", None, None)
    }

    /// `thread` reads `var`.
    pub fn read(&mut self, thread: &str, var: &str, at: At<'_>) -> io::Result<()> {
        self.line(thread, "rd", Some(var), at)
    }

    /// `thread` issues a write to `var`.
    pub fn write(&mut self, thread: &str, var: &str, at: At<'_>) -> io::Result<()> {
        self.line(thread, "wr", Some(var), at)
    }

    /// The oldest buffered write of `thread`, to `var`, reaches memory.
    pub fn commit(&mut self, thread: &str, var: &str) -> io::Result<()> {
        self.line(thread, "commit", Some(var), None)
    }

    /// `thread` fences.
    pub fn fence(&mut self, thread: &str, at: At<'_>) -> io::Result<()> {
        self.line(thread, "fence", None, at)
    }

    /// A comment line.
    pub fn comment(&mut self, text: &str) -> io::Result<()> {
        for line in text.lines() {
            writeln!(self.out, "# {line}")?;
        }
        Ok(())
    }

    /// Hands buffered bytes on.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The output.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn line(
        &mut self,
        thread: &str,
        verb: &str,
        operand: Option<&str>,
        at: At<'_>,
    ) -> io::Result<()> {
        check_word(thread)?;
        self.out.write_all(thread.as_bytes())?;
        self.out.write_all(b" ")?;
        self.out.write_all(verb.as_bytes())?;
        if let Some(word) = operand {
            check_word(word)?;
            self.out.write_all(b" ")?;
            self.out.write_all(word.as_bytes())?;
        }
        if let Some((file, line)) = at {
            check_word(file)?;
            write!(self.out, " @{file}:{line}")?;
        }
        self.out.write_all(b"\n")
    }
}

fn check_word(word: &str) -> io::Result<()> {
    let bad = word.is_empty()
        || word.starts_with('#')
        || word.starts_with('@')
        || word.bytes().any(|byte| byte.is_ascii_whitespace());
    if bad {
        let message = format!("{word:?} is not one word of the recording format");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(())
}
