//! Part of Bellcrank.

pub mod file;
