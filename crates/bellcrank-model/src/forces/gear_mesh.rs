//! A gear whose teeth give, and have play.

use super::closing::{Closing, DAMPING, OPEN, Push};
use super::{Ends, Force, Kind, Made, Placement, Seen, Switch, combined, scaled};
use crate::channel::Quantity;
use crate::dynamics::{Mode, Track};
use crate::file::{Field, FieldKind, Values};
use crate::frames::{Covector, Frames, Row, Stiffness};
use crate::joints::equations::Measure;

/// Pushes on the second coordinate with the law of a flank where δ = x₂ − ratio · x₁ − constant is beyond ± half the play, and with
/// −ratio of that on the first; and with −c δ̇ everywhere. Without play, −k δ − c δ̇.
struct GearMesh {
    terms: [(f64, Measure); 2],
    constant: f64,
    half_play: f64,
    flanks: Closing,
    stiffness: f64,
    viscous: f64,
}

/// The modes: a flank is closed in the mode after [`OPEN`], or in the one after that.
const BEHIND: Mode = OPEN + 1;
const AHEAD: Mode = OPEN + 2;

/// The catalog entry.
pub const KIND: Kind = Kind {
    name: "gear-mesh",
    doc: "Teeth that give and have play, between one coordinate of each of two `joints`, turns or slides: the second is ahead of \
          its place by d = x₂ − ratio · x₁, counted from the start, over any number of turns. Up to half the `backlash` \
          on either side nothing touches; beyond that by s, a flank pushes back with stiffness · s · (1 + damping · ds/dt), and never pulls. \
          Flanks that touch and leave are events. `viscous` acts everywhere. Without `backlash` it is a spring, stiffness · d, with `viscous` as its \
          damper. The load on the first joint is −ratio times that on the second.",
    fields: &[
        Field::required(
            "ratio",
            FieldKind::Number,
            "rad/rad, m/m, m/rad, rad/m",
            "motion of the second joint per motion of the first; negative for external gears",
        ),
        Field::required(
            "stiffness",
            FieldKind::Positive,
            "N/m, N m/rad",
            "stiffness of the teeth, seen at the second joint",
        ),
        Field::optional("backlash", FieldKind::NonNegative, "m, rad", "0", "the whole play, seen at the second joint"),
        DAMPING,
        Field::optional(
            "viscous",
            FieldKind::NonNegative,
            "N s/m, N m s/rad",
            "0",
            "damping that acts also within the play",
        ),
        Field::optional(
            "offset",
            FieldKind::Number,
            "m, rad",
            "0",
            "how far the second is ahead of the middle of the play at the start",
        ),
        Field::optional(
            "coordinates",
            FieldKind::Names(2, 2),
            "",
            "their only ones",
            "which coordinate of each joint: `angle` or `position`, then `angle2`, `position2`, …",
        ),
    ],
    ends: Ends::Joints,
    channels: CHANNELS,
    make,
};

const CHANNELS: &[Quantity] = &[
    Quantity::new("deflection", "m", "how far the second joint is ahead of its place").turning("rad"),
    Quantity::new("effort", "N", "push on the second joint: positive when it drives it forward").turning("N m"),
];

fn make(values: &Values, place: &Placement) -> Made {
    let what = values.what();
    let ratio = values.number("ratio");
    if ratio == 0.0 {
        let help = "give the motion of the second joint per motion of the first";
        return Err(values.error_at("ratio", format!("`ratio` of {what} is zero")).help(help).into());
    }
    let motions = place.acts_on_both.expect("the reader places it on two coordinates");
    let [first, second] = motions.map(|m| usize::from(m.turns()));
    values.check_unit("ratio", [["m/m", "rad/m"], ["m/rad", "rad/rad"]][first][second])?;
    for key in ["backlash", "offset"] {
        values.check_unit(key, ["m", "rad"][second])?;
    }
    let backlash = values.number("backlash");
    if backlash == 0.0 && values.number("damping") != 0.0 {
        let message = format!("`damping` of {what} is for flanks, which touch only where there is `backlash`");
        return Err(values.error_at("damping", message).help("without play, use `viscous`").into());
    }
    let terms = [
        (-ratio, Measure { motion: motions[0], ends: [0, 1], turn: 0 }),
        (1.0, Measure { motion: motions[1], ends: [2, 3], turn: first }),
    ];
    let at = Frames { t: 0.0, ends: &place.frames, near: &[] };
    let drawn = |(c, m): &(f64, Measure)| c * m.value_near(&at, place.angles[m.ends[1]] - place.angles[m.ends[0]]);
    let stiffness = values.number("stiffness");
    Ok(Box::new(GearMesh {
        terms,
        constant: terms.iter().map(drawn).sum::<f64>() - values.number("offset"),
        half_play: 0.5 * backlash,
        flanks: Closing::Soft { stiffness, exponent: 1.0, damping: values.number("damping") },
        stiffness,
        viscous: values.number("viscous"),
    }))
}

impl GearMesh {
    fn frames<'a>(at: &Seen<'a>) -> Frames<'a> {
        Frames { t: at.t, ends: at.ends, near: at.near }
    }

    /// δ.
    fn ahead(&self, at: &Seen) -> f64 {
        let frames = GearMesh::frames(at);
        self.terms.iter().map(|(c, m)| c * m.value(&frames)).sum::<f64>() - self.constant
    }

    /// ∂δ/∂displacement, which is ∂δ̇/∂twist.
    fn gradient(&self, at: &Seen) -> Row {
        let mut row = Row::default();
        for (c, m) in self.terms {
            for (form, end) in m.gradient(&GearMesh::frames(at)).into_iter().zip(m.ends) {
                row[end] = Covector::new(form.lin * c, form.ang * c);
            }
        }
        row
    }

    fn rate(&self, at: &Seen) -> f64 {
        self.gradient(at).iter().zip(at.ends).map(|(form, end)| form.on(end)).sum()
    }

    /// ∂²δ/∂displacement² times a load.
    fn curvature(&self, at: &Seen, load: f64) -> Stiffness {
        let mut k = Stiffness::default();
        self.terms.iter().for_each(|(c, m)| m.curvature(&GearMesh::frames(at), c * load, &mut k));
        k
    }

    fn has_play(&self) -> bool {
        self.half_play > 0.0
    }

    /// The gaps of the flanks that push forward and backward.
    fn gaps(&self, at: &Seen) -> [f64; 2] {
        let ahead = self.ahead(at);
        [self.half_play + ahead, self.half_play - ahead]
    }

    /// What the teeth do along δ.
    fn push(&self, at: &Seen) -> Push {
        if !self.has_play() {
            let (k, ahead) = (self.stiffness, self.ahead(at));
            let (elastic, stored) = (-k * ahead, 0.5 * k * ahead * ahead);
            return Push { force: elastic, by_gap: -k, elastic, stored, ..Push::default() };
        }
        let sides = self.gaps(at).into_iter().zip([(BEHIND, 1.0), (AHEAD, -1.0)]);
        let mut acting = sides.filter(|(gap, (closed, _))| Closing::acts(at.mode, *closed, *gap));
        let Some((gap, (_, sign))) = acting.next() else { return Push::default() };
        let push = self.flanks.push(gap, sign * self.rate(at));
        // by δ: the gap of the second flank closes as δ grows
        Push { force: sign * push.force, elastic: sign * push.elastic, ..push }
    }

    fn effort(&self, at: &Seen) -> f64 {
        self.push(at).force - self.viscous * self.rate(at)
    }
}

impl Force for GearMesh {
    fn quantities(&self) -> &'static [Quantity] {
        CHANNELS
    }
    fn turns(&self) -> bool {
        self.terms[1].1.motion.turns()
    }
    fn observe(&self, at: &Seen, out: &mut [f64]) {
        out.copy_from_slice(&[self.ahead(at), self.effort(at)]);
    }
    fn load(&self, at: &Seen, out: &mut [Covector]) {
        let effort = self.effort(at);
        for (out, form) in out.iter_mut().zip(self.gradient(at)) {
            out.lin += form.lin * effort;
            out.ang += form.ang * effort;
        }
    }
    fn stiffness(&self, at: &Seen, k: &mut Stiffness, d: &mut Stiffness) {
        let push = self.push(at);
        let by_rate = push.by_rate - self.viscous;
        let gradient = self.gradient(at);
        let drift = self.curvature(at, 1.0).contract(at.ends);
        let by_displacement = combined(push.by_gap, &gradient, by_rate, &drift);
        let by_twist = scaled(by_rate, &gradient);
        k.add_scaled(1.0, &self.curvature(at, self.effort(at)), 0);
        for i in 0..at.ends.len() {
            for j in 0..at.ends.len() {
                k.add_outer(i, gradient[i], j, by_displacement[j]);
                d.add_outer(i, gradient[i], j, by_twist[j]);
            }
        }
    }
    fn stored(&self, at: &Seen) -> f64 {
        self.push(at).stored
    }
    fn power(&self, at: &Seen) -> f64 {
        let (push, rate) = (self.push(at), self.rate(at));
        (push.force - push.elastic) * rate - self.viscous * rate * rate
    }
    fn has_power(&self) -> bool {
        self.damped()
    }
    fn damped(&self) -> bool {
        self.viscous != 0.0 || self.flanks.damped()
    }
    fn rotational(&self, end: usize) -> bool {
        self.terms.iter().any(|(_, m)| end == m.ends[0] || (end == m.ends[1] && m.motion.turns()))
    }
    fn angles(&self) -> Vec<Measure> {
        self.terms.iter().map(|(_, m)| *m).filter(|m| m.motion.turns()).collect()
    }
    fn switches(&self) -> usize {
        if self.has_play() { 2 } else { 0 }
    }
    fn jumps(&self) -> bool {
        false
    }
    fn mode(&self, at: &Seen) -> Mode {
        let ([behind, ahead], rate) = (self.gaps(at), self.rate(at));
        match [self.flanks.starts_closed(behind, rate), self.flanks.starts_closed(ahead, -rate)] {
            [true, _] => BEHIND,
            [_, true] => AHEAD,
            _ => OPEN,
        }
    }
    fn switch_values(&self, at: &Seen, out: &mut [f64]) {
        let [behind, ahead] = self.gaps(at);
        match at.mode {
            BEHIND => out[0] = -behind,
            AHEAD => out[1] = -ahead,
            _ => (out[0], out[1]) = (behind, ahead),
        }
    }
    fn tracks(&self, at: &Seen, out: &mut [Track]) {
        let ([behind, ahead], rate) = (self.gaps(at), self.rate(at));
        match at.mode {
            BEHIND => out[0] = Track::Line { x: -behind, rate: -rate },
            AHEAD => out[1] = Track::Line { x: -ahead, rate },
            _ => (out[0], out[1]) = (Track::Line { x: behind, rate }, Track::Line { x: ahead, rate: -rate }),
        }
    }
    fn cross(&self, k: usize, at: &Seen) -> Option<Switch> {
        self.flanks.cross(at.mode, [BEHIND, AHEAD][k])
    }
}
