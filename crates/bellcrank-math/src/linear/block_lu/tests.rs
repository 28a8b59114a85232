//! Block elimination beside dense LU, on chains, trees, ladders and nets; redundant rows; parts and threads.

use super::*;
use crate::linear::dense::DenseLu;
use crate::linear::samples::{self, Form, Sample, Shuffled};
use crate::numbers::{largest, worst};
use crate::random::Random;

fn solution(solver: &mut dyn LinearSolver, a: &BlockMatrix, b: &[f64]) -> Vec<f64> {
    solver.analyze(a.pattern()).unwrap();
    solver.factor(a).unwrap();
    let mut x = b.to_vec();
    solver.solve(&mut x).unwrap();
    x
}

/// The solution that comes with the factors.
fn on_the_way(solver: &mut BlockLu, a: &BlockMatrix, b: &[f64]) -> Vec<f64> {
    solver.go_forward(a, b, true).unwrap();
    let mut x = b.to_vec();
    solver.go_backward(&mut x);
    x
}

fn assert_close(x: &[f64], y: &[f64], tolerance: f64, what: &str) {
    let difference = worst(x.iter().zip(y).map(|(x, y)| (x - y).abs()));
    assert!(difference <= tolerance * largest(y), "{what}: {difference:e}");
}

thread_local! {
    /// Whether to work as on a processor without fused multiply-add.
    pub static PLAIN: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

fn check(sample: &Sample, what: &str) {
    for (form, plain) in [(Form::Index3, false), (Form::Ggl, false), (Form::Index3, true), (Form::Ggl, true)] {
        PLAIN.set(plain);
        let mut rng = Random::new(5);
        let a = sample.matrix(form, 3.0, &mut rng);
        let b: Vec<f64> = (0..a.pattern().dimension()).map(|_| rng.number()).collect();
        let mut lu = BlockLu::new();
        let x = solution(&mut lu, &a, &b);
        assert_eq!(lu.dropped(), &[] as &[usize], "{what}");
        assert_close(&x, &solution(&mut DenseLu::new(), &a, &b), 1e-11, what);
        assert_eq!(on_the_way(&mut lu, &a, &b), x, "{what}");
        if form == Form::Index3 {
            let mut a = mirrored(a);
            let mut ldl = BlockLu::for_symmetric(a.pattern()).unwrap();
            let x = solution(&mut ldl, &a, &b);
            assert_eq!(ldl.dropped(), &[] as &[usize], "{what}");
            assert_close(&x, &solution(&mut DenseLu::new(), &a, &b), 1e-11, what);
            assert!(ldl.factor_entries() < lu.factor_entries() || a.pattern().blocks() < 3, "{what}");
            assert_eq!(on_the_way(&mut ldl, &a, &b), x, "{what}");
            // with rows of multipliers that are somewhere else
            let [first, end, _] = a.pattern().ends();
            let mut rows = a.values[first..end].to_vec();
            a.values[first..].fill(f64::NAN);
            assert!(a.borrow_last(&mut rows) && rows.is_empty());
            assert_eq!(on_the_way(&mut ldl, &a, &b), x, "{what}");
            a.give_back(&mut rows);
            assert!(!a.has_borrowed() && rows.len() == end - first);
        }
    }
}

/// The symmetric matrix with the same lower triangle.
fn mirrored(mut a: BlockMatrix) -> BlockMatrix {
    let pattern = a.pattern().clone();
    for i in 0..pattern.blocks() {
        for (j, from) in pattern.row(i).filter(|(j, _)| *j <= i) {
            let (m, n) = (pattern.size(i), pattern.size(j));
            let to = pattern.offset(j, i).unwrap() as usize;
            for r in 0..m {
                for c in 0..if i == j { r } else { n } {
                    a.values[to + c * m + r] = a.values[from + r * n + c];
                }
            }
        }
    }
    a
}

#[test]
fn trees_chains_and_ladders_agree_with_dense() {
    if cfg!(miri) {
        check(&Sample::tree(&mut Random::new(1), &[2, 3, 4, 6], 6, 100), "tree");
        return check(&Sample::net(3), "net");
    }
    for seed in 1..6 {
        let mut rng = Random::new(seed);
        check(&Sample::tree(&mut rng, &[3], 20, 1), "planar chain");
        check(&Sample::tree(&mut rng, &[2, 3, 4, 6], 25, 100), "tree");
        let mut mixed = Sample::tree(&mut rng, &[1, 6, 12], 12, 3);
        mixed.springs = vec![(0, 5), (3, 4), (2, 9), (0, 11)];
        mixed.random_joint(&mut rng, 1, &[1, 7, 10]);
        check(&mixed, "mixed with springs and a joint of three");
        let mut clusters = Sample::tree(&mut rng, &[1, 2, 3], 20, 4);
        clusters.springs = (0..30).map(|_| (rng.below(20), rng.below(20))).filter(|(a, b)| a != b).collect();
        check(&clusters, "small bodies with many springs");
    }
    check(&Sample::ladder(6), "ladder");
    check(&Sample::net(5), "net");
}

#[test]
fn one_large_body_and_joint() {
    let sizes = [(4, 2), (40, 11), (40, 39)];
    for &(coordinates, rows) in if cfg!(miri) { &sizes[..1] } else { &sizes } {
        let mut rng = Random::new(11);
        let mut s = Sample { bodies: vec![coordinates], ..Sample::default() };
        s.random_joint(&mut rng, rows, &[0]);
        check(&s, "hand-written");
    }
}

/// Bodies' part of the solution with b = A x, against x; returns how many rows were dropped.
fn check_redundant(sample: &Sample, form: Form, what: &str) -> usize {
    let mut rng = Random::new(17);
    let a = sample.matrix(form, 50.0, &mut rng);
    let pattern = a.pattern().clone();
    let x: Vec<f64> = (0..pattern.dimension()).map(|_| rng.number()).collect();
    let mut b = vec![0.0; x.len()];
    a.add_times(&x, &mut b);
    let mut lu = BlockLu::new();
    let y = solution(&mut lu, &a, &b);
    for k in (0..pattern.blocks()).filter(|&k| pattern.class(k) != Class::Multiplier) {
        assert_close(&y[pattern.range(k)], &x[pattern.range(k)], 1e-8, what);
    }
    assert!(lu.smallest_kept_pivot() > 1e-6, "{what}: {:e}", lu.smallest_kept_pivot());
    if form == Form::Index3 {
        let a = mirrored(a);
        b.fill(0.0);
        a.add_times(&x, &mut b);
        let mut ldl = BlockLu::for_symmetric(&pattern).unwrap();
        let y = solution(&mut ldl, &a, &b);
        for k in (0..pattern.blocks()).filter(|&k| pattern.class(k) != Class::Multiplier) {
            assert_close(&y[pattern.range(k)], &x[pattern.range(k)], 1e-8, what);
        }
        assert_eq!(ldl.dropped().len(), lu.dropped().len(), "{what}");
    }
    lu.dropped().len()
}

#[test]
fn redundant_constraints_are_dropped_and_bodies_stay() {
    for seed in 1..if cfg!(miri) { 2 } else { 8 } {
        let mut rng = Random::new(seed);
        for (form, per_row) in [(Form::Index3, 1), (Form::Ggl, 2)] {
            let mut s = Sample::tree(&mut rng, &[3, 6], 15, 4);
            // the same joint twice, one of them scaled
            let mut twin = s.joints[3].clone();
            twin.on.iter_mut().for_each(|(_, g)| g.iter_mut().for_each(|g| *g *= 1e3));
            let rows = twin.rows;
            s.joints.push(twin);
            assert_eq!(check_redundant(&s, form, "twin"), rows * per_row);
            // a row that follows from two others on other bodies
            let (g, h) = (s.joints[5].clone(), s.joints[7].clone());
            let first_row = |joint: &samples::Joint, factor: f64| {
                let row = |(b, g): &(usize, Vec<f64>)| {
                    (*b, g[..g.len() / joint.rows].iter().map(|g| factor * g).collect::<Vec<f64>>())
                };
                joint.on.iter().map(row).collect::<Vec<_>>()
            };
            let mut on = first_row(&g, 2.0);
            for (b, row) in first_row(&h, -0.7) {
                match on.iter_mut().find(|(a, _)| *a == b) {
                    Some((_, sum)) => sum.iter_mut().zip(&row).for_each(|(s, r)| *s += r),
                    None => on.push((b, row)),
                }
            }
            s.joints.push(samples::Joint { rows: 1, on });
            assert_eq!(check_redundant(&s, form, "dependent"), (rows + 1) * per_row);
            // inside one joint, a row twice
            let joint = &mut s.joints[0];
            joint.rows += 1;
            for (_, g) in &mut joint.on {
                let n = g.len() / (joint.rows - 1);
                g.extend_from_within(..n);
            }
            assert_eq!(check_redundant(&s, form, "row twice"), (rows + 2) * per_row);
        }
    }
}

/// A ladder of planar bodies seen out of plane, (z, φx, φy): rods joined by revolutes about z leave three redundant rows
/// per square.
fn out_of_plane(m: usize) -> Sample {
    let planar = Sample::ladder(m);
    let mut s = Sample { bodies: planar.bodies.clone(), ..Sample::default() };
    for joint in &planar.joints {
        let on = joint.on.iter().map(|(b, g)| {
            let (sign, y, x) = (g[0], -g[2] * g[0], g[5] * g[0]);
            (*b, vec![sign, sign * y, -sign * x, 0.0, sign, 0.0, 0.0, 0.0, sign])
        });
        s.joints.push(samples::Joint { rows: 3, on: on.collect() });
    }
    s
}

#[test]
fn closed_loops_of_spatial_revolutes_lose_the_rows_out_of_plane() {
    let m = if cfg!(miri) { 3 } else { 20 };
    let s = out_of_plane(m);
    for (form, per_row) in [(Form::Index3, 1), (Form::Ggl, 2)] {
        assert_eq!(check_redundant(&s, form, "loops"), 3 * m * per_row);
    }
}

#[test]
fn the_same_input_gives_the_same_bits() {
    let a = Sample::net(if cfg!(miri) { 3 } else { 8 }).matrix(Form::Ggl, 7.0, &mut Random::new(1));
    let b: Vec<f64> = (0..a.pattern().dimension()).map(|i| (i as f64).cos()).collect();
    let x = solution(&mut BlockLu::new(), &a, &b);
    let mut used = BlockLu::new();
    solution(&mut used, &a, &x);
    assert_eq!(x, solution(&mut used, &a, &b));
    assert!(matches!(BlockLu::for_symmetric(a.pattern()), Err(LinearError::OneSided { .. })));
}

#[test]
fn parts_are_eliminated_alike_by_any_number_of_threads() {
    let mut rng = Random::new(3);
    let chain = Sample::tree(&mut rng, &[3, 6], if cfg!(miri) { 60 } else { 700 }, 1);
    let mut twins = Sample::ladder(160);
    twins.joints.extend_from_within(40..60);
    let tree = Sample::tree(&mut rng, &[3], 900, 100);
    let samples = [(chain, 2), (tree, 2), (Sample::ladder(160), 2), (Sample::net(25), 2), (twins, 1)];
    for (sample, parts) in samples.into_iter().take(if cfg!(miri) { 1 } else { 5 }) {
        let a = mirrored(sample.matrix(Form::Index3, 3.0, &mut rng));
        let x: Vec<f64> = (0..a.pattern().dimension()).map(|_| rng.number()).collect();
        let mut b = vec![0.0; x.len()];
        a.add_times(&x, &mut b);
        for analyze in [BlockLu::for_symmetric, BlockLu::for_pattern] {
            let mut lu = analyze(a.pattern()).unwrap();
            assert!(lu.parts() >= parts, "{} bodies", sample.bodies.len());
            let mut by = |threads: usize| {
                let mut y = b.clone();
                team::Team::of(threads).lead(|| {
                    lu.factor(&a).unwrap();
                    lu.refactor(&a).unwrap();
                    lu.solve(&mut y).unwrap();
                });
                (y, lu.dropped().to_vec(), lu.smallest_kept_pivot())
            };
            let alone = by(1);
            assert!(by(2) == alone && by(3) == alone, "{}", sample.bodies.len());
            let of_bodies = (0..sample.bodies.len()).flat_map(|k| a.pattern().range(k));
            let error = worst(of_bodies.map(|i| (alone.0[i] - x[i]).abs()));
            assert!(error < 1e-7, "{error:e}");
            assert_eq!(alone.1.len(), if parts == 1 { 40 } else { 0 });
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn halves_that_are_stiff_are_not_eliminated_apart() {
    for m in [200, 800] {
        let a = mirrored(out_of_plane(m).matrix(Form::Index3, 1.0, &mut Random::new(2)));
        let mut cut = BlockLu::for_symmetric(a.pattern()).unwrap();
        cut.factor(&a).unwrap();
        assert!(cut.parts() == 2 && cut.meets_poorly());
        let mut solver = crate::linear::solver::choose_symmetric(a.pattern());
        solver.factor(&a).unwrap();
        assert_eq!(solver.dropped().len(), 3 * m);
        assert!(!solver.explain().contains("parts"), "{}", solver.explain());
        assert!(solver.smallest_kept_pivot() > 1e-4, "{m}: {:e}", solver.smallest_kept_pivot());
    }
}

#[test]
fn equal_patterns_are_analyzed_once() {
    let matrix = |bodies| mirrored(Sample::ladder(bodies).matrix(Form::Index3, 1.0, &mut Random::new(7)));
    let [a, twin, other] = [5, 5, 6].map(matrix);
    let [first, second, third] = [&a, &twin, &other].map(|a| BlockLu::for_symmetric(a.pattern()).unwrap());
    assert!(Arc::ptr_eq(&first.analysis, &second.analysis) && !Arc::ptr_eq(&first.analysis, &third.analysis));
    let general = BlockLu::for_pattern(a.pattern()).unwrap();
    assert!(!Arc::ptr_eq(&first.analysis, &general.analysis));
    // one that nobody uses is gone
    let of_nobody = Arc::downgrade(&third.analysis);
    drop(third);
    assert!(of_nobody.upgrade().is_none());
}

#[test]
fn what_cannot_be_solved_is_named() {
    let s = Sample::ladder(3);
    let mut a = s.matrix(Form::Index3, 1.0, &mut Random::new(1));
    let mut lu = BlockLu::for_pattern(a.pattern()).unwrap();
    let good = a.clone();
    if let Some(d) = a.block_mut(4, 4) {
        d[3..6].fill(0.0);
    }
    assert_eq!(lu.factor(&a), Err(LinearError::Singular { row: 13 }));
    if let Some(d) = a.block_mut(4, 4) {
        d[8] = f64::NAN;
    }
    assert_eq!(lu.factor(&a), Err(LinearError::NotFinite { row: 14 }));
    assert_eq!(lu.factor(&good), Ok(()));
    assert_eq!(lu.solve(&mut [0.0]), Err(LinearError::Sizes { expected: 56, found: 1 }));
    let empty = BlockMatrix::new(Arc::new(BlockPattern::new(vec![], vec![], vec![])));
    assert_eq!(solution(&mut lu, &empty, &[]), []);
}

#[test]
fn blocks_may_be_numbered_in_any_way() {
    for seed in 1..if cfg!(miri) { 2 } else { 5 } {
        let mut rng = Random::new(seed);
        let bodies = if cfg!(miri) { 6 } else { 30 };
        let mut s = Sample::tree(&mut rng, &[2, 3, 6], bodies, 6);
        s.random_joint(&mut rng, 1, &[3, bodies - 2]);
        let a = s.matrix(Form::Ggl, 20.0, &mut rng).shuffled(&mut rng);
        let b: Vec<f64> = (0..a.pattern().dimension()).map(|_| rng.number()).collect();
        let x = solution(&mut BlockLu::new(), &a, &b);
        assert_close(&x, &solution(&mut DenseLu::new(), &a, &b), 1e-11, "shuffled");
    }
}

#[test]
fn empty_blocks_lone_multipliers_and_one_sided_entries() {
    use Class::*;
    let classes = vec![Body, Body, Velocity, Multiplier, Multiplier, Body, Multiplier];
    #[rustfmt::skip]
    let entries = vec![(0, 0), (2, 2), (0, 2), (5, 5), (5, 0), (6, 5), (5, 6), (1, 1), (1, 0), (4, 0), (3, 3), (0, 4)];
    let pattern = Arc::new(BlockPattern::new(vec![2, 0, 3, 1, 0, 2, 1], classes, entries));
    let mut a = BlockMatrix::new(pattern.clone());
    let mut rng = Random::new(5);
    a.values.iter_mut().for_each(|v| *v = rng.number());
    a.block_mut(3, 3).unwrap()[0] = 0.0;
    let lone = pattern.range(3).start;
    let mut x: Vec<f64> = (0..pattern.dimension()).map(|_| rng.number()).collect();
    x[lone] = 0.0;
    let mut b = vec![0.0; x.len()];
    a.add_times(&x, &mut b);
    let mut lu = BlockLu::new();
    assert_close(&solution(&mut lu, &a, &b), &x, 1e-12, "odd pattern");
    assert_eq!(lu.dropped(), [lone]);
}
