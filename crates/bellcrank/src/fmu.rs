//! Models as FMUs: the library that goes into them is part of this program.

pub use bellcrank_fmi::{Export, ExportError, Fmu, Kinds, Version};

use std::borrow::Cow;
use std::path::Path;

/// What the compilation of `bellcrank-fmi` left beside this crate's own objects; empty where nothing was linked.
static LIBRARY: &[u8] = include_bytes!(env!("FMU_LIBRARY"));

/// The library for FMUs: the one that is carried, or the one that `BELLCRANK_FMU_LIBRARY` names.
pub fn library() -> Result<Cow<'static, [u8]>, ExportError> {
    match std::env::var_os("BELLCRANK_FMU_LIBRARY").filter(|path| !path.is_empty()) {
        None => Ok(Cow::Borrowed(LIBRARY)),
        Some(path) => std::fs::read(&path).map(Cow::Owned).map_err(|e| ExportError::Refused {
            why: format!("cannot read {}, which BELLCRANK_FMU_LIBRARY names: {e}", Path::new(&path).display()),
            help: "name a library for FMUs, or leave the variable out".into(),
        }),
    }
}

/// Writes the FMU of a model; `path` names the file that `text` is from. Gives what went into it.
pub fn write(
    out: &Path,
    path: &str,
    text: &str,
    overrides: &[String],
    (version, kinds): (Version, Kinds),
    outputs: &[String],
) -> Result<Fmu, ExportError> {
    let fmu = Fmu::new(path, text, overrides, kinds, outputs)?;
    fmu.write(out, version, &library()?)?;
    Ok(fmu)
}

/// The folder in the archive that the library is for; importers on other systems find none.
pub fn platform(version: Version) -> String {
    bellcrank_fmi::export::platform(version)
}
