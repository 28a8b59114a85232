//! Matrices in NumPy's file format [NEP 1], version 1.0.

/// A matrix of f64, row after row, as the bytes of a `.npy` file.
///
/// ```
/// let bytes = bellcrank_results::npy::matrix(1, 2, &[1.0, 2.5]);
/// assert_eq!((&bytes[..8], bytes.len()), (&b"\x93NUMPY\x01\x00"[..], 128 + 16));
/// ```
pub fn matrix(rows: usize, columns: usize, values: &[f64]) -> Vec<u8> {
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    // magic, version and length take ten bytes; all of it is a multiple of 64 and ends with a line feed
    let padding = 64 - (10 + header.len() + 1) % 64;
    header.extend(std::iter::repeat_n(' ', padding % 64));
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend_from_slice(&(header.len() as u16).to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    values.iter().for_each(|x| out.extend_from_slice(&x.to_le_bytes()));
    out
}
