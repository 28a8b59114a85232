//! What the error of a run will be at its end, told from a pilot in its first part.
//!
//! In a pilot a companion goes along ([`super::companion`]), and the error e of the run is measured. What becomes of it
//! afterwards is foreseen,
//!
//! ```text
//!     e(t) = e(p) ((t − s)/(p − s))^g
//! ```
//!
//! with s the beginning of a stretch of the run and p the end of its pilot; where something takes energy out, evaluations stand in the place of times, as
//! a motion that comes to rest makes no more errors. Errors that add up grow like t, or like t² where the
//! frequency depends on the energy; g = 3/2 is within a small factor of both. Where something takes energy out and the companion comes
//! closer to the run again, errors die out and g = 0. A stretch ends at an event or where a load jumps. The errors of stretches are added, those of
//! earlier ones grow on like t^(g−1), and a stretch without a pilot adds as much in a second as what was before it.
//!
//! Where nothing takes energy out, the balance of energy tells more at no cost: with a part ε of the energy wrong, speeds are wrong by the part
//! ε/2, and places along the path s by ½ ∫ ε ds in a motion that goes on in one sense. The frequency of one that goes to and fro changes less, and
//!
//! ```text
//!     e = ⅛ ∫ ε ds
//! ```
//!
//! is within a small factor of both. The larger of the two is told. A new pilot begins where the machine moves several times as fast as in the last one.
//!
//! A pilot ends after a part of the stretch, or when companions have taken a part of the evaluations that the run will take. On
//! undamped machines over some ten periods (`auto`, `dopri5`, `bdf`, `gen-alpha`; 1e-4, 1e-6, 1e-8), 201 of 219 estimates were between a tenth and
//! ten times the error, and none was less than a thirtieth (`cargo bench -p bellcrank-solve --bench told`). A power g that was fitted to the
//! pilot foresaw less than 3/2, and a companion that is closer more than one that goes on longer for the same evaluations.

/// The part of a stretch in which the companion goes along.
const PILOT: f64 = 0.15;

/// Companions take about this part of the evaluations that a run will take: where errors last, and where something takes energy out.
const SHARE: f64 = 0.08;
const SMALL_SHARE: f64 = 0.04;

/// They have a share more where a run begins anew. A pilot begins only if so many times what was taken is left.
const MORE_FOR_ANOTHER: f64 = 1.5;

/// Before this part of a run, its evaluations say little of those to come.
const EARLY: f64 = 0.05;

/// How fast what was seen of earlier steps is forgotten.
const SMOOTH: f64 = 0.05;

/// A stretch is compared so often in its pilot at least, and a run so often.
const LOOKS: f64 = 16.0;

/// A pilot with fewer looks tells of the first steps of a companion alone, and is none after another one.
const FEWEST: usize = 6;

/// Errors grow like t to this power: between those of a phase, and those of a frequency that depends on the energy.
pub(super) const GROWTH: f64 = 1.5;

/// Where something damps, errors die out if so many of the last ones are less than this part of the largest.
const LAST: usize = 4;
const FALLEN: f64 = 0.5;

/// The part of the energy that is wrong, times the path: how much of it an error becomes.
const SLIP: f64 = 0.125;

/// A pilot of a motion with so much less energy tells nothing of what follows.
const OUTGROWN: f64 = 16.0;

/// So often a new pilot begins for that, each with a share of its own; then there is no estimate.
const MOST_OUTGROWN: usize = 2;

/// A companion is given up if it takes so many evaluations more than twice those of the run.
const MOST_AHEAD: usize = 1000;

/// A run of which less than this part lies in stretches with a pilot has no estimate.
const LEAST: f64 = 0.5;

/// Why there is no estimate of the error.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) enum Unknown {
    /// Nobody asked for one.
    Unasked,
    /// The model is too large for two of it.
    Large,
    /// FMUs cannot be in two states.
    Fmus,
    /// The companion went another way, at a time.
    Lost(f64),
    /// The companion could not go on, at a time.
    Stuck(f64),
    /// The motion has outgrown all pilots, at a time.
    Outgrown(f64),
    /// Stretches follow each other too fast for a pilot in each.
    Events,
}

impl Unknown {
    /// For people; none where nobody asked.
    pub fn words(self) -> Option<String> {
        Some(match self {
            Unknown::Unasked => return None,
            Unknown::Large => "the model is too large to be computed twice".into(),
            Unknown::Fmus => "FMUs cannot be computed twice".into(),
            Unknown::Lost(t) => format!(
                "a coarser run beside this one went another way at t = {t:.6} s: the motion is chaotic, or passes a place where ways part"
            ),
            Unknown::Stuck(t) => format!("a coarser run beside this one could not go on at t = {t:.6} s"),
            Unknown::Outgrown(t) => {
                format!(
                    "since t = {t:.6} s the machine moves much faster than in the parts of the run that were compared with a coarser one"
                )
            }
            Unknown::Events => {
                "the run begins anew too often for a comparison with a coarser one (at events, and where loads jump)"
                    .into()
            }
        })
    }
}

/// What a run has seen of itself when it is followed.
pub(crate) struct Seen {
    /// Its evaluations.
    pub evaluations: usize,
    /// The part of the energy in motion that is wrong, and that energy, in J.
    pub wrong: f64,
    /// See `wrong`.
    pub moves: f64,
}

/// A part of a run between events, with a pilot at its beginning.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
struct PilotStretch {
    begun: f64,
    pilot_until: f64,
    /// When the run was last compared; the beginning if it was not.
    looked: f64,
    /// The largest error, and the last ones.
    largest: f64,
    last: [f64; LAST],
    looks: usize,
    /// The evaluations of the run at its beginning, and when it was last compared.
    taken: [usize; 2],
    /// The energy in motion when the pilot ended, in J; none before.
    moved: Option<f64>,
}

impl PilotStretch {
    fn of(begun: f64, until: f64, taken: usize) -> PilotStretch {
        let pilot_until = begun + PILOT * (until - begun).max(0.0);
        PilotStretch {
            begun,
            pilot_until,
            looked: begun,
            largest: 0.0,
            last: [0.0; LAST],
            looks: 0,
            taken: [taken; 2],
            moved: None,
        }
    }
}

/// What is known of the errors of a run whose companion changes nothing.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Forecast {
    /// The beginning of the run, and its end.
    from: f64,
    until: f64,
    stretch: PilotStretch,
    /// The errors of earlier stretches, and the times of those that had a pilot, in s.
    before: f64,
    piloted: f64,
    /// The error that the balance of energy tells of, and when it was last looked at.
    slip: f64,
    balanced: f64,
    /// Whether errors that something made stay: nothing takes energy out.
    lasting: bool,
    /// The evaluations of the run so far, and those in a second of its last steps.
    taken: usize,
    rate: f64,
    /// How often the motion has outgrown its pilot.
    outgrown: usize,
    /// Why there will be no estimate.
    unknown: Option<Unknown>,
}

impl Forecast {
    /// Of a run that nobody asked to be foreseen.
    pub fn unasked(from: f64, until: f64) -> Forecast {
        Forecast {
            from,
            until,
            stretch: PilotStretch::of(from, until, 0),
            before: 0.0,
            piloted: 0.0,
            slip: 0.0,
            balanced: from,
            lasting: true,
            taken: 0,
            rate: 0.0,
            outgrown: 0,
            unknown: Some(Unknown::Unasked),
        }
    }

    /// Of a run that is.
    pub fn asked(self, lasting: bool, unknown: Option<Unknown>) -> Forecast {
        Forecast { lasting, unknown, ..self }
    }

    /// Whether an estimate may come out.
    pub fn goes_on(&self) -> bool {
        self.unknown.is_none()
    }

    /// Whether errors that something made stay.
    pub fn is_lasting(&self) -> bool {
        self.lasting
    }

    /// There will be none.
    pub fn give_up(&mut self, why: Unknown) {
        self.unknown.get_or_insert(why);
    }

    /// A stretch begins.
    pub fn begin(&mut self, t: f64) {
        self.before = self.error_at(t);
        if self.compared() > 0.0 {
            self.piloted += t - self.stretch.begun;
        }
        self.stretch = PilotStretch::of(t, self.until, self.taken);
    }

    /// The pilot of this stretch is over: companions have taken their share.
    pub fn end_pilot(&mut self) {
        self.stretch.pilot_until = self.stretch.looked;
    }

    /// A step ended at a time, with a speed in sizes of the machine or rad in a second. Whether the motion has become another one than its
    /// pilot knew.
    pub fn watch(&mut self, t: f64, speed: f64, seen: &Seen) -> bool {
        if self.lasting {
            self.slip += SLIP * seen.wrong * speed * (t - self.balanced);
        }
        let rate = seen.evaluations.saturating_sub(self.taken) as f64 / (t - self.balanced);
        if rate.is_finite() {
            self.rate += if self.rate > 0.0 { SMOOTH } else { 1.0 } * (rate - self.rate);
        }
        (self.balanced, self.taken) = (t, seen.evaluations);
        let stretch = &mut self.stretch;
        let is_over = stretch.looked >= stretch.pilot_until;
        let has_outgrown = is_over && seen.moves > OUTGROWN * *stretch.moved.get_or_insert(seen.moves);
        let granted = has_outgrown && self.outgrown < MOST_OUTGROWN;
        if has_outgrown && !granted {
            self.give_up(Unknown::Outgrown(t));
        }
        self.outgrown += usize::from(granted);
        granted
    }

    /// Whether companions that took so many evaluations have taken their share; the first steps of one are ahead of those of the run.
    pub fn is_spent(&self, beside: usize, t: f64) -> bool {
        self.stretch.looks >= FEWEST && !self.affords(beside, t)
    }

    /// Whether they may take more at a time.
    fn affords(&self, beside: usize, t: f64) -> bool {
        let (taken, part) = (self.taken as f64, (t - self.from) / (self.until - self.from));
        let all = (taken / part.max(EARLY)).min(taken + self.rate * (self.until - t));
        let share = if self.lasting { SHARE } else { SMALL_SHARE };
        let shares = 1 + self.outgrown + usize::from(self.stretch.begun > self.from);
        beside as f64 <= share * shares as f64 * all
    }

    /// Whether companions that took so many evaluations may take those of another pilot.
    pub fn affords_pilot(&self, beside: usize, t: f64) -> bool {
        self.affords((MORE_FOR_ANOTHER * beside as f64) as usize, t)
    }

    /// A companion is made at the next change of engines whatever it costs: it takes over the memory of one that was there.
    pub fn afford_all(&mut self) {
        self.taken = usize::MAX;
    }

    /// The most evaluations that companions may have taken at any time: one that takes more stands still.
    pub fn most(&self) -> usize {
        self.taken.saturating_mul(2).saturating_add(MOST_AHEAD)
    }

    /// Whether the run is to be compared with its companion at a time.
    pub fn due(&self, t: f64) -> bool {
        let s = &self.stretch;
        s.looked < s.pilot_until && t - s.looked >= (s.pilot_until - s.begun) / LOOKS
    }

    /// An error was measured.
    pub fn see(&mut self, t: f64, error: f64) {
        let s = &mut self.stretch;
        (s.looked, s.taken[1]) = (t, self.taken);
        s.largest = s.largest.max(error);
        s.last[s.looks % LAST] = error;
        s.looks += 1;
    }

    /// How long this stretch was compared, in s.
    fn compared(&self) -> f64 {
        let s = &self.stretch;
        if s.looks >= FEWEST || self.piloted == 0.0 { s.looked - s.begun } else { 0.0 }
    }

    /// The largest error up to a time, as pilots tell.
    fn error_at(&self, t: f64) -> f64 {
        let s = &self.stretch;
        let (now, earlier, compared) = (t - s.begun, s.begun - self.from, self.compared());
        let has_fallen = s.looks > 2 * LAST && s.last.iter().all(|e| *e < FALLEN * s.largest);
        let dies_out = has_fallen && !self.lasting;
        let (growth, of_earlier) = if dies_out { (0.0, 0.0) } else { (GROWTH, GROWTH - 1.0) };
        let before = if earlier > 0.0 { self.before * (1.0 + now / earlier).powf(of_earlier) } else { self.before };
        let taken = |until: usize| (until.saturating_sub(s.taken[0])).max(1) as f64;
        let longer = if self.lasting { now / compared } else { taken(self.taken) / taken(s.taken[1]) };
        let since = match compared > 0.0 {
            true => s.largest * longer.max(1.0).powf(growth),
            false if earlier > 0.0 => self.before * now / earlier,
            false => 0.0,
        };
        before + since
    }

    /// The estimate at a time, or why there is none.
    pub fn error(&self, t: f64) -> Result<f64, Unknown> {
        if let Some(why) = self.unknown {
            return Err(why);
        }
        let s = &self.stretch;
        let compared = self.piloted + if self.compared() > 0.0 { t - s.begun } else { 0.0 };
        if compared <= LEAST * (t - self.from) {
            return Err(Unknown::Events);
        }
        Ok(self.error_at(t).max(self.slip).max(f64::EPSILON))
    }
}
