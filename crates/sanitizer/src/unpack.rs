//! Puts the runtime, which this program carries, where compilers and linkers find it.
//!
//! In a folder of the user's cache whose name depends on the content, there is
//!
//! * `runtime.o`, which knows where this program is, so that a program can have its findings printed;
//! * `program/`, a folder for `-B` in which GCC finds a `libtsan.so` that is the runtime, and
//!   `library/`, one that is nothing: shared libraries use the runtime of the program that loads them;
//! * `include/fencepost.h`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

static RUNTIME: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/runtime.o"));
static HEADER: &str = include_str!("../include/fencepost.h");
const MARK: &[u8] = b"fencepost-reporter-path:";
const ROOM: usize = 1024;
/// Changes when what is written where changes.
const LAYOUT: &[u8] = b"3";

/// Where things are.
#[derive(Clone, Debug)]
pub(crate) struct Unpacked {
    folder: PathBuf,
}

impl Unpacked {
    /// The runtime.
    pub(crate) fn object(&self) -> PathBuf {
        self.folder.join("runtime.o")
    }

    /// A file beside it, for what depends on more than this program.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Adds such a file, of which nobody sees half.
    pub(crate) fn add(&self, path: &Path, content: &Path) -> io::Result<()> {
        let temporary = tempfile::NamedTempFile::new_in(&self.folder)?;
        fs::copy(content, temporary.path())?;
        temporary.persist(path)?;
        Ok(())
    }

    /// The folder with the header.
    pub(crate) fn include(&self) -> PathBuf {
        self.folder.join("include")
    }

    /// The folder for `-B` when a program is linked.
    pub(crate) fn for_program(&self) -> PathBuf {
        self.folder.join("program")
    }

    /// The folder for `-B` when a shared library is linked.
    pub(crate) fn for_library(&self) -> PathBuf {
        self.folder.join("library")
    }
}

/// Unpacks the runtime, unless that was done before.
pub(crate) fn unpack() -> Result<Unpacked, String> {
    if RUNTIME.is_empty() {
        return Err("the sanitizer runs on x86-64 Linux only".into());
    }
    let me = std::env::current_exe().map_err(|error| format!("where am I? {error}"))?;
    let content = patched(&me);
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for &byte in content.iter().chain(HEADER.as_bytes()).chain(LAYOUT) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
    let folder = cache()?.join(format!("runtime-{hash:016x}"));
    let unpacked = Unpacked { folder };
    if !unpacked.folder.exists() {
        write(&unpacked.folder, &content).map_err(|error| {
            format!("cannot unpack the runtime to {}: {error}", unpacked.folder.display())
        })?;
    }
    Ok(unpacked)
}

/// Whose cache it is.
fn cache() -> Result<PathBuf, String> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    named("FENCEPOST_CACHE")
        .map(PathBuf::from)
        .or_else(|| named("XDG_CACHE_HOME").map(|home| Path::new(&home).join("fencepost")))
        .or_else(|| named("HOME").map(|home| Path::new(&home).join(".cache/fencepost")))
        .ok_or_else(|| {
            "set FENCEPOST_CACHE, XDG_CACHE_HOME or HOME: the runtime needs a place".into()
        })
}

fn patched(me: &Path) -> Vec<u8> {
    let mut content = RUNTIME.to_vec();
    let path = me.as_os_str().as_encoded_bytes();
    let at = content.windows(MARK.len()).position(|window| window == MARK);
    if let Some(at) = at
        && path.len() < ROOM - MARK.len()
    {
        let start = at + MARK.len();
        content[start..start + path.len()].copy_from_slice(path);
    }
    content
}

/// Writes everything to a folder of its own first, so that nobody sees half of it.
fn write(folder: &Path, content: &[u8]) -> io::Result<()> {
    let parent = folder.parent().ok_or_else(|| io::Error::other("no parent folder"))?;
    fs::create_dir_all(parent)?;
    let temporary = tempfile::Builder::new().prefix("unpacking").tempdir_in(parent)?;
    let place = |name: &str| temporary.path().join(name);
    fs::write(place("runtime.o"), content)?;
    for kind in ["program", "library", "include"] {
        fs::create_dir(place(kind))?;
    }
    fs::write(place("include/fencepost.h"), HEADER)?;
    // Linkers look at what a file is, not at its name.
    fs::hard_link(place("runtime.o"), place("program/libtsan.so"))?;
    // An archive without members is an input to every linker, and adds nothing.
    for nothing in ["library/libtsan.so", "library/libtsan_preinit.o", "program/libtsan_preinit.o"]
    {
        fs::write(place(nothing), "!<arch>\n")?;
    }
    let temporary = temporary.keep();
    match fs::rename(&temporary, folder) {
        Ok(()) => Ok(()),
        Err(_) if folder.exists() => fs::remove_dir_all(&temporary),
        Err(error) => Err(error),
    }
}
