//! A check in words.

use super::{Check, Finding, ModelCounts, Severity};
use crate::start::Assembly;
use bellcrank_math::Vec3;
use bellcrank_model::Subject;
use std::collections::HashSet;
use std::fmt;

impl Check {
    /// The first findings of each kind, and lines that tell how many more there are.
    pub fn shown(&self) -> (Vec<&Finding>, Vec<String>) {
        const SHOWN: usize = 12;
        let mut counts: Vec<(Severity, &str, usize)> = Vec::new();
        let mut shown = Vec::new();
        for f in &self.findings {
            let at = counts.iter().position(|c| (c.0, c.1) == (f.severity, f.kind)).unwrap_or(counts.len());
            if at == counts.len() {
                counts.push((f.severity, f.kind, 0));
            }
            counts[at].2 += 1;
            if counts[at].2 <= SHOWN {
                shown.push(f);
            }
        }
        let many = counts.into_iter().filter(|c| c.2 > SHOWN);
        let line = |(severity, kind, n): (Severity, &str, usize)| {
            format!(
                "{} ({kind}): and {} more like these (`bellcrank check --json` lists all)",
                severity.word(),
                n - SHOWN
            )
        };
        (shown, many.map(line).collect())
    }
}

pub(super) fn plural(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

/// A size with four digits: 1.529, or 1.529e-7.
pub(super) fn size(x: f64) -> String {
    if (1e-3..1e4).contains(&x.abs()) { format!("{x:.4}") } else { format!("{x:.3e}") }
}

/// `a`, `b` and 3 more.
pub(super) fn list<T: fmt::Display>(names: &[T]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).map(T::to_string).collect::<Vec<_>>();
    match names.len() {
        n if n > SHOWN => format!("{} and {} more", shown.join(", "), n - SHOWN),
        n if n > 1 => format!("{} and {}", shown[..n - 1].join(", "), shown[n - 1]),
        _ => shown.join(", "),
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ModelCounts { bodies, joints, forces, coordinates, equations } = self.counts;
        writeln!(
            f,
            "{}: {}, {}, {}",
            self.model,
            plural(bodies, "body", "bodies"),
            plural(joints, "joint", "joints"),
            plural(forces, "force", "forces")
        )?;
        writeln!(f, "coordinates: {coordinates}, equations: {equations}")?;
        if let Some(d) = self.degrees_of_freedom {
            writeln!(f, "degrees of freedom: {d}, redundant equations: {}", self.redundant())?;
        }
        if let Some(a) = self.assembly.as_ref().filter(|a| !a.gaps.is_empty() || !a.moved.is_empty()) {
            writeln!(f, "assembled in {}:", plural(a.iterations, "iteration", "iterations"))?;
            table(f, a)?;
        }
        if let Some(a) = self.assembly.as_ref().filter(|a| !a.followed.is_empty()) {
            let names: Vec<String> = a.followed.iter().map(|f| f.name.clone()).collect();
            writeln!(f, "set by closed loops at the start: {}", list(&names))?;
        }
        let (shown, more) = self.shown();
        for finding in shown {
            writeln!(f, "{} ({}): {}", finding.severity.word(), finding.kind, finding.message.replace('\n', "\n  "))?;
            if !finding.help.is_empty() {
                writeln!(f, "  help: {}", finding.help.replace('\n', "\n  "))?;
            }
        }
        for line in more {
            writeln!(f, "{line}")?;
        }
        if let Some(s) = &self.spectrum {
            write!(f, "about the start: ")?;
            let vibrating: Vec<f64> = s.frequencies.iter().copied().filter(|x| *x > 0.0).collect();
            match (vibrating.first(), vibrating.last()) {
                (Some(highest), _) if s.only_fastest => {
                    write!(f, "the highest natural frequency is about {highest:.3} Hz")?
                }
                (Some(low), Some(high)) if vibrating.len() > 1 => {
                    write!(f, "{} natural frequencies from {low:.4} to {high:.4} Hz", vibrating.len())?
                }
                (Some(only), _) => write!(f, "one natural frequency, {only:.4} Hz")?,
                _ => write!(f, "no natural frequency")?,
            }
            if let Some(rate) = s.falling {
                write!(f, ", unstable with a growth rate of {rate:.4} 1/s")?;
            }
            if s.decay > 0.0 {
                write!(f, ", damping up to {:.4} 1/s", s.decay)?;
            }
            match s.slowest() {
                slowest if slowest > 0.0 && !s.only_fastest => {
                    writeln!(f, "; stiffness spread {:.1e}", s.fastest() / slowest)?
                }
                _ => writeln!(f)?,
            }
        }
        if !self.method.is_empty() {
            writeln!(f, "method: {}", self.method)?;
        }
        for (what, why) in &self.left_out {
            writeln!(f, "not checked: {what} ({why})")?;
        }
        Ok(())
    }
}

fn table(f: &mut fmt::Formatter<'_>, a: &Assembly) -> fmt::Result {
    const SHOWN: usize = 20;
    let width = a.gaps.iter().map(|g| g.of.words.chars().count()).chain(a.moved.iter().map(|m| m.name.chars().count()));
    let width = width.max().unwrap_or(0);
    if !a.gaps.is_empty() {
        writeln!(f, "  {:width$}  open before      after", "")?;
        for g in a.gaps.iter().take(SHOWN) {
            writeln!(f, "  {:width$}  {:11.3e}  {:9.1e}", g.of.words, g.before, g.after)?;
        }
    }
    if !a.moved.is_empty() {
        writeln!(f, "  {:width$}   moved by m     by rad", "")?;
        for m in a.moved.iter().take(SHOWN) {
            writeln!(f, "  {:width$}  {:11.3e}  {:9.3e}", m.name, m.distance, m.angle)?;
        }
    }
    let more = a.gaps.len().saturating_sub(SHOWN) + a.moved.len().saturating_sub(SHOWN);
    if more > 0 {
        writeln!(f, "  and {more} more")?;
    }
    Ok(())
}

/// Each of them once.
pub(super) fn distinct(all: impl Iterator<Item = Subject>) -> Vec<Subject> {
    let mut seen = HashSet::new();
    all.filter(|subject| seen.insert(subject.words.clone())).collect()
}

/// Words for a direction: `x`, or its components.
pub(super) fn axis(v: Vec3) -> String {
    let v = v.normalized().unwrap_or(Vec3::Z);
    for (i, name) in ["x", "y", "z"].into_iter().enumerate() {
        if v[i].abs() > 0.9999 {
            return name.to_string();
        }
    }
    let round = |x: f64| (x * 1000.0).round() / 1000.0 + 0.0;
    format!("[{}, {}, {}]", round(v[0]), round(v[1]), round(v[2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_read_well() {
        assert_eq!(axis(Vec3::new(0.0, -2.0, 0.0)), "y");
        assert_eq!(axis(Vec3::new(1.0, 0.0, 1.0)), "[0.707, 0, 0.707]");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
    }
}
