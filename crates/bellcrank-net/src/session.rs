//! The part's side of a run, without a network: what a request does, once.

use crate::client::RunId;
use crate::wire::{
    Ask, Attempt, Begin, Channel, Done, Hello, Motions, PROTOCOL, Port, Refusal, Reply, Request, Stamp, Start, Started,
    Tell, UNITS, Values, Welcome, Working, hex, put_motions, sized,
};
use bellcrank_glue::{COUPLINGS, Motion, PartError, Piece, Subdomain, WIDTH, Window, write_whole};
use bellcrank_model::kept_by_fields;
use bellcrank_model::model::Space;
use bellcrank_model::tape;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How much a part shows of itself, beside the motion of its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// The channels of its ports.
    Ports,
    /// Every channel, and its energy.
    All,
}

/// A part that is offered: every run gets its own copy.
pub struct Offer {
    piece: Piece,
    model: Vec<u8>,
    motions: Vec<(String, Motion)>,
    show: Show,
}

impl Offer {
    /// A part, with the text of its model to tell it from others.
    pub fn new(piece: Piece, text: &[u8], show: Show) -> Offer {
        let model = ring::digest::digest(&ring::digest::SHA256, text).as_ref().to_vec();
        Offer { motions: piece.motions(), model, piece, show }
    }

    /// What it calls itself.
    pub fn name(&self) -> &str {
        &self.piece.name
    }

    /// The hash of its model.
    pub fn model(&self) -> &[u8] {
        &self.model
    }

    /// The names of its ports.
    pub fn ports(&self) -> Vec<&str> {
        self.motions.iter().map(|(name, _)| name.as_str()).collect()
    }

    fn shows(&self, channel: &str) -> bool {
        let port =
            |(name, _): &(String, Motion)| channel.strip_prefix(name.as_str()).is_some_and(|r| r.starts_with('.'));
        self.show == Show::All || self.motions.iter().any(port)
    }

    fn welcome(&self, started: bool) -> Reply {
        let port = |(name, motion): &(String, Motion)| Port { name: name.clone(), motion: put_motions([motion]) };
        let can = COUPLINGS.iter().map(|(_, word)| *word).chain(["admittance", "checkpoints", "observe"]);
        let welcome = Welcome {
            protocol: PROTOCOL,
            name: self.piece.name.clone(),
            model: self.model.clone(),
            units: UNITS.into(),
            space: if self.piece.model.space == Space::Plane { "plane" } else { "space" }.into(),
            ports: self.motions.iter().map(port).collect(),
            capabilities: can.map(str::to_string).collect(),
            started,
        };
        Reply { what: Some(Tell::Welcome(welcome)), ..Reply::default() }
    }
}

/// Where a part keeps its states: they never leave it.
pub trait Disk: Send + Sync {
    /// Keeps bytes under a name.
    fn write(&self, id: &str, bytes: &[u8]) -> std::io::Result<()>;
    /// What was kept.
    fn read(&self, id: &str) -> std::io::Result<Vec<u8>>;
}

/// A folder with the newest states.
pub struct Folder {
    /// The folder.
    pub path: PathBuf,
    /// How many states are kept at most: the oldest go first.
    pub most: usize,
}

/// How the files of states end.
const STATE: &str = "state";

impl Disk for Folder {
    fn write(&self, id: &str, bytes: &[u8]) -> std::io::Result<()> {
        write_whole(&self.path.join(format!("{id}.{STATE}")), bytes)?;
        let files = std::fs::read_dir(&self.path)?.flatten().map(|f| f.path());
        let mut files: Vec<_> = files
            .filter(|f| f.extension().is_some_and(|e| e == STATE))
            .filter_map(|f| Some((f.metadata().ok()?.modified().ok()?, f)))
            .collect();
        files.sort();
        files.reverse();
        // of one run the last state and the one before, for the others may not have kept the last
        let run = |f: &std::path::Path| {
            let stem = f.file_stem().unwrap_or_default().to_string_lossy();
            stem.rsplit_once('-').map_or(stem.to_string(), |(run, _)| run.to_string())
        };
        let mut of_run: HashMap<String, usize> = HashMap::new();
        let mut kept = 0;
        for (_, file) in &files {
            let count = of_run.entry(run(file)).or_default();
            *count += 1;
            if *count > 2 || kept == self.most.max(1) {
                std::fs::remove_file(file)?;
            } else {
                kept += 1;
            }
        }
        Ok(())
    }

    fn read(&self, id: &str) -> std::io::Result<Vec<u8>> {
        std::fs::read(self.path.join(format!("{id}.{STATE}")))
    }
}

/// Lets every request in once.
#[derive(Default)]
pub struct Gate {
    last: u64,
    busy: bool,
    reply: Option<Reply>,
}

/// What is to be done with a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is new: work on it, and tell [`Gate::finish`].
    Work,
    /// It gets this reply.
    Say(Reply),
}

impl Gate {
    /// Looks at a request.
    pub fn admit(&mut self, request: &Request) -> Verdict {
        let sequence = request.sequence;
        let say = |what| Verdict::Say(Reply { sequence, nanoseconds: 0, what: Some(what) });
        match (&self.reply, sequence == self.last) {
            (_, true) if self.busy => say(Tell::Working(Working {})),
            (Some(reply), true) => Verdict::Say(reply.clone()),
            _ if sequence == self.last + 1 && !self.busy => {
                (self.last, self.busy, self.reply) = (sequence, true, None);
                Verdict::Work
            }
            _ => {
                let expected = self.last + !self.busy as u64;
                say(Tell::Refusal(Refusal::of("sequence of a request that is out of turn", expected, sequence)))
            }
        }
    }

    /// The reply to the request that was let in.
    pub fn finish(&mut self, reply: Reply) {
        self.busy = false;
        self.reply = Some(reply);
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Stand {
    t: f64,
    windows: u64,
}
kept_by_fields!(Stand { t, windows });

/// One run of a part.
pub struct Session {
    offer: Arc<Offer>,
    disk: Arc<dyn Disk>,
    part: Option<Box<dyn Subdomain>>,
    shown: Vec<bool>,
    stand: Stand,
    kept: Option<Stand>,
    tried: Option<(Stamp, f64)>,
}

impl Session {
    /// A run without a solver.
    pub fn new(offer: Arc<Offer>, disk: Arc<dyn Disk>) -> Session {
        let stand = Stand { t: offer.piece.state.t, windows: 0 };
        Session { offer, disk, part: None, shown: Vec::new(), stand, kept: None, tried: None }
    }

    /// Windows that were committed.
    pub fn windows(&self) -> u64 {
        self.stand.windows
    }

    /// Does what is asked for.
    pub fn work(&mut self, request: &Request) -> Reply {
        let started = Instant::now();
        let what = self.act(request).unwrap_or_else(Tell::Refusal);
        Reply { sequence: request.sequence, nanoseconds: started.elapsed().as_nanos() as u64, what: Some(what) }
    }

    fn part(&mut self) -> Result<&mut Box<dyn Subdomain>, Refusal> {
        self.part.as_mut().ok_or_else(|| Refusal::because("the run has no solver yet: it begins with Start"))
    }

    fn act(&mut self, request: &Request) -> Result<Tell, Refusal> {
        if let Some(stamp) = request.commit {
            self.commit(stamp)?;
        }
        match &request.what {
            None | Some(Ask::Leave(_)) => Ok(Tell::Done(Done {})),
            Some(Ask::Hello(_)) => Err(Refusal::because("the run was greeted already")),
            Some(Ask::Start(start)) => self.start(start),
            Some(Ask::Begin(Begin { loads })) => {
                sized("loads", loads, WIDTH * self.offer.motions.len())?;
                self.tried = None;
                let response = self.part()?.begin(loads).map_err(own_words)?;
                Ok(Tell::Motions(Motions::from(&response)))
            }
            Some(Ask::Attempt(attempt)) => self.attempt(attempt),
            Some(Ask::Save(save)) => {
                self.save(&save.id)?;
                Ok(Tell::Done(Done {}))
            }
            Some(Ask::Restore(restore)) => {
                self.restore(&restore.id)?;
                Ok(Tell::Done(Done {}))
            }
            Some(Ask::Soften(_)) => {
                self.tried = None;
                self.part()?.soften().map_err(own_words)?;
                Ok(Tell::Done(Done {}))
            }
            Some(Ask::Observe(_)) => {
                let mut values = Vec::new();
                self.part()?.observe(&mut values).map_err(own_words)?;
                let shown = values.into_iter().zip(&self.shown).filter(|(_, shown)| **shown);
                Ok(Tell::Values(Values { values: shown.map(|(x, _)| x).collect() }))
            }
        }
    }

    fn start(&mut self, start: &Start) -> Result<Tell, Refusal> {
        if self.part.is_some() {
            return Err(Refusal::because("the run has a solver already"));
        }
        let part = self.offer.piece.clone().start(&start.solver()?).map_err(own_words)?;
        let channels = part.channels();
        self.shown = channels.iter().map(|c| self.offer.shows(&c.name)).collect();
        let shown = channels.iter().zip(&self.shown).filter(|(_, shown)| **shown);
        let channels = shown.map(|(c, _)| Channel::from(c)).collect();
        let in_step = part.description().in_step;
        self.part = Some(part);
        Ok(Tell::Started(Started { in_step, channels }))
    }

    fn attempt(&mut self, a: &Attempt) -> Result<Tell, Refusal> {
        let (stand, n) = (self.stand, WIDTH * self.offer.motions.len());
        let in_step = self.part()?.description().in_step;
        if a.window != stand.windows {
            return Err(Refusal::of("number of the window", stand.windows, a.window));
        }
        if a.from.to_bits() != stand.t.to_bits() {
            return Err(Refusal::of("start of the window", format!("{:?} s", stand.t), format!("{:?} s", a.from)));
        }
        if !(a.to.is_finite() && a.to > a.from) {
            return Err(Refusal::of("end of the window", format!("after {:?} s", a.from), format!("{:?} s", a.to)));
        }
        let before = self.tried.map_or(0, |(stamp, _)| stamp.iteration);
        if a.iteration <= before {
            return Err(Refusal::of("number of the attempt", format!("more than {before}"), a.iteration));
        }
        sized("loads", &a.loads, n)?;
        if in_step || !a.shifts.is_empty() {
            sized("shifts", &a.shifts, n)?;
        }
        let window = Window { number: a.window, from: a.from, to: a.to };
        let response = self.part()?.attempt(&window, &a.loads, &a.shifts, a.admittance).map_err(own_words)?;
        self.tried = Some((Stamp { window: a.window, iteration: a.iteration }, a.to));
        Ok(Tell::Motions(Motions::from(&response)))
    }

    fn commit(&mut self, stamp: Stamp) -> Result<(), Refusal> {
        let words = |s: Stamp| format!("attempt {} of window {}", s.iteration, s.window);
        match self.tried {
            Some((tried, to)) if tried == stamp => {
                self.part()?.commit().map_err(own_words)?;
                (self.stand, self.tried) = (Stand { t: to, windows: stamp.window + 1 }, None);
                Ok(())
            }
            Some((tried, _)) => Err(Refusal::of("what is to be committed", words(tried), words(stamp))),
            None => Err(Refusal::of("what is to be committed", "nothing, for nothing was tried", words(stamp))),
        }
    }

    fn save(&mut self, id: &str) -> Result<(), Refusal> {
        let (stand, disk) = (self.stand, self.disk.clone());
        let part = self.part()?;
        if id.is_empty() {
            part.save().map_err(own_words)?;
            self.kept = Some(stand);
            return Ok(());
        }
        named(id)?;
        let state = part.state().map_err(own_words)?;
        let bytes = tape::write(&mut Kept { stand, model: self.offer.model.clone(), state });
        disk.write(id, &bytes).map_err(|e| Refusal::because(format!("the state could not be kept: {}", e.kind())))
    }

    fn restore(&mut self, id: &str) -> Result<(), Refusal> {
        let (kept, disk, model) = (self.kept, self.disk.clone(), self.offer.model.clone());
        let part = self.part()?;
        if id.is_empty() {
            let stand = kept.ok_or_else(|| Refusal::because("no state was kept in memory"))?;
            part.restore().map_err(own_words)?;
            (self.stand, self.tried) = (stand, None);
            return Ok(());
        }
        named(id)?;
        let bytes =
            disk.read(id).map_err(|e| Refusal::because(format!("there is no kept state `{id}`: {}", e.kind())))?;
        let mut found = Kept { stand: Stand::default(), model: Vec::new(), state: Vec::new() };
        tape::read(&mut found, &bytes).map_err(|why| Refusal::because(format!("the kept state `{id}` {why}")))?;
        if found.model != model {
            return Err(Refusal::of("the model has changed since the state was kept", hex(&found.model), hex(&model)));
        }
        part.set_state(&found.state).map_err(own_words)?;
        (self.stand, self.tried) = (found.stand, None);
        Ok(())
    }
}

/// A state on disk.
struct Kept {
    stand: Stand,
    model: Vec<u8>,
    state: Vec<u8>,
}
kept_by_fields!(Kept { stand, model, state });

/// Names of states become names of files.
fn named(id: &str) -> Result<(), Refusal> {
    let good = id.len() <= 80 && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let shown = || format!("{:?}", id.chars().take(80).collect::<String>());
    if good { Ok(()) } else { Err(Refusal::of("name of a state", "at most 80 of a-z, A-Z, 0-9 and -", shown())) }
}

/// The coordinator puts the name of the part before it.
fn own_words(e: PartError) -> Refusal {
    Refusal::because(e.why)
}

/// What one server takes on.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Runs at the same time.
    pub runs: usize,
    /// Bytes of one message.
    pub message: usize,
    /// Messages per second of one stream.
    pub rate: f64,
    /// A run nobody is linked to is forgotten after this time.
    pub linger: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { runs: 64, message: 16 << 20, rate: 20_000.0, linger: Duration::from_secs(600) }
    }
}

/// Spreads messages: a stream that sends too many has to wait.
pub struct Bucket {
    rate: f64,
    full: Duration,
}

impl Bucket {
    /// So many per second, and as many as in a tenth of a second at once.
    pub fn new(rate: f64) -> Bucket {
        Bucket { rate, full: Duration::ZERO }
    }

    /// How long a message that came now has to wait.
    pub fn delay(&mut self, now: Duration) -> Duration {
        self.full = self.full.max(now) + Duration::from_secs_f64(1.0 / self.rate);
        self.full.saturating_sub(now + Duration::from_millis(100))
    }
}

/// The place of one run at a server.
pub struct Seat {
    /// What it does.
    pub session: Mutex<Session>,
    /// Lets requests in once.
    pub gate: Mutex<Gate>,
    /// The number of the stream it is linked to: the newest.
    stream: AtomicU64,
    /// When it was last heard of.
    touched: Mutex<Duration>,
}

/// A lock whose holder panicked is as good as any other here: a session that broke refuses, and the rest goes on.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Seat {
    /// Takes it over for a new stream; returns its number.
    pub fn take_over(&self) -> u64 {
        self.stream.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Whether a stream is still the newest.
    pub fn belongs_to(&self, stream: u64) -> bool {
        self.stream.load(Ordering::SeqCst) == stream
    }

    /// It was heard of.
    pub fn touch(&self, now: Duration) {
        *lock(&self.touched) = now;
    }
}

/// All runs of a server.
pub struct Desk {
    /// What is offered.
    pub offer: Arc<Offer>,
    /// What is taken on.
    pub limits: Limits,
    disk: Arc<dyn Disk>,
    seats: Mutex<HashMap<RunId, Arc<Seat>>>,
}

impl Desk {
    /// A server without runs.
    pub fn new(offer: Arc<Offer>, disk: Arc<dyn Disk>, limits: Limits) -> Desk {
        Desk { offer, limits, disk, seats: Mutex::default() }
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        lock(&self.seats).len()
    }

    /// Greets a run: one that is known goes on.
    pub fn hello(&self, hello: &Hello, now: Duration) -> Result<(RunId, Arc<Seat>, Reply), Refusal> {
        if hello.protocol != PROTOCOL {
            return Err(Refusal::of("version of the protocol", PROTOCOL, hello.protocol));
        }
        if hello.units != UNITS {
            return Err(Refusal::of("units", UNITS, format!("{:?}", hello.units)));
        }
        let Ok(run) = RunId::try_from(&hello.run[..]) else {
            return Err(Refusal::of("bytes of the name of a run", 16, hello.run.len()));
        };
        if !hello.model.is_empty() && hello.model != self.offer.model {
            return Err(Refusal::of("hash of the model", hex(&hello.model), hex(&self.offer.model)));
        }
        if hello.next == 0 {
            return Err(Refusal::of("sequence of the next request", "1 or more", 0));
        }
        self.sweep(now);
        let mut seats = lock(&self.seats);
        let count = seats.len();
        let seat = match seats.get(&run) {
            Some(seat) => seat.clone(),
            None if count >= self.limits.runs => {
                return Err(Refusal::of("too many runs", format!("at most {}", self.limits.runs), count + 1));
            }
            None => {
                let seat = Arc::new(Seat {
                    session: Mutex::new(Session::new(self.offer.clone(), self.disk.clone())),
                    gate: Mutex::new(Gate { last: hello.next - 1, ..Gate::default() }),
                    stream: AtomicU64::new(0),
                    touched: Mutex::new(now),
                });
                seats.insert(run, seat.clone());
                seat
            }
        };
        drop(seats);
        seat.touch(now);
        // a session that is at work has a solver
        let started = seat.session.try_lock().map_or(true, |s| s.part.is_some());
        Ok((run, seat, self.offer.welcome(started)))
    }

    /// Forgets a run.
    pub fn leave(&self, run: &RunId) {
        lock(&self.seats).remove(run);
    }

    /// Forgets runs nobody has been linked to for long.
    pub fn sweep(&self, now: Duration) {
        lock(&self.seats).retain(|_, seat| now.saturating_sub(*lock(&seat.touched)) < self.limits.linger);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_lets_every_request_in_once() {
        let mut gate = Gate::default();
        let request = |sequence| Request { sequence, ..Request::default() };
        let done = |sequence| Reply { sequence, nanoseconds: 1, what: Some(Tell::Done(Done {})) };
        assert_eq!(gate.admit(&request(1)), Verdict::Work);
        // again while it is being worked on, and the next one too early
        assert!(matches!(gate.admit(&request(1)), Verdict::Say(Reply { what: Some(Tell::Working(_)), .. })));
        assert!(matches!(gate.admit(&request(2)), Verdict::Say(Reply { what: Some(Tell::Refusal(_)), .. })));
        gate.finish(done(1));
        assert_eq!(gate.admit(&request(1)), Verdict::Say(done(1)));
        assert_eq!(gate.admit(&request(2)), Verdict::Work);
        gate.finish(done(2));
        let Verdict::Say(Reply { what: Some(Tell::Refusal(old)), .. }) = gate.admit(&request(1)) else { panic!() };
        assert_eq!((old.expected.as_str(), old.found.as_str()), ("3", "1"));
        let Verdict::Say(Reply { what: Some(Tell::Refusal(gap)), .. }) = gate.admit(&request(7)) else { panic!() };
        assert_eq!((gap.expected.as_str(), gap.found.as_str()), ("3", "7"));
    }

    #[test]
    fn a_stream_that_sends_too_much_has_to_wait() {
        let mut bucket = Bucket::new(1000.0);
        let second = Duration::from_secs(1);
        let waits: Vec<Duration> = (0..1000).map(|_| bucket.delay(second)).collect();
        assert_eq!(waits[99], Duration::ZERO);
        assert!(waits[101] > Duration::ZERO);
        // a second's worth at once: nine tenths of a second, less the burst
        assert!((waits[999].as_secs_f64() - 0.9).abs() < 1e-6, "{:?}", waits[999]);
        assert_eq!(bucket.delay(10 * second), Duration::ZERO);
    }

    #[test]
    fn a_folder_keeps_the_last_two_states_of_a_run_and_no_more_than_it_may() {
        let path = std::env::temp_dir().join(format!("bellcrank-states-{}", std::process::id()));
        let folder = Folder { path: path.clone(), most: 5 };
        for run in ["a", "b", "c", "d"] {
            for window in 0..4 {
                folder.write(&format!("{run}-{window}"), &[window]).unwrap();
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        let there = |id: &str| folder.read(id).is_ok();
        assert!(there("d-3") && there("d-2") && there("c-3") && there("c-2") && there("b-3"));
        assert!(!there("d-1") && !there("b-2") && !there("a-3"));
        std::fs::remove_dir_all(path).unwrap();
    }

    #[test]
    fn names_of_states_are_no_paths() {
        for good in ["a", "0f-12", &"x".repeat(80)] {
            assert!(named(good).is_ok());
        }
        for bad in ["../a", "a/b", "a.b", "a b", "\0", "ä", &"x".repeat(81)] {
            assert!(named(bad).is_err(), "{bad}");
        }
    }
}
