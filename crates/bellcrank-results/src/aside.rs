//! Where a run writes, and how its result takes the place of an earlier one.
//!
//! A run writes to the folder `unfinished` in its result folder. When it has ended, its files are moved into the result folder
//! one by one, frames first and the summary last, if its result is no worse than what is there: a run that finished replaces
//! anything, one that did not replaces none that did, nor one that came further. Until then, and whatever ends the run, the
//! earlier result stays as it was.
//!
//! A move that was cut off is completed by whoever comes next: frames that are still in `unfinished` tell that nothing was
//! moved yet, and the summary is moved last. Files are made anew or replaced by renaming, never opened where they are, so that
//! nothing is written through a link.

use crate::names::{CHECKPOINT, LOCK, PARQUET, RESULT, ROWS, SUMMARY, UNFINISHED, part};
use crate::summary;
use serde_json::Value;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A reader that looks whether a run goes on holds the lock for a moment: it is tried this often, this far apart.
const TRIES: usize = 10;
const PAUSE: Duration = Duration::from_millis(20);

/// How good a result is: whether the run finished, and how far it came.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Rank {
    finished: bool,
    t: f64,
}

impl Rank {
    /// That of a run which did not finish.
    pub(crate) fn until(t: f64) -> Rank {
        Rank { finished: false, t }
    }

    /// That of a result with a summary; none while the run goes on, or was killed.
    pub(crate) fn of(summary: &Value) -> Option<Rank> {
        let t = summary["t"].as_f64().unwrap_or(f64::NEG_INFINITY);
        match summary["status"].as_str() {
            Some("finished") => Some(Rank { finished: true, t }),
            Some("failed" | "interrupted" | "killed") => Some(Rank { finished: false, t }),
            _ => None,
        }
    }

    /// Whether a result of this rank takes the place of an earlier one.
    pub(crate) fn replaces(self, earlier: Option<Rank>) -> bool {
        earlier.is_none_or(|earlier| self.finished || !earlier.finished && self.t >= earlier.t)
    }
}

/// The folder that a run writes to; the run holds its lock.
pub(crate) struct Aside {
    dir: PathBuf,
    folder: PathBuf,
    _lock: File,
}

impl Aside {
    /// Takes hold of a result folder, which is made if need be. Files of an earlier run that was killed stay.
    pub(crate) fn claim(dir: &Path) -> io::Result<Aside> {
        fs::create_dir_all(dir).map_err(|e| explain(dir, e))?;
        let folder = dir.join(UNFINISHED);
        refuse_others(dir, &folder)?;
        let mut tries = TRIES;
        loop {
            match fs::create_dir(&folder) {
                Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(explain(&folder, e)),
                _ => {}
            }
            if !fs::symlink_metadata(&folder).is_ok_and(|m| m.is_dir()) {
                let e = io::Error::new(ErrorKind::AlreadyExists, "it is no folder of a run");
                return Err(explain(&folder, e));
            }
            let path = folder.join(LOCK);
            tries -= 1;
            match take(&path) {
                Ok(Some(lock)) => return Ok(Aside { dir: dir.to_path_buf(), folder, _lock: lock }),
                Ok(None) if tries > 0 => std::thread::sleep(PAUSE),
                Ok(None) => {
                    let e = io::Error::new(ErrorKind::ResourceBusy, "another run is writing there");
                    return Err(explain(dir, e));
                }
                // the other run has just removed its folder
                Err(e) if e.kind() == ErrorKind::NotFound && tries > 0 => {}
                Err(e) => return Err(explain(&path, e)),
            }
        }
    }

    /// Where a file is while the run goes on.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes a file; one of that name is removed, not followed.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        create(&self.path(name))
    }

    /// Replaces a file in one go, and waits until the disk has it.
    pub(crate) fn replace(&self, name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        replace(&self.folder, name, write)
    }

    /// Puts the result in its place if it is no worse than what is there; tells whether it did. Of a run that may go on later,
    /// what it needs for that is kept. Somebody may have removed the folder, or some of it, in the meantime.
    pub(crate) fn settle(self, files: &[&str], resumable: bool) -> io::Result<bool> {
        sync_folder(&self.folder);
        let stands = is_due(&self.dir);
        expect(&self.folder, files)?;
        if stands {
            put_in_place(&self.dir)?;
            expect(&self.dir, files)?;
        }
        if !resumable {
            for name in [CHECKPOINT, ROWS] {
                let _ = fs::remove_file(self.path(name));
            }
        }
        self.leave();
        Ok(stands)
    }

    /// Removes all that an earlier run left.
    pub(crate) fn clear(&self) -> io::Result<()> {
        for name in RESULT.into_iter().chain([ROWS, CHECKPOINT]) {
            for name in [name, &part(name)] {
                match fs::remove_file(self.path(name)) {
                    Err(e) if e.kind() != ErrorKind::NotFound => return Err(explain(&self.path(name), e)),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Gives the folder up; it goes if nothing is in it.
    pub(crate) fn leave(self) {
        let _ = fs::remove_file(self.path(LOCK));
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The lock, if it is free.
fn take(path: &Path) -> io::Result<Option<File>> {
    if fs::symlink_metadata(path).is_ok_and(|m| !m.is_file()) {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "it is no file"));
    }
    let file = File::options().write(true).create(true).truncate(false).open(path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        // some file systems know no locks: two runs are then not told apart
        _ => Ok(is_there(&file, path).then_some(file)),
    }
}

/// Whether the name still stands for the file: the run before may have removed it.
#[cfg(unix)]
fn is_there(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |m: fs::Metadata| (m.dev(), m.ino());
    file.metadata().ok().map(id) == fs::metadata(path).ok().map(id)
}

#[cfg(not(unix))]
fn is_there(_: &File, path: &Path) -> bool {
    path.exists()
}

/// Whether a run holds the lock of the folder that it writes to; a run that was killed holds nothing.
pub(crate) fn is_held(folder: &Path) -> bool {
    File::open(folder.join(LOCK)).is_ok_and(|f| matches!(f.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Whether the result of a run that has ended is to take the place of the one before it.
fn is_due(dir: &Path) -> bool {
    let rank = |folder: &Path| summary::read(folder).as_ref().and_then(Rank::of);
    rank(&dir.join(UNFINISHED)).is_some_and(|new| new.replaces(rank(dir)))
}

/// Whether the files of a result are in a folder.
fn expect(folder: &Path, files: &[&str]) -> io::Result<()> {
    match files.iter().chain([&SUMMARY]).map(|name| folder.join(name)).find(|path| !path.is_file()) {
        Some(lost) => Err(explain(&lost, io::Error::new(ErrorKind::NotFound, "it was removed during the run"))),
        None => Ok(()),
    }
}

/// Completes a move that was cut off, if there was one. The lock must be held.
pub(crate) fn complete(aside: &Aside) -> io::Result<()> {
    if is_due(&aside.dir) { put_in_place(&aside.dir) } else { Ok(()) }
}

/// Moves a result to where it is looked for.
fn put_in_place(dir: &Path) -> io::Result<()> {
    let from = dir.join(UNFINISHED);
    // looked at once: what goes away from now on is missed
    let there: Vec<&str> = RESULT.into_iter().filter(|name| fs::symlink_metadata(from.join(name)).is_ok()).collect();
    if there.contains(&PARQUET) {
        // nothing was moved yet: what this result has none of goes
        for name in RESULT.into_iter().filter(|name| !there.contains(name)) {
            match fs::remove_file(dir.join(name)) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(explain(&dir.join(name), e)),
                _ => {}
            }
        }
    }
    for name in there {
        let to = dir.join(name);
        fs::rename(from.join(name), &to).map_err(|e| explain(&to, e))?;
    }
    sync_folder(dir);
    Ok(())
}

/// Refuses a folder with anything in it but results.
fn refuse_others(dir: &Path, unfinished: &Path) -> io::Result<()> {
    let ours = |folder: &Path| {
        summary::read(folder).is_some_and(|v| v["program"].as_str().is_some_and(|p| p.starts_with("bellcrank ")))
    };
    if ours(dir) || ours(unfinished) {
        return Ok(());
    }
    for entry in fs::read_dir(dir).map_err(|e| explain(dir, e))? {
        let name = entry.map_err(|e| explain(dir, e))?.file_name();
        // a run that could not even write its first summary leaves this
        if *name != *UNFINISHED {
            let message = format!(
                "{} contains other files ({}) and no earlier results; choose another folder with --out, or empty it",
                dir.display(),
                name.display()
            );
            return Err(io::Error::new(ErrorKind::DirectoryNotEmpty, message));
        }
    }
    Ok(())
}

fn create(path: &Path) -> io::Result<File> {
    let make = || {
        match fs::remove_file(path) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        File::options().read(true).write(true).create_new(true).open(path)
    };
    make().map_err(|e| explain(path, e))
}

/// Replaces a file of a folder in one go, and waits until the disk has it.
pub(crate) fn replace(
    folder: &Path,
    name: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let (path, unfinished) = (folder.join(name), folder.join(part(name)));
    let file = create(&unfinished)?;
    let replace = || {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()?;
        out.get_ref().sync_all()?;
        fs::rename(&unfinished, &path)
    };
    replace().map_err(|e| explain(&path, e))
}

/// Waits until the disk knows the names in a folder, where there is a way to.
fn sync_folder(dir: &Path) {
    #[cfg(unix)]
    let _ = File::open(dir).and_then(|folder| folder.sync_all());
    #[cfg(not(unix))]
    let _ = dir;
}

/// The error with the path, and what to try.
pub(crate) fn explain(path: &Path, e: io::Error) -> io::Error {
    let hint = match e.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "; free some space, or choose a folder on another disk with --out"
        }
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            "; a file is in the way: choose another folder with --out"
        }
        ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::Other => "",
        _ => "; choose another folder with --out",
    };
    let text = e.to_string();
    let mut what = text.split(" (os error").next().unwrap_or_default().to_string();
    if let Some(first) = what.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    io::Error::new(e.kind(), format!("cannot write {}: {what}{hint}", path.display()))
}
