//! Corners that two functions make together: |x| of √x², √(x·x) and hypot(x, 0), and the folded lines of acos(cos x), asin(sin x) and
//! atan(tan x). The derivatives of both would be 0/0 there, and no breakpoint would tell of it; a function with a branch has one.

use super::Instruction;
use super::function::{Function, named};

/// How many values an instruction takes from the stack.
fn arity(instruction: &Instruction) -> usize {
    match *instruction {
        Instruction::Number(_) | Instruction::Variable(_) => 0,
        Instruction::Lookup(_, arity) => arity as usize,
        Instruction::Apply(f) => f.arity,
    }
}

/// Where the operand begins that ends before a place of a program.
fn operand(program: &[Instruction], end: usize) -> usize {
    let (mut at, mut missing) = (end, 1);
    while missing > 0 && at > 0 {
        at -= 1;
        missing = missing - 1 + arity(&program[at]);
    }
    at
}

/// The function with a corner that another makes of the end of a program, which is cut to its argument.
pub(super) fn corner(f: &Function, program: &mut Vec<Instruction>) -> Option<&'static Function> {
    let last = program.len().checked_sub(1)?;
    let is = |name: &str| program[last] == Instruction::Apply(named(name));
    let square = || last > 0 && is("pow") && program[last - 1] == Instruction::Number(2.0);
    let product = || {
        let second = operand(program, last);
        let first = operand(program, second);
        (is("*") && program[first..second] == program[second..last]).then_some(second)
    };
    let (left, name) = match f.name {
        "acos" if is("cos") => (last, "acos cos"),
        "asin" if is("sin") => (last, "asin sin"),
        "atan" if is("tan") => (last, "atan tan"),
        "hypot" if program[last] == Instruction::Number(0.0) => (last, "abs"),
        "sqrt" if square() => (last - 1, "abs"),
        "sqrt" => (product()?, "abs"),
        _ => return None,
    };
    program.truncate(left);
    Some(named(name))
}
