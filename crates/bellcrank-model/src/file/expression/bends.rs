//! Expressions of the state: which branches they are on, and how far they are from the next.
//!
//! `abs`, `sign`, `min`, `max` and comparisons pick a branch by the sign of a distance d: abs(a) by a, a < b by a − b. A run keeps to the
//! branches it is on, smoothly also beyond the place where d changes its sign, and finds that place as an event. What depends on time
//! and inputs alone bends at times that are known ahead: these are breakpoints, as in functions of time (`breaks.rs`).

use super::function::Function;
use super::{Expression, Instruction, Jet, STACK};

/// The most places at which one expression may bend.
pub const MOST_BENDS: usize = 7;

/// The places of a program at which it picks a branch by its variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bends {
    at: Vec<u32>,
}

/// Why an expression cannot depend on the state.
#[derive(Clone, Debug, PartialEq)]
pub enum Unfollowed {
    /// It bends at more than [`MOST_BENDS`] places: that many.
    TooMany(usize),
    /// A function whose jumps are not found.
    Function(&'static str),
}

impl Bends {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.at.len()
    }
}

/// The branches of an expression: a bit for each of its bends, set where d < 0.
pub type Branches = u8;

impl Expression {
    /// The variable of that number, alone; `text` is what it stands for.
    pub fn variable(number: usize, text: &str) -> Expression {
        let number = u16::try_from(number).unwrap_or(u16::MAX);
        Expression {
            program: Box::new([Instruction::Variable(number)]),
            text: text.into(),
            outer: None,
            tables: [].into(),
        }
    }

    /// Where it bends as the state changes; the first `known` variables are time and inputs.
    pub fn state_bends(&self, known: usize) -> Result<Bends, Unfollowed> {
        let mut moves = [false; STACK];
        let (mut top, mut at) = (0, Vec::new());
        for (i, instruction) in self.program.iter().enumerate() {
            match *instruction {
                Instruction::Number(_) => moves[top] = false,
                Instruction::Variable(v) => moves[top] = v as usize >= known,
                Instruction::Lookup(_, arity) => {
                    top -= arity as usize;
                    moves[top] = moves[top..top + arity as usize].contains(&true);
                }
                Instruction::Apply(f) => {
                    top -= f.arity;
                    moves[top] = moves[top..top + f.arity].contains(&true);
                    if moves[top] && bends(f) {
                        at.push(i as u32);
                    } else if moves[top] && f.name == "floor" {
                        return Err(Unfollowed::Function("floor"));
                    }
                }
            }
            top += 1;
        }
        if at.len() > MOST_BENDS { Err(Unfollowed::TooMany(at.len())) } else { Ok(Bends { at }) }
    }

    /// Whether it is a polynomial of its variables of degree three or less: one without narrow features.
    pub fn is_plain(&self) -> bool {
        const PLAIN: u32 = 3;
        let mut degree = [0u32; STACK];
        let mut top = 0;
        for instruction in &self.program {
            let (arity, name) = match *instruction {
                Instruction::Number(_) | Instruction::Variable(_) => (0, ""),
                Instruction::Lookup(_, arity) => (arity as usize, ""),
                Instruction::Apply(f) => (f.arity, f.name),
            };
            top -= arity;
            let of = &degree[top..top + arity];
            let (first, last) = (of.first().copied().unwrap_or(0), of.last().copied().unwrap_or(0));
            degree[top] = match (name, arity) {
                (_, 0) => u32::from(matches!(instruction, Instruction::Variable(_))),
                _ if of.iter().all(|d| *d == 0) => 0,
                ("neg", _) => first,
                ("+" | "-", _) => first.max(last),
                ("*", _) => first + last,
                ("/", 2) if last == 0 => first,
                _ => PLAIN + 1,
            }
            .min(PLAIN + 1);
            top += 1;
        }
        self.outer.is_none() && degree[0] <= PLAIN
    }

    /// Value and derivatives along the variables on the given branches, or on those of the present values; shows the distance
    /// d at every bend.
    pub fn follow(
        &self,
        bends: &Bends,
        on: Option<Branches>,
        variable: impl Fn(usize) -> Jet,
        mut see: impl FnMut(usize, Jet),
    ) -> Jet {
        let mut stack = [Jet::default(); STACK];
        let (mut top, mut next) = (0, 0);
        for (i, instruction) in self.program.iter().enumerate() {
            match *instruction {
                Instruction::Number(value) => stack[top] = Jet::constant(value),
                Instruction::Variable(v) => stack[top] = variable(v as usize),

                Instruction::Lookup(table, arity) => {
                    top -= arity as usize;
                    stack[top] = self.looked_up(table, stack[top], super::second(&stack[top..], arity));
                }
                Instruction::Apply(f) => {
                    top -= f.arity;
                    let a = &stack[top..top + f.arity];
                    let value = if bends.at.get(next) == Some(&(i as u32)) {
                        let d = distance(f, a);
                        let negative = on.map_or(d.value < 0.0, |on| on >> next & 1 == 1);
                        see(next, d);
                        next += 1;
                        // by value a sign of zero is zero
                        if on.is_none() { (f.jet)(a) } else { branch(f, a, negative) }
                    } else {
                        (f.jet)(a)
                    };
                    stack[top] = value;
                }
            }
            top += 1;
        }
        self.applied(stack[0])
    }
}

/// Whether a function picks its branch by the sign of a distance.
fn bends(f: &Function) -> bool {
    matches!(f.name, "abs" | "sign" | "min" | "max" | "<" | "<=" | ">" | ">=")
}

/// The distance whose sign picks the branch.
fn distance(f: &Function, a: &[Jet]) -> Jet {
    if f.arity == 1 { a[0] } else { a[0].minus(a[1]) }
}

/// The value on the branch d < 0, or on that of d ≥ 0.
fn branch(f: &Function, a: &[Jet], negative: bool) -> Jet {
    let truth = |holds: bool| Jet::constant(f64::from(u8::from(holds)));
    match f.name {
        "abs" if negative => Jet::constant(0.0).minus(a[0]),
        "abs" => a[0],
        "sign" => Jet::constant(if negative { -1.0 } else { 1.0 }),
        "min" => a[usize::from(!negative)],
        "max" => a[usize::from(negative)],
        "<" | "<=" => truth(negative),
        _ => truth(!negative),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::expression::Scope;
    use crate::file::parameters::Parameters;

    fn parse(text: &str) -> Expression {
        let scope = Scope { parameters: &Parameters::default(), variables: &["t", "x", "y"], inputs: &[] };
        Expression::parse(text, scope).unwrap()
    }

    #[test]
    fn on_the_branches_of_its_values_an_expression_is_what_it_was() {
        for text in [
            "abs(x)*y",
            "min(x, y, t)",
            "max(x, 2*y)",
            "if(x < y, x^2, y)",
            "sign(y)*x + (t >= x)",
            "if(x > 0, 1, 0)*(y <= 3)",
        ] {
            let f = parse(text);
            let bends = f.state_bends(1).unwrap();
            for values in [[0.5, 1.0, -2.0], [0.5, -1.0, 2.5], [3.0, 0.2, 0.1], [-1.0, -3.0, -2.0]] {
                let variable = |v: usize| Jet::constant(values[v]);
                let mut on = 0;
                let by_value = f.follow(&bends, None, variable, |k, d| on |= u8::from(d.value < 0.0) << k);
                assert_eq!(by_value.value, f.value_of(&values), "{text}");
                assert_eq!(f.follow(&bends, Some(on), variable, |_, _| {}).value, by_value.value, "{text}");
            }
        }
    }

    #[test]
    fn a_branch_goes_on_smoothly_beyond_its_end() {
        let f = parse("abs(x) + max(y, 0)");
        let bends = f.state_bends(1).unwrap();
        assert_eq!(bends.count(), 2);
        let at = |x: f64, y: f64| {
            let variable = |v: usize| if v == 1 { Jet::variable(x) } else { Jet::constant(y) };
            let mut seen = [0.0; 2];
            let j = f.follow(&bends, Some(0b00), variable, |k, d| seen[k] = d.value);
            (j.value, j.rate, seen)
        };
        assert_eq!(at(2.0, 3.0), (5.0, 1.0, [2.0, 3.0]));
        assert_eq!(at(-2.0, -3.0), (-5.0, 1.0, [-2.0, -3.0]));
    }

    #[test]
    fn what_does_not_move_with_the_state_does_not_bend() {
        let count = |text: &str| parse(text).state_bends(1).map(|bends| bends.count());
        assert_eq!(count("abs(-3)*x"), Ok(0));
        let plain = ["x", "2*x*y - y/3 + t", "-(x + 1)*(x - 1)*y", "sin(2)*x", "3"];
        let others = ["x^2", "1/x", "x*x*y*y", "exp(x)", "abs(x)", "x < 1", "sin(t)*x"];
        plain.into_iter().for_each(|text| assert!(parse(text).is_plain(), "{text}"));
        others.into_iter().for_each(|text| assert!(!parse(text).is_plain(), "{text}"));
        assert_eq!(count("floor(x)"), Err(Unfollowed::Function("floor")));
        assert_eq!(count("step(x, 0, 0, 1, 1) + atan2(x, y)"), Ok(0));
        assert_eq!(count("abs(x)+".repeat(8).trim_end_matches('+')), Err(Unfollowed::TooMany(8)));
        // time is known ahead
        assert_eq!((count("floor(t)*x"), count("if(t < 1, x, abs(y))"), count("(t < x)*y")), (Ok(0), Ok(1), Ok(1)));
    }
}
