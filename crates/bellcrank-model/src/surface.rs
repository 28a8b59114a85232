//! Functions of one or two variables by a grid of values: bicubic patches with slopes from parabolas.
//!
//! Between the lines of the grid f is a bicubic Hermite patch. Slopes at a node are those of the parabola through it and its
//! neighbours, so that f is once differentiable everywhere, and exact for polynomials of degree two in either variable. Where the grid is
//! so uneven that such a parabola would lead far beyond the values (a step or a pulse between distant points), slopes are limited so that
//! f stays between neighbouring values. Beyond the grid f stays what it is at its edge.

/// A function z = f(x, y), or z = f(x) where the grid has no second direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    x: Vec<f64>,
    y: Vec<f64>,
    /// f, f_x, f_y and f_xy at the nodes, by rows of y.
    nodes: Vec<[f64; 4]>,
    bounds: [f64; 2],
    /// The values of x at which a function of one variable bends sharply, for its size.
    corners: Vec<f64>,
}

/// The value of a function of two variables, and its derivatives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SurfacePoint {
    /// f.
    pub value: f64,
    /// f_x and f_y.
    pub slope: [f64; 2],
    /// f_xx, f_xy and f_yy.
    pub second: [f64; 3],
}

impl Surface {
    /// From the lines of the grid and a row of values for every y; without `y` from one row. What is wrong reads on behind the
    /// name of the grid.
    pub fn new(x: &[f64], y: &[f64], rows: &[Vec<f64>]) -> Result<Surface, String> {
        for (name, line) in [("x", x), ("y", y)] {
            if let Some(i) = (1..line.len()).find(|&i| line[i] <= line[i - 1]) {
                return Err(format!("has {} behind {} in `{name}`, which must increase", line[i], line[i - 1]));
            }
        }
        let count = y.len().max(1);
        if rows.len() != count {
            return Err(format!("has {} rows of values for {count} values of `y`", rows.len()));
        }
        if let Some(row) = rows.iter().position(|row| row.len() != x.len()) {
            return Err(format!("has {} values in row {} for {} values of `x`", rows[row].len(), row + 1, x.len()));
        }
        let (n, m) = (x.len(), count);
        let f = |i: usize, j: usize| rows[j][i];
        let mut nodes = vec![[0.0; 4]; n * m];
        for j in 0..m {
            for i in 0..n {
                nodes[j * n + i][0] = f(i, j);
                nodes[j * n + i][1] = slope(x, i, |k| f(k, j));
                nodes[j * n + i][2] = slope(y, j, |k| f(i, k));
            }
        }
        for j in 0..m {
            for i in 0..n {
                nodes[j * n + i][3] = slope(x, i, |k| nodes[j * n + k][2]);
            }
        }
        let mut surface = Surface { x: x.to_vec(), y: y.to_vec(), nodes, bounds: [0.0; 2], corners: Vec::new() };
        surface.bounds = {
            let all = [f64::NEG_INFINITY, f64::INFINITY];
            surface.hull(&pieces(&surface.x, all), &pieces(&surface.y, all))
        };
        surface.corners = surface.find_corners();
        Ok(surface)
    }

    /// How many variables it has.
    pub fn arity(&self) -> usize {
        if self.y.is_empty() { 1 } else { 2 }
    }

    /// Bounds of its values between two values of each variable; of `y` nothing is asked where it has none.
    pub fn bounds_over(&self, x: [f64; 2], y: [f64; 2]) -> [f64; 2] {
        let [across, along] = [(&self.x, x), (&self.y, y)].map(|(line, range)| pieces(line, range));
        // what is held beyond the grid stands at its edge; nobody needs thousands of cells one by one
        let known = x[0] <= x[1] && (self.y.is_empty() || y[0] <= y[1]);
        if known && across.len() * along.len() <= MOST_CELLS { self.hull(&across, &along) } else { self.bounds }
    }

    /// A part of a patch lies within the hull of its Bernstein coefficients.
    fn hull(&self, across: &[[f64; 2]], along: &[[f64; 2]]) -> [f64; 2] {
        let mut bounds = [f64::INFINITY, f64::NEG_INFINITY];
        for &[x0, x1] in across {
            for &[y0, y1] in along {
                for (x, dx) in [(x0, x1 - x0), (x1, x0 - x1)] {
                    for (y, dy) in [(y0, y1 - y0), (y1, y0 - y1)] {
                        let SurfacePoint { value, slope: [fx, fy], second: [_, fxy, _] } = self.inside(x, y);
                        for (u, v) in [(0.0, 0.0), (dx / 3.0, 0.0), (0.0, dy / 3.0), (dx / 3.0, dy / 3.0)] {
                            let c = value + u * fx + v * fy + u * v * fxy;
                            bounds = [bounds[0].min(c), bounds[1].max(c)];
                        }
                    }
                }
            }
        }
        bounds
    }

    /// The same at a place of the grid, or on its edge.
    fn inside(&self, x: f64, y: f64) -> SurfacePoint {
        self.at(x, if self.y.is_empty() { 0.0 } else { y })
    }

    /// Whether a function of one variable has corners.
    pub fn bends(&self) -> bool {
        !self.corners.is_empty()
    }

    /// How many corners lie at or before a stretch of x, if none lies within it.
    pub fn stretch(&self, from: f64, to: f64) -> Option<usize> {
        let before = |x: f64| self.corners.partition_point(|corner| *corner <= x);
        (before(from) == before(to)).then(|| before(from))
    }

    /// The nodes of a function of one variable at which it bends by so much that a cell beside them shows it: a step may pass over what is
    /// between them.
    fn find_corners(&self) -> Vec<f64> {
        let n = self.x.len();
        if self.arity() > 1 {
            return Vec::new();
        }
        let range = self.nodes.iter().fold(f64::NEG_INFINITY, |m, f| m.max(f[0]))
            - self.nodes.iter().fold(f64::INFINITY, |m, f| m.min(f[0]));
        let second = |cell: usize, end: usize| -> f64 {
            let h = self.x[cell + 1] - self.x[cell];
            let weights = basis(Some(end as f64), h);
            let [a, b] = [self.nodes[cell], self.nodes[cell + 1]];
            weights[0][2] * a[0] + weights[1][2] * b[0] + weights[2][2] * a[1] + weights[3][2] * b[1]
        };
        let is_corner = |i: &usize| {
            let before = if *i > 0 { second(i - 1, 1) } else { 0.0 };
            let behind = if i + 1 < n { second(*i, 0) } else { 0.0 };
            let beside = [i.checked_sub(1), (i + 1 < n).then_some(*i)].into_iter().flatten();
            let h = beside.map(|cell| self.x[cell + 1] - self.x[cell]).fold(f64::INFINITY, f64::min);
            // at the ends of the grid it also stops to slope
            let kink = if *i == 0 || i + 1 == n { self.nodes[*i][1].abs() * h } else { 0.0 };
            before.abs().max(behind.abs()) * h * h > CORNER * range || kink > 1e-9 * range
        };
        (0..n).filter(is_corner).map(|i| self.x[i]).collect()
    }

    /// f and its derivatives.
    pub fn at(&self, x: f64, y: f64) -> SurfacePoint {
        if x.is_nan() || y.is_nan() {
            return SurfacePoint { value: f64::NAN, slope: [f64::NAN; 2], second: [f64::NAN; 3] };
        }
        let (i, hx, u) = cell(&self.x, x);
        let (j, hy, v) = if self.y.len() < 2 { (0, 1.0, None) } else { cell(&self.y, y) };
        let (bx, by) = (basis(u, hx), basis(v, hy));
        let mut out = SurfacePoint::default();
        let rows = if self.y.len() < 2 { 1 } else { 2 };
        for b in 0..rows {
            for a in 0..2 {
                let [f, fx, fy, fxy] = self.nodes[(j + b) * self.x.len() + i + a];
                // along y: the weight of a value and of a slope, with their derivatives
                let (value, slope) = if rows == 1 { ([1.0, 0.0, 0.0], [0.0; 3]) } else { (by[b], by[2 + b]) };
                for (weight, f, fy) in [(bx[a], f, fy), (bx[2 + a], fx, fxy)] {
                    let along = |d: usize| value[d] * f + slope[d] * fy;
                    out.value += weight[0] * along(0);
                    out.slope[0] += weight[1] * along(0);
                    out.slope[1] += weight[0] * along(1);
                    out.second[0] += weight[2] * along(0);
                    out.second[1] += weight[1] * along(1);
                    out.second[2] += weight[0] * along(2);
                }
            }
        }
        out
    }
}

/// The parts of a range in the cells of a line, from edge to edge; what is beyond stands at the edge.
fn pieces(line: &[f64], [from, to]: [f64; 2]) -> Vec<[f64; 2]> {
    let (Some(first), Some(last)) = (line.first(), line.last()) else { return vec![[0.0; 2]] };
    let [from, to] = [from, to].map(|x| x.max(*first).min(*last));
    let inside = line.partition_point(|x| *x <= from)..line.partition_point(|x| *x < to);
    let inner = line.get(inside).unwrap_or_default().iter().copied();
    let edges: Vec<f64> = std::iter::once(from).chain(inner).chain(std::iter::once(to)).collect();
    edges.windows(2).map(|edge| [edge[0], edge[1]]).collect()
}

/// Beyond so many cells the bounds of the whole table do.
const MOST_CELLS: usize = 1000;

/// A curvature times the square of the cell beside it, as a part of the range of all values, that makes a corner of a node.
const CORNER: f64 = 0.1;

/// A curve may leave the range of three neighbouring values by this part of it, between them. On an equal grid a parabola never does.
const OVERSHOOT: f64 = 0.25;

/// How far a cubic with the slope s at one end of a cell leaves the values at its ends, if its chord is level: 4/27 s h.
const SAG: f64 = 4.0 / 27.0;

/// The slope at a node: of the parabola, or where that would lead too far the largest one up to it with which the cells beside the node
/// keep between their values (|s| ≤ 3 |chord|) [Fritsch & Carlson 1980].
fn slope(line: &[f64], i: usize, f: impl Fn(usize) -> f64) -> f64 {
    let s = parabolic_slope(line, i, &f);
    let n = line.len();
    if n < 3 {
        return s;
    }
    let k = i.clamp(1, n - 2);
    let values = [f(k - 1), f(k), f(k + 1)];
    let range = values.into_iter().fold(f64::NEG_INFINITY, f64::max) - values.into_iter().fold(f64::INFINITY, f64::min);
    let cells = [i.checked_sub(1), (i + 1 < n).then_some(i)].into_iter().flatten();
    // the slopes that keep each cell between its values
    let (mut least, mut most, mut excess) = (f64::NEG_INFINITY, f64::INFINITY, 0.0f64);
    for cell in cells {
        let h = line[cell + 1] - line[cell];
        let steep = 3.0 * (f(cell + 1) - f(cell)) / h;
        let (lo, hi) = (steep.min(0.0), steep.max(0.0));
        excess = excess.max(SAG * h * (s - s.max(lo).min(hi)).abs());
        (least, most) = (least.max(lo), most.min(hi));
    }
    if excess <= OVERSHOOT * range { s } else { s.max(least).min(most) }
}

/// The slope at a node of the parabola through it and its neighbours, or through the three at an end.
fn parabolic_slope(line: &[f64], i: usize, f: impl Fn(usize) -> f64) -> f64 {
    match line.len() {
        0 | 1 => 0.0,
        2 => (f(1) - f(0)) / (line[1] - line[0]),
        n => {
            let k = i.clamp(1, n - 2);
            let (a, b) = (line[k] - line[k - 1], line[k + 1] - line[k]);
            let (da, db) = ((f(k) - f(k - 1)) / a, (f(k + 1) - f(k)) / b);
            let bend = (db - da) / (a + b);
            // f′(x) = da + bend (2x − x₋ − x₀)
            da + bend * (2.0 * line[i] - line[k - 1] - line[k])
        }
    }
}

/// The cell of a value, its width, and where in it from 0 to 1; nothing beyond the line, at whose end the value is held.
fn cell(line: &[f64], x: f64) -> (usize, f64, Option<f64>) {
    let n = line.len();
    let i = line.partition_point(|l| *l <= x).clamp(1, n - 1) - 1;
    let h = line[i + 1] - line[i];
    let u = (x - line[i]) / h;
    (i, if u > 1.0 { -h } else { h }, (0.0..=1.0).contains(&u).then_some(u))
}

/// Weights of the values and slopes at both ends of a cell, with their first and second derivatives.
fn basis(u: Option<f64>, h: f64) -> [[f64; 3]; 4] {
    let Some(u) = u else {
        // held at the first end, or at the second where h is negative
        let held = [1.0, 0.0, 0.0];
        return if h > 0.0 { [held, [0.0; 3], [0.0; 3], [0.0; 3]] } else { [[0.0; 3], held, [0.0; 3], [0.0; 3]] };
    };
    let (d, dd) = (1.0 / h, 1.0 / (h * h));
    [
        [1.0 - u * u * (3.0 - 2.0 * u), -6.0 * u * (1.0 - u) * d, (12.0 * u - 6.0) * dd],
        [u * u * (3.0 - 2.0 * u), 6.0 * u * (1.0 - u) * d, (6.0 - 12.0 * u) * dd],
        [h * u * (1.0 - u) * (1.0 - u), (1.0 - u) * (1.0 - 3.0 * u), (6.0 * u - 4.0) * d],
        [h * u * u * (u - 1.0), u * (3.0 * u - 2.0), (6.0 * u - 2.0) * d],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(f: impl Fn(f64, f64) -> f64) -> Surface {
        let (x, y) = ([0.0, 0.4, 1.0, 1.3], [-1.0, 0.0, 2.0]);
        let rows: Vec<Vec<f64>> = y.iter().map(|y| x.iter().map(|x| f(*x, *y)).collect()).collect();
        Surface::new(&x, &y, &rows).unwrap()
    }

    #[test]
    fn polynomials_of_degree_two_are_exact() {
        let f = |x: f64, y: f64| 2.0 - x + 3.0 * y + 0.5 * x * y + x * x - 0.7 * y * y + 0.3 * x * x * y;
        let s = of(f);
        for (x, y) in [(0.1, -0.9), (0.4, 0.0), (0.77, 1.3), (1.3, 2.0), (0.0, -1.0)] {
            let at = s.at(x, y);
            assert!((at.value - f(x, y)).abs() < 1e-13, "{x} {y}: {at:?}");
            let slope = [-1.0 + 0.5 * y + 2.0 * x + 0.6 * x * y, 3.0 + 0.5 * x - 1.4 * y + 0.3 * x * x];
            assert!(
                (at.slope[0] - slope[0]).abs() < 1e-12 && (at.slope[1] - slope[1]).abs() < 1e-12,
                "{at:?} {slope:?}"
            );
        }
    }

    #[test]
    fn derivatives_agree_with_differences_also_at_the_lines_of_the_grid() {
        let s = of(|x: f64, y: f64| (3.0 * x).sin() * (1.0 + y).exp());
        let h = 1e-5;
        for (x, y) in [(0.1, -0.9), (0.4, 0.0), (0.8, 1.3), (1.2, -0.4), (1.5, 0.3), (-0.2, 2.5), (0.7, 3.0)] {
            let at = s.at(x, y);
            let d = [(s.at(x + h, y), s.at(x - h, y)), (s.at(x, y + h), s.at(x, y - h))];
            for (k, (plus, minus)) in d.into_iter().enumerate() {
                let slope = (plus.value - minus.value) / (2.0 * h);
                assert!((at.slope[k] - slope).abs() < 1e-4 * (1.0 + slope.abs()), "{x} {y}: {at:?} {slope}");
            }
            if ![0.4, 1.0].contains(&x) {
                let (plus, minus) = d_of(&s, x, y, h);
                assert!((at.second[0] - (plus.slope[0] - minus.slope[0]) / (2.0 * h)).abs() < 1e-3, "{at:?}");
                assert!((at.second[1] - (plus.slope[1] - minus.slope[1]) / (2.0 * h)).abs() < 1e-3, "{at:?}");
            }
            let [low, high] = s.bounds;
            assert!(low <= at.value && at.value <= high);
            let [low, high] = s.bounds_over([x - 0.05, x + 0.01], [y - 0.02, y + 0.03]);
            assert!(low <= at.value && at.value <= high);
        }
    }

    fn d_of(s: &Surface, x: f64, y: f64, h: f64) -> (SurfacePoint, SurfacePoint) {
        (s.at(x + h, y), s.at(x - h, y))
    }

    #[test]
    fn a_pulse_between_distant_points_stays_a_pulse() {
        let x = [0.0, 99.5, 100.0, 100.5, 1000.0];
        let s = Surface::new(&x, &[], &[vec![0.0, 0.0, 0.1, 0.0, 0.0]]).unwrap();
        for k in 0..=20_000 {
            let f = s.at(f64::from(k) * 0.05, 0.0).value;
            assert!((0.0..=0.1).contains(&f), "{k}: {f}");
        }
        assert_eq!(s.bounds_over([0.0, 90.0], [0.0; 2]), [0.0, 0.0]);
        assert_eq!((s.corners.as_slice(), s.stretch(0.0, 99.0), s.stretch(99.0, 100.0)), (&x[1..4], Some(0), None));
        // many samples of a smooth function have none but the ends of the grid, where it stops
        let fine: Vec<f64> = (0..500).map(|k| f64::from(k) * 0.02).collect();
        let wave = Surface::new(&fine, &[], &[fine.iter().map(|x| x.sin()).collect()]).unwrap();
        assert_eq!(wave.corners, [fine[0], fine[499]]);
        // a step up and a step down
        let s = Surface::new(&[0.0, 5.0, 5.001, 6.0, 6.001, 10.0], &[], &[vec![0.0, 0.0, 1.0, 1.0, 0.0, 0.0]]).unwrap();
        assert!((0..=10_000).all(|k| (0.0..=1.0).contains(&s.at(f64::from(k) * 1e-3, 0.0).value)));
        // in two variables, along both
        let rows: Vec<Vec<f64>> = [0.0, 0.0, 1.0, 0.0].iter().map(|c| vec![0.0, 0.0, *c, 0.0]).collect();
        let line = [0.0, 50.0, 51.0, 52.0];
        let s = Surface::new(&line, &line, &rows).unwrap();
        let [low, high] = s.bounds;
        assert!(low > -0.2 && high < 1.5, "{low} {high}");
    }

    #[test]
    fn beyond_its_grid_it_stays_and_one_row_is_a_curve() {
        let s = of(|x, y| x + 10.0 * y);
        assert_eq!((s.at(9.0, 5.0).value, s.at(9.0, 5.0).slope), (1.3 + 20.0, [0.0, 0.0]));
        assert_eq!((s.at(-9.0, 0.0).value, s.at(0.4, -7.0).value), (0.0, 0.4 - 10.0));
        let line = Surface::new(&[0.0, 1.0, 3.0], &[], &[vec![0.0, 1.0, 9.0]]).unwrap();
        assert_eq!((line.arity(), s.arity()), (1, 2));
        assert!((line.at(2.0, 0.0).value - 4.0).abs() < 1e-14 && (line.at(2.0, 0.0).slope[0] - 4.0).abs() < 1e-14);
        assert!(Surface::new(&[0.0, 0.0], &[], &[vec![1.0, 2.0]]).unwrap_err().contains("must increase"));
        assert!(
            Surface::new(&[0.0, 1.0], &[0.0, 1.0], &[vec![1.0, 2.0]]).unwrap_err().contains("1 rows of values for 2")
        );
        assert!(Surface::new(&[0.0, 1.0], &[], &[vec![1.0]]).unwrap_err().contains("1 values in row 1 for 2"));
    }
}
