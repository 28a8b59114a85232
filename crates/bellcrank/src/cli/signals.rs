//! Signals that end a run: the first one cleanly, the second at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Ctrl-C; what batch systems and `kill` send; a terminal that is closed; Ctrl-\.
#[cfg(unix)]
const ENDING: [i32; 4] = [SIGINT, SIGTERM, signal_hook::consts::SIGHUP, signal_hook::consts::SIGQUIT];
#[cfg(not(unix))]
const ENDING: [i32; 2] = [SIGINT, SIGTERM];

/// A terminal that is closed.
const HANGUP: i32 = 1;

/// The first signal sets the flag; one that comes while it is set ends the program with this status.
pub fn set(flag: &Arc<AtomicBool>, status: i32) {
    for signal in ENDING.into_iter().filter(|signal| !is_unwanted(*signal)) {
        // a signal that cannot be caught ends the program as it always did
        let _ = flag::register_conditional_shutdown(signal, status, flag.clone());
        let _ = flag::register(signal, flag.clone());
    }
}

/// Whether whoever started the program wants it to outlive its terminal, as `nohup` does.
fn is_unwanted(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    signal == HANGUP && mask >> (signal - 1) & 1 == 1
}
