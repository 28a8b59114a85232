//! The papers that Bellcrank rests on, computed again: their tables beside ours, and every claim with
//! whether it holds.

pub mod claim;
pub mod clock;
pub mod closed_loops;
pub mod coordinate_splitting;
pub mod gluing;
pub mod low_order;
pub mod machines;
pub mod parallel;
pub mod problems;
pub mod report;
pub mod study;
