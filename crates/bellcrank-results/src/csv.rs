//! Comma-separated values, streamed.
//!
//! The first line names the columns, each with its unit in brackets; a pure number has none:
//!
//! ```text
//! time [s],crank.x [m],crank.qw
//! 0.0,0.15,1.0
//! ```
//!
//! A line of units would turn every column of a data frame into text, so there is none. Lines end
//! with a line feed, names that need it are quoted as in RFC 4180, the text is UTF-8. Numbers are the
//! shortest that read back to the same bits; not-a-number is `NaN`, infinity is `inf`. (Older
//! versions of pandas keep the last bit with `read_csv(…, float_precision="round_trip")`.)

use bellcrank_solve::analyses::modes::Modes;
use bellcrank_solve::record::{Header, Recorder, RunReport, check_width};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Rows are written after this time or this many bytes, whichever comes first; a killed run loses no more than that.
const FLUSH_AFTER: Duration = Duration::from_secs(1);
const BYTES: usize = 1 << 16;

/// Writes one line per frame.
pub struct Csv<W: Write> {
    out: W,
    /// Whole lines only, so that a killed run does not end within a row.
    lines: Vec<u8>,
    /// Room for the widest line.
    line: Vec<u8>,
    channels: usize,
    written: Instant,
}

impl<W: Write> Csv<W> {
    /// Writes to `out`, which needs no buffer of its own.
    pub fn new(out: W) -> Csv<W> {
        Csv { out, lines: Vec::new(), line: Vec::new(), channels: 0, written: Instant::now() }
    }

    /// What it writes to.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Hands the rows that wait to the system.
    pub fn write(&mut self) -> io::Result<()> {
        self.out.write_all(&self.lines)?;
        self.lines.clear();
        self.written = Instant::now();
        self.out.flush()
    }
}

impl<W: Write> Recorder for Csv<W> {
    fn begin(&mut self, header: &Header) -> io::Result<()> {
        self.channels = header.channels.len();
        self.line = vec![0; (WIDEST + 1) * (self.channels + 1)];
        self.lines.extend(b"time [s]");
        for c in &header.channels {
            let unit = if c.unit.is_empty() { String::new() } else { format!(" [{}]", c.unit) };
            self.lines.push(b',');
            self.lines.extend(quoted(format!("{}{unit}", c.name)).as_bytes());
        }
        self.lines.push(b'\n');
        self.write()
    }

    fn frame(&mut self, t: f64, values: &[f64]) -> io::Result<()> {
        check_width(values, self.channels)?;
        let mut end = number(t, &mut self.line);
        for x in values {
            self.line[end] = b',';
            end += 1;
            end += number(*x, &mut self.line[end..]);
        }
        self.lines.extend_from_slice(&self.line[..end]);
        self.lines.push(b'\n');
        if self.lines.len() > BYTES || self.written.elapsed() > FLUSH_AFTER { self.write() } else { Ok(()) }
    }

    fn end(&mut self, _: &dyn RunReport) -> io::Result<()> {
        self.write()
    }
}

/// The most characters of a number: `-2.2250738585072014e-308`.
const WIDEST: usize = 24;

/// The shortest text that reads back to the same bits, with an exponent where that is shorter: as `{:?}` has it, in a
/// quarter of the instructions. Of two such texts that are equally close, the last digit is the even one. Written to the beginning
/// of `out`, which must have room for [`WIDEST`] characters; gives how many it takes.
fn number(x: f64, out: &mut [u8]) -> usize {
    let size = x.abs();
    let mut buffer = zmij::Buffer::new();
    if (1e-4..1e15).contains(&size) {
        return put(buffer.format_finite(x).as_bytes(), out);
    }
    if size == 0.0 {
        return put(if x.is_sign_negative() { &b"-0.0"[..] } else { b"0.0" }, out);
    }
    if size < 1e-4 || (1e16..f64::INFINITY).contains(&size) {
        let text = buffer.format_finite(x).as_bytes();
        if let Some(e) = text.iter().rposition(|c| *c == b'e') {
            let (digits, exponent) = (&text[..e], &text[e + 1..]);
            return if (1e-5..1e-4).contains(&size) {
                small(digits, out)
            } else {
                with_exponent(digits, exponent, out)
            };
        }
    }
    put(format!("{x:?}").as_bytes(), out)
}

/// Digits times 1e-5, without an exponent: 0.000012 of 1.2.
fn small(digits: &[u8], out: &mut [u8]) -> usize {
    let (sign, digits) = if let [b'-', rest @ ..] = digits { (&b"-"[..], rest) } else { (&b""[..], digits) };
    let mut end = put(sign, out);
    end += put(&b"0.0000"[..], &mut out[end..]);
    // the first digit, and those behind the point
    end += put(&digits[..1], &mut out[end..]);
    end + put(digits.get(2..).unwrap_or_default(), &mut out[end..])
}

/// Digits with an exponent that is written like e7 and e-7; it comes as +07 or -07.
fn with_exponent(digits: &[u8], exponent: &[u8], out: &mut [u8]) -> usize {
    let mut end = put(digits, out);
    end += put(if exponent.starts_with(b"-") { &b"e-"[..] } else { b"e" }, &mut out[end..]);
    let zeros = exponent.iter().take_while(|c| matches!(c, b'+' | b'-' | b'0')).count();
    end + put(&exponent[zeros..], &mut out[end..])
}

/// Puts a text at the beginning; gives its length.
fn put(text: &[u8], out: &mut [u8]) -> usize {
    let n = text.len();
    match n {
        // two pieces of known length, which may overlap: most numbers have 17 digits
        16..=32 => {
            out[..16].copy_from_slice(&text[..16]);
            out[n - 16..n].copy_from_slice(&text[n - 16..]);
        }
        _ => out[..n].copy_from_slice(text),
    }
    n
}

/// Modes as a table: one line per mode, two columns per component of its shape.
pub fn modes(found: &Modes) -> String {
    let mut out = String::from("mode,re [1/s],im [1/s],frequency [Hz],damping_ratio");
    for (name, unit) in &found.components {
        let unit = if unit.is_empty() { String::new() } else { format!(" [{unit}]") };
        for part in ["re", "im"] {
            out.push(',');
            out += &quoted(format!("{name}.{part}{unit}"));
        }
    }
    out.push('\n');
    for (k, (m, shape)) in found.modes.iter().zip(&found.shapes).enumerate() {
        let (re, im) = m.eigenvalue;
        out += &format!("{},{re:?},{im:?},{:?},{:?}", k + 1, m.frequency(), m.damping());
        shape.iter().for_each(|(re, im)| out += &format!(",{re:?},{im:?}"));
        out.push('\n');
    }
    out
}

/// A field as in RFC 4180, section 2; also quoted where a spreadsheet might see more than a name.
pub fn quoted(field: String) -> String {
    let odd = |c| matches!(c, ',' | '"' | '\n' | '\r');
    if field.is_empty() || field.contains(odd) || field.starts_with(['=', '+', '-', '@', '\t', ' ']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ODD_NAMES, ODD_VALUES, header};
    use bellcrank_solve::record::{Channel, Ended};

    /// A reader of RFC 4180, to the letter.
    fn parse(text: &str) -> Vec<Vec<String>> {
        let (mut rows, mut row, mut field, mut inside) = (vec![], vec![], String::new(), false);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' if inside && chars.peek() == Some(&'"') => field.push(chars.next().unwrap()),
                '"' => inside = !inside,
                ',' if !inside => row.push(std::mem::take(&mut field)),
                '\n' if !inside => {
                    row.push(std::mem::take(&mut field));
                    rows.push(std::mem::take(&mut row));
                }
                c => field.push(c),
            }
        }
        assert!(!inside && row.is_empty() && field.is_empty());
        rows
    }

    #[test]
    fn numbers_are_as_short_as_those_of_the_standard_library_and_read_back_to_the_same_bits() {
        let same = |x: f64| {
            let mut text = vec![0; WIDEST];
            let length = number(x, &mut text);
            text.truncate(length);
            let (text, expected) = (String::from_utf8(text).unwrap(), format!("{x:?}"));
            if text != expected {
                let shape = |t: &str| t.replace(|c: char| c.is_ascii_digit(), "0");
                assert_eq!(shape(&text), shape(&expected));
                assert_eq!(text.parse::<f64>().unwrap().to_bits(), x.to_bits(), "{text} {expected}");
            }
        };
        let mut bits = 0x9e37_79b9_7f4a_7c15u64;
        for k in 0..200_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            same(f64::from_bits(bits ^ bits >> 31));
            // numbers of machines, and their short cousins
            let size = 10f64.powi(k % 40 - 20);
            same((bits >> 11) as f64 / (1u64 << 53) as f64 * size);
            same((bits >> 50) as f64 * size);
        }
        for edge in [
            1e-4,
            1e-5,
            1e15,
            1e16,
            0.0,
            -0.0,
            5e-324,
            f64::MAX,
            f64::MIN_POSITIVE,
            9.999e-5,
            123456.0,
            2.2250738585072014e-308,
        ] {
            [edge, -edge, edge.next_up(), edge.next_down()].into_iter().for_each(same);
        }
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].into_iter().for_each(same);
    }

    #[test]
    fn odd_names_and_values_come_back_to_the_bit() {
        let mut out = Vec::new();
        let mut csv = Csv::new(&mut out);
        csv.begin(&header(&ODD_NAMES)).unwrap();
        csv.frame(0.3, &ODD_VALUES).unwrap();
        csv.end(&Ended::Finished).unwrap();
        let rows = parse(&String::from_utf8(out).unwrap());
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0][0], "time [s]");
        for (field, name) in rows[0][1..].iter().zip(ODD_NAMES) {
            assert_eq!(*field, format!("{name} [m]"));
        }
        let read: Vec<u64> = rows[1].iter().map(|x| x.parse::<f64>().unwrap().to_bits()).collect();
        let wrote: Vec<u64> = [0.3].iter().chain(&ODD_VALUES).map(|x| x.to_bits()).collect();
        assert_eq!(read, wrote);
    }

    #[test]
    fn header_has_units_in_brackets_and_none_for_numbers() {
        let mut out = Vec::new();
        let mut h = header(&["crank.x"]);
        h.channels.push(Channel { name: "crank.qw".into(), unit: "" });
        Csv::new(&mut out).begin(&h).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "time [s],crank.x [m],crank.qw\n");
    }

    #[test]
    fn only_whole_rows_leave_and_long_runs_do_not_pile_up() {
        struct Sink(Vec<usize>);
        impl Write for &mut Sink {
            fn write(&mut self, b: &[u8]) -> io::Result<usize> {
                assert_eq!(b.last(), Some(&b'\n'));
                self.0.push(b.len());
                Ok(b.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut sink = Sink(vec![]);
        let mut csv = Csv::new(&mut sink);
        csv.begin(&header(&["x"])).unwrap();
        for i in 0..20_000 {
            csv.frame(i as f64, &[0.5]).unwrap();
        }
        assert!(csv.lines.len() <= BYTES);
        csv.written = Instant::now().checked_sub(2 * FLUSH_AFTER).unwrap();
        csv.frame(2e4, &[0.5]).unwrap();
        assert!(csv.lines.is_empty());
        assert!(sink.0.len() > 3 && sink.0.iter().all(|n| *n < BYTES + 100));
    }
}
