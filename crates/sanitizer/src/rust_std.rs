//! Functions of Rust's standard library that synchronise threads and are not instrumented.
//!
//! The standard library comes compiled. Calls to a few of its functions have to go through the runtime
//! (see `rt::rust_std`): the linker is told to `--wrap` them, and a little assembly connects the names,
//! which contain a hash of the standard library, with those of the runtime.

use crate::unpack::Unpacked;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Functions by the paths they have or had, and what the runtime calls them.
const FUNCTIONS: &[(&str, &str)] = &[
    ("std::sys::sync::mutex::futex::Mutex::lock_contended", "mutex_lock"),
    ("std::sys::sync::rwlock::futex::RwLock::read_contended", "rwlock_read"),
    ("std::sys::sync::rwlock::futex::RwLock::write_contended", "rwlock_write"),
    ("std::sys::sync::condvar::futex::Condvar::wait", "condvar_wait"),
    ("std::sys::sync::condvar::futex::Condvar::wait_timeout", "condvar_wait_timeout"),
    ("std::sys::sync::once::futex::Once::call", "once_call"),
    ("std::sync::once::Once::wait", "once_wait"),
    ("std::sync::once::Once::wait_force", "once_wait_force"),
    ("std::sync::barrier::Barrier::wait", "barrier_wait"),
    ("std::thread::scoped::ScopeData::decrement_num_running_threads", "scope_end"),
    ("std::thread::park", "park"),
    ("std::thread::functions::park", "park"),
    ("std::thread::park_timeout", "park_timeout"),
    ("std::thread::functions::park_timeout", "park_timeout"),
    ("std::thread::Thread::park", "thread_park"),
    ("std::thread::thread::Thread::park", "thread_park"),
    ("std::thread::Thread::park_timeout", "thread_park_timeout"),
    ("std::thread::thread::Thread::park_timeout", "thread_park_timeout"),
];

/// Arguments for the linker.
pub(crate) fn link_arguments(rustc: &Path, unpacked: &Unpacked) -> Result<Vec<OsString>, String> {
    let library = library(rustc)?;
    let content = fs::read(&library).map_err(|error| format!("{}: {error}", library.display()))?;
    let names = index(&content)
        .ok_or_else(|| format!("{}: the index of symbols cannot be read", library.display()))?;
    let mut assembly = String::from(".text\n");
    let mut arguments = Vec::new();
    for name in names {
        let path = format!("{:#}", rustc_demangle::demangle(name)).replace(['<', '>'], "");
        let Some((_, ours)) = FUNCTIONS.iter().find(|(theirs, _)| *theirs == path) else {
            continue;
        };
        let _ = write!(
            assembly,
            ".globl __wrap_{name}\n__wrap_{name}: jmp __fencepost_std_{ours}@PLT\n\
             .globl __fencepost_real_{ours}\n__fencepost_real_{ours}: jmp __real_{name}@PLT\n",
        );
        arguments.push(OsString::from(format!("-Wl,--wrap={name}")));
    }
    assembly.push_str(".section .note.GNU-stack,\"\",@progbits\n");
    arguments.push(assemble(&assembly, &library, unpacked)?.into_os_string());
    Ok(arguments)
}

/// The standard library as an archive.
fn library(rustc: &Path) -> Result<PathBuf, String> {
    let output = Command::new(rustc).args(["--print", "target-libdir"]).output();
    let output = output.map_err(|error| format!("cannot run {}: {error}", rustc.display()))?;
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_std = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("libstd-") && name.ends_with(".rlib")
    };
    let mut found: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_std).collect();
    found.sort();
    found.pop().ok_or_else(|| format!("{}: no standard library there", folder.display()))
}

/// The names in an archive's index of symbols.
fn index(archive: &[u8]) -> Option<impl Iterator<Item = &str>> {
    let header = archive.strip_prefix(b"!<arch>\n")?.get(..60)?;
    let size: usize = std::str::from_utf8(&header[48..58]).ok()?.trim().parse().ok()?;
    let index = archive.get(68..68 + size)?;
    let names = match header[..16].trim_ascii() {
        b"/" => index.get(4 + 4 * number(index, 4)?..)?,
        b"/SYM64/" => index.get(8 + 8 * number(index, 8)?..)?,
        _ => return None,
    };
    Some(names.split(|&byte| byte == 0).filter_map(|name| std::str::from_utf8(name).ok()))
}

fn number(bytes: &[u8], width: usize) -> Option<usize> {
    Some(bytes.get(..width)?.iter().fold(0, |number, &byte| number << 8 | usize::from(byte)))
}

/// Assembles, unless that was done before for the same standard library.
fn assemble(assembly: &str, library: &Path, unpacked: &Unpacked) -> Result<PathBuf, String> {
    let stem = library.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let object = unpacked.beside(&format!("{stem}.o"));
    if object.exists() {
        return Ok(object);
    }
    let failed = |what: &dyn std::fmt::Display| {
        format!("cannot connect the runtime with {}: {what}", library.display())
    };
    let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
    let (source, made) = (folder.path().join("std.s"), folder.path().join("std.o"));
    fs::write(&source, assembly).map_err(|error| failed(&error))?;
    let mut command = Command::new("cc");
    let output = command.arg("-c").arg(&source).arg("-o").arg(&made).output();
    let output = output.map_err(|error| failed(&format!("cc: {error}")))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr)));
    }
    unpacked.add(&object, &made).map_err(|error| failed(&error))?;
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A compiler whose standard library has other names needs another list.
    #[test]
    fn this_standard_library_has_them_all() {
        let library = library(Path::new("rustc")).expect("rustc has a standard library");
        let content = fs::read(library).expect("it can be read");
        let paths: Vec<String> = index(&content)
            .expect("it has an index")
            .map(|name| format!("{:#}", rustc_demangle::demangle(name)).replace(['<', '>'], ""))
            .collect();
        let mut ours: Vec<&str> = FUNCTIONS.iter().map(|(_, ours)| *ours).collect();
        ours.dedup();
        for name in ours {
            let there = FUNCTIONS
                .iter()
                .any(|(theirs, ours)| *ours == name && paths.iter().any(|path| path == theirs));
            assert!(there, "{name}");
        }
    }

    #[test]
    fn a_broken_archive_has_no_index() {
        for text in ["", "!<arch>\n", "!<arch>\n/               0 0 0 0 999999 `\n"] {
            assert!(index(text.as_bytes()).is_none(), "{text:?}");
        }
    }
}
