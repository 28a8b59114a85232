//! Branches: where functions bend or jump, and which of their arguments count on which side.
//!
//! A function that bends picks a branch by comparing its arguments. Over a stretch in which a comparison always comes out
//! the same, the branch is decided, and arguments that it does not use do not count: `if(t < 1, sin(t), floor(t))` is smooth up to
//! t = 1. A function that is constant on a branch uses none of its arguments there.

use super::interval::Interval;

/// A branch, and the arguments that count on it, as bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Branch {
    pub number: i64,
    pub counts: u8,
}

/// The branch over intervals of the arguments; `None` where more than one is possible.
pub(super) type Pick = fn(&[Interval]) -> Option<Branch>;

fn branch(number: i64, counts: u8) -> Option<Branch> {
    Some(Branch { number, counts })
}

/// Whether x < y: always, never, or both.
fn less(x: Interval, y: Interval) -> Option<bool> {
    if x.hi < y.lo {
        Some(true)
    } else if x.lo >= y.hi {
        Some(false)
    } else {
        None
    }
}

fn constant(holds: Option<bool>) -> Option<Branch> {
    branch(i64::from(holds?), 0)
}

pub(super) fn below(a: &[Interval]) -> Option<Branch> {
    constant(less(a[0], a[1]))
}

pub(super) fn above(a: &[Interval]) -> Option<Branch> {
    constant(less(a[1], a[0]))
}

pub(super) fn not_above(a: &[Interval]) -> Option<Branch> {
    constant(less(a[1], a[0]).map(|above| !above))
}

pub(super) fn not_below(a: &[Interval]) -> Option<Branch> {
    constant(less(a[0], a[1]).map(|below| !below))
}

fn same(a: &[Interval]) -> Option<bool> {
    match (a[0].as_point(), a[1].as_point()) {
        (Some(x), Some(y)) => Some(x == y),
        _ => (a[0].hi < a[1].lo || a[1].hi < a[0].lo).then_some(false),
    }
}

pub(super) fn equal(a: &[Interval]) -> Option<Branch> {
    constant(same(a))
}

pub(super) fn not_equal(a: &[Interval]) -> Option<Branch> {
    constant(same(a).map(|same| !same))
}

/// Whether x = 0: always, never, or both.
fn vanishes(x: Interval) -> Option<bool> {
    if x.as_point() == Some(0.0) {
        Some(true)
    } else if x.lo > 0.0 || x.hi < 0.0 {
        Some(false)
    } else {
        None
    }
}

pub(super) fn sign(a: &[Interval]) -> Option<Branch> {
    let number = if vanishes(a[0])? { 0 } else { a[0].lo.signum() as i64 };
    branch(number, 0)
}

pub(super) fn floor(a: &[Interval]) -> Option<Branch> {
    let (lo, hi) = (a[0].lo.floor(), a[0].hi.floor());
    if lo == hi { branch(lo.to_bits() as i64, 0) } else { None }
}

/// The number of half turns, counted from zero.
pub(super) fn half_turns(a: &[Interval]) -> Option<Branch> {
    half_turn(a[0], 0.0)
}

/// The number of half turns, counted from a quarter turn below zero.
pub(super) fn half_turns_about_zero(a: &[Interval]) -> Option<Branch> {
    half_turn(a[0], 0.5)
}

fn half_turn(x: Interval, from: f64) -> Option<Branch> {
    let [lo, hi] = [x.lo, x.hi].map(|x| (x / std::f64::consts::PI + from).floor());
    if lo == hi { branch(lo as i64, 1) } else { None }
}

pub(super) fn abs(a: &[Interval]) -> Option<Branch> {
    branch(i64::from(less(a[0], Interval::point(0.0))?), 1)
}

/// The second argument only where it is less, as the value has it.
pub(super) fn least(a: &[Interval]) -> Option<Branch> {
    if less(a[1], a[0])? { branch(1, 0b10) } else { branch(0, 0b01) }
}

pub(super) fn largest(a: &[Interval]) -> Option<Branch> {
    if less(a[0], a[1])? { branch(1, 0b10) } else { branch(0, 0b01) }
}

/// Before, between and after the two ends.
pub(super) fn step(a: &[Interval]) -> Option<Branch> {
    let (x, x0, x1) = (a[0], a[1], a[3]);
    if !less(x0, x)? {
        branch(0, 0b00100)
    } else if !less(x, x1)? {
        branch(2, 0b10000)
    } else {
        branch(1, 0b11111)
    }
}

pub(super) fn choice(a: &[Interval]) -> Option<Branch> {
    if vanishes(a[0])? { branch(0, 0b100) } else { branch(1, 0b010) }
}

/// The half plane x > 0, and the two quadrants beside the cut along x < 0.
pub(super) fn angle(a: &[Interval]) -> Option<Branch> {
    let (y, x) = (a[0], a[1]);
    if less(Interval::point(0.0), x)? {
        branch(0, 0b11)
    } else {
        branch(1 + i64::from(less(y, Interval::point(0.0))?), 0b11)
    }
}
