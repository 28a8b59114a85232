//! A run that is watched live: its frames in memory, and a stream of updates for the page.
//!
//! The run only copies its numbers; pages are served by other threads. `/api/live` is a stream of
//! server-sent events, up to sixteen a second: `{"rows", "t", "wall", "strip", "age", "events"}`, where `strip` are the
//! stretches of steps since the last update, `[t, steps, least h, largest h, least order, largest order, iterations,
//! refused]`, or all of them if `age` has changed. The last event has the type `end`.

use bellcrank_results::json;
use bellcrank_solve::history::{AcceptedStep, Stretch};
use bellcrank_solve::record::{Header, Recorder, RunReport};
use serde_json::{Value, json};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Values that are kept at most; a longer run is thinned out to every second, fourth … frame.
const VALUES: usize = 1 << 26;
/// Stretches of steps that are kept at most, and the wall-clock time of one at first.
const STRETCHES: usize = 4096;
const STRETCH: Duration = Duration::from_millis(40);
/// The time between updates, and between signs of life when there are none.
pub const NEWS: Duration = Duration::from_millis(60);
const LIFE: Duration = Duration::from_secs(1);
/// Events that are sent at most.
const EVENTS: usize = 500;

/// What the run writes and the page reads.
pub(crate) struct Shared {
    scene: Vec<u8>,
    state: Mutex<State>,
    watchers: AtomicUsize,
    watched: AtomicUsize,
}

#[derive(Default)]
struct State {
    generation: u64,
    header: Header,
    frames: BroadcastFrames,
    strip: Strip,
    events: Vec<String>,
    begun: Option<Instant>,
    wall: f64,
    t: f64,
    summary: Value,
    ended: bool,
}

/// The frames of a run, thinned out where there are too many.
#[derive(Default)]
struct BroadcastFrames {
    /// Row by row, the time first.
    rows: Vec<f64>,
    /// Each frame is kept, or each second, fourth, ….
    every: usize,
    seen: usize,
}

/// The steps of a run in stretches of wall-clock time.
#[derive(Default)]
struct Strip {
    stretches: Vec<Stretch>,
    /// How long a stretch is, and when the last one began.
    length: Duration,
    since: Option<Instant>,
    /// Changes when stretches are joined.
    age: usize,
}

impl Strip {
    fn add(&mut self, one: Stretch) {
        let now = Instant::now();
        match (self.stretches.last_mut(), self.since) {
            (Some(last), Some(since)) if now - since < self.length => *last = last.join(&one),
            _ => {
                if self.stretches.len() >= STRETCHES {
                    let joined = self.stretches.chunks(2).map(|two| two[1..].iter().fold(two[0], |a, b| a.join(b)));
                    self.stretches = joined.collect();
                    self.length *= 2;
                    self.age += 1;
                }
                self.stretches.push(one);
                self.since = Some(now);
            }
        }
    }
}

impl State {
    fn width(&self) -> usize {
        self.header.channels.len() + 1
    }

    fn count(&self) -> usize {
        self.frames.rows.len() / self.width()
    }
}

/// Copies a run for the pages that watch it.
pub struct LiveRecorder(Arc<Shared>);

impl Recorder for LiveRecorder {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        let mut s = self.0.lock();
        *s = State {
            generation: s.generation + 1,
            header: header.clone(),
            frames: BroadcastFrames { every: 1, ..BroadcastFrames::default() },
            strip: Strip { length: STRETCH, age: s.strip.age + 1, ..Strip::default() },
            begun: Some(Instant::now()),
            summary: json!({"model": header.model, "status": "running"}),
            ..State::default()
        };
        Ok(())
    }

    fn frame(&mut self, t: f64, values: &[f64]) -> io::Result<()> {
        let mut s = self.0.lock();
        let (width, n) = (s.width(), s.count());
        if s.frames.seen.is_multiple_of(s.frames.every) {
            if s.frames.rows.len() + width > VALUES && n > 2 {
                // every second row is dropped
                for k in 0..n.div_ceil(2) {
                    s.frames.rows.copy_within(2 * k * width..(2 * k + 1) * width, k * width);
                }
                s.frames.rows.truncate(n.div_ceil(2) * width);
                s.frames.every *= 2;
                s.generation += 1;
            }
            s.frames.rows.push(t);
            s.frames.rows.extend_from_slice(values);
        }
        s.frames.seen += 1;
        Ok(())
    }

    fn step(&mut self, taken: &AcceptedStep) {
        let mut s = self.0.lock();
        let s = &mut *s;
        s.t = taken.t;
        s.strip.add(Stretch::of(taken));
        let new = taken.events.len().min(EVENTS);
        if new > s.events.len() {
            s.events.extend(taken.events[s.events.len()..new].iter().map(|e| e.to_string()));
        }
    }

    fn end(&mut self, report: &dyn RunReport) -> io::Result<()> {
        let mut s = self.0.lock();
        s.wall = s.begun.map_or(0.0, |b| b.elapsed().as_secs_f64());
        s.summary = Value::Object(json::report(report));
        s.ended = true;
        Ok(())
    }
}

impl LiveRecorder {
    pub(crate) fn new(shared: Arc<Shared>) -> LiveRecorder {
        LiveRecorder(shared)
    }
}

impl Shared {
    /// Of a run that is about to begin, with what to draw of it.
    pub fn new(scene: &Value) -> Shared {
        Shared {
            scene: scene.to_string().into_bytes(),
            state: Mutex::default(),
            watchers: AtomicUsize::new(0),
            watched: AtomicUsize::new(0),
        }
    }

    /// Whether a page is open.
    pub fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }

    /// Whether a page was ever open.
    pub fn was_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed) > 0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub fn generation(&self) -> u64 {
        self.lock().generation
    }

    pub fn scene(&self) -> Vec<u8> {
        self.scene.clone()
    }

    /// The answer to `/api/summary`.
    pub fn describe(&self) -> Value {
        let s = self.lock();
        let (rows, state) = (s.count(), s.summary["status"].as_str().unwrap_or("running"));
        let message = match (state, s.summary["error"].as_str()) {
            ("running", _) if rows == 0 => "The run is about to begin.".to_string(),
            ("failed", Some(e)) => format!("The run failed: {e}. The results so far are shown."),
            ("interrupted", _) => "The run was interrupted. The results so far are shown.".to_string(),
            _ => String::new(),
        };
        json!({
            "folder": s.header.model, "generation": s.generation, "state": state, "message": message,
            "rows": rows, "summary": s.summary, "live": true,
        })
    }

    /// The number of rows, and what `told` makes of the names and units of all columns.
    pub fn channels<T>(&self, told: impl FnOnce(&[&str], &[&str]) -> T) -> (usize, T) {
        let s = self.lock();
        let names: Vec<_> = std::iter::once("time").chain(s.header.channels.iter().map(|c| c.name.as_str())).collect();
        let units: Vec<_> = std::iter::once("s").chain(s.header.channels.iter().map(|c| c.unit)).collect();
        (s.count(), told(&names, &units))
    }

    /// Number of columns and rows.
    pub fn size(&self) -> (usize, usize) {
        let s = self.lock();
        (s.width(), s.count())
    }

    /// Rows of some columns, one column after the other.
    pub fn read(&self, columns: &[usize], rows: Range<usize>) -> Option<Vec<f64>> {
        let s = self.lock();
        let width = s.width();
        if rows.end > s.count() || columns.iter().any(|c| *c >= width) {
            return None;
        }
        let mut out = Vec::with_capacity(columns.len() * rows.len());
        for c in columns {
            out.extend(rows.clone().map(|r| s.frames.rows[r * width + c]));
        }
        Some(out)
    }

    /// Sends updates until the page is closed, or the run has ended and the page knows.
    pub fn stream(&self, stopping: &dyn Fn() -> bool, send: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        self.watchers.fetch_add(1, Ordering::Relaxed);
        self.watched.fetch_add(1, Ordering::Relaxed);
        let result = self.news(stopping, send);
        self.watchers.fetch_sub(1, Ordering::Relaxed);
        result
    }

    fn news(&self, stopping: &dyn Fn() -> bool, send: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        // rows, strip, its age, events, ended
        let mut told = (usize::MAX, 0, usize::MAX, 0, false);
        let mut last = Instant::now();
        while !stopping() {
            let text = {
                let s = self.lock();
                let (count, age) = (s.strip.stretches.len(), s.strip.age);
                let first = if age == told.2 { told.1.min(count) } else { 0 };
                // the last stretch may still grow, unless the run is over
                let whole = if s.ended { count } else { count.saturating_sub(1) };
                let now = (s.count(), whole.max(first), age, s.events.len(), s.ended);
                (now != told).then(|| {
                    let strip: Vec<Value> = s.strip.stretches[first..now.1].iter().map(numbers).collect();
                    let wall = if s.ended { s.wall } else { s.begun.map_or(0.0, |b| b.elapsed().as_secs_f64()) };
                    let events = &s.events[told.3.min(s.events.len())..];
                    told = now;
                    json!({
                        "generation": s.generation, "rows": s.count(), "t": s.t, "wall": wall, "age": age,
                        "strip": strip, "events": events, "ended": s.ended,
                    })
                })
            };
            match text {
                Some(news) => send(&format!("data: {news}\n\n"))?,
                None if last.elapsed() < LIFE => {
                    std::thread::sleep(NEWS);
                    continue;
                }
                None => send(": alive\n\n")?,
            }
            last = Instant::now();
            std::thread::sleep(NEWS);
        }
        send("event: end\ndata: {}\n\n")
    }
}

fn numbers(s: &Stretch) -> Value {
    json!([s.t, s.steps, s.h.0, s.h.1, s.order.0, s.order.1, s.iterations, s.refused])
}
