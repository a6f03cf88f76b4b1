//! Checkpoints: what has been seen so far, on disk, so that a search can go on after its processes are gone.
//!
//! When a level begins nothing is in flight, and states and their origins only ever grow. So a checkpoint is what was
//! added since the last one, appended to the file of its worker as a section with a checksum. All workers write at the same
//! levels. To resume, each reads the sections that are whole, and all go on from the last level that everybody
//! has. So nobody waits for a disk: what a power failure takes away costs a few levels. Findings are kept as places, and found again by expanding the states there. A search that has ended leaves its
//! report, so that a check of many searches goes on with the one it was at.

use crate::engine::Engine;
use crate::held::{Held, LogEntry, Place};
use crate::message::{append, states};
use search::Model;
use search::encoding::{Reader, put};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use xxhash_rust::xxh3::xxh3_64;

/// The first bytes of a file; the number grows when the rest changes.
const MAGIC: &[u8; 8] = b"fenceck1";
/// A file that says what the checkpoint is of.
const JOB: &str = "checkpoint-of";

/// Why a folder cannot be used for checkpoints.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// It holds one already.
    #[error("{} holds a checkpoint; add --resume to go on from it, or name another folder", .0.display())]
    Occupied(PathBuf),
    /// It holds none.
    #[error("{} holds no checkpoint to resume from", .0.display())]
    Empty(PathBuf),
    /// It holds one of something else.
    #[error("the checkpoint in {} was not made with the same {what}", .folder.display())]
    Differs {
        /// The folder.
        folder: PathBuf,
        /// What differs.
        what: String,
    },
    /// The system says no.
    #[error("cannot use {} for checkpoints: {source}", .folder.display())]
    Io {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Where checkpoints go, and how often they are made.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    folder: PathBuf,
    process: usize,
    every: Duration,
    resume: bool,
    /// What could not be written.
    trouble: Arc<Mutex<Option<String>>>,
}

impl Checkpoints {
    /// Uses a folder, which belongs to this process or is shared by all. `digests` say what is checked, so that nobody resumes
    /// something else.
    pub fn open(
        folder: &Path,
        process: usize,
        digests: &[(String, u64)],
        every: Duration,
        resume: bool,
    ) -> Result<Self, CheckpointError> {
        let failed = |source| CheckpointError::Io { folder: folder.to_path_buf(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        let job = folder.join(format!("{JOB}-{process}"));
        let told: String =
            digests.iter().map(|(what, digest)| format!("{digest:016x} {what}\n")).collect();
        match (fs::read_to_string(&job), resume) {
            (Ok(_), false) => return Err(CheckpointError::Occupied(folder.to_path_buf())),
            (Ok(before), true) => {
                let differs = told.lines().zip(before.lines().chain(std::iter::repeat("")));
                if let Some((here, _)) = differs.into_iter().find(|(here, before)| here != before) {
                    let what = here.split_once(' ').map_or(here, |(_, what)| what).to_string();
                    return Err(CheckpointError::Differs { folder: folder.to_path_buf(), what });
                }
            }
            (Err(error), true) if error.kind() == io::ErrorKind::NotFound => {
                return Err(CheckpointError::Empty(folder.to_path_buf()));
            }
            (Err(error), false) if error.kind() == io::ErrorKind::NotFound => {
                fs::write(&job, &told).map_err(failed)?;
            }
            (Err(error), _) => return Err(failed(error)),
        }
        let folder = folder.to_path_buf();
        Ok(Checkpoints { folder, process, every, resume, trouble: Arc::default() })
    }

    /// What could not be written, if something could not.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().ok()?.clone()
    }

    fn complain(&self, file: &Path, error: &io::Error) {
        if let Ok(mut trouble) = self.trouble.lock() {
            trouble.get_or_insert_with(|| format!("cannot write {}: {error}", file.display()));
        }
    }

    fn states_file(&self, search: u64, worker: u32) -> PathBuf {
        self.folder.join(format!("search-{search}-worker-{worker}.states"))
    }

    fn report_file(&self, search: u64) -> PathBuf {
        self.folder.join(format!("search-{search}-process-{}.report", self.process))
    }

    /// The report of a search that had ended.
    pub(crate) fn report(&self, search: u64, fingerprint: u64) -> Option<Vec<u8>> {
        if !self.resume {
            return None;
        }
        let bytes = fs::read(self.report_file(search)).ok()?;
        let (checksum, told) = bytes.split_first_chunk::<8>()?;
        let (of, report) = told.split_first_chunk::<8>()?;
        let whole = u64::from_le_bytes(*checksum) == xxh3_64(told);
        (whole && u64::from_le_bytes(*of) == fingerprint).then(|| report.to_vec())
    }

    /// Keeps the report of a search that has ended; its states are not needed any more.
    pub(crate) fn keep_report(
        &self,
        search: u64,
        fingerprint: u64,
        report: &[u8],
        workers: std::ops::Range<u32>,
    ) {
        let told = [&fingerprint.to_le_bytes(), report].concat();
        let bytes = [&xxh3_64(&told).to_le_bytes(), &told[..]].concat();
        let file = self.report_file(search);
        let unfinished = file.with_extension("new");
        match fs::write(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, &file)) {
            Ok(()) => workers.for_each(|worker| {
                let _ = fs::remove_file(self.states_file(search, worker));
            }),
            Err(error) => self.complain(&file, &error),
        }
    }
}

/// A part of a worker's states, as they were when a level began.
struct Section {
    level: u64,
    mark: u64,
    starts: Vec<u32>,
    states: Vec<u8>,
    log: Vec<LogEntry>,
    places: Vec<Place>,
    transitions: u64,
    expanded: u64,
    learnt: Vec<u8>,
    /// Where it ends in the file.
    end: u64,
}

impl Section {
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let put_all = |numbers: &[u64], out: &mut Vec<u8>| {
            numbers.iter().for_each(|number| put(u128::from(*number), out));
        };
        put_all(&[self.level, self.mark, self.transitions, self.expanded], &mut out);
        put_all(&[self.starts.len() as u64], &mut out);
        self.starts.iter().for_each(|start| put((*start).into(), &mut out));
        put_all(&[self.log.len() as u64], &mut out);
        for LogEntry { first_child, from, parents } in &self.log {
            put_all(&[*first_child, *from, parents.0, parents.1].map(u64::from), &mut out);
        }
        put_all(&[self.places.len() as u64], &mut out);
        for Place { level, worker, index, ordinal } in &self.places {
            put_all(&[*level, (*worker).into(), (*index).into(), (*ordinal).into()], &mut out);
        }
        for bytes in [&self.learnt, &self.states] {
            put_all(&[bytes.len() as u64], &mut out);
            out.extend_from_slice(bytes);
        }
        out
    }

    fn from_bytes(bytes: &[u8], end: u64) -> Section {
        let mut from = Reader::new(bytes);
        let number = |from: &mut Reader<'_>| from.take() as u32;
        let [level, mark, transitions, expanded] = std::array::from_fn(|_| from.take() as u64);
        let starts = (0..from.take()).map(|_| number(&mut from)).collect();
        let log = (0..from.take()).map(|_| {
            let [first_child, of, first, end] = std::array::from_fn(|_| number(&mut from));
            LogEntry { first_child, from: of, parents: (first, end) }
        });
        let log = log.collect();
        let places = (0..from.take()).map(|_| {
            let level = from.take() as u64;
            let [worker, index, ordinal] = std::array::from_fn(|_| number(&mut from));
            Place { level, worker, index, ordinal }
        });
        let places = places.collect();
        let [learnt, states] = std::array::from_fn(|_| {
            let length = from.take_index();
            from.take_bytes(length).to_vec()
        });
        Section { level, mark, starts, states, log, places, transitions, expanded, learnt, end }
    }
}

/// The sections of a worker's file.
pub(crate) struct Saved {
    sections: Vec<Section>,
}

impl Saved {
    /// Reads what is whole in the file of a worker, if it is of this search.
    pub(crate) fn read(at: &Checkpoints, search: u64, worker: u32, header: u64) -> Option<Saved> {
        if !at.resume {
            return None;
        }
        let mut file = File::open(at.states_file(search, worker)).ok()?;
        let mut start = [0; 16];
        file.read_exact(&mut start).ok()?;
        if start[..8] != *MAGIC || start[8..] != header.to_le_bytes() {
            return None;
        }
        let mut sections = Vec::new();
        let mut at = start.len() as u64;
        loop {
            let mut lengths = [0; 16];
            if file.read_exact(&mut lengths).is_err() {
                break;
            }
            let (length, checksum) = lengths.split_at(8);
            let number =
                |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).unwrap_or(u64::MAX);
            let (length, checksum) = (number(length), number(checksum));
            let mut bytes = Vec::new();
            let read = (&file).take(length).read_to_end(&mut bytes);
            if read.ok() != usize::try_from(length).ok() || xxh3_64(&bytes) != checksum {
                break;
            }
            at += lengths.len() as u64 + length;
            sections.push(Section::from_bytes(&bytes, at));
        }
        Some(Saved { sections })
    }

    /// The levels that are whole, each with its mark. A mark stands for all that was written up to there and by which
    /// runs, so those with equal marks belong together.
    pub(crate) fn marks(&self) -> Vec<(u64, u64)> {
        self.sections.iter().map(|section| (section.level, section.mark)).collect()
    }

    /// Puts the states up to a level back; says whether they are those of this search.
    pub(crate) fn restore<M: Model>(&mut self, held: &mut Held<M>, level: u64) -> bool {
        self.sections.retain(|section| section.level <= level);
        let mut scratch = held.model.scratch();
        let mut number = 0;
        for section in &self.sections {
            let mut starts = section.starts.iter().copied().peekable();
            for state in states(held.width, &section.states) {
                while starts.next_if_eq(&number).is_some() {
                    held.fill(held.filled() + 1);
                }
                let known = number < held.shard.len();
                let hash = held.shard.hash(state);
                let same = match known {
                    true => held.shard.get(number) == state, // an initial state
                    false => held.shard.admits(state.len()) && held.shard.insert(state, hash),
                };
                if !same {
                    return false;
                }
                number += 1;
            }
            for _ in starts {
                held.fill(held.filled() + 1);
            }
            held.log.extend_from_slice(&section.log);
            section.places.iter().for_each(|place| held.note_again(*place, &mut scratch));
            (held.transitions, held.expanded) = (section.transitions, section.expanded);
            held.model.learn(&section.learnt);
        }
        held.filled() == level && held.shard.len() == number
    }
}

/// Appends to the file of a worker.
pub(crate) struct Writer {
    at: Checkpoints,
    path: PathBuf,
    file: Option<File>,
    states: u32,
    log: usize,
    places: usize,
    levels: usize,
    mark: u64,
    run: u64,
}

impl Writer {
    /// A new file, or one that has what `saved` has. `run` is a number that this run has and no other.
    pub(crate) fn new<M: Model>(
        at: &Checkpoints,
        (search, header, run): (u64, u64, u64),
        engine: &mut Engine<M>,
        saved: Option<&Saved>,
    ) -> Writer {
        let path = at.states_file(search, engine.me);
        let last = saved.and_then(|saved| saved.sections.last());
        let end = last.map(|section| section.end);
        let opened = || {
            let mut file =
                OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
            file.set_len(end.unwrap_or(0))?;
            if end.is_none() {
                file.write_all(MAGIC)?;
                file.write_all(&header.to_le_bytes())?;
            }
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let file = opened();
        if let Err(error) = &file {
            at.complain(&path, error);
        }
        let held = &engine.held;
        let mut writer = Writer {
            at: at.clone(),
            file: file.ok(),
            states: 0,
            log: 0,
            places: 0,
            levels: 1,
            mark: last.map_or(0, |section| section.mark),
            run,
            path,
        };
        if end.is_some() {
            writer.states = held.shard.len();
            writer.log = held.log.len();
            writer.places = held.places.len();
            writer.levels = held.starts.len();
        }
        engine.checkpoint_at(Instant::now() + at.every);
        writer
    }

    /// Appends what was added up to the level that begins.
    pub(crate) fn write<M: Model>(&mut self, engine: &mut Engine<M>) {
        engine.checkpoint_at(Instant::now() + self.at.every);
        let Some(file) = &mut self.file else { return };
        let (level, held) = (engine.level, &engine.held);
        // States of the next level may have come already.
        let end = held.range(level).1;
        let log_end = held.log.partition_point(|entry| entry.first_child < end);
        let mut states = Vec::new();
        for number in self.states..end {
            append(held.width, held.shard.get(number), &mut states);
        }
        let levels = level as usize + 1;
        let so_far = [self.mark, self.run, level].map(u64::to_le_bytes);
        self.mark = xxh3_64(so_far.as_flattened());
        let section = Section {
            level,
            mark: self.mark,
            starts: held.starts[self.levels.min(levels)..levels].to_vec(),
            states,
            log: held.log[self.log..log_end].to_vec(),
            places: held.places[self.places..].to_vec(),
            transitions: held.transitions,
            expanded: held.expanded,
            learnt: held.model.learnt(),
            end: 0,
        };
        let bytes = section.to_bytes();
        let written = file
            .write_all(&(bytes.len() as u64).to_le_bytes())
            .and_then(|()| file.write_all(&xxh3_64(&bytes).to_le_bytes()))
            .and_then(|()| file.write_all(&bytes));
        match written {
            Ok(()) => {
                (self.states, self.log) = (end, log_end);
                (self.places, self.levels) = (held.places.len(), levels);
            }
            Err(error) => {
                self.at.complain(&self.path, &error);
                self.file = None;
            }
        }
    }
}
