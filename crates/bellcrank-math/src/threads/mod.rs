//! Threads that share short tasks.

mod handover;
pub mod team;
