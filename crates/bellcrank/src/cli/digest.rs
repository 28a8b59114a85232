//! SHA-256, so that a report names the exact model it is about [FIPS 180-4].

use bellcrank_model::file::bounded;
use bellcrank_net::wire::hex;
use ring::digest::{SHA256, digest};
use std::path::{Path, PathBuf};

/// The SHA-256 of some bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

/// Files with the digests of what they hold, but for the model itself, which may be a pipe. Those in its folder are named from there, so
/// that the folder may be moved. What cannot be read has an empty digest.
pub fn digests(model: &str, files: &[PathBuf]) -> Vec<(String, String)> {
    let model = Path::new(model);
    let folder = model.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().unwrap_or_default();
    let one = |file: &PathBuf| {
        let whole = file.canonicalize().unwrap_or_else(|_| file.clone());
        let name = whole.strip_prefix(&folder).unwrap_or(&whole).to_string_lossy().into_owned();
        let bytes = bounded::read(file, bounded::LARGEST);
        (name, bytes.map(|b| sha256(&b)).unwrap_or_default())
    };
    files.iter().filter(|file| *file != model).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::sha256;

    #[test]
    fn the_digests_of_the_standard() {
        let known = [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
        ];
        known.iter().for_each(|(text, digest)| assert_eq!(sha256(text.as_bytes()), *digest));
        let million = vec![b'a'; 1_000_000];
        assert_eq!(sha256(&million), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
}
