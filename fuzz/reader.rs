//! The reader whose name the target has.
#![no_main]

#[path = "../crates/bellcrank/tests/fuzz/readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (_, reader) = readers::READERS.iter().find(|(name, _)| *name == env!("CARGO_BIN_NAME")).unwrap();
    reader(bytes);
});
