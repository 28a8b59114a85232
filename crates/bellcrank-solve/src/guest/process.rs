//! The process of an FMU at the other end of a socket.

use super::{Folder, GuestSetup, host, unpacked};
use bellcrank_model::fmu::wire::{self, Reply, Request};
use std::io::{self, ErrorKind, Read};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// An FMU that runs in a process of its own.
pub struct Guest {
    child: Child,
    wire: UnixStream,
    patience: Duration,
    outputs: Vec<String>,
    /// Removed last.
    _folder: Folder,
}

/// Reads until a time.
struct Until<'a>(&'a UnixStream, Instant);

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.1.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        self.0.set_read_timeout(Some(left))?;
        self.0.read(buffer)
    }
}

impl Guest {
    /// Unpacks an FMU, starts its process and initializes it at a time with the values of its inputs; tells its outputs.
    pub fn start(
        fmu: &GuestSetup,
        given: &[f64],
        times: [f64; 2],
        tolerance: f64,
    ) -> Result<(Guest, Vec<f64>), String> {
        let (folder, start) = unpacked(fmu, given, times, tolerance)?;
        let failed = |e: io::Error| format!("cannot be given a process of its own: {e}");
        let (wire, theirs) = UnixStream::pair().map_err(failed)?;
        let command = host();
        let program = command[0].to_string_lossy().into_owned();
        let child = Command::new(&command[0])
            .args(&command[1..])
            .current_dir(folder.path())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = child.map_err(|e| {
            format!(
                "needs the program of Bellcrank to run in, and `{program}` cannot be started: {e}; name the program in {}",
                super::VARIABLE
            )
        })?;
        let patience = Duration::try_from_secs_f64(fmu.patience).unwrap_or(Duration::MAX).min(LONGEST);
        let outputs = fmu.outputs.iter().map(|n| fmu.description.variables[*n].name.clone()).collect();
        let mut guest = Guest { child, wire, patience, outputs, _folder: folder };
        guest.wire.set_write_timeout(Some(patience)).map_err(failed)?;
        let values = guest.values(&Request::Start(Box::new(start)), "its start").map_err(|why| {
            // a program that knows nothing of FMUs ends at once
            match guest.child.try_wait() {
                Ok(Some(status)) if status.code() == Some(2) => {
                    format!("cannot run in `{program}`, which is no program of Bellcrank of this version")
                }
                _ => why,
            }
        })?;
        Ok((guest, values))
    }

    /// Goes on from a time by a step with its inputs as they are; tells its outputs with the values of the inputs at the end.
    pub fn step(&mut self, t: f64, h: f64, given: &[f64]) -> Result<Vec<f64>, String> {
        self.values(&Request::Step { t, h, given: given.to_vec() }, "a step")
    }

    /// Its state.
    pub fn save(&mut self) -> Result<Vec<u8>, String> {
        match self.ask(&Request::Save, "its state")? {
            Reply::State(bytes) => Ok(bytes),
            _ => Err(NONSENSE.into()),
        }
    }

    /// Tells its outputs with other values of its inputs.
    pub fn look(&mut self, given: &[f64]) -> Result<Vec<f64>, String> {
        self.values(&Request::Look { given: given.to_vec() }, "its outputs")
    }

    /// Goes back to a state, where its inputs had these values.
    pub fn restore(&mut self, state: &[u8], given: &[f64]) -> Result<(), String> {
        let request = Request::Restore { state: state.to_vec(), given: given.to_vec() };
        self.values(&request, "its state").map(|_| ())
    }

    /// Keeps its state in its own memory, in the place of the one kept before.
    pub fn keep(&mut self) -> Result<(), String> {
        self.values(&Request::Keep, "its state").map(|_| ())
    }

    /// Crosses a window of time with its inputs held, from the state that it keeps if it is to go `back`; a window of no length
    /// is a look.
    pub fn cross(&mut self, t: f64, h: f64, given: &[f64], back: bool) -> Result<Vec<f64>, String> {
        self.values(&Request::Window { t, h, given: given.to_vec(), back }, "a step")
    }

    /// The numbers that it answers, whatever they are.
    pub fn numbers(&mut self, request: &Request, what: &str) -> Result<Vec<f64>, String> {
        match self.ask(request, what)? {
            Reply::Values(values) => Ok(values),
            _ => Err(NONSENSE.into()),
        }
    }

    fn values(&mut self, request: &Request, what: &str) -> Result<Vec<f64>, String> {
        let Reply::Values(values) = self.ask(request, what)? else { return Err(NONSENSE.into()) };
        if values.len() != self.outputs.len() {
            return Err(NONSENSE.into());
        }
        match values.iter().zip(&self.outputs).find(|(x, _)| !x.is_finite()) {
            Some((x, name)) => Err(format!("gave {x} for its output `{name}`")),
            None => Ok(values),
        }
    }

    fn ask(&mut self, request: &Request, what: &str) -> Result<Reply, String> {
        let until = Instant::now() + self.patience;
        let answered = wire::send(&mut self.wire, request).and_then(|()| wire::receive(&mut Until(&self.wire, until)));
        match answered {
            Ok(Reply::Failed(why)) => Err(why),
            Ok(reply) => Ok(reply),
            Err(e) if matches!(e.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => {
                self.stop();
                let seconds = self.patience.as_secs_f64();
                Err(format!("did not answer within {seconds} s when asked for {what}, and was stopped (`patience`)"))
            }
            Err(e) if e.kind() == ErrorKind::InvalidData => {
                self.stop();
                Err(NONSENSE.into())
            }
            Err(_) => {
                // the socket closes a moment before the process is gone
                let status = self.wait(GOODBYE).map_or("unknown".into(), |status| status.to_string());
                Err(format!(
                    "ended its process when asked for {what} ({status}): it crashed, or it needs more `memory`"
                ))
            }
        }
    }

    /// How the process ended, if it does within a time.
    fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + patience;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(1)),
                ended => return ended.ok().flatten(),
            }
        }
    }

    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Guest {
    /// Lets the FMU close its files, and ends it if it takes too long.
    fn drop(&mut self) {
        let _ = self.wire.shutdown(Shutdown::Write);
        self.wait(GOODBYE);
        self.stop();
    }
}

/// How long a process may take to end.
const GOODBYE: Duration = Duration::from_secs(1);

/// More than anybody waits.
const LONGEST: Duration = Duration::from_secs(100_000_000);

const NONSENSE: &str = "gave an answer that is not understood: it wrote over its own process";
