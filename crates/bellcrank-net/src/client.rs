//! The coordinator's side of a run, without a network: what to send, when to send it again, when to give up.
//!
//! Whoever drives it asks [`Client::poll`] what to do at the present time, and tells it what happened. One request is under
//! way at a time; it is sent again until it is answered, because a part never does the same request twice.

use crate::wire::{Ask, Hello, PROTOCOL, Refusal, Reply, Request, Stamp, Tell, UNITS, Welcome, hex};
use std::time::Duration;

/// The name of a run: who knows it may go on with it.
pub type RunId = [u8; 16];

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// A part that says nothing for so long is lost.
    pub silence: Duration,
    /// The most that one request may take, even if the part says that it works on it.
    pub call: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { silence: Duration::from_secs(10), call: Duration::from_secs(600) }
    }
}

impl Patience {
    /// A request that was not answered is sent again after this time.
    fn again(&self) -> Duration {
        self.silence / 16
    }

    /// A link that was silent for so long is made anew.
    pub fn renew(&self) -> Duration {
        self.silence / 2
    }
}

/// The first pause before a link is tried again; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Nothing was heard for this long; what the link said last.
    Silent(Duration, Option<String>),
    /// It works on the request for too long.
    TooLong(Duration),
    /// The part is there, but has lost its state.
    Forgot,
    /// The part does not do it.
    Refused(Refusal),
    /// There is no point in trying again.
    Final(String),
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Make a link, and drop the one there was.
    Connect,
    /// Send a message.
    Send(Request),
    /// Wait for a message, until a time.
    Wait(Duration),
    /// The request was answered.
    Finished(Reply),
    /// The request has no answer.
    Failed(Fault),
    /// There is nothing to do.
    Idle,
}

/// What it took.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Requests that were answered.
    pub round_trips: u64,
    /// Requests that were sent again.
    pub repeated: u64,
    /// Links that were made.
    pub links: u64,
    /// Nanoseconds the part worked.
    pub nanoseconds: u64,
}

enum Link {
    Down { not_before: Duration },
    Greeting { sent: Option<Duration> },
    Up,
}

struct Pending {
    /// None for the handshake alone.
    request: Option<Request>,
    asked: Duration,
    heard: Duration,
    sent: Option<Duration>,
    answer: Option<Result<Reply, Fault>>,
}

/// One run of one part, seen from the coordinator.
pub struct Client {
    run: RunId,
    patience: Patience,
    link: Link,
    /// When the link was made or something was heard over it.
    alive: Duration,
    pause: Duration,
    why_down: Option<String>,
    next: u64,
    pending: Option<Pending>,
    welcome: Option<Welcome>,
    started: bool,
    /// What it took so far.
    pub counts: Counts,
}

impl Client {
    /// A run that has not begun.
    pub fn new(run: RunId, patience: Patience) -> Client {
        Client {
            run,
            patience,
            link: Link::Down { not_before: Duration::ZERO },
            alive: Duration::ZERO,
            pause: FIRST_PAUSE,
            why_down: None,
            next: 1,
            pending: None,
            welcome: None,
            started: false,
            counts: Counts::default(),
        }
    }

    /// Begins anew under another name, with the same part: nothing of the old run can be mistaken for the new one.
    pub fn renew(&mut self, run: RunId, now: Duration) {
        (self.run, self.next, self.started, self.pending) = (run, 1, false, None);
        self.link = Link::Down { not_before: now };
    }

    /// What the part is, after the handshake.
    pub fn welcome(&self) -> Option<&Welcome> {
        self.welcome.as_ref()
    }

    /// Whether a request is under way.
    pub fn is_waiting(&self) -> bool {
        self.pending.is_some()
    }

    /// Whether the link is up.
    pub fn is_up(&self) -> bool {
        matches!(self.link, Link::Up)
    }

    /// How long a link may take to be made.
    pub fn patience(&self) -> Patience {
        self.patience
    }

    fn pend(&mut self, now: Duration, request: Option<Request>) {
        self.pending = Some(Pending { request, asked: now, heard: now, sent: None, answer: None });
    }

    /// Asks for the handshake alone.
    pub fn greet(&mut self, now: Duration) {
        self.pend(now, None);
    }

    /// Asks for something, after the request before was answered.
    pub fn ask(&mut self, now: Duration, commit: Option<Stamp>, what: Option<Ask>) {
        self.pend(now, Some(Request { sequence: self.next, commit, what }));
    }

    /// From now on the answer is waited for: what came while nobody looked is no silence.
    pub fn attend(&mut self, now: Duration) {
        if let Some(p) = &mut self.pending {
            (p.asked, p.heard) = (now, now);
        }
    }

    /// What to do at the present time.
    pub fn poll(&mut self, now: Duration) -> Next {
        let Patience { silence, call } = self.patience;
        let Some(p) = &mut self.pending else { return Next::Idle };
        let deadline = (p.heard + silence).min(p.asked + call);
        let fault = match p.answer.take() {
            Some(Ok(reply)) => {
                self.pending = None;
                return Next::Finished(reply);
            }
            Some(Err(fault)) => Some(fault),
            None if now >= p.heard + silence => Some(Fault::Silent(now - p.heard, self.why_down.clone())),
            None if now >= p.asked + call => Some(Fault::TooLong(now - p.asked)),
            None => None,
        };
        if let Some(fault) = fault {
            self.pending = None;
            return Next::Failed(fault);
        }
        if !matches!(self.link, Link::Down { .. }) && now >= self.alive.max(p.asked) + self.patience.renew() {
            self.link = Link::Down { not_before: now };
        }
        let again = self.patience.again();
        match &mut self.link {
            Link::Down { not_before } if now >= *not_before => Next::Connect,
            Link::Down { not_before } => Next::Wait(deadline.min(*not_before)),
            Link::Greeting { sent: Some(at) } if now < *at + again => Next::Wait(deadline.min(*at + again)),
            Link::Greeting { sent } => {
                *sent = Some(now);
                let model = self.welcome.as_ref().map(|w| w.model.clone()).unwrap_or_default();
                let (run, units) = (self.run.to_vec(), UNITS.to_string());
                let hello = Hello { protocol: PROTOCOL, run, next: self.next, units, model };
                Next::Send(Request { what: Some(Ask::Hello(hello)), ..Request::default() })
            }
            Link::Up => match (&p.request, p.sent) {
                (Some(_), Some(at)) if now < at + again => Next::Wait(deadline.min(at + again)),
                (Some(request), sent) => {
                    self.counts.repeated += sent.is_some() as u64;
                    p.sent = Some(now);
                    Next::Send(request.clone())
                }
                (None, _) => {
                    self.pending = None;
                    Next::Finished(Reply::default())
                }
            },
        }
    }

    /// A link was made.
    pub fn connected(&mut self, now: Duration) {
        (self.link, self.alive) = (Link::Greeting { sent: None }, now);
        self.counts.links += 1;
        if let Some(p) = &mut self.pending {
            // on a new link it has to be sent again, which is no sign of a slow part
            p.sent = None;
        }
    }

    /// There is no link any more, or it could not be made; `last` if it never will.
    pub fn disconnected(&mut self, now: Duration, why: String, last: bool) {
        self.link = Link::Down { not_before: now + self.pause };
        self.pause = (2 * self.pause).min(self.patience.silence / 8).max(FIRST_PAUSE);
        match &mut self.pending {
            Some(p) if last && p.answer.is_none() => p.answer = Some(Err(Fault::Final(why))),
            _ => self.why_down = Some(why),
        }
    }

    /// A message came. Those that belong to nothing are late or repeated, and are passed over.
    pub fn received(&mut self, now: Duration, reply: Reply) {
        self.alive = now;
        let Some(p) = self.pending.as_mut().filter(|p| p.answer.is_none()) else { return };
        let greeting = matches!(self.link, Link::Greeting { .. });
        match (reply.what, &p.request) {
            (Some(Tell::Welcome(welcome)), _) if greeting => {
                p.heard = now;
                match differs(&welcome, self.welcome.as_ref()) {
                    Some(refusal) => p.answer = Some(Err(Fault::Refused(refusal))),
                    None if self.started && !welcome.started => {
                        self.started = false;
                        p.answer = Some(Err(Fault::Forgot));
                    }
                    None => {
                        (self.link, self.pause, self.why_down) = (Link::Up, FIRST_PAUSE, None);
                        self.welcome.get_or_insert(welcome);
                    }
                }
            }
            (Some(Tell::Refusal(refusal)), _) if greeting && reply.sequence == 0 => {
                p.answer = Some(Err(Fault::Refused(refusal)));
            }
            (Some(what), Some(request)) if reply.sequence == request.sequence && !greeting => {
                p.heard = now;
                self.counts.nanoseconds += reply.nanoseconds;
                let answer = match what {
                    Tell::Working(_) | Tell::Welcome(_) => return,
                    Tell::Refusal(refusal) => Err(Fault::Refused(refusal)),
                    what => {
                        self.started |= matches!(what, Tell::Started(_));
                        Ok(Reply { what: Some(what), ..reply })
                    }
                };
                p.answer = Some(answer);
                self.next += 1;
                self.counts.round_trips += 1;
            }
            _ => {}
        }
    }
}

/// What is wrong with a welcome, beside the one before.
fn differs(new: &Welcome, old: Option<&Welcome>) -> Option<Refusal> {
    if new.protocol != PROTOCOL {
        return Some(Refusal::of("version of the protocol", PROTOCOL, new.protocol));
    }
    if new.units != UNITS {
        return Some(Refusal::of("units of the part", UNITS, format!("{:?}", new.units)));
    }
    let old = old?;
    if new.model != old.model {
        return Some(Refusal::of("its model has changed", hex(&old.model), hex(&new.model)));
    }
    let names = |w: &Welcome| w.ports.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ");
    (names(new) != names(old)).then(|| Refusal::of("its ports have changed", names(old), names(new)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Done, Observe, Working};

    const S: Duration = Duration::from_secs(1);

    fn client() -> Client {
        Client::new([7; 16], Patience { silence: 8 * S, call: 100 * S })
    }

    fn welcome(started: bool) -> Reply {
        let w = Welcome { protocol: PROTOCOL, units: UNITS.into(), started, ..Welcome::default() };
        Reply { what: Some(Tell::Welcome(w)), ..Reply::default() }
    }

    /// Goes on to the first request that is under way.
    fn asked(c: &mut Client, now: Duration) -> Request {
        c.ask(now, None, Some(Ask::Observe(Observe {})));
        assert_eq!(c.poll(now), Next::Connect);
        c.connected(now);
        assert!(matches!(c.poll(now), Next::Send(Request { what: Some(Ask::Hello(_)), .. })));
        c.received(now, welcome(false));
        let Next::Send(request) = c.poll(now) else { panic!() };
        request
    }

    fn done(sequence: u64) -> Reply {
        Reply { sequence, what: Some(Tell::Done(Done {})), ..Reply::default() }
    }

    #[test]
    fn a_request_is_repeated_until_it_is_answered_once() {
        let mut c = client();
        let request = asked(&mut c, S);
        assert_eq!(c.poll(S), Next::Wait(S + c.patience.again()));
        assert_eq!(c.poll(3 * S), Next::Send(request.clone()));
        c.received(4 * S, done(request.sequence));
        c.received(4 * S, done(request.sequence));
        assert_eq!(c.poll(4 * S), Next::Finished(done(1)));
        assert_eq!(c.poll(4 * S), Next::Idle);
        // a reply that comes late answers nothing
        c.ask(5 * S, None, None);
        c.received(5 * S, done(1));
        assert!(matches!(c.poll(5 * S), Next::Send(Request { sequence: 2, .. })));
        assert_eq!((c.counts.round_trips, c.counts.repeated), (1, 1));
    }

    #[test]
    fn silence_is_named_after_the_timeout_and_work_is_waited_for() {
        let mut c = client();
        let request = asked(&mut c, S);
        let working = Reply { sequence: 1, what: Some(Tell::Working(Working {})), ..Reply::default() };
        for k in 1..20 {
            c.received(k * 2 * S, working.clone());
            assert!(!matches!(c.poll(k * 2 * S), Next::Failed(_)));
        }
        // now it is silent: the link is made anew after half the time, and at its end the part is lost
        assert_eq!(c.poll(42 * S), Next::Connect);
        c.disconnected(42 * S, "refused".into(), false);
        assert!(matches!(c.poll(42 * S), Next::Wait(_)));
        assert_eq!(c.poll(46 * S), Next::Failed(Fault::Silent(8 * S, Some("refused".into()))));
        let _ = request;
        let mut c = client();
        asked(&mut c, S);
        for k in 1..50 {
            c.received(k * 2 * S, working.clone());
            c.poll(k * 2 * S);
        }
        assert_eq!(c.poll(101 * S), Next::Failed(Fault::TooLong(100 * S)));
    }

    #[test]
    fn a_part_that_was_started_anew_has_forgotten() {
        let mut c = client();
        asked(&mut c, S);
        let started = Tell::Started(Default::default());
        c.received(S, Reply { sequence: 1, what: Some(started), ..Reply::default() });
        assert!(matches!(c.poll(S), Next::Finished(_)));
        c.disconnected(S, "gone".into(), false);
        c.ask(2 * S, None, None);
        assert_eq!(c.poll(2 * S), Next::Connect);
        c.connected(2 * S);
        c.poll(2 * S);
        c.received(2 * S, welcome(false));
        assert_eq!(c.poll(2 * S), Next::Failed(Fault::Forgot));
    }

    #[test]
    fn other_versions_units_and_models_are_refused_with_both_values() {
        let with = |change: fn(&mut Welcome)| {
            let mut c = client();
            c.greet(S);
            c.poll(S);
            c.connected(S);
            c.poll(S);
            let Some(Tell::Welcome(mut w)) = welcome(false).what else { panic!() };
            change(&mut w);
            c.received(S, Reply { what: Some(Tell::Welcome(w)), ..Reply::default() });
            c.poll(S)
        };
        assert!(matches!(with(|_| ()), Next::Finished(_)));
        let Next::Failed(Fault::Refused(r)) = with(|w| w.protocol = 9) else { panic!() };
        assert_eq!((r.expected.as_str(), r.found.as_str()), ("1", "9"));
        let Next::Failed(Fault::Refused(r)) = with(|w| w.units = "inch".into()) else { panic!() };
        assert_eq!((r.expected.as_str(), r.found.as_str()), ("SI", "\"inch\""));
    }
}
