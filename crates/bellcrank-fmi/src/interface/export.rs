//! What the library is told beside the model: `fmu.txt` of the resources.

pub use bellcrank_model::fmu::Version;
use bellcrank_solve::choices::Coordinates;
use std::fmt;

/// What an FMU can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// It takes its steps itself.
    pub co_simulation: bool,
    /// Its importer integrates.
    pub model_exchange: bool,
}

impl Kinds {
    /// `cs`, `me` or both: `cs,me`.
    pub fn parse(text: &str) -> Result<Kinds, String> {
        let mut kinds = Kinds { co_simulation: false, model_exchange: false };
        for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
            match word {
                "cs" => kinds.co_simulation = true,
                "me" => kinds.model_exchange = true,
                _ => {
                    return Err(format!(
                        "`{word}` is no kind of FMU: there are cs (co-simulation) and me (model exchange)"
                    ));
                }
            }
        }
        match kinds.co_simulation || kinds.model_exchange {
            true => Ok(kinds),
            false => Err("an FMU is of the kind cs (co-simulation), me (model exchange) or both".into()),
        }
    }
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [(self.co_simulation, "cs"), (self.model_exchange, "me")];
        let words: Vec<&str> = words.iter().filter(|(is, _)| *is).map(|(_, word)| *word).collect();
        write!(f, "{}", words.join(","))
    }
}

/// What the library needs to know beside the model; `fmu.txt` of the resources.
#[derive(Clone, Debug, PartialEq)]
pub struct Export {
    /// What the FMU can be used for.
    pub kinds: Kinds,
    /// In which coordinates the model moves.
    pub coordinates: Coordinates,
    /// Coordinates q.
    pub n: usize,
    /// First-order states z.
    pub nz: usize,
    /// Switch functions.
    pub switches: usize,
    /// The channels that are outputs.
    pub outputs: Vec<String>,
}

impl fmt::Display for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Export { kinds, coordinates, n, nz, switches, outputs } = self;
        writeln!(f, "kinds {kinds}\ncoordinates {}\nsizes {n} {nz} {switches}", coordinates.name())?;
        outputs.iter().try_for_each(|name| writeln!(f, "output {name}"))
    }
}

impl Export {
    /// What [`Export`] prints.
    pub fn parse(text: &str) -> Option<Export> {
        let mut lines = text.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
        let mut value = |key: &str| lines.next().filter(|(k, _)| *k == key).map(|(_, value)| value);
        let kinds = Kinds::parse(value("kinds")?).ok()?;
        let coordinates = match value("coordinates")? {
            "relative" => Coordinates::Relative,
            _ => Coordinates::Cartesian,
        };
        let mut sizes = value("sizes")?.split(' ').map_while(|size| size.parse().ok());
        let (n, nz, switches) = (sizes.next()?, sizes.next()?, sizes.next()?);
        let outputs = lines.map(|(key, name)| (key == "output").then(|| name.to_string()));
        Some(Export { kinds, coordinates, n, nz, switches, outputs: outputs.collect::<Option<_>>()? })
    }
}

/// A name for a model and its export, in the form of a GUID: 128 bits of FNV-1a [Fowler, Noll, Vo 1991] from two starts.
pub fn token(text: &str, export: &str) -> String {
    let bytes = || text.bytes().chain([0]).chain(export.bytes());
    let hash = |start: u64| bytes().fold(start, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    let (a, b) = (hash(0xcbf2_9ce4_8422_2325), hash(0x9e37_79b9_7f4a_7c15));
    let parts = (a >> 32, a >> 16 & 0xffff, a & 0xffff, b >> 48, b & 0xffff_ffff_ffff);
    format!("{{{:08x}-{:04x}-{:04x}-{:04x}-{:012x}}}", parts.0, parts.1, parts.2, parts.3, parts.4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_library_reads_is_what_the_export_wrote() {
        let export = Export {
            kinds: Kinds::parse("me,cs").unwrap(),
            coordinates: Coordinates::Relative,
            n: 3,
            nz: 1,
            switches: 2,
            outputs: vec!["pin.angle".into(), "a b.x".into()],
        };
        assert_eq!(Export::parse(&export.to_string()), Some(export));
        assert_eq!(Export::parse("kinds cs\n"), None);
        assert!(Kinds::parse("cs,mx").is_err() && Kinds::parse("").is_err());
    }
}
