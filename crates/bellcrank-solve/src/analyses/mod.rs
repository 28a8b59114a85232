//! What a model tells beside its motion: equilibria, modes, and the forces a prescribed motion takes.

pub mod about;
pub mod begin;
pub mod continuation;
pub mod inverse;
pub mod modes;
pub mod response;
pub mod shapes;
pub mod state_space;
pub mod statics;
