//! Models as FMUs: the library that goes into them is part of this program.

pub use bellcrank_fmi::{Export, ExportError, Fmu, Kinds, Version};

use std::io::Read;
use std::path::Path;

/// What the compilation of `bellcrank-fmi` left beside this crate's own objects, compressed; empty where nothing was linked.
static LIBRARY: &[u8] = bellcrank_compressed::include_compressed!("FMU_LIBRARY");

/// The library for FMUs: the one that is carried, or the one that `BELLCRANK_FMU_LIBRARY` names.
pub fn library() -> Result<Vec<u8>, ExportError> {
    let refused = |why: String| ExportError::Refused {
        why,
        help: "name a library for FMUs in BELLCRANK_FMU_LIBRARY, or leave the variable out".into(),
    };
    match std::env::var_os("BELLCRANK_FMU_LIBRARY").filter(|path| !path.is_empty()) {
        None => {
            let mut bytes = Vec::new();
            let read = flate2::read::ZlibDecoder::new(LIBRARY).read_to_end(&mut bytes);
            read.map_err(|e| refused(format!("the library that this program carries is damaged: {e}")))?;
            Ok(bytes)
        }
        Some(path) => std::fs::read(&path).map_err(|e| {
            let file = Path::new(&path).display();
            refused(format!("cannot read {file}, which BELLCRANK_FMU_LIBRARY names: {e}"))
        }),
    }
}

/// Writes the FMU of a model; `path` names the file that `text` is from. `outputs` are patterns of channels, `ports` patterns of
/// probes. Gives what went into it.
pub fn write(
    out: &Path,
    (path, text): (&str, &str),
    overrides: &[String],
    (version, kinds): (Version, Kinds),
    outputs: &[String],
    ports: &[String],
) -> Result<Fmu, ExportError> {
    let fmu = Fmu::new(path, text, overrides, kinds, outputs, ports)?;
    fmu.write(out, version, &library()?)?;
    Ok(fmu)
}

/// The folder in the archive that the library is for; importers on other systems find none.
pub fn platform(version: Version) -> String {
    bellcrank_fmi::export::platform(version)
}
