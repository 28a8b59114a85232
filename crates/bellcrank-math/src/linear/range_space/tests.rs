use super::*;

/// A ring of bodies with three coordinates, held in two places, and its G and masses.
fn ring(full: bool) -> (RangeSpace, Vec<f64>, Vec<Vec<f64>>, Vec<(u32, u32)>) {
    let bodies: Vec<Range<usize>> = (0..4).map(|b| 3 * b..3 * b + 3).collect();
    let constraints = vec![0..2, 2..4, 4..5, 5..8];
    let gradients = vec![(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3), (3, 0), (3, 3)];
    let masses: Vec<Vec<f64>> = (0..4)
        .map(|b| {
            let off = if full { 0.2 } else { 0.0 };
            (0..9).map(|i| if i % 4 == 0 { 1.0 + b as f64 + 0.1 * i as f64 } else { off }).collect()
        })
        .collect();
    let size: usize = gradients.iter().map(|&(k, _): &(u32, u32)| constraints[k as usize].len() * 3).sum();
    let g = (0..size).map(|i| ((7 * i * i + 3 * i) % 11) as f64 / 5.0 - 1.0).collect();
    let space = RangeSpace::new(&bodies, &masses, &constraints, &gradients);
    (space.unwrap_or_default(), g, masses, gradients)
}

#[test]
fn solutions_fulfil_the_equations() {
    for full in [false, true] {
        let (mut space, g, masses, gradients) = ring(full);
        assert!(space.factor(&g), "smallest pivot {}", space.smallest_pivot());
        let rhs: Vec<f64> = (0..20).map(|i| (i as f64 * 0.7).sin()).collect();
        let mut x = rhs.clone();
        space.solve(&mut x, Of::All);
        let mut multipliers = rhs.clone();
        space.solve(&mut multipliers, Of::Multipliers);
        assert_eq!(multipliers[12..], x[12..]);
        let (mut of_rows, mut all) = (rhs.clone(), rhs.clone());
        all[..12].fill(0.0);
        of_rows[..12].fill(0.0);
        space.solve(&mut all, Of::All);
        space.solve(&mut of_rows, Of::Rows);
        assert_eq!(all, of_rows);
        let mut left = rhs;
        for (b, mass) in masses.iter().enumerate() {
            (0..9).for_each(|i| left[3 * b + i / 3] -= mass[i] * x[3 * b + i % 3]);
        }
        let rows = [0..2usize, 2..4, 4..5, 5..8];
        let mut at = 0;
        for (k, b) in gradients {
            for r in rows[k as usize].clone() {
                for c in 0..3 {
                    left[3 * b as usize + c] -= g[at] * x[12 + r];
                    left[12 + r] -= g[at] * x[3 * b as usize + c];
                    at += 1;
                }
            }
        }
        let open = left.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        assert!(open < 1e-12, "{open}");
    }
}

#[test]
fn redundant_rows_and_vanishing_masses_are_left_to_others() {
    let (mut space, mut g, ..) = ring(false);
    // both rows of the first constraint alike
    for block in 0..2 {
        (0..3).for_each(|i| g[6 * block + 3 + i] = g[6 * block + i]);
    }
    assert!(!space.factor(&g) && !space.holds());
    assert!((0..PATIENCE).all(|_| !space.factor(&g)));
    g[3] += 1.0;
    assert!(space.factor(&g));
    g[0] = f64::NAN;
    assert!(!space.factor(&g));
    let one = std::slice::from_ref(&(0..1));
    assert!(RangeSpace::new(one, &[vec![0.0]], one, &[(0, 0)]).is_none());
    assert!(RangeSpace::new(one, &[vec![2.0]], one, &[(0, 0)]).is_some());
}

#[test]
fn a_pivot_that_vanishes_is_not_forgotten_behind_others() {
    // two rows alike on the first body leave 0/0, and others on the bodies behind it are as good as can be
    let bodies: Vec<Range<usize>> = (0..3).map(|b| b..b + 1).collect();
    let masses = vec![vec![1.0]; 3];
    let constraints: Vec<Range<usize>> = (0..5).map(|k| k..k + 1).collect();
    let gradients = [(0, 0), (1, 0), (2, 0), (3, 1), (4, 2)];
    let mut space = RangeSpace::new(&bodies, &masses, &constraints, &gradients).unwrap();
    assert!(!space.factor(&[1.0; 5]), "smallest pivot {}", space.smallest_pivot());
    // the same within one block
    let mut space = RangeSpace::new(&bodies, &masses, &[0..3, 3..4, 4..5], &[(0, 0), (1, 1), (2, 2)]).unwrap();
    assert!(!space.factor(&[1.0; 5]), "smallest pivot {}", space.smallest_pivot());
}
