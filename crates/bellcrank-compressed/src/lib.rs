//! A macro that puts a file into a program, compressed.

use proc_macro::{Delimiter, Group, Literal, TokenStream, TokenTree};
use std::io::Write;

/// The bytes of a file as a zlib stream. The argument is the file's path in the crate, or the name of an environment variable that
/// holds its path, as `cargo::rustc-env` of a build script sets it.
///
/// ```ignore
/// static PAGE: &[u8] = include_compressed!("src/page.html");
/// static LIBRARY: &[u8] = include_compressed!("FMU_LIBRARY");
/// ```
#[proc_macro]
pub fn include_compressed(file: TokenStream) -> TokenStream {
    let name = file.to_string();
    match compressed(name.trim_matches('"')) {
        Ok((path, bytes)) => {
            // the plain file is named only so that a change of it is noticed
            let watch = format!("const _: &[u8] = include_bytes!({path:?});");
            let mut body: TokenStream = watch.parse().unwrap_or_default();
            body.extend([TokenTree::Literal(Literal::byte_string(&bytes))]);
            TokenStream::from(TokenTree::Group(Group::new(Delimiter::Brace, body)))
        }
        Err(why) => format!("compile_error!({why:?})").parse().unwrap_or_default(),
    }
}

fn compressed(name: &str) -> Result<(String, Vec<u8>), String> {
    let variable = |name: &str| std::env::var(name).map_err(|_| format!("{name} is not set"));
    let path = if name.contains('.') { format!("{}/{name}", variable("CARGO_MANIFEST_DIR")?) } else { variable(name)? };
    let bytes = std::fs::read(&path).map_err(|e| format!("{path}: {e}"))?;
    let mut stream = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    let packed = stream.write_all(&bytes).and_then(|()| stream.finish());
    Ok((path.clone(), packed.map_err(|e| format!("{path}: {e}"))?))
}
