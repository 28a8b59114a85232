//! The summary in a result folder, read without the final values.

use crate::names::SUMMARY;
use serde_json::Value;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// A larger file was not written by this program.
const BYTES: u64 = 1 << 30;

/// The summary in a folder, with `null` for the final values; none where there is none that can be read.
pub(crate) fn read(folder: &Path) -> Option<Value> {
    let text = bounded(&folder.join(SUMMARY), BYTES).ok()?;
    serde_json::from_slice(&brief(&text)).ok()
}

/// The bytes of a plain file that is not too large.
pub(crate) fn bounded(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let about = fs::metadata(path)?;
    if !about.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, format!("{} is no file", path.display())));
    }
    if about.len() > limit {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("{} is too large", path.display())));
    }
    fs::read(path)
}

/// A summary with `null` for the final values: with a million channels these are a hundred megabytes.
fn brief(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(1 << 12);
    let (mut depth, mut quoted, mut escaped, mut skipping) = (0u32, None, false, false);
    let mut key: &[u8] = b"";
    for (k, c) in text.iter().enumerate() {
        match (quoted, *c) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(start), b'"') => {
                quoted = None;
                if depth == 1 && !skipping {
                    key = &text[start + 1..k];
                }
            }
            (Some(_), _) => {}
            (None, b'"') => quoted = Some(k),
            (None, b'{' | b'[') => depth += 1,
            (None, b'}' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if skipping && (depth == 0 || depth == 1 && *c == b',' && quoted.is_none()) {
            skipping = false;
        }
        if !skipping {
            out.push(*c);
        }
        if *c == b':' && quoted.is_none() && depth == 1 && key == b"final" {
            out.extend(b"null");
            skipping = true;
            key = b"";
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn final_values_are_left_out_of_a_summary() {
        let whole = json!({"status": "finished", "a \"final\": [": 1, "energy": {"final": 3.5}, "final": {"x,}": [1, {"y": "]\\"}], "\"": 2}, "end": "}"});
        for text in [whole.to_string(), serde_json::to_string_pretty(&whole).unwrap_or_default()] {
            let mut want = whole.clone();
            want["final"] = Value::Null;
            assert_eq!(serde_json::from_slice::<Value>(&brief(text.as_bytes())).ok(), Some(want));
        }
        assert_eq!(serde_json::from_slice::<Value>(&brief(b"{\"final\": 1}")).ok(), Some(json!({"final": null})));
        for broken in ["", "{", "{\"final", "{\"final\":", "]]", "\"\\"] {
            assert!(serde_json::from_slice::<Value>(&brief(broken.as_bytes())).is_err(), "{broken}");
        }
    }
}
