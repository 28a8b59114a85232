//! Claims: a measured number, the range it is asked to lie in, and whose number that range comes from.

use serde_json::{Value, json};

/// Whose number a claim is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// A number or a statement printed in the paper.
    Paper,
    /// A formula: an order, a limit of stability, a closed form, rounding.
    Theory,
    /// A solution or a count from another program.
    Independent,
    /// Another run of Bellcrank, by another method or at another tolerance. Such a claim is a law that our own methods
    /// keep; it says nothing about the paper and is counted apart.
    Ours,
}

impl Against {
    /// Every kind, in the order in which they are listed.
    pub const ALL: [Against; 4] = [Against::Paper, Against::Theory, Against::Independent, Against::Ours];

    /// Its name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Against::Paper => "the paper",
            Against::Theory => "theory",
            Against::Independent => "another program",
            Against::Ours => "our own runs",
        }
    }
}

/// A closed range of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    low: f64,
    high: f64,
}

/// Numbers up to `most`.
pub fn at_most(most: f64) -> Range {
    Range { low: f64::NEG_INFINITY, high: most }
}

/// Numbers from `least` on.
pub fn at_least(least: f64) -> Range {
    Range { low: least, high: f64::INFINITY }
}

/// Numbers from `low` to `high`.
pub fn between(low: f64, high: f64) -> Range {
    Range { low, high }
}

/// `value` and nothing else.
pub fn exactly(value: impl Number) -> Range {
    let value = value.number();
    Range { low: value, high: value }
}

/// `value` ± `by`.
pub fn around(value: f64, by: f64) -> Range {
    Range { low: value - by, high: value + by }
}

/// `value` ± `part` of itself.
pub fn near(value: impl Number, part: f64) -> Range {
    let value = value.number();
    around(value, part * value.abs())
}

/// From `value / factor` to `value · factor`.
pub fn within_factor(value: impl Number, factor: f64) -> Range {
    let value = value.number();
    Range { low: value / factor, high: value * factor }
}

impl Range {
    /// Whether a number lies in it; NaN lies in none.
    pub fn holds(self, x: f64) -> bool {
        x >= self.low && x <= self.high
    }

    /// How far a number could move before it left the range, as a factor; 1 where the range has two ends, which says how
    /// narrow it is by itself.
    pub fn slack(self, x: f64) -> f64 {
        match (self.low.is_finite(), self.high.is_finite()) {
            (false, true) => self.high / x,
            (true, false) => x / self.low,
            _ => 1.0,
        }
    }

    fn text(self) -> String {
        match (self.low.is_finite(), self.high.is_finite()) {
            (false, _) => format!("≤ {}", shown(self.high)),
            (_, false) => format!("≥ {}", shown(self.low)),
            _ if self.low == self.high => shown(self.low),
            _ => format!("{} … {}", shown(self.low), shown(self.high)),
        }
    }
}

/// What can be measured.
pub trait Number {
    /// As a number; NaN, which no range holds, where there is none.
    fn number(self) -> f64;
}

impl Number for f64 {
    fn number(self) -> f64 {
        self
    }
}

impl Number for usize {
    fn number(self) -> f64 {
        self as f64
    }
}

impl<N: Number> Number for Option<N> {
    fn number(self) -> f64 {
        self.map_or(f64::NAN, N::number)
    }
}

/// A number with the digits that a reader wants.
pub fn shown(x: f64) -> String {
    let size = x.abs();
    match size {
        _ if x.is_nan() => "–".into(),
        _ if x == x.round() && size < 1e6 => format!("{x}"),
        _ if (1e-2..1e4).contains(&size) => {
            let digits = (3 - size.log10().floor() as i32).max(0) as usize;
            let text = format!("{x:.digits$}");
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
        }
        _ => format!("{x:.2e}"),
    }
}

/// One number of a claim.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What was measured.
    pub what: &'static str,
    /// What came out.
    pub ours: f64,
    /// Where it has to lie.
    pub asked: Range,
}

/// A statement, the numbers it rests on, and whose numbers they are held against.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The table or figure it belongs to.
    pub table: &'static str,
    /// What it says.
    pub what: String,
    /// Whose numbers the ranges come from.
    pub against: Against,
    /// What the paper prints for the same row, if anything.
    pub paper: Option<String>,
    /// The numbers; all of them have to lie in their ranges.
    pub measured: Vec<Measured>,
}

impl Claim {
    /// A claim that rests on nothing yet, and therefore does not hold.
    pub fn new(table: &'static str, against: Against, what: impl Into<String>) -> Claim {
        Claim { table, what: what.into(), against, paper: None, measured: Vec::new() }
    }

    /// Adds a number and its range.
    pub fn asks(&mut self, what: &'static str, ours: impl Number, asked: Range) -> &mut Claim {
        self.measured.push(Measured { what, ours: ours.number(), asked });
        self
    }

    /// Adds a fact: how many of some things, such as runs that finished, are as they should be.
    pub fn all(&mut self, what: &'static str, good: usize, of: usize) -> &mut Claim {
        self.asks(what, good, exactly(of))
    }

    /// Says what the paper prints for the same row.
    pub fn paper(&mut self, text: impl Into<String>) -> &mut Claim {
        self.paper = Some(text.into());
        self
    }

    /// Whether every number lies in its range.
    pub fn holds(&self) -> bool {
        !self.measured.is_empty() && self.measured.iter().all(|m| m.asked.holds(m.ours))
    }

    /// Our numbers as text.
    pub fn ours(&self) -> String {
        self.joined(|m| shown(m.ours))
    }

    /// What is asked of them.
    pub fn asked(&self) -> String {
        self.joined(|m| m.asked.text())
    }

    fn joined(&self, text: impl Fn(&Measured) -> String) -> String {
        match &self.measured[..] {
            [only] if only.what.is_empty() => text(only),
            all => all.iter().map(|m| format!("{} {}", m.what, text(m))).collect::<Vec<_>>().join(", "),
        }
    }

    /// As `--json` prints it.
    pub fn to_json(&self) -> Value {
        let finite = |x: f64| x.is_finite().then_some(x);
        let number = |m: &Measured| {
            let (low, high) = (finite(m.asked.low), finite(m.asked.high));
            json!({ "what": m.what, "ours": finite(m.ours), "least": low, "most": high, "holds": m.asked.holds(m.ours) })
        };
        json!({
            "table": self.table, "claim": self.what, "against": self.against.name(), "paper": self.paper,
            "numbers": self.measured.iter().map(number).collect::<Vec<_>>(), "holds": self.holds(),
        })
    }
}

#[cfg(test)]
pub mod vacuous {
    //! Whether claims could fail.

    use super::*;
    use crate::report::Report;
    use std::collections::BTreeMap;

    /// How far a one-sided range may lie from the nearest number of its kind.
    const SLACK: f64 = 3.0;
    /// The same for bounds at the level of rounding, which differs between processors.
    const SLACK_OF_ROUNDING: f64 = 30.0;
    /// Bounds below this are about rounding.
    const ROUNDING: f64 = 1e-11;
    /// How far the ends of a two-sided range may lie apart.
    const WIDTH: f64 = 4.5;

    /// The same claim with the range of one number turned round: everything that was outside is now inside.
    fn turned_round(claim: &Claim, k: usize) -> bool {
        let Measured { ours, asked, .. } = claim.measured[k];
        let (below, above) = (at_most(asked.low.next_down()), at_least(asked.high.next_up()));
        below.holds(ours) || above.holds(ours)
    }

    /// Panics unless every claim holds, fails when any of its ranges is turned round, and asks for about what was measured:
    /// of the numbers of one kind in one table the nearest comes within a factor of three of its bound.
    pub fn every_claim_holds_and_could_fail(report: &Report, tables: &[&str]) {
        let claims = || report.claims.iter().filter(|c| tables.contains(&c.table));
        for table in tables {
            assert!(claims().any(|c| c.table == *table), "no claim about {table}");
        }
        let mut nearest: BTreeMap<(&str, &str, &str), f64> = BTreeMap::new();
        for claim in claims() {
            assert!(claim.holds(), "{}: {}: {} (asked: {})", claim.table, claim.what, claim.ours(), claim.asked());
            for (k, m) in claim.measured.iter().enumerate() {
                assert!(!turned_round(claim, k), "{} holds either way", claim.what);
                let Range { low, high } = m.asked;
                if low.is_finite() && high.is_finite() {
                    let narrow = high - low <= 0.5 || low > 0.0 && high / low <= WIDTH;
                    assert!(narrow, "{}: {} is asked to lie in {}", claim.what, m.what, m.asked.text());
                    continue;
                }
                let slack = nearest.entry((claim.table, claim.against.name(), m.what)).or_insert(f64::INFINITY);
                let allowed = if high <= ROUNDING { SLACK_OF_ROUNDING } else { SLACK };
                *slack = slack.min(m.asked.slack(m.ours) / allowed);
            }
        }
        for ((table, against, what), slack) in nearest {
            assert!(slack <= 1.0, "{table}, {what} against {against}: {slack:.1} times too lax");
        }
    }

    #[test]
    fn a_claim_without_numbers_and_one_of_nan_do_not_hold() {
        let mut claim = Claim::new("1", Against::Theory, "nothing");
        assert!(!claim.holds());
        claim.asks("", f64::NAN, at_most(1.0));
        assert!(!claim.holds() && claim.ours() == "–");
    }

    #[test]
    fn a_bound_far_from_what_was_measured_is_found() {
        let with = |x: f64, range: Range| {
            let mut report = Report::default();
            report.claim("1", Against::Paper, "x").asks("x", x, range);
            std::panic::catch_unwind(move || every_claim_holds_and_could_fail(&report, &["1"])).is_ok()
        };
        assert!(with(0.5, at_most(1.0)) && with(2.0, at_least(1.0)) && with(1.0, near(1.0, 0.1)));
        assert!(!with(0.1, at_most(1.0)) && !with(20.0, at_least(1.0)) && !with(2.0, between(1.0, 9.0)));
        assert!(!with(2.0, at_most(1.0)) && !with(f64::NAN, at_most(1.0)));
    }

    #[test]
    fn numbers_are_shown_with_the_digits_that_matter() {
        let all = [25.0, 0.31821, 1.1, 3.4e-8, 12345.678, 0.0, f64::NAN].map(shown);
        assert_eq!(all, ["25", "0.3182", "1.1", "3.40e-8", "1.23e4", "0", "–"]);
    }
}
