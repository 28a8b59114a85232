//! A part on another machine, as a [`Subdomain`].

use crate::client::{Action, CallFault, Client, RunId, Timeouts};
use crate::wire::{
    Attempt, Begin, Correct, Leave, Motions, Observe, Refusal, Reply, ReplyKind, Request, RequestKind, Restore, Save,
    Soften, Stamp, Start, step_word, take_motions,
};
use bellcrank_glue::{
    Corrected, Correction, Description, PartError, PartResponse, PortMotion, Remote, Solver, Subdomain, Traffic,
    Upcoming, Window,
};
use bellcrank_model::dynamics::Channel;
use bellcrank_model::model::Space;
use prost::Message;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// Why there is no link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkDown {
    /// The reason, for people.
    pub why: String,
    /// Whether there is no point in trying again.
    pub last: bool,
}

/// What arrived over a link.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    /// A message, and when it arrived.
    Reply(Reply, Duration),
    /// Nothing, up to the deadline.
    Nothing,
    /// The link is gone.
    Down(LinkDown),
}

/// Carries messages to a part and back, and has a clock.
pub trait Link: Send {
    /// The present time.
    fn now(&self) -> Duration;
    /// Connects anew; the old connection is dropped.
    fn connect(&mut self, within: Duration) -> Result<(), LinkDown>;
    /// Sends a message; it may be lost.
    fn send(&mut self, request: &Request);
    /// Waits for a message up to a deadline.
    fn receive(&mut self, until: Duration) -> Received;
    /// A name for a run, impossible to guess.
    fn name_of_run(&mut self) -> RunId;
    /// Where the part is, for people.
    fn address(&self) -> String;
}

/// Limit of ports and of channels of a part: more is a mistake, or an attack.
const MAX_ITEMS: usize = 10_000;

/// Bytes that gRPC puts before every message.
const FRAME_HEADER: u64 = 5;

/// A part behind a link.
pub struct RemotePart {
    description: Description,
    motions: Vec<(String, PortMotion)>,
    channels: Vec<Channel>,
    link: Box<dyn Link>,
    client: Client,
    solver: Option<Solver>,
    turn: Turn,
    meter: Meter,
}

/// Where the conversation with a part stands.
#[derive(Default)]
struct Turn {
    /// To be committed with the next request.
    commit: Option<Stamp>,
    /// A request that was sent before anybody waits for its answer.
    announced: Option<RequestKind>,
    tried: Option<Stamp>,
    iteration: u64,
    /// The last window that was answered, and its end.
    last: Option<(u64, f64)>,
    forgot: bool,
    /// Why a request was given up: after that only a new run is safe.
    lost: Option<PartError>,
}

/// What the conversation costs.
#[derive(Default)]
struct Meter {
    /// Sent and received.
    bytes: [u64; 2],
    /// When the last question was asked, and when its answer arrived.
    asked: Duration,
    came: Duration,
    /// Total time between questions and answers.
    waiting: Duration,
}

impl RemotePart {
    /// Connects to a part, under the name it has in the assembly.
    pub fn connect(name: &str, mut link: Box<dyn Link>, timeouts: Timeouts) -> Result<RemotePart, PartError> {
        let client = Client::new(link.name_of_run(), timeouts);
        let description =
            Description { name: name.to_string(), space: Space::Space, ports: Vec::new(), in_step: false };
        let mut part = RemotePart {
            description,
            motions: Vec::new(),
            channels: Vec::new(),
            link,
            client,
            solver: None,
            turn: Turn::default(),
            meter: Meter::default(),
        };
        part.client.greet(part.link.now());
        part.drive()?;
        let welcome = part.client.welcome().cloned().unwrap_or_default();
        part.description.space = match welcome.space.as_str() {
            "plane" => Space::Plane,
            "space" => Space::Space,
            other => {
                return Err(part.refused(Refusal::of("space of the part", "plane or space", format!("{other:?}"))));
            }
        };
        if welcome.ports.is_empty() || welcome.ports.len() > MAX_ITEMS {
            return Err(part.refused(Refusal::of("its ports", format!("1 to {MAX_ITEMS}"), welcome.ports.len())));
        }
        for port in &welcome.ports {
            let motion = take_motions(&port.motion, 1).map_err(|r| part.refused(r))?;
            part.motions.push((port.name.clone(), motion[0]));
        }
        part.description.ports = part.motions.iter().map(|(name, _)| name.clone()).collect();
        Ok(part)
    }

    /// The hash of its model.
    pub fn model(&self) -> &[u8] {
        self.client.welcome().map_or(&[], |w| &w.model)
    }

    fn error(&self, why: impl ToString) -> PartError {
        PartError { part: self.description.name.clone(), why: why.to_string() }
    }

    fn refused(&self, refusal: Refusal) -> PartError {
        self.error(refusal)
    }

    /// Where it was last heard of.
    fn whereabouts(&self) -> String {
        match self.turn.last {
            Some((window, t)) => format!("its last window was {window}, to t = {t} s"),
            None => "it has crossed no window yet".into(),
        }
    }

    fn fault(&mut self, fault: CallFault) -> PartError {
        let refused = matches!(fault, CallFault::Refused(_));
        let error = self.in_words(fault);
        if !refused {
            self.turn.lost = Some(error.clone());
        }
        error
    }

    fn in_words(&mut self, fault: CallFault) -> PartError {
        let (address, last) = (self.link.address(), self.whereabouts());
        match fault {
            CallFault::Silent(time, why) => {
                let why = why.map_or(String::new(), |w| format!(" ({w})"));
                self.error(format!("{address} gave no answer for {:.1} s{why}; {last}", time.as_secs_f64()))
            }
            CallFault::TooLong(time) => {
                self.error(format!("{address} has been working on one request for {:.1} s; {last}", time.as_secs_f64()))
            }
            CallFault::Forgot => {
                self.turn.forgot = true;
                self.error(format!("{address} was restarted and has lost its state; {last}"))
            }
            CallFault::Refused(refusal) => self.refused(refusal),
            CallFault::Final(why) => self.error(format!("{address}: {why}")),
        }
    }

    /// Drives the client until the request is answered or given up.
    fn drive(&mut self) -> Result<Reply, PartError> {
        loop {
            let now = self.link.now();
            match self.client.poll(now) {
                Action::Connect => match self.link.connect(self.client.timeouts().renew()) {
                    Ok(()) => self.client.connected(self.link.now()),
                    Err(down) => self.client.disconnected(self.link.now(), down.why, down.last),
                },
                Action::Send(request) => self.send(&request),
                Action::Wait(until) => match self.link.receive(until) {
                    Received::Reply(reply, when) => {
                        self.meter.bytes[1] += FRAME_HEADER + reply.encoded_len() as u64;
                        self.meter.came = when;
                        self.client.received(self.link.now(), reply);
                    }
                    Received::Down(down) => self.client.disconnected(self.link.now(), down.why, down.last),
                    Received::Nothing => {}
                },
                Action::Finished(reply) => {
                    self.meter.waiting += self.meter.came.saturating_sub(self.meter.asked);
                    return Ok(reply);
                }
                Action::Failed(fault) => return Err(self.fault(fault)),
                Action::Idle => return Err(self.error("was asked for nothing: a fault of the coordinator")),
            }
        }
    }

    fn send(&mut self, request: &Request) {
        self.meter.bytes[0] += FRAME_HEADER + request.encoded_len() as u64;
        self.link.send(request);
    }

    /// Waits for the answer to a request that was announced but not made: requests come in order.
    fn settle(&mut self) -> Result<(), PartError> {
        if let Some(ask) = self.turn.announced.take() {
            match ask {
                RequestKind::Attempt(attempt) => self.turn.iteration = attempt.iteration,
                RequestKind::Correct(correct) => self.turn.iteration = correct.iteration,
                _ => {}
            }
            self.client.attend(self.link.now());
            self.answer()?;
        }
        Ok(())
    }

    fn ask(&mut self, what: RequestKind) -> Result<ReplyKind, PartError> {
        if self.turn.announced.take_if(|a| *a == what).is_some() {
            self.client.attend(self.link.now());
            return self.answer();
        }
        self.settle()?;
        if let Some(why) = &self.turn.lost {
            return Err(why.clone());
        }
        self.meter.asked = self.link.now();
        self.client.ask(self.meter.asked, self.turn.commit, Some(what));
        self.answer()
    }

    fn answer(&mut self) -> Result<ReplyKind, PartError> {
        let answer = self.drive();
        if self.turn.lost.is_none() {
            self.turn.commit = None;
        }
        answer?.what.ok_or_else(|| self.error("answered with an empty message"))
    }

    fn done(&mut self, what: RequestKind) -> Result<(), PartError> {
        match self.ask(what)? {
            ReplyKind::Done(_) => Ok(()),
            _ => Err(self.error("gave an answer of the wrong kind")),
        }
    }

    fn motions(&mut self, tell: ReplyKind) -> Result<PartResponse, PartError> {
        let ReplyKind::Motions(motions) = tell else {
            return Err(self.error("gave an answer of the wrong kind: no motions"));
        };
        motions.response(self.motions.len()).map_err(|r| self.refused(r))
    }

    fn message(&self, window: &Window, loads: &[f64], shifts: &[f64], admittance: bool) -> Attempt {
        Attempt {
            window: window.number,
            iteration: self.turn.iteration + 1,
            from: window.from,
            to: window.to,
            loads: loads.to_vec(),
            shifts: if self.description.in_step { shifts.to_vec() } else { Vec::new() },
            admittance,
        }
    }

    fn correction(&self, window: &Window, step: Correction, loads: &[f64], shifts: &[f64]) -> Correct {
        Correct {
            window: window.number,
            iteration: self.turn.iteration + 1,
            from: window.from,
            to: window.to,
            step: step_word(step).into(),
            loads: loads.to_vec(),
            shifts: shifts.to_vec(),
        }
    }

    /// Asks for a trial of a window, and remembers it as the one to be committed.
    fn try_window(&mut self, window: &Window, iteration: u64, what: RequestKind) -> Result<Motions, PartError> {
        let stamp = Stamp { window: window.number, iteration };
        let tell = self.ask(what);
        self.turn.iteration = self.turn.iteration.max(stamp.iteration);
        let ReplyKind::Motions(motions) = tell? else {
            return Err(self.error("gave an answer of the wrong kind: no motions"));
        };
        (self.turn.tried, self.turn.last) = (Some(stamp), Some((window.number, window.to)));
        Ok(motions)
    }

    fn begin_solver(&mut self) -> Result<(), PartError> {
        let Some(solver) = &self.solver else { return Ok(()) };
        let ReplyKind::Started(started) = self.ask(RequestKind::Start(Start::from(solver)))? else {
            return Err(self.error("gave an answer of the wrong kind: no start"));
        };
        if started.channels.len() > MAX_ITEMS {
            return Err(self.refused(Refusal::of(
                "its channels",
                format!("at most {MAX_ITEMS}"),
                started.channels.len(),
            )));
        }
        let channel = |c: &crate::wire::Channel| Channel { name: c.name.clone(), unit: unit(&c.unit) };
        self.channels = started.channels.iter().map(channel).collect();
        self.description.in_step = started.in_step;
        Ok(())
    }
}

/// A unit that lives as long as the program, as channels ask for. Foreign parts may bring 200 short ones; others are dropped.
fn unit(word: &str) -> &'static str {
    static SEEN: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut seen = crate::locks::lock(&SEEN);
    match seen.iter().find(|u| **u == word) {
        Some(unit) => unit,
        None if seen.len() < 200 && word.len() < 20 => {
            seen.push(Box::leak(word.to_string().into_boxed_str()));
            seen[seen.len() - 1]
        }
        None => "",
    }
}

impl Remote for RemotePart {
    fn space(&self) -> Space {
        self.description.space
    }

    fn ports(&self) -> Vec<(String, PortMotion)> {
        self.motions.clone()
    }

    fn start(mut self: Box<Self>, how: &Solver) -> Result<Box<dyn Subdomain>, PartError> {
        self.solver = Some(how.clone());
        self.begin_solver()?;
        Ok(self)
    }
}

impl Subdomain for RemotePart {
    fn description(&self) -> &Description {
        &self.description
    }

    fn begin(&mut self, loads: &[f64]) -> Result<PartResponse, PartError> {
        let tell = self.ask(RequestKind::Begin(Begin { loads: loads.to_vec() }))?;
        self.motions(tell)
    }

    fn announce(&mut self, next: &Upcoming) {
        if self.turn.lost.is_some() || self.client.is_waiting() || !self.client.is_up() {
            return;
        }
        let what = match next {
            Upcoming::Begin(loads) => RequestKind::Begin(Begin { loads: loads.to_vec() }),
            Upcoming::Attempt(window, loads, shifts, y) => {
                RequestKind::Attempt(self.message(window, loads, shifts, *y))
            }
            Upcoming::Correct(window, step, loads, shifts) => {
                RequestKind::Correct(self.correction(window, *step, loads, shifts))
            }
            Upcoming::Observe if self.channels.is_empty() => return,
            Upcoming::Observe => RequestKind::Observe(Observe {}),
        };
        let now = self.link.now();
        self.client.ask(now, self.turn.commit, Some(what.clone()));
        (self.turn.announced, self.meter.asked) = (Some(what), now);
        if let Action::Send(request) = self.client.poll(now) {
            self.send(&request);
        }
    }

    fn attempt(
        &mut self,
        window: &Window,
        loads: &[f64],
        shifts: &[f64],
        admittance: bool,
    ) -> Result<PartResponse, PartError> {
        let attempt = self.message(window, loads, shifts, admittance);
        let motions = self.try_window(window, attempt.iteration, RequestKind::Attempt(attempt))?;
        motions.response(self.motions.len()).map_err(|r| self.refused(r))
    }

    fn correct(
        &mut self,
        window: &Window,
        step: Correction,
        loads: &[f64],
        shifts: &[f64],
    ) -> Result<Corrected, PartError> {
        let correct = self.correction(window, step, loads, shifts);
        let motions = self.try_window(window, correct.iteration, RequestKind::Correct(correct))?;
        motions.corrected(self.motions.len()).map_err(|r| self.refused(r))
    }

    fn soften(&mut self) -> Result<(), PartError> {
        self.turn.tried = None;
        if self.description.in_step { self.done(RequestKind::Soften(Soften {})) } else { Ok(()) }
    }

    fn commit(&mut self) -> Result<(), PartError> {
        let stamp = self.turn.tried.take().ok_or_else(|| self.error("has nothing to commit"))?;
        (self.turn.commit, self.turn.iteration) = (Some(stamp), 0);
        Ok(())
    }

    fn save(&mut self) -> Result<(), PartError> {
        self.done(RequestKind::Save(Save::default()))
    }

    fn restore(&mut self) -> Result<(), PartError> {
        (self.turn.tried, self.turn.iteration) = (None, 0);
        self.done(RequestKind::Restore(Restore::default()))
    }

    fn channels(&self) -> Vec<Channel> {
        self.channels.clone()
    }

    fn observe(&mut self, out: &mut Vec<f64>) -> Result<(), PartError> {
        if self.channels.is_empty() {
            return Ok(());
        }
        let ReplyKind::Values(values) = self.ask(RequestKind::Observe(Observe {}))? else {
            return Err(self.error("gave an answer of the wrong kind: no channel values"));
        };
        if values.values.len() != self.channels.len() {
            let (needed, found) = (self.channels.len(), values.values.len());
            return Err(self.refused(Refusal::of("wrong number of channels", needed, found)));
        }
        out.extend(values.values);
        Ok(())
    }

    fn keep(&mut self, _: &Path, id: &str) -> Result<(), PartError> {
        self.done(RequestKind::Save(Save { id: id.into() }))
    }

    fn recover(&mut self, _: &Path, id: &str) -> Result<(), PartError> {
        if self.settle().is_err() || self.turn.lost.is_some() {
            self.client.renew(self.link.name_of_run(), self.link.now());
            (self.turn.lost, self.turn.forgot, self.turn.announced, self.turn.commit) = (None, false, None, None);
            self.begin_solver()?;
        }
        (self.turn.commit, self.turn.tried, self.turn.iteration) = (None, None, 0);
        self.done(RequestKind::Restore(Restore { id: id.into() }))
    }

    fn forgot(&self) -> bool {
        self.turn.forgot
    }

    fn traffic(&self) -> Option<Traffic> {
        let c = &self.client.counts;
        Some(Traffic {
            address: self.link.address(),
            round_trips: c.round_trips,
            repeated: c.repeated,
            links: c.links,
            bytes: self.meter.bytes,
            waiting: self.meter.waiting.as_secs_f64(),
            working: c.nanoseconds as f64 * 1e-9,
        })
    }
}

impl Drop for RemotePart {
    /// Tells the part that the run is over, if the link is up.
    fn drop(&mut self) {
        if self.client.is_up() && !self.client.is_waiting() {
            self.client.ask(self.link.now(), self.turn.commit, Some(RequestKind::Leave(Leave {})));
            if let Action::Send(request) = self.client.poll(self.link.now()) {
                self.send(&request);
                let _ = self.link.receive(self.link.now() + Duration::from_secs(1));
            }
        }
    }
}
