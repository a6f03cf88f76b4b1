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

    /// The transaction of `thread` ends, and nothing it wrote is seen.
    pub fn abort(&mut self, thread: &str) -> io::Result<()> {
        self.line(thread, "abort", None, None)
    }

    /// `thread` reads `var`.
    pub fn read(&mut self, thread: &str, var: &str, at: At<'_>) -> io::Result<()> {
        self.line(thread, "rd", Some(var), at)
    }

    /// `thread` reads this value of `var`.
    pub fn read_value(&mut self, thread: &str, var: &str, got: u64, at: At<'_>) -> io::Result<()> {
        self.values(thread, "rd", var, &[got], at)
    }

    /// `thread` issues a write of this value to `var`.
    pub fn write_value(&mut self, thread: &str, var: &str, put: u64, at: At<'_>) -> io::Result<()> {
        self.values(thread, "wr", var, &[put], at)
    }

    /// `thread` replaces one value of `var` by another in one step, with an empty buffer.
    pub fn update(
        &mut self,
        thread: &str,
        var: &str,
        (got, put): (u64, u64),
        at: At<'_>,
    ) -> io::Result<()> {
        self.values(thread, "rmw", var, &[got, put], at)
    }

    /// `thread` writes this value to `var` in one step with a read of nobody knows what.
    pub fn update_unknown(
        &mut self,
        thread: &str,
        var: &str,
        put: u64,
        at: At<'_>,
    ) -> io::Result<()> {
        self.head(thread, "rmw", Some(var))?;
        write!(self.out, " =? ={put}")?;
        self.tail(at)
    }

    /// `thread` takes the lock.
    pub fn lock(&mut self, thread: &str, lock: &str, at: At<'_>) -> io::Result<()> {
        self.line(thread, "lock", Some(lock), at)
    }

    /// `thread` gives the lock back.
    pub fn unlock(&mut self, thread: &str, lock: &str, at: At<'_>) -> io::Result<()> {
        self.line(thread, "unlock", Some(lock), at)
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
        self.head(thread, verb, operand)?;
        self.tail(at)
    }

    fn values(
        &mut self,
        thread: &str,
        verb: &str,
        var: &str,
        values: &[u64],
        at: At<'_>,
    ) -> io::Result<()> {
        self.head(thread, verb, Some(var))?;
        for value in values {
            write!(self.out, " ={value}")?;
        }
        self.tail(at)
    }

    fn head(&mut self, thread: &str, verb: &str, operand: Option<&str>) -> io::Result<()> {
        check_word(thread)?;
        self.out.write_all(thread.as_bytes())?;
        self.out.write_all(b" ")?;
        self.out.write_all(verb.as_bytes())?;
        if let Some(word) = operand {
            check_word(word)?;
            self.out.write_all(b" ")?;
            self.out.write_all(word.as_bytes())?;
        }
        Ok(())
    }

    fn tail(&mut self, at: At<'_>) -> io::Result<()> {
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
