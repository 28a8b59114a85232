//! States as bytes, exact to the bit: a header, the value by serde, a checksum.
//!
//! ```text
//!     "BCRKSTAT"    magic
//!     u16           version of the format
//!     u8, UTF-8     length and name of the kind of value
//!     u64           length of the value
//!     …             the value, by postcard
//!     u32           CRC-32 of all of the above
//! ```
//!
//! Numbers are little-endian. The value is not self-describing: whoever changes the fields of a stored type raises
//! [`VERSION`]. Bytes that are cut, changed, of another version or of another kind are refused by name.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

const MAGIC: &[u8; 8] = b"BCRKSTAT";

/// Version of the format, and of all types that are stored in it.
pub const VERSION: u16 = 9;

/// Why bytes are not the state that was asked for. The text continues a sentence that names them: "`file` is damaged …".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// They do not begin like a state.
    NotAState,
    /// They end too early, or go on too long.
    Length,
    /// They are of another version of the format.
    Version(u16),
    /// The checksum is wrong.
    Damaged,
    /// They hold another kind of state.
    Kind {
        /// What was asked for.
        expected: String,
        /// What they hold.
        found: String,
    },
    /// The value does not have the expected fields.
    Shape,
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotError::NotAState => write!(f, "is not a stored state"),
            SnapshotError::Length => write!(f, "is damaged: it has the wrong length"),
            SnapshotError::Version(found) => {
                write!(f, "is of version {found} of the format; this program reads version {VERSION}")
            }
            SnapshotError::Damaged => write!(f, "is damaged: its checksum is wrong"),
            SnapshotError::Kind { expected, found } => write!(f, "holds a {found}, not a {expected}"),
            SnapshotError::Shape => write!(f, "does not hold the expected values"),
        }
    }
}

impl std::error::Error for SnapshotError {}

/// The bytes of a value. The kind is its name in messages, at most 255 bytes: the rest is cut off.
pub fn encode<T: Serialize>(kind: &str, value: &T) -> Vec<u8> {
    let kind = &kind.as_bytes()[..kind.floor_char_boundary(usize::from(u8::MAX))];
    // memory is the only writer, and serialization by derive has no failures of its own
    let value = postcard::to_allocvec(value).expect("values that are stored can be written");
    let mut out = MAGIC.to_vec();
    out.extend(VERSION.to_le_bytes());
    out.push(kind.len() as u8);
    out.extend(kind);
    out.extend((value.len() as u64).to_le_bytes());
    out.extend(value);
    let sum = crc32fast::hash(&out);
    out.extend(sum.to_le_bytes());
    out
}

/// The value that [`encode`] wrote. Memory is reserved for what the bytes hold, never for what they claim.
pub fn decode<T: DeserializeOwned>(kind: &str, bytes: &[u8]) -> Result<T, SnapshotError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(SnapshotError::NotAState)?;
    let (version, rest) = rest.split_first_chunk::<2>().ok_or(SnapshotError::Length)?;
    let version = u16::from_le_bytes(*version);
    if version != VERSION {
        return Err(SnapshotError::Version(version));
    }
    let (_, sum) = bytes.split_last_chunk::<4>().ok_or(SnapshotError::Length)?;
    if crc32fast::hash(&bytes[..bytes.len() - 4]) != u32::from_le_bytes(*sum) {
        return Err(SnapshotError::Damaged);
    }
    let (length, rest) = rest.split_first().ok_or(SnapshotError::Length)?;
    let (found, rest) = rest.split_at_checked(usize::from(*length)).ok_or(SnapshotError::Length)?;
    let (length, rest) = rest.split_first_chunk::<8>().ok_or(SnapshotError::Length)?;
    let (value, _) = rest.split_last_chunk::<4>().ok_or(SnapshotError::Length)?;
    if u64::from_le_bytes(*length) != value.len() as u64 {
        return Err(SnapshotError::Length);
    }
    if found != kind.as_bytes() {
        let found = String::from_utf8_lossy(found).into_owned();
        return Err(SnapshotError::Kind { expected: kind.to_string(), found });
    }
    match postcard::take_from_bytes(value) {
        Ok((value, [])) => Ok(value),
        _ => Err(SnapshotError::Shape),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamics::{Point, State};
    use bellcrank_math::Quat;

    fn state() -> State {
        let mut state = State { t: 0.1 + 0.2, q: vec![f64::NAN, -0.0, 5e-324], ..State::default() };
        state.charts.modes = vec![3, 0];
        state.charts.inputs = vec![-0.5];
        state.charts.centres = vec![Quat([0.5; 4])];
        state
    }

    /// Bytes with a right checksum, whatever else is wrong with them.
    fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.truncate(bytes.len() - 4);
        let sum = crc32fast::hash(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    #[test]
    fn what_is_written_is_read_to_the_bit() {
        let bytes = encode("state", &state());
        let back: State = decode("state", &bytes).unwrap();
        assert_eq!(encode("state", &back), bytes);
        assert!(back.q[0].is_nan() && back.q[1].is_sign_negative());
        assert_eq!(back.q[2], 5e-324);
    }

    #[test]
    fn every_prefix_and_every_flipped_bit_is_refused() {
        let bytes = encode("state", &state());
        for cut in 0..bytes.len() {
            assert!(decode::<State>("state", &bytes[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                let why = decode::<State>("state", &changed).unwrap_err();
                let expected = match at {
                    0..8 => why == SnapshotError::NotAState,
                    8..10 => matches!(why, SnapshotError::Version(_)),
                    _ => why == SnapshotError::Damaged,
                };
                assert!(expected, "byte {at}, bit {bit}: {why}");
            }
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(decode::<State>("state", &longer), Err(SnapshotError::Damaged));
    }

    #[test]
    fn with_a_right_checksum_too_nothing_panics_and_nothing_large_is_reserved() {
        let bytes = encode("state", &state());
        for at in 10..bytes.len() - 4 {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                // a changed number is a number; all else must be refused
                let _ = decode::<State>("state", &sealed(changed));
            }
        }
        // a vector that claims 2⁶³ entries
        let mut value = Vec::new();
        value.extend([0xff; 9]);
        value.push(0x01);
        let mut claims = encode("numbers", &Vec::<f64>::new());
        claims.truncate(10 + 1 + 7);
        claims.extend((value.len() as u64).to_le_bytes());
        claims.extend(&value);
        claims.extend([0; 4]);
        assert_eq!(decode::<Vec<f64>>("numbers", &sealed(claims)), Err(SnapshotError::Shape));
    }

    #[test]
    fn other_kinds_versions_and_files_are_refused_by_name() {
        let bytes = encode("state", &state());
        let other = decode::<Point>("point", &bytes).unwrap_err();
        assert_eq!(other.to_string(), "holds a state, not a point");
        assert_eq!(decode::<Point>("state", &bytes), Err(SnapshotError::Shape));
        let mut later = bytes.clone();
        later[8] = 99;
        let words = decode::<State>("state", &sealed(later)).unwrap_err().to_string();
        assert_eq!(words, format!("is of version 99 of the format; this program reads version {VERSION}"));
        assert_eq!(decode::<State>("state", b"bellcrank tape 3\n"), Err(SnapshotError::NotAState));
        assert_eq!(decode::<State>("state", b""), Err(SnapshotError::NotAState));
    }

    /// If this changes, raise `VERSION`.
    #[test]
    fn the_format_is_what_it_was() {
        let bytes = encode("state", &state());
        assert_eq!((VERSION, bytes.len()), (9, 120));
        let point = encode("point", &Point::default());
        assert_eq!(point.len(), 59);
    }
}
