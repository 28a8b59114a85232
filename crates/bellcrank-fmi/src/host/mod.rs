//! The process that an FMU of another tool runs in: `bellcrank fmu-host`.
//!
//! It talks with a run over the socket that is its standard input ([`bellcrank_model::fmu::wire`]). The FMU may print, crash,
//! hang or eat memory here without harm to the run. The process ends, and removes the folder of the FMU, as soon as the
//! other end of the socket is gone.

mod equations;
mod exchange;
mod library;
mod limits;

use bellcrank_model::fmu::wire::{self, Reply, Request};
use library::Loaded;
use std::os::unix::net::UnixStream;

/// Answers until nobody asks any more; gives the exit status.
pub fn serve() -> u8 {
    let Ok(mut wire) = limits::take_standard_input() else { return STRANGE };
    // whoever types this has no socket here
    let Ok(Request::Start(start)) = wire::receive(&mut wire) else { return STRANGE };
    limits::watch(&wire, start.folder.clone());
    match limits::of_memory(start.memory).and_then(|()| Loaded::start(&start)) {
        Ok(fmu) => answer(&mut wire, fmu),
        Err(why) => refuse(&mut wire, why),
    }
    // a run that was ended by force cannot do it
    let _ = std::fs::remove_dir_all(&start.folder);
    0
}

fn answer(wire: &mut UnixStream, mut fmu: Loaded) {
    let mut answer = fmu.outputs();
    while wire::send(wire, &answer.unwrap_or_else(Reply::Failed)).is_ok() {
        let Ok(request) = wire::receive(wire) else { break };
        answer = fmu.answer(request);
    }
    fmu.end();
}

/// The exit status where this is not the process of an FMU.
const STRANGE: u8 = 2;

/// Tells why there is no FMU, and waits until that was read.
fn refuse(wire: &mut UnixStream, why: String) {
    if wire::send(wire, &Reply::Failed(why)).is_ok() {
        let _: Result<Request, _> = wire::receive(wire);
    }
}
