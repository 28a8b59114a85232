//! The archive of an FMU.

use super::{ExportError, Fmu, ports, refused};
use crate::interface::Version;
pub use bellcrank_model::fmu::platform;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

impl Fmu {
    /// Writes the archive, whole or not at all. `library` is this crate as a shared library for this machine.
    pub fn write(&self, path: &Path, version: Version, library: &[u8]) -> Result<(), ExportError> {
        if library.is_empty() {
            let help = "build the whole program (cargo build --release), or name a library for FMUs in \
                        BELLCRANK_FMU_LIBRARY";
            return refused("this program carries no library for FMUs: it was compiled without linking one", help);
        }
        let files = self.attached()?;
        let part = path.with_extension("fmu.part");
        let written = self.write_to(&part, version, library, &files).and_then(|()| std::fs::rename(&part, path));
        written.map_err(|e| {
            let _ = std::fs::remove_file(&part);
            ExportError::Write(path.to_path_buf(), e)
        })
    }

    /// The files that the model reads, with their names in its folder.
    fn attached(&self) -> Result<Vec<(&str, Vec<u8>)>, ExportError> {
        let mut found = Vec::new();
        for name in &self.files {
            let bytes = match std::fs::read(self.folder.join(name)) {
                Ok(bytes) => bytes,
                Err(e) => return refused(format!("cannot read `{name}`, which the model uses: {e}"), ""),
            };
            // a mesh in several files: its parts are named inside it
            let parted = name.to_lowercase().ends_with(".gltf") && !has_data_alone(&bytes);
            if parted {
                let help = "save the mesh as one file, a .glb, and name that in the model";
                return refused(
                    format!("the mesh `{name}` has its data in other files, which an FMU would lack"),
                    help,
                );
            }
            found.push((name.as_str(), bytes));
        }
        Ok(found)
    }

    fn write_to(&self, path: &Path, version: Version, library: &[u8], files: &[(&str, Vec<u8>)]) -> io::Result<()> {
        let mut zip = ZipWriter::new(BufWriter::new(File::create(path)?));
        // a time of its own would make other bytes each time
        let packed = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(zip::DateTime::default());
        let mut put = |name: &str, bytes: &[u8], mode: u32| -> io::Result<()> {
            zip.start_file(name, packed.unix_permissions(mode)).map_err(io::Error::other)?;
            zip.write_all(bytes)
        };
        put("modelDescription.xml", self.description(version).as_bytes(), 0o644)?;
        if version == Version::Three && !self.ports.is_empty() {
            put(ports::FILE, ports::terminals(&self.ports).as_bytes(), 0o644)?;
        }
        put("resources/model.toml", self.text.as_bytes(), 0o644)?;
        put("resources/fmu.txt", self.export.to_string().as_bytes(), 0o644)?;
        for (name, bytes) in files {
            let name = name.trim_start_matches("./");
            put(&format!("resources/{name}"), bytes, 0o644)?;
        }
        let file = format!("{}.{}", self.identifier(), std::env::consts::DLL_EXTENSION);
        put(&format!("binaries/{}/{file}", platform(version)), library, 0o755)?;
        zip.finish().map_err(io::Error::other)?.into_inner().map_err(|e| e.into_error())?.sync_all()
    }
}

/// Whether every `"uri"` of a glTF file holds its data.
fn has_data_alone(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let values = text.split("\"uri\"").skip(1).map(|rest| rest.trim_start_matches([' ', ':', '\n', '\t', '\r', '"']));
    values.into_iter().all(|value| value.starts_with("data:"))
}
