//! Part of Bellcrank.
