//! Joint accelerations of a robot at given states, for comparison with other programs: see tools/robots.
//!
//! `accelerations FILE [--base free] [--repair] [--plain]` prints a line with the joints of one coordinate, then for every line
//! of their values, rates and efforts on stdin one with their accelerations, by the mass matrix and by recursion. `--plain`
//! leaves friction, ties and actuators out.

use bellcrank_model::dynamics::Dynamics;
use bellcrank_model::dynamics::roles::*;
use bellcrank_model::testing::{derivative, values};
use bellcrank_model::{Piece, Point, Relative, Slopes, State, System, Unknown};
use bellcrank_robots::{Base, RobotOptions};
use std::io::BufRead;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |flag: &str| arguments.iter().any(|a| a == flag);
    let plain = has("--plain");
    let options = RobotOptions {
        base: has("--base").then_some(if has("free") { Base::Free } else { Base::Fixed }),
        repair: has("--repair"),
        friction: !plain,
        ties: !plain,
        actuators: !plain,
        visuals: false,
        ..RobotOptions::default()
    };
    let fail = |text: String| -> ! {
        eprintln!("{text}");
        std::process::exit(2)
    };
    let robot = bellcrank_robots::open(&arguments[1], &options).unwrap_or_else(|e| fail(e.to_string()));
    let mut read = robot.read(&[]).unwrap_or_else(|e| fail(e.to_string()));
    let system = std::mem::take(&mut read.model).into_system();
    let relative = system.relative(&Point::at(&system.initial_state(), system.layout()));
    let joints = columns(&system, &relative);
    println!("{}", joints.iter().map(|j| j.0.as_str()).collect::<Vec<_>>().join("\t"));
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let x: Vec<f64> = line.split_ascii_whitespace().filter_map(|w| w.parse().ok()).collect();
        assert_eq!(x.len(), 3 * joints.len(), "{} joints", joints.len());
        let [by_matrix, by_recursion] = both_ways(&system, &relative, &joints, &x);
        let show = |a: &[f64]| a.iter().map(|a| format!("{a:.17e}")).collect::<Vec<_>>().join(" ");
        println!("{} {}", show(&by_matrix), show(&by_recursion));
    }
}

/// The joints of one coordinate in the tree: the name, the column, and −1 where it runs the other way.
pub fn columns(system: &System, relative: &Relative) -> Vec<(String, usize, f64)> {
    let column = |k: usize| {
        let node = &relative.tree.nodes[*relative.tree.node_of_joint.get(k).filter(|n| **n != u32::MAX)? as usize];
        let (_, reversed) = node.joint.filter(|(j, _)| *j == k && relative.tree.has_joint[k] && !node.is_cartesian)?;
        (node.columns.len() == 1).then_some((node.columns.start, if reversed { -1.0 } else { 1.0 }))
    };
    let joints = system.model.joints.iter().enumerate();
    joints.filter_map(|(k, j)| column(k).map(|(column, sign)| (j.name.clone(), column, sign))).collect()
}

/// The accelerations of these joints at their values, rates and efforts: by the mass matrix and by recursion.
pub fn both_ways(system: &System, relative: &Relative, joints: &[(String, usize, f64)], x: &[f64]) -> [Vec<f64>; 2] {
    let n = joints.len();
    let mut state: State = relative.initial_state();
    let mut tau = vec![0.0; relative.layout().n()];
    for (i, (_, column, sign)) in joints.iter().enumerate() {
        (state.q[*column], state.v[*column]) = (sign * x[i], sign * x[n + i]);
        tau[*column] = sign * x[2 * n + i];
    }
    relative.settle(&mut state, &mut relative.workspace());
    hold_bases(system, relative, &mut state);
    let (by_matrix, by_recursion) = accelerations(relative, &state, &tau);
    [by_matrix, by_recursion].map(|a| joints.iter().map(|(_, column, sign)| sign * a[*column]).collect())
}

/// Sets the velocities of trees that move freely so that the body which no joint carries is at rest: the tree may hang on
/// another of its bodies.
fn hold_bases(system: &System, r: &Relative, state: &mut State) {
    let carried: Vec<usize> = system.model.joints.iter().filter_map(|j| j.ends.get(1)?.body).collect();
    let free = |b: usize| system.model.bodies[b].is_shown() && !carried.contains(&b);
    for base in (0..system.model.bodies.len()).filter(|b| free(*b)) {
        let root = &r.tree.nodes[r.tree.nodes[r.tree.node_of[base] as usize].root as usize];
        if root.joint.is_some() || root.columns.len() != 6 {
            continue;
        }
        let velocity = |state: &State| {
            let mut to = Point::at(&system.initial_state(), system.layout());
            system.take_poses(r, &Point::at(state, r.layout()), &mut to);
            system.take_velocities(r, &Point::at(state, r.layout()), &mut to);
            to.v[system.layout().bodies[base].clone()].to_vec()
        };
        root.columns.clone().for_each(|k| state.v[k] = 0.0);
        let rest = velocity(state);
        let mut a = vec![vec![0.0; 7]; 6];
        for (j, k) in root.columns.clone().enumerate() {
            state.v[k] = 1.0;
            velocity(state).iter().zip(&rest).enumerate().for_each(|(i, (v, v0))| a[i][j] = v - v0);
            state.v[k] = 0.0;
        }
        (0..6).for_each(|i| a[i][6] = -rest[i]);
        root.columns.clone().zip(solve(a)).for_each(|(k, v)| state.v[k] = v);
    }
}

/// v̇ by a dense matrix with the loops in it, and by recursion where there are none.
fn accelerations(r: &Relative, state: &State, tau: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let p = Point::at(state, r.layout());
    let (n, m) = (r.layout().n(), r.layout().m());
    let mut force = values(r, Piece::Force, &p);
    force.iter_mut().zip(tau).for_each(|(f, t)| *f += t);
    let mass = derivative(r, Piece::MassAccel, Unknown::V, Slopes { v: 1.0, ..Slopes::default() }, &p);
    let g = derivative(r, Piece::GtLambda, Unknown::Lambda, Slopes::default(), &p);
    let bias = values(r, Piece::Acceleration, &p);
    let mut a = vec![vec![0.0; n + m + 1]; n + m];
    for i in 0..n {
        a[i][..n].copy_from_slice(&mass[i]);
        a[i][n + m] = force[i];
        for k in 0..m {
            (a[i][n + k], a[n + k][i]) = (g[i][k], g[i][k]);
        }
    }
    (0..m).for_each(|k| a[n + k][n + m] = -bias[k]);
    let by_matrix = solve(a)[..n].to_vec();
    let mut by_recursion = force;
    if m > 0 || r.mass_solve(&p, &mut r.workspace(), &mut by_recursion).is_err() {
        by_recursion.clone_from(&by_matrix);
    }
    (by_matrix, by_recursion)
}

/// Gaussian elimination with pivoting of a matrix with its right-hand side.
fn solve(mut a: Vec<Vec<f64>>) -> Vec<f64> {
    let n = a.len();
    for i in 0..n {
        let best = (i..n).max_by(|x, y| a[*x][i].abs().total_cmp(&a[*y][i].abs())).unwrap_or(i);
        a.swap(i, best);
        let row = a[i].clone();
        for other in a.iter_mut().skip(i + 1) {
            let f = other[i] / row[i];
            if f != 0.0 {
                (i..=n).for_each(|j| other[j] -= f * row[j]);
            }
        }
    }
    let mut x = vec![0.0; n];
    for i in (0..n).rev() {
        let rest: f64 = (i + 1..n).map(|j| a[i][j] * x[j]).sum();
        x[i] = (a[i][n] - rest) / a[i][i];
    }
    x
}
