//! Rows on their way from a worker to whoever writes them down: columns, one after the other.
//!
//! A chunk of n rows is the numbers of their points, their keys, how each ended, one column of n values for each that the study wants, and the
//! reasons: numbers as they stand in memory, little end first, as in a batch of Arrow. What a row of eight values takes is 92 bytes and its
//! reason.

use crate::row::{Row, Status};
use serde::{Deserialize, Serialize};
use std::io;

/// Rows by columns.
#[derive(Serialize, Deserialize)]
struct Columns {
    indices: Vec<u64>,
    keys: Vec<[u8; 16]>,
    statuses: Vec<Status>,
    /// Which rows have values.
    there: Vec<bool>,
    /// The values of those, column after column.
    values: Vec<f64>,
    /// Where the reason of each row ends.
    ends: Vec<u32>,
    reasons: String,
}

/// Rows with the numbers of their points, as bytes for another process.
pub fn packed(rows: &[(u64, Row)]) -> io::Result<Vec<u8>> {
    let with = || rows.iter().filter(|(_, row)| !row.values.is_empty());
    let width = with().map(|(_, row)| row.values.len()).max().unwrap_or(0);
    if with().any(|(_, row)| row.values.len() != width) {
        return Err(io::Error::other("rows of one study have as many values"));
    }
    let mut columns = Columns {
        indices: rows.iter().map(|(index, _)| *index).collect(),
        keys: rows.iter().map(|(_, row)| row.key.to_le_bytes()).collect(),
        statuses: rows.iter().map(|(_, row)| row.status).collect(),
        there: rows.iter().map(|(_, row)| !row.values.is_empty()).collect(),
        values: (0..width).flat_map(|k| with().map(move |(_, row)| row.values[k])).collect(),
        ends: Vec::with_capacity(rows.len()),
        reasons: String::new(),
    };
    for (_, row) in rows {
        columns.reasons += &row.reason;
        columns.ends.push(u32::try_from(columns.reasons.len()).map_err(io::Error::other)?);
    }
    postcard::to_stdvec(&columns).map_err(io::Error::other)
}

/// What [`packed`] made.
pub fn unpacked(bytes: &[u8]) -> io::Result<Vec<(u64, Row)>> {
    let columns: Columns = postcard::from_bytes(bytes).map_err(io::Error::other)?;
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "columns of other lengths");
    let n = columns.indices.len();
    let filled = columns.there.iter().filter(|there| **there).count();
    let lengths = [columns.keys.len(), columns.statuses.len(), columns.there.len(), columns.ends.len()];
    if lengths != [n; 4]
        || !columns.values.len().is_multiple_of(filled.max(1))
        || filled == 0 && !columns.values.is_empty()
    {
        return Err(damaged());
    }
    let (mut place, mut begin, mut rows) = (0, 0, Vec::with_capacity(n));
    for k in 0..n {
        let end = columns.ends[k] as usize;
        let reason = columns.reasons.get(begin..end).ok_or_else(damaged)?.to_string();
        let values = match columns.there[k] {
            true => columns.values.iter().skip(place).step_by(filled).copied().collect(),
            false => Vec::new(),
        };
        place += usize::from(columns.there[k]);
        begin = end;
        let key = u128::from_le_bytes(columns.keys[k]);
        rows.push((columns.indices[k], Row { key, status: columns.statuses[k], values, reason }));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<(u64, Row)> {
        let row = |k: u64, values: &[f64], reason: &str| {
            let status = if values.is_empty() { Status::Failed } else { Status::Doubtful };
            (k * k, Row { key: u128::MAX / (k as u128 + 3), status, values: values.to_vec(), reason: reason.into() })
        };
        vec![
            row(0, &[1.0, f64::MIN_POSITIVE, -0.0], ""),
            row(1, &[], "the pin — „a“ — cannot close"),
            row(2, &[f64::INFINITY, 4.0, 1.0 / 3.0], "a doubt"),
            row(3, &[], ""),
        ]
    }

    #[test]
    fn rows_come_back_to_the_bit() {
        for rows in [rows(), rows()[..1].to_vec(), rows()[1..2].to_vec(), Vec::new()] {
            assert_eq!(unpacked(&packed(&rows).unwrap()).unwrap(), rows);
        }
        let many: Vec<(u64, Row)> = (0..1000)
            .map(|k| {
                (k, Row { key: k as u128, status: Status::Finished, values: vec![k as f64; 8], reason: String::new() })
            })
            .collect();
        let bytes = packed(&many).unwrap().len();
        assert!(bytes < 1000 * 92, "{bytes}");
    }

    #[test]
    fn bytes_that_are_cut_or_changed_do_not_panic() {
        let whole = packed(&rows()).unwrap();
        for cut in 0..whole.len() {
            assert!(unpacked(&whole[..cut]).is_err(), "{cut}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            let _ = unpacked(&bytes);
        }
    }

    #[test]
    fn rows_of_two_studies_are_refused() {
        let mut rows = rows();
        rows[2].1.values.pop();
        assert!(packed(&rows).is_err());
    }
}
