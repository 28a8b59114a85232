//! Coordinate splitting [Yen & Petzold 1998]: tables 1–4, the point mass and what became of it.

pub mod problems;

#[cfg(test)]
mod projector;
#[cfg(test)]
mod tests;
