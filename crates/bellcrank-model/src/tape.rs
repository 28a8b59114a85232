//! One walk over values that writes them to bytes or reads them back: a state outside of memory, to the bit.

use crate::dynamics::{Charts, Point, Slopes, State};
use bellcrank_math::linear::matrix::Matrix;
use bellcrank_math::{Quat, Vec3};

/// What every tape begins with; the number is that of the format.
const HEAD: &[u8] = b"bellcrank tape 3\n";

/// Bytes that are being written or read.
pub struct Tape {
    bytes: Vec<u8>,
    /// How far it was read; none while it is written.
    read: Option<usize>,
    broken: bool,
}

/// A value that a tape can keep.
pub trait Kept {
    /// Writes itself, or becomes what was written.
    fn walk(&mut self, tape: &mut Tape);
}

/// Implements [`Kept`] by the fields in their order; a field that is left out does not compile.
#[macro_export]
macro_rules! kept_by_fields {
    ($type:ident { $($field:ident),* $(,)? }) => {
        impl $crate::tape::Kept for $type {
            fn walk(&mut self, tape: &mut $crate::tape::Tape) {
                let $type { $($field),* } = self;
                $($crate::tape::Kept::walk($field, tape);)*
            }
        }
    };
}

/// The bytes of a value, with a check sum at their end.
pub fn write(value: &mut dyn Kept) -> Vec<u8> {
    let mut tape = Tape { bytes: HEAD.to_vec(), read: None, broken: false };
    value.walk(&mut tape);
    let sum = check_sum(&tape.bytes);
    tape.bytes.extend(sum.to_le_bytes());
    tape.bytes
}

/// Makes a value what was written. A value of another shape, or bytes that were cut or changed, are an error, and
/// leave the value in parts.
pub fn read(value: &mut dyn Kept, bytes: &[u8]) -> Result<(), String> {
    let Some((body, sum)) = bytes.split_last_chunk::<8>() else { return Err("is too short".into()) };
    if !body.starts_with(HEAD) {
        return Err("is no state, or one of another version".into());
    }
    if check_sum(body) != u64::from_le_bytes(*sum) {
        return Err("is damaged: its check sum is wrong".into());
    }
    let mut tape = Tape { bytes: body.to_vec(), read: Some(HEAD.len()), broken: false };
    value.walk(&mut tape);
    if tape.broken || tape.read != Some(body.len()) {
        return Err("belongs to something else: it has another shape".into());
    }
    Ok(())
}

/// FNV-1a [Fowler, Noll & Vo 1991]: against accidents, not against people.
fn check_sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ *b as u64).wrapping_mul(0x0100_0000_01b3))
}

impl Tape {
    fn word(&mut self, word: &mut [u8; 8]) {
        match &mut self.read {
            None => self.bytes.extend(*word),
            Some(at) => match self.bytes.get(*at..*at + 8) {
                Some(found) => {
                    word.copy_from_slice(found);
                    *at += 8;
                }
                None => self.broken = true,
            },
        }
    }

    /// A length: one that cannot be there breaks the tape, before anything is made of it.
    fn length(&mut self, now: usize) -> usize {
        let mut n = now as u64;
        n.walk(self);
        let left = self.read.map_or(u64::MAX, |at| (self.bytes.len() - at) as u64);
        self.broken |= n > left;
        if self.broken { 0 } else { n as usize }
    }
}

macro_rules! words {
    ($($type:ty),*) => {$(
        impl Kept for $type {
            fn walk(&mut self, tape: &mut Tape) {
                let mut word = (*self as u64).to_le_bytes();
                tape.word(&mut word);
                *self = u64::from_le_bytes(word) as $type;
            }
        }
    )*};
}
words!(u64, u32, u8, usize);

impl Kept for f64 {
    fn walk(&mut self, tape: &mut Tape) {
        let mut word = self.to_bits().to_le_bytes();
        tape.word(&mut word);
        *self = f64::from_bits(u64::from_le_bytes(word));
    }
}

impl Kept for bool {
    fn walk(&mut self, tape: &mut Tape) {
        let mut word = *self as u64;
        word.walk(tape);
        *self = word != 0;
    }
}

impl<T: Kept + Default> Kept for Vec<T> {
    fn walk(&mut self, tape: &mut Tape) {
        let n = tape.length(self.len());
        self.resize_with(n, T::default);
        self.iter_mut().for_each(|x| x.walk(tape));
    }
}

impl<T: Kept, const N: usize> Kept for [T; N] {
    fn walk(&mut self, tape: &mut Tape) {
        self.iter_mut().for_each(|x| x.walk(tape));
    }
}

impl<T: Kept + Default> Kept for Option<T> {
    fn walk(&mut self, tape: &mut Tape) {
        let mut there = self.is_some();
        there.walk(tape);
        *self = there.then(|| self.take().unwrap_or_default());
        if let Some(x) = self {
            x.walk(tape);
        }
    }
}

impl Kept for String {
    fn walk(&mut self, tape: &mut Tape) {
        let mut bytes = std::mem::take(self).into_bytes();
        bytes.walk(tape);
        *self = String::from_utf8_lossy(&bytes).into_owned();
    }
}

impl<A: Kept, B: Kept> Kept for (A, B) {
    fn walk(&mut self, tape: &mut Tape) {
        self.0.walk(tape);
        self.1.walk(tape);
    }
}

impl<A: Kept, B: Kept, C: Kept> Kept for (A, B, C) {
    fn walk(&mut self, tape: &mut Tape) {
        self.0.walk(tape);
        self.1.walk(tape);
        self.2.walk(tape);
    }
}

impl Kept for Vec3 {
    fn walk(&mut self, tape: &mut Tape) {
        self.0.walk(tape);
    }
}

impl Kept for Quat {
    fn walk(&mut self, tape: &mut Tape) {
        self.0.walk(tape);
    }
}

kept_by_fields!(Matrix { rows, columns, values });
kept_by_fields!(Charts { centres, angles, rates, time, modes, inputs });
kept_by_fields!(State { t, q, v, z, charts });
kept_by_fields!(Point { t, q, qdot, v, vdot, z, zdot, lambda, mu, charts });
kept_by_fields!(Slopes { q, v, z });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_to_the_bit_and_nothing_else_is() {
        let mut state = State { t: 0.1 + 0.2, q: vec![f64::NAN, -0.0, 5e-324], ..State::default() };
        state.charts.modes = vec![3, 0];
        state.charts.inputs = vec![-0.5];
        state.charts.centres = vec![Quat([0.5; 4])];
        let bytes = write(&mut state);
        let mut back = State::default();
        read(&mut back, &bytes).unwrap();
        assert_eq!(write(&mut back), bytes);
        assert!(back.q[0].is_nan() && back.q[1].is_sign_negative());
        for cut in 0..bytes.len() {
            assert!(read(&mut State::default(), &bytes[..cut]).is_err());
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert!(read(&mut State::default(), &changed).is_err());
        }
        assert!(read(&mut Slopes::default(), &bytes).unwrap_err().contains("another shape"));
    }

    #[test]
    fn a_length_that_cannot_be_there_makes_nothing() {
        let mut tape = HEAD.to_vec();
        tape.extend(u64::MAX.to_le_bytes());
        tape.extend(check_sum(&tape).to_le_bytes());
        assert!(read(&mut Vec::<f64>::new(), &tape).is_err());
    }
}
