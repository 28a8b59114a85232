//! What a run remembers, written and read by one walk.
//!
//! Whatever has a memory tells its fields to a tape, once: the same walk writes them and reads them, so that the two cannot
//! differ. Numbers keep their bits. What cannot be kept says so, and then nothing is.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes that are written, or read in the same order.
pub struct Tape {
    bytes: Vec<u8>,
    /// Where reading has come to; none while it is written.
    at: Option<usize>,
    trouble: Option<&'static str>,
}

/// What was read does not fit what reads it.
const UNFIT: &str = "it does not fit this run";

impl Tape {
    /// A tape to write to.
    pub fn blank() -> Tape {
        Tape { bytes: Vec::new(), at: None, trouble: None }
    }

    /// A tape to read from.
    pub fn of(bytes: Vec<u8>) -> Tape {
        Tape { bytes, at: Some(0), trouble: None }
    }

    /// Whether it is read.
    pub fn reads(&self) -> bool {
        self.at.is_some()
    }

    /// Something cannot be kept, or does not fit.
    pub fn refuse(&mut self, why: &'static str) {
        self.trouble.get_or_insert(why);
    }

    /// What was written, or nothing if all was read; or why not.
    pub fn finish(self) -> Result<Vec<u8>, &'static str> {
        match (self.trouble, self.at) {
            (Some(why), _) => Err(why),
            (None, Some(at)) if at != self.bytes.len() => Err(UNFIT),
            (None, Some(_)) => Ok(Vec::new()),
            (None, None) => Ok(self.bytes),
        }
    }

    /// The next bytes; none past the end.
    fn next(&mut self, length: usize) -> Option<&[u8]> {
        let at = self.at?;
        let end = at.checked_add(length).filter(|end| *end <= self.bytes.len() && self.trouble.is_none());
        match end {
            Some(end) => {
                self.at = Some(end);
                self.bytes.get(at..end)
            }
            None => {
                self.refuse(UNFIT);
                None
            }
        }
    }

    /// A whole number.
    pub fn word(&mut self, x: &mut u64) {
        match self.at {
            None => self.bytes.extend_from_slice(&x.to_le_bytes()),
            Some(_) => {
                if let Some(Ok(bytes)) = self.next(8).map(TryInto::try_into) {
                    *x = u64::from_le_bytes(bytes);
                }
            }
        }
    }

    /// A count.
    pub fn count(&mut self, x: &mut usize) {
        let mut word = *x as u64;
        self.word(&mut word);
        *x = word as usize;
    }

    /// A flag.
    pub fn flag(&mut self, x: &mut bool) {
        let mut word = u64::from(*x);
        self.word(&mut word);
        *x = word != 0;
    }

    /// A number.
    pub fn number(&mut self, x: &mut f64) {
        let mut word = x.to_bits();
        self.word(&mut word);
        *x = f64::from_bits(word);
    }

    /// Numbers whose count may change.
    pub fn numbers(&mut self, x: &mut Vec<f64>) {
        let mut count = x.len();
        self.count(&mut count);
        if self.reads() {
            x.clear();
            let bytes = count.checked_mul(8).and_then(|length| self.next(length));
            x.extend(bytes.unwrap_or_default().as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)));
        } else {
            x.iter().for_each(|x| self.bytes.extend_from_slice(&x.to_le_bytes()));
        }
    }

    /// Numbers whose count is known.
    pub fn fixed(&mut self, x: &mut [f64]) {
        let mut kept = if self.reads() { Vec::new() } else { x.to_vec() };
        self.numbers(&mut kept);
        if kept.len() == x.len() {
            x.copy_from_slice(&kept);
        } else {
            self.refuse(UNFIT);
        }
    }

    /// Plain data.
    pub fn plain<T: Serialize + DeserializeOwned>(&mut self, x: &mut T) {
        if self.reads() {
            let mut length = 0;
            self.count(&mut length);
            match self.next(length).map(postcard::from_bytes) {
                Some(Ok(found)) => *x = found,
                _ => self.refuse(UNFIT),
            }
        } else {
            match postcard::to_stdvec(x) {
                Ok(mut bytes) => {
                    let mut length = bytes.len();
                    self.count(&mut length);
                    self.bytes.append(&mut bytes);
                }
                Err(_) => self.refuse("it cannot be written"),
            }
        }
    }

    /// Whether something is there, which is made if need be while it is read.
    pub fn option<T>(&mut self, x: &mut Option<T>, make: impl FnOnce() -> Option<T>) {
        let mut some = x.is_some();
        self.flag(&mut some);
        if self.reads() {
            match (some, x.is_some()) {
                (true, false) => {
                    *x = make();
                    if x.is_none() {
                        self.refuse(UNFIT);
                    }
                }
                (false, true) => *x = None,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Memory {
        age: usize,
        slope: f64,
        values: Vec<f64>,
        given: Vec<bool>,
        last: Option<f64>,
    }

    impl Memory {
        fn keep(&mut self, tape: &mut Tape) {
            tape.count(&mut self.age);
            tape.number(&mut self.slope);
            tape.numbers(&mut self.values);
            tape.plain(&mut self.given);
            tape.option(&mut self.last, || Some(0.0));
            if let Some(last) = &mut self.last {
                tape.number(last);
            }
        }
    }

    #[test]
    fn what_is_written_is_read_and_what_is_cut_is_refused() {
        let empty = || Memory { age: 0, slope: 0.0, values: vec![1.0], given: vec![], last: None };
        let mut kept =
            Memory { age: 7, slope: -0.0, values: vec![f64::MIN, 5e-324], given: vec![true, false], last: Some(2.5) };
        let mut tape = Tape::blank();
        kept.keep(&mut tape);
        let bytes = tape.finish().unwrap();
        let mut found = empty();
        let mut tape = Tape::of(bytes.clone());
        found.keep(&mut tape);
        assert_eq!(tape.finish(), Ok(Vec::new()));
        assert_eq!((&found, found.slope.to_bits()), (&kept, (-0.0f64).to_bits()));
        for length in 0..bytes.len() {
            let mut tape = Tape::of(bytes[..length].to_vec());
            empty().keep(&mut tape);
            assert!(tape.finish().is_err(), "{length}");
        }
        let mut tape = Tape::of([bytes, vec![0]].concat());
        empty().keep(&mut tape);
        assert!(tape.finish().is_err());
    }
}
