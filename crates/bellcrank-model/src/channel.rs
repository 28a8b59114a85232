//! Channels: names, units and meanings of what can be recorded, and the choice of some of them.

use crate::space::Space;

/// A recorded quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// The user's name of it, such as `crank.vx`.
    pub name: String,
    /// Its SI unit, such as `m/s`; empty for a pure number.
    pub unit: &'static str,
}

/// One number that an element tells of itself: a row of the table of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// What follows the element's name and a dot.
    pub name: &'static str,
    /// Its unit where the motion slides, and where nothing depends on a motion.
    pub unit: &'static str,
    /// Its unit where the motion turns; empty if that makes no difference.
    pub turning: &'static str,
    /// The only kind of model that has it.
    pub only: Option<Space>,
    /// What it means, with its sign and its frame.
    pub doc: &'static str,
}

impl Quantity {
    /// A quantity of every model.
    pub const fn new(name: &'static str, unit: &'static str, doc: &'static str) -> Quantity {
        Quantity { name, unit, turning: "", only: None, doc }
    }

    /// With another unit where the motion turns.
    pub const fn turning(self, turning: &'static str) -> Quantity {
        Quantity { turning, ..self }
    }

    /// In space alone.
    pub const fn in_space(self) -> Quantity {
        Quantity { only: Some(Space::Space), ..self }
    }

    /// In the plane alone.
    pub const fn in_plane(self) -> Quantity {
        Quantity { only: Some(Space::Plane), ..self }
    }

    /// Whether a model in this space has it.
    pub fn is_in(&self, space: Space) -> bool {
        self.only.is_none_or(|only| only == space)
    }

    /// Its unit for a motion that turns or slides.
    pub fn unit_of(&self, turns: bool) -> &'static str {
        if turns && !self.turning.is_empty() { self.turning } else { self.unit }
    }

    /// Both units, for the reference.
    pub fn units(&self) -> String {
        match (self.unit, self.turning) {
            ("", "") => "1".into(),
            (unit, "") => unit.into(),
            (unit, turning) => format!("{unit}, {turning}"),
        }
    }
}

/// Whose axes a load is told in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoadAxes {
    /// The world's.
    World,
    /// Those of the first body.
    First,
    /// Those of the second body, on which it acts.
    Second,
}

/// What of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProbePart {
    /// Position, velocity, acceleration and angular velocity.
    Motion,
    /// Angles and angular acceleration.
    Turn,
    /// Velocity, acceleration and angular velocity in its own axes.
    Own,
}

/// Channels that are computed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// A single channel of equations that know no model, by its number.
    Plain(usize),
    /// Position and rotation of a body, and its velocities.
    Motion(usize),
    /// The modal coordinates of a flexible body.
    Deformation(usize),
    /// A joint coordinate and its rate: its number among all, its joint, which of the joint's.
    Coordinate(usize, usize, usize),
    /// The load that a joint puts on its second body.
    Reaction(usize, LoadAxes),
    /// What a force tells of itself.
    Force(usize),
    /// The load that a force puts on its last body.
    Load(usize, LoadAxes),
    /// A probe.
    Probe(usize, ProbePart),
    /// The energies.
    Energy,
    /// An input.
    Input(usize),
    /// A state of the user.
    State(usize),
    /// The outputs of an FMU whose equations are part of the model.
    Guest(usize),
    /// Accelerations of a body.
    Acceleration(usize),
    /// The Cardan angles of a body.
    Cardan(usize),
    /// The acceleration of a joint coordinate, numbered as in `Coordinate`.
    Second(usize, usize, usize),
}

/// Some of the channels of a machine, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Groups, with a bit for each of their channels that is wanted.
    pub items: Vec<(Group, u128)>,
    /// What they are.
    pub channels: Vec<Channel>,
    /// Whether accelerations or reactions are among what they are computed from.
    pub reactive: bool,
}

impl Selection {
    /// Adds a channel of a group, the `k`-th of it; channels come in order.
    pub fn add(&mut self, group: Group, k: usize, channel: Channel) {
        match self.items.last_mut() {
            Some((last, bits)) if *last == group => *bits |= 1 << k,
            _ => self.items.push((group, 1 << k)),
        }
        self.channels.push(channel);
    }

    /// Takes what is wanted out of the values of a group.
    pub fn pick(bits: u128, values: &[f64], out: &mut Vec<f64>) {
        out.extend(values.iter().enumerate().filter(|(k, _)| bits >> k & 1 == 1).map(|(_, x)| *x));
    }
}

/// A pattern of names: `*` stands for any letters, `?` for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(pub String);

impl Pattern {
    /// Whether a name fits.
    pub fn fits(&self, name: &str) -> bool {
        fits(self.0.as_bytes(), name.as_bytes())
    }

    /// Whether it can only fit the name it spells.
    pub fn is_name(&self) -> bool {
        !self.0.contains(['*', '?'])
    }
}

/// Greedy matching with one place to come back to.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut back = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                back = Some((p, n));
                p += 1;
                continue;
            }
            Some(b'?') => {
                // one letter may be several bytes
                n += 1;
                while name.get(n).is_some_and(|b| b & 0xC0 == 0x80) {
                    n += 1;
                }
                p += 1;
                continue;
            }
            Some(c) if *c == name[n] => {
                (p, n) = (p + 1, n + 1);
                continue;
            }
            _ => {}
        }
        let Some((star, from)) = back else { return false };
        (p, n) = (star + 1, from + 1);
        back = Some((star, n));
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_in_a_shell() {
        for (pattern, name, yes) in [
            ("pin.*", "pin.angle", true),
            ("pin.*", "pin2.angle", false),
            ("*.f?", "pin.fx", true),
            ("*.f?", "pin.force", false),
            ("*", "", true),
            ("a*b*c", "a.b.b.c", true),
            ("a*b*c", "a.b.b.cd", false),
            ("?", "ü", true),
            ("pin.angle", "pin.angle", true),
            ("", "x", false),
            ("body.*.x", "body.a.b.x", true),
            ("c?ank.*", "crank.vx", true),
            ("a*b*c", "aXbYbZc", true),
            ("*.x", "crank.vx", false),
            ("crank", "crank.x", false),
            ("?", "", false),
            ("body.*.x", "body.x", false),
        ] {
            assert_eq!(Pattern(pattern.into()).fits(name), yes, "{pattern} {name}");
        }
    }
}
