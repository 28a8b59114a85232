//! A network that drops, delays, reorders and repeats messages, cuts links and crashes parts, on a clock of its own. It drives
//! the same client, filter and session as gRPC does.

use crate::machines::{
    Dice, FOUR_BAR, Rows, here, join, limits, offer, options, part_models, rows, solver, system, temporary,
};
use bellcrank_glue::{Checkpoints, Coordinator, Coupling, Remote, Subdomain};
use bellcrank_net::client::RunId;
use bellcrank_net::filter::RequestVerdict;
use bellcrank_net::offer::PartOffer;
use bellcrank_net::registry::RunSlot;
use bellcrank_net::remote::{Link, LinkDown, Received};
use bellcrank_net::store::StateStore;
use bellcrank_net::wire::{Reply, Request, RequestKind};
use bellcrank_net::{RemotePart, RunRegistry, Timeouts};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const PATIENCE: Timeouts = Timeouts { silence: Duration::from_secs(8), call: Duration::from_secs(600) };
const STEP: f64 = 2e-3;
const WINDOWS: usize = 12;

#[derive(Default)]
struct Memory(Mutex<HashMap<String, Vec<u8>>>);

impl StateStore for Memory {
    fn write(&self, id: &str, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().insert(id.into(), bytes.into());
        Ok(())
    }
    fn read(&self, id: &str) -> io::Result<Vec<u8>> {
        self.0.lock().unwrap().get(id).cloned().ok_or(io::ErrorKind::NotFound.into())
    }
}

enum Event {
    ToPart(usize, u64, Request),
    Worked(usize, u64, Arc<RunSlot>, Reply),
    ToCoordinator(usize, u64, Received),
}

/// How bad the network is.
#[derive(Clone, Copy, Debug, Default)]
struct Weather {
    drop: f64,
    repeat: f64,
    cut: f64,
    crash: f64,
    /// A message takes up to so long, and seldom a hundred times that.
    delay: Duration,
    /// The number of messages after which a part is gone for good.
    gone: Option<(usize, usize)>,
}

struct Machine {
    offer: Arc<PartOffer>,
    store: Arc<Memory>,
    registry: RunRegistry,
    /// How often it was started.
    epoch: u64,
    /// The link that is open, and the run on it.
    link: Option<u64>,
    slot: Option<(RunId, Arc<RunSlot>)>,
    down_until: Duration,
    inbox: VecDeque<(u64, Received)>,
    crashes: usize,
}

struct World {
    now: Duration,
    dice: Dice,
    weather: Weather,
    queue: BTreeMap<(Duration, u64), Event>,
    count: u64,
    machines: Vec<Machine>,
    /// When a part went for good.
    gone_at: Option<Duration>,
}

impl World {
    fn new(offers: &[Arc<PartOffer>], seed: u64, weather: Weather) -> World {
        let machine = |offer: &Arc<PartOffer>| {
            let store = Arc::new(Memory::default());
            let registry = RunRegistry::new(offer.clone(), store.clone(), limits());
            let (link, slot, inbox) = (None, None, VecDeque::new());
            Machine {
                offer: offer.clone(),
                store,
                registry,
                epoch: 0,
                link,
                slot,
                down_until: Duration::ZERO,
                inbox,
                crashes: 0,
            }
        };
        let machines = offers.iter().map(machine).collect();
        let (now, queue, dice) = (Duration::ZERO, BTreeMap::new(), Dice(seed));
        World { now, dice, weather, queue, count: 0, machines, gone_at: None }
    }

    fn after(&mut self, wait: Duration, event: Event) {
        self.count += 1;
        assert!(self.count < 2_000_000, "the run does not end");
        self.queue.insert((self.now + wait, self.count), event);
    }

    fn delay(&mut self) -> Duration {
        let long = if self.dice.happens(0.005) { 100.0 } else { 1.0 };
        self.weather.delay.mul_f64(self.dice.part() * long)
    }

    /// Sends something once, twice or not at all, in its own time.
    fn carry(&mut self, event: impl Fn() -> Event) {
        let mut copies = !self.dice.happens(self.weather.drop) as usize;
        copies += self.dice.happens(self.weather.repeat) as usize;
        for _ in 0..copies {
            let wait = self.delay();
            self.after(wait, event());
        }
    }

    fn crash(&mut self, part: usize, pause: Duration) {
        let now = self.now;
        let m = &mut self.machines[part];
        m.registry = RunRegistry::new(m.offer.clone(), m.store.clone(), limits());
        (m.slot, m.down_until) = (None, now + pause);
        m.epoch += 1;
        m.crashes += 1;
        self.cut(part);
    }

    fn cut(&mut self, part: usize) {
        if let Some(link) = self.machines[part].link.take() {
            let came = Received::Down(LinkDown { why: "cut".into(), last: false });
            self.after(MS, Event::ToCoordinator(part, link, came));
        }
    }

    /// Lets the next thing happen, if it does before a time.
    fn step(&mut self, until: Duration) -> bool {
        let Some(entry) = self.queue.first_entry().filter(|e| e.key().0 <= until) else {
            self.now = self.now.max(until);
            return false;
        };
        let ((time, _), event) = entry.remove_entry();
        self.now = self.now.max(time);
        match event {
            Event::ToCoordinator(part, link, came) => self.machines[part].inbox.push_back((link, came)),
            Event::Worked(part, epoch, slot, reply) => {
                if self.machines[part].epoch == epoch {
                    slot.filter.lock().unwrap().finish(reply.clone());
                    self.reply(part, reply);
                }
            }
            Event::ToPart(part, link, request) => {
                if let Some((who, left)) = &mut self.weather.gone
                    && *who == part
                {
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        self.gone_at.get_or_insert(self.now);
                        self.crash(part, Duration::from_secs(1_000_000));
                    }
                }
                if self.dice.happens(self.weather.cut) {
                    self.cut(part);
                }
                if self.dice.happens(self.weather.crash) {
                    let pause = MS * self.dice.below(3000) as u32;
                    self.crash(part, pause);
                }
                if self.machines[part].link == Some(link) {
                    self.arrived(part, request);
                }
            }
        }
        true
    }

    fn reply(&mut self, part: usize, reply: Reply) {
        if let Some(link) = self.machines[part].link {
            self.carry(|| Event::ToCoordinator(part, link, Received::Reply(reply.clone(), Duration::ZERO)));
        }
    }

    fn arrived(&mut self, part: usize, request: Request) {
        let (now, m) = (self.now, &mut self.machines[part]);
        if let Some(RequestKind::Hello(hello)) = &request.what {
            let (run, slot, welcome) = m.registry.hello(hello, now).unwrap_or_else(|r| panic!("{r}"));
            slot.take_over();
            m.slot = Some((run, slot));
            self.reply(part, welcome);
            return;
        }
        // a request that overtook the greeting is lost with it
        let Some((run, slot)) = m.slot.clone() else { return };
        if matches!(request.what, Some(RequestKind::Leave(_))) {
            m.registry.leave(&run);
        }
        let epoch = m.epoch;
        let verdict = slot.filter.lock().unwrap().admit(&request);
        match verdict {
            RequestVerdict::Say(reply) => self.reply(part, reply),
            RequestVerdict::Work => {
                let reply = slot.session.lock().unwrap().work(&request);
                let wait = self.delay();
                self.after(wait, Event::Worked(part, epoch, slot, reply));
            }
        }
    }
}

struct SimLink {
    world: Arc<Mutex<World>>,
    part: usize,
    link: u64,
}

impl Link for SimLink {
    fn now(&self) -> Duration {
        self.world.lock().unwrap().now
    }

    fn connect(&mut self, within: Duration) -> Result<(), LinkDown> {
        let mut w = self.world.lock().unwrap();
        let until = w.now + w.delay().min(within);
        while w.step(until) {}
        let refused = w.machines[self.part].down_until > w.now || { w.dice.happens(0.05) };
        self.link += 1;
        // the part sees a new stream in the place of the old one
        let link = (!refused).then_some(self.link);
        let m = &mut w.machines[self.part];
        (m.link, m.slot) = (link, None);
        if refused { Err(LinkDown { why: "refused".into(), last: false }) } else { Ok(()) }
    }

    fn send(&mut self, request: &Request) {
        let (part, link) = (self.part, self.link);
        self.world.lock().unwrap().carry(|| Event::ToPart(part, link, request.clone()));
    }

    fn receive(&mut self, until: Duration) -> Received {
        let mut w = self.world.lock().unwrap();
        loop {
            while let Some((link, came)) = w.machines[self.part].inbox.pop_front() {
                if link == self.link {
                    return came;
                }
            }
            if !w.step(until) {
                return Received::Nothing;
            }
        }
    }

    fn name_of_run(&mut self) -> RunId {
        let mut w = self.world.lock().unwrap();
        let (a, b) = (w.dice.next(), w.dice.next());
        let mut out = [0; 16];
        out[..8].copy_from_slice(&a.to_le_bytes());
        out[8..].copy_from_slice(&b.to_le_bytes());
        out
    }

    fn address(&self) -> String {
        format!("machine {}", self.part + 1)
    }
}

const CUT: &[&str] = &["a", "b", "c", "d"];

/// The run over a simulated network; an error if it could not even begin.
fn over(world: &Arc<Mutex<World>>) -> Result<Coordinator, String> {
    let cut = part_models(&system(FOUR_BAR), CUT);
    let mut parts: Vec<Box<dyn Subdomain>> = Vec::new();
    for (part, part_model) in cut.parts.iter().enumerate() {
        let link = SimLink { world: world.clone(), part, link: 1000 * world.lock().unwrap().count };
        let remote = RemotePart::connect(&part_model.name, Box::new(link), PATIENCE).map_err(|e| e.to_string())?;
        parts.push(Box::new(remote).start(&solver(Coupling::Stabilized)).map_err(|e| e.to_string())?);
    }
    Coordinator::new(parts, cut.interface, 0.0, options(Coupling::Stabilized, STEP)).map_err(|e| e.to_string())
}

#[test]
fn two_hundred_bad_networks_give_the_right_result_or_the_right_name() {
    let machine = system(FOUR_BAR);
    let until = STEP * WINDOWS as f64;
    let right = rows(&mut here(&machine, CUT, options(Coupling::Stabilized, STEP)), until);
    let offers: Vec<_> = part_models(&machine, CUT).parts.into_iter().map(offer).collect();
    let names: Vec<String> = offers.iter().map(|o| o.name().to_string()).collect();
    assert_eq!(names.len(), 3);
    let (mut named, mut taken_back, mut crashes, mut resumed) = (0, 0, 0, 0);
    let mut longest = Duration::ZERO;
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let mut weather = Weather {
            drop: 0.2 * dice.part(),
            repeat: 0.3 * dice.part(),
            cut: 0.02 * dice.part(),
            crash: if seed % 3 == 0 { 0.02 * dice.part() } else { 0.0 },
            delay: MS * (1 + dice.below(60) as u32),
            gone: None,
        };
        if seed % 10 == 9 {
            weather.gone = Some((dice.below(3), 1 + dice.below(40)));
        }
        let world = Arc::new(Mutex::new(World::new(&offers, seed, weather)));
        let folder = temporary(&format!("simulated-{seed}"));
        let mut watch = Rows::default();
        let mut tries = 0;
        loop {
            tries += 1;
            assert!(tries < 20, "seed {seed}: no end");
            let kept =
                Checkpoints { folder: folder.clone(), every: 4, run: format!("s{seed}t{tries}"), parts: String::new() };
            let ended = over(&world).and_then(|mut run| {
                if folder.join("interface.state").exists() {
                    let note = run.recover(&folder).map_err(|e| e.to_string())?;
                    watch.rows.truncate(note[0] as usize);
                    resumed += 1;
                }
                kept.run(&mut run, until, &mut watch).map_err(|e| e.to_string())
            });
            let Err(why) = ended else { break };
            let part = names.iter().position(|n| why.contains(&format!("part `{n}`")));
            let part = part.unwrap_or_else(|| panic!("seed {seed} names nobody: {why}"));
            let mut w = world.lock().unwrap();
            if let Some((gone, 0)) = w.weather.gone {
                assert_eq!(part, gone, "seed {seed}: {why}");
                assert!(why.contains("gave no answer"), "seed {seed}: {why}");
                assert!(why.contains("last window was") || why.contains("no window"), "seed {seed}: {why}");
                let silent = w.now - w.gone_at.unwrap();
                longest = longest.max(silent);
                assert!(silent <= 2 * PATIENCE.silence, "seed {seed}: named after {silent:?}");
                // somebody starts it again
                w.weather.gone = None;
                w.machines[gone].down_until = w.now;
                named += 1;
            } else {
                // only a part that crashed may be named
                assert!(w.machines[part].crashes > 0 || why.contains("gave no answer"), "seed {seed}: {why}");
            }
        }
        assert!(watch.rows == right, "seed {seed}: another result");
        taken_back += watch.taken_back;
        crashes += world.lock().unwrap().machines.iter().map(|m| m.crashes).sum::<usize>();
        let _ = std::fs::remove_dir_all(&folder);
    }
    println!("a part that is gone is named within {longest:?}");
    println!("{crashes} crashes, {taken_back} times taken back, {named} parts lost, {resumed} times resumed");
    assert!(crashes > 50 && taken_back > 20 && named >= 15 && resumed >= 10);
}

#[test]
fn the_same_seed_is_the_same_network() {
    let offers: Vec<_> = part_models(&system(FOUR_BAR), CUT).parts.into_iter().map(offer).collect();
    let weather = Weather { drop: 0.1, repeat: 0.2, cut: 0.01, delay: 20 * MS, ..Weather::default() };
    let run = |seed| {
        let world = Arc::new(Mutex::new(World::new(&offers, seed, weather)));
        let mut run = over(&world).unwrap();
        let rows = rows(&mut run, 3.0 * STEP);
        let traffic: Vec<_> = run
            .parts()
            .iter()
            .map(|p| {
                let t = p.traffic().unwrap();
                (t.round_trips, t.repeated, t.links)
            })
            .collect();
        let now = world.lock().unwrap().now;
        (rows, traffic, now)
    };
    let (a, b, c) = (run(5), run(5), run(6));
    assert!(a == b);
    assert!(a.0 == c.0 && a.2 != c.2);
}

#[test]
fn on_a_good_network_commits_cost_nothing() {
    let machine = system(FOUR_BAR);
    let offers: Vec<_> = part_models(&machine, CUT).parts.into_iter().map(offer).collect();
    let world = Arc::new(Mutex::new(World::new(&offers, 1, Weather { delay: MS, ..Weather::default() })));
    let mut run = over(&world).unwrap();
    run.run(0.2, &mut |_| Ok(())).unwrap();
    let (exchanges, windows) = (run.report().exchanges as u64, run.windows());
    assert_eq!(windows, 100);
    for part in run.parts() {
        let t = part.traffic().unwrap();
        // one for the solver, and a few for the loads at the start
        assert!((3..=6).contains(&(t.round_trips - exchanges)), "{t:?}, {exchanges} exchanges");
        assert_eq!(t.repeated, 0);
    }
    let mut local = join(&machine, CUT, options(Coupling::Stabilized, STEP), &mut |_, p| {
        p.start(&solver(Coupling::Stabilized)).unwrap()
    });
    local.run(0.2, &mut |_| Ok(())).unwrap();
    assert_eq!(local.report().exchanges as u64, exchanges);
    assert!(exchanges <= 2 * windows, "{exchanges} exchanges in {windows} windows");
}
