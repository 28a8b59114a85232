//! The archive of an FMU: unpacked with bounds on what really comes, and never out of its folder.

use super::{Version, platform};
use crate::file::suggest::quoted;
use std::fs::{self, OpenOptions};
use std::io::{self, Cursor, Read};
use std::path::{Component, Path};
use zip::ZipArchive;

/// Bytes that all files of an archive may have together, unpacked.
const MOST_BYTES: u64 = 1 << 30;
/// Bytes of a description: XML takes many times its size in memory.
const MOST_TEXT: u64 = 64 << 20;
/// Files and folders of an archive.
const MOST_ENTRIES: usize = 20_000;

/// An archive whose names have been looked at: none leaves its folder, and none is a link.
#[derive(Clone, Debug)]
pub struct Archive {
    bytes: Vec<u8>,
}

impl Archive {
    /// Looks at an archive; says what is wrong with it.
    pub fn new(bytes: Vec<u8>) -> Result<Archive, String> {
        if bytes.is_empty() {
            return Err("is empty".into());
        }
        let archive = Archive { bytes };
        let mut zip = archive.zip()?;
        if zip.len() > MOST_ENTRIES {
            return Err(format!("has {} files, and {MOST_ENTRIES} are the most", zip.len()));
        }
        for i in 0..zip.len() {
            let entry = zip.by_index_raw(i).map_err(|e| damaged(&e))?;
            let name = entry.name().map_err(|e| damaged(&e))?.into_owned();
            if name.contains(['\\', '\0']) || Path::new(&name).components().any(|c| !matches!(c, Component::Normal(_)))
            {
                return Err(format!("has a file {} that would be written outside of its folder", quoted(&name)));
            }
            if entry.is_symlink() {
                return Err(format!("has a link, {}, and links are not followed", quoted(&name)));
            }
        }
        Ok(archive)
    }

    fn zip(&self) -> Result<ZipArchive<Cursor<&[u8]>>, String> {
        ZipArchive::new(Cursor::new(self.bytes.as_slice())).map_err(|e| damaged(&e))
    }

    /// `modelDescription.xml`.
    pub fn description(&self) -> Result<String, String> {
        let text = self.text("modelDescription.xml")?;
        text.ok_or_else(|| "has no `modelDescription.xml`: it is an archive, but no FMU".to_string())
    }

    /// `terminalsAndIcons.xml`, if there is one.
    pub fn terminals(&self) -> Result<Option<String>, String> {
        self.text("terminalsAndIcons/terminalsAndIcons.xml")
    }

    fn text(&self, name: &str) -> Result<Option<String>, String> {
        let mut zip = self.zip()?;
        let Ok(entry) = zip.by_name(name) else { return Ok(None) };
        let mut text = String::new();
        entry.take(MOST_TEXT + 1).read_to_string(&mut text).map_err(|e| damaged(&e))?;
        match text.len() as u64 > MOST_TEXT {
            true => Err(format!("has a file {} of more than {} MB", quoted(name), MOST_TEXT >> 20)),
            false => Ok(Some(text)),
        }
    }

    /// Whether it has a library for this machine.
    pub fn has_library(&self, version: Version, identifier: &str) -> bool {
        let file = library(version, identifier);
        self.zip().is_ok_and(|zip| zip.index_for_name(&file).is_some())
    }

    /// The systems that it has libraries for.
    pub fn platforms(&self) -> Vec<String> {
        let Ok(zip) = self.zip() else { return Vec::new() };
        let folder = |i: usize| {
            let name = zip.name_for_index(i)?.ok()?;
            Some(name.strip_prefix("binaries/")?.split_once('/')?.0.to_string())
        };
        let mut found: Vec<String> = (0..zip.len()).filter_map(folder).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Writes what a run needs into a folder: the libraries for this machine, and the resources.
    pub fn unpack(&self, version: Version, folder: &Path) -> Result<(), String> {
        self.unpack_within(MOST_BYTES, version, folder)
    }

    fn unpack_within(&self, most: u64, version: Version, folder: &Path) -> Result<(), String> {
        let mut zip = self.zip()?;
        let wanted = [format!("binaries/{}/", platform(version)), "resources/".into()];
        let mut left = most;
        let unwritten = |name: &str, e: io::Error| format!("cannot be unpacked: {}: {e}", quoted(name));
        for i in 0..zip.len() {
            let mut entry = zip.by_index(i).map_err(|e| damaged(&e))?;
            let name = entry.name().map_err(|e| damaged(&e))?.into_owned();
            if !wanted.iter().any(|start| name.starts_with(start.as_str())) {
                continue;
            }
            let path = folder.join(&name);
            let parent = if entry.is_dir() { Some(path.as_path()) } else { path.parent() };
            parent.map_or(Ok(()), fs::create_dir_all).map_err(|e| unwritten(&name, e))?;
            if entry.is_dir() {
                continue;
            }
            let file = OpenOptions::new().write(true).create_new(true).open(&path);
            let mut file = file.map_err(|e| unwritten(&name, e))?;
            let n = io::copy(&mut (&mut entry).take(left + 1), &mut file).map_err(|e| unwritten(&name, e))?;
            left = left.checked_sub(n).ok_or_else(|| {
                format!("is a bomb: it has more than {} MB unpacked, and {} goes beyond", most >> 20, quoted(&name))
            })?;
        }
        fs::create_dir_all(folder.join("resources")).map_err(|e| unwritten("resources", e))
    }
}

/// The library for this machine, as a path in the archive.
pub(super) fn library(version: Version, identifier: &str) -> String {
    format!("binaries/{}/{identifier}.{}", platform(version), std::env::consts::DLL_EXTENSION)
}

fn damaged(e: &dyn std::fmt::Display) -> String {
    format!("is no archive that can be read: {e}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::write::SimpleFileOptions;
    use zip::{CompressionMethod, ZipWriter};

    /// What an archive says of its sizes is not believed: the bytes that come are counted.
    #[test]
    fn a_bomb_is_stopped_by_the_bytes_that_come() {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let packed = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        for name in ["resources/a", "resources/b", "documentation/huge"] {
            zip.start_file(name, packed).unwrap();
            zip.write_all(&vec![0; 3 << 20]).unwrap();
        }
        let archive = Archive::new(zip.finish().unwrap().into_inner()).unwrap();
        let folder = std::env::temp_dir().join(format!("bellcrank-bomb-{}", std::process::id()));
        let unpacked = |most: u64| {
            let result = archive.unpack_within(most, Version::Three, &folder);
            let _ = fs::remove_dir_all(&folder);
            result
        };
        assert_eq!(unpacked(6 << 20), Ok(()));
        let why = unpacked(5 << 20).unwrap_err();
        assert_eq!(why, "is a bomb: it has more than 5 MB unpacked, and `resources/b` goes beyond");
    }
}
