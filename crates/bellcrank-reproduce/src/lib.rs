//! The papers that Bellcrank rests on, computed again: their tables beside ours, and every claim with
//! whether it holds; and the speed of it all beside other programs.

pub mod closed_loops;
pub mod coordinate_splitting;
pub mod gluing;
pub mod low_order;
pub mod problems;
pub mod report;
pub mod speed;
pub mod study;
