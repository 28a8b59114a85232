//! FMUs of other tools, as files: the archive, what its description says, and what is said to the process that runs it.
//!
//! Sources: FMI 2.0.4 and FMI 3.0.2, <https://fmi-standard.org>.

mod archive;
mod description;
mod equations;
pub mod port;
pub mod wire;

pub use archive::Archive;
pub use description::{Causality, Description, ExchangeFacts, ExchangeState, Terminal, Type, Variable};
pub(crate) use equations::{ABOVE, BELOW};
pub use equations::{FmuEquations, FmuSignal, Resident, side_of_indicator};

/// A version of the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Version {
    /// FMI 2.0.
    Two,
    /// FMI 3.0.
    Three,
}

/// The folder of libraries for the machine that this was compiled for.
pub fn platform(version: Version) -> String {
    let (architecture, system) = (std::env::consts::ARCH, std::env::consts::OS);
    let system = if system == "macos" { "darwin" } else { system };
    match (version, architecture, system) {
        (Version::Two, "x86_64", "linux") => "linux64".into(),
        (Version::Two, "x86_64", "windows") => "win64".into(),
        (Version::Two, _, "darwin") => "darwin64".into(),
        _ => format!("{architecture}-{system}"),
    }
}
