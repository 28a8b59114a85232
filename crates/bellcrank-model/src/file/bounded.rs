//! Files that a model names: plain files of bounded size. The limits of everything that is read from files stand here.
//!
//! A length is told by the file system and may be a lie (`/proc`) or change; what is read is counted as it comes.

use super::suggest::quoted;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

/// Bytes of a model, an assembly, a table or a mesh.
pub const LARGEST: u64 = 256 << 20;
/// Bytes of a robot file: XML takes many times its size in memory.
pub const LARGEST_ROBOT: u64 = 64 << 20;
/// Triangles of a mesh.
pub const TRIANGLES: usize = 2_000_000;

/// What is wrong with a file, and what to try.
pub type Fault = (String, String);

/// The bytes of a plain file: no device, no pipe, at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    // a pipe would wait for its writer, even to be opened
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no plain file"));
    }
    read_stream(path, limit)
}

thread_local! {
    /// The files that were read since somebody began to note them.
    static NOTED: RefCell<Option<Vec<PathBuf>>> = const { RefCell::new(None) };
}

/// Does something, and notes all files that it reads on this thread: whoever resumes a run has to find them as they were.
pub fn noting<T>(reads: impl FnOnce() -> T) -> (T, Vec<PathBuf>) {
    let outer = NOTED.replace(Some(Vec::new()));
    let value = reads();
    let noted = NOTED.replace(outer).unwrap_or_default();
    noted.iter().for_each(|path| note(path));
    (value, noted)
}

fn note(path: &Path) {
    NOTED.with_borrow_mut(|noted| match noted {
        Some(noted) if !noted.iter().any(|p| p == path) => noted.push(path.to_path_buf()),
        _ => {}
    });
}

/// The same of a file that the user named: it may be a pipe.
pub fn read_stream(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    note(path);
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {} MB", limit >> 20)));
    }
    Ok(bytes)
}

/// The text of a plain file.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read(path, limit)?).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is no text in UTF-8"))
}

/// Where a file is that lies in a folder: links are followed, but not out of it. `missing` helps where there is none.
pub fn inside(folder: &Path, file: &Path, missing: impl FnOnce(&Path) -> Option<String>) -> Result<PathBuf, Fault> {
    let help = "copy the file into the model's folder and give its path from there";
    let fault = |text: &str, help: String| Err((format!("{} {text}", quoted(&file.to_string_lossy())), help));
    if file.components().any(|c| !matches!(c, Component::Normal(_) | Component::CurDir)) {
        return fault("leaves the model's folder", help.into());
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let whole = folder.join(file);
    let Ok(found) = whole.canonicalize() else {
        let help = missing(&whole).unwrap_or(help.into());
        return fault("is not in the model's folder", help);
    };
    if !folder.canonicalize().is_ok_and(|f| found.starts_with(f)) {
        return fault("is a link that leaves the model's folder", help.into());
    }
    match found.metadata() {
        Ok(m) if !m.is_file() => fault("is no file", "give the name of a file".into()),
        _ => Ok(found),
    }
}

/// The same, read; `help` is for a file that is too large.
pub fn read_inside(folder: &Path, file: &Path, help: &str) -> Result<Vec<u8>, Fault> {
    let found = inside(folder, file, |_| None)?;
    read(&found, LARGEST).map_err(|e| refused(file, &e, help))
}

/// The fault of a file that was found and could not be read; `help` is for one that is too large.
pub fn refused(file: &Path, error: &io::Error, help: &str) -> Fault {
    let name = quoted(&file.to_string_lossy());
    match error.kind() {
        ErrorKind::FileTooLarge => (format!("{name} is larger than {} MB", LARGEST >> 20), help.into()),
        _ => (format!("{name} cannot be read: {error}"), "check the file and who may read it".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_end_are_refused() {
        assert_eq!(read(Path::new("/dev/zero"), 10).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(read_stream(Path::new("/dev/zero"), 1 << 20).unwrap_err().kind(), ErrorKind::FileTooLarge);
        // its length is told as 0
        assert_eq!(read(Path::new("/proc/self/maps"), 10).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert!(read(Path::new("/proc/self/status"), 1 << 20).is_ok_and(|b| !b.is_empty()));
        assert_eq!(read(Path::new("/"), 10).unwrap_err().kind(), ErrorKind::InvalidInput);
    }

    #[test]
    fn files_are_noted_once_and_by_all_who_want_to() {
        let (here, there) = (Path::new("/proc/self/status"), Path::new("/proc/self/stat"));
        let all = |path: &Path| read(path, 1 << 20).is_ok();
        let ((_, inner), outer) = noting(|| {
            assert!(all(here) && all(here));
            noting(|| all(there))
        });
        assert_eq!((inner, outer), (vec![there.to_path_buf()], vec![here.to_path_buf(), there.to_path_buf()]));
        assert!(all(here));
    }
}
