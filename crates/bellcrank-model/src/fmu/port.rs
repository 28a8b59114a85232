//! The members of a port: what FMUs exchange where machines are joined, and what they are called.

use crate::space::Space;

/// The kind of a terminal that is a port.
pub const KIND: &str = "org.bellcrank.port";

/// One number of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name: that of the channel of a probe, or of a load.
    pub name: &'static str,
    /// Whether it is a load: an input. Motions are outputs.
    pub is_load: bool,
    /// Whether it is about an axis, not along it.
    pub turns: bool,
    /// Its place: of loads along x, y, z and about them; of motions first the place (its angles as yaw, pitch and roll), then
    /// the twist, then the accelerations.
    pub place: usize,
    in_plane: bool,
    in_space: bool,
}

const fn member(name: &'static str, place: usize, in_plane: bool, in_space: bool) -> Member {
    Member { name, is_load: false, turns: place % 6 > 2, place, in_plane, in_space }
}

const fn load(name: &'static str, place: usize, in_plane: bool) -> Member {
    Member { name, is_load: true, turns: place > 2, place, in_plane, in_space: true }
}

const MEMBERS: [Member; 25] = [
    load("fx", 0, true),
    load("fy", 1, true),
    load("fz", 2, false),
    load("mx", 3, false),
    load("my", 4, false),
    load("mz", 5, true),
    member("x", 0, true, true),
    member("y", 1, true, true),
    member("z", 2, false, true),
    member("angle", 5, true, false),
    member("roll", 3, false, true),
    member("pitch", 4, false, true),
    member("yaw", 5, false, true),
    member("vx", 6, true, true),
    member("vy", 7, true, true),
    member("vz", 8, false, true),
    member("wx", 9, false, true),
    member("wy", 10, false, true),
    member("wz", 11, true, true),
    member("ax", 12, true, true),
    member("ay", 13, true, true),
    member("az", 14, false, true),
    member("alphax", 15, false, true),
    member("alphay", 16, false, true),
    member("alphaz", 17, true, true),
];

/// The members that ports have in the plane, or in space.
pub fn members(space: Space) -> impl Iterator<Item = Member> {
    let here = move |m: &Member| if space == Space::Plane { m.in_plane } else { m.in_space };
    MEMBERS.into_iter().filter(here)
}
