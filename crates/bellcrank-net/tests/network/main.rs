//! Parts over a network: the same bytes as in one process, whatever happens on the way.

mod crowd;
mod loopback;
mod machines;
mod malformed;
mod memory;
mod proto;
mod simulated;
