//! Butcher tableaus as data.
//!
//! k_i = f(t + c_i h, y + h Σ_{j<i} a_ij k_j), y⁺ = y + h Σ b_j k_j. Row `stages` of `a` is b itself:
//! the rates at the end of the step, where a dense output or an estimator needs them, are one more
//! stage (and the first of the next step). Rows after it serve the dense output alone.

/// The coefficients of an explicit Runge–Kutta method.
#[derive(Debug)]
pub struct Tableau {
    /// The name on the command line.
    pub name: &'static str,
    /// The order p of y⁺.
    pub order: usize,
    /// The error estimate is O(h^{q+1}) with this q; zero where there is none.
    pub error_order: usize,
    /// The order of the dense output.
    pub dense_order: usize,
    /// How many stages y⁺ needs.
    pub stages: usize,
    /// Where the stages stand in the step.
    pub c: &'static [f64],
    /// Row i weighs the stages before i; row `stages` is b.
    pub a: &'static [&'static [f64]],
    /// Weights of the error estimates: none, one, or two of orders 5 and 3 that are combined.
    pub errors: &'static [&'static [f64]],
    /// Weights of the terms of the dense output past the cubic Hermite polynomial.
    pub dense: &'static [&'static [f64]],
    /// h|λ| at the edge of the region of stability, along the negative real axis, where the last
    /// stages allow to estimate it [Hairer & Wanner 1996, IV.2].
    pub stability: Option<f64>,
}

impl Tableau {
    /// The weights of y⁺.
    pub fn b(&self) -> &'static [f64] {
        self.a[self.stages]
    }

    /// Whether an error estimate needs the rates at the end of the step.
    pub fn estimates_with_end(&self) -> bool {
        self.errors.iter().any(|e| e.len() > self.stages)
    }
}

/// Euler's explicit method, for fixed steps.
pub static EULER: Tableau = Tableau {
    name: "euler",
    order: 1,
    error_order: 0,
    dense_order: 1,
    stages: 1,
    c: &[0.0, 1.0],
    a: &[&[], &[1.0]],
    errors: &[],
    dense: &[],
    stability: None,
};

/// The explicit midpoint rule, for fixed steps [Hairer, Nørsett & Wanner 1993, II.1].
pub static RK2: Tableau = Tableau {
    name: "rk2",
    order: 2,
    error_order: 0,
    dense_order: 2,
    stages: 2,
    c: &[0.0, 0.5, 1.0],
    a: &[&[], &[0.5], &[0.0, 1.0]],
    errors: &[],
    dense: &[],
    stability: None,
};

/// Kutta's classical method of order 4, for fixed steps [Kutta 1901].
pub static RK4: Tableau = Tableau {
    name: "rk4",
    order: 4,
    error_order: 0,
    dense_order: 3,
    stages: 4,
    c: &[0.0, 0.5, 0.5, 1.0, 1.0],
    a: &[&[], &[0.5], &[0.0, 0.5], &[0.0, 0.0, 1.0], &[1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0]],
    errors: &[],
    dense: &[],
    stability: None,
};

/// Dormand and Prince's method of order 5 with an estimator of order 4 and Shampine's dense output
/// of order 4 [Dormand & Prince 1980; Hairer, Nørsett & Wanner 1993, II.5, II.6].
#[rustfmt::skip]
pub static DORMAND_PRINCE_5: Tableau = Tableau {
    name: "dopri5",
    order: 5,
    error_order: 4,
    dense_order: 4,
    stages: 6,
    c: &[0.0, 0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0],
    a: &[
        &[],
        &[1.0 / 5.0],
        &[3.0 / 40.0, 9.0 / 40.0],
        &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
        &[19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0],
        &[9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0],
        &[35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
    ],
    errors: &[
        &[71.0 / 57600.0, 0.0, -71.0 / 16695.0, 71.0 / 1920.0, -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0],
    ],
    dense: &[
        &[-12715105075.0 / 11282082432.0, 0.0, 87487479700.0 / 32700410799.0, -10690763975.0 / 1880347072.0,
          701980252875.0 / 199316789632.0, -1453857185.0 / 822651844.0, 69997945.0 / 29380423.0],
    ],
    stability: Some(3.25),
};

/// Dormand and Prince's method of order 8 with estimators of orders 5 and 3 and a dense output of
/// order 7: DOP853 [Hairer, Nørsett & Wanner 1993, II.5, II.6].
#[rustfmt::skip]
pub static DORMAND_PRINCE_8: Tableau = Tableau {
    name: "dop853",
    order: 8,
    error_order: 7,
    dense_order: 7,
    stages: 12,
    c: &[
        0.0, 0.05260015195876773, 0.0789002279381516, 0.1183503419072274, 0.2816496580927726,
        0.3333333333333333, 0.25, 0.3076923076923077, 0.6512820512820513, 0.6, 0.8571428571428571, 1.0, 1.0,
        0.1, 0.2, 0.7777777777777778,
    ],
    a: &[
        &[],
        &[0.05260015195876773],
        &[0.0197250569845379, 0.0591751709536137],
        &[0.02958758547680685, 0.0, 0.08876275643042054],
        &[0.2413651341592667, 0.0, -0.8845494793282861, 0.924834003261792],
        &[0.037037037037037035, 0.0, 0.0, 0.17082860872947386, 0.12546768756682242],
        &[0.037109375, 0.0, 0.0, 0.17025221101954405, 0.06021653898045596, -0.017578125],
        &[0.03709200011850479, 0.0, 0.0, 0.17038392571223998, 0.10726203044637328, -0.015319437748624402,
          0.008273789163814023],
        &[0.6241109587160757, 0.0, 0.0, -3.3608926294469414, -0.868219346841726, 27.59209969944671,
          20.154067550477894, -43.48988418106996],
        &[0.47766253643826434, 0.0, 0.0, -2.4881146199716677, -0.590290826836843, 21.230051448181193,
          15.279233632882423, -33.28821096898486, -0.020331201708508627],
        &[-0.9371424300859873, 0.0, 0.0, 5.186372428844064, 1.0914373489967295, -8.149787010746927,
          -18.52006565999696, 22.739487099350505, 2.4936055526796523, -3.0467644718982196],
        &[2.273310147516538, 0.0, 0.0, -10.53449546673725, -2.0008720582248625, -17.9589318631188,
          27.94888452941996, -2.8589982771350235, -8.87285693353063, 12.360567175794303, 0.6433927460157636],
        &[0.054293734116568765, 0.0, 0.0, 0.0, 0.0, 4.450312892752409, 1.8915178993145003, -5.801203960010585,
          0.3111643669578199, -0.1521609496625161, 0.20136540080403034, 0.04471061572777259],
        &[0.056167502283047954, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25350021021662483, -0.2462390374708025,
          -0.12419142326381637, 0.15329179827876568, 0.00820105229563469, 0.007567897660545699, -0.008298],
        &[0.03183464816350214, 0.0, 0.0, 0.0, 0.0, 0.028300909672366776, 0.053541988307438566,
          -0.05492374857139099, 0.0, 0.0, -0.00010834732869724932, 0.0003825710908356584,
          -0.00034046500868740456, 0.1413124436746325],
        &[-0.42889630158379194, 0.0, 0.0, 0.0, 0.0, -4.697621415361164, 7.683421196062599, 4.06898981839711,
          0.3567271874552811, 0.0, 0.0, 0.0, -0.0013990241651590145, 2.9475147891527724, -9.15095847217987],
    ],
    errors: &[
        &[0.01312004499419488, 0.0, 0.0, 0.0, 0.0, -1.2251564463762044, -0.4957589496572502,
          1.6643771824549864, -0.35032884874997366, 0.3341791187130175, 0.08192320648511571,
          -0.022355307863886294],
        &[-0.18980075407240762, 0.0, 0.0, 0.0, 0.0, 4.450312892752409, 1.8915178993145003, -5.801203960010585,
          -0.4226823213237919, -0.1521609496625161, 0.20136540080403034, 0.02265179219836082],
    ],
    dense: &[
        &[-8.428938276109013, 0.0, 0.0, 0.0, 0.0, 0.5667149535193777, -3.0689499459498917, 2.38466765651207,
          2.117034582445028, -0.871391583777973, 2.2404374302607883, 0.6315787787694688, -0.08899033645133331,
          18.148505520854727, -9.194632392478356, -4.436036387594894],
        &[10.427508642579134, 0.0, 0.0, 0.0, 0.0, 242.28349177525817, 165.20045171727028, -374.5467547226902,
          -22.113666853125306, 7.733432668472264, -30.674084731089398, -9.332130526430229, 15.697238121770845,
          -31.139403219565178, -9.35292435884448, 35.81684148639408],
        &[19.985053242002433, 0.0, 0.0, 0.0, 0.0, -387.0373087493518, -189.17813819516758, 527.8081592054236,
          -11.57390253995963, 6.8812326946963, -1.0006050966910838, 0.7777137798053443, -2.778205752353508,
          -60.19669523126412, 84.32040550667716, 11.99229113618279],
        &[-25.69393346270375, 0.0, 0.0, 0.0, 0.0, -154.18974869023643, -231.5293791760455, 357.6391179106141,
          93.40532418362432, -37.45832313645163, 104.0996495089623, 29.8402934266605, -43.53345659001114,
          96.32455395918828, -39.17726167561544, -149.72683625798564],
    ],
    stability: Some(6.1),
};

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&Tableau; 3] = [&RK4, &DORMAND_PRINCE_5, &DORMAND_PRINCE_8];

    /// A rooted tree: its order, its density γ, and its children in a list of trees.
    struct Tree {
        order: usize,
        density: f64,
        children: Vec<usize>,
    }

    /// All rooted trees up to an order, smaller ones first.
    fn trees(order: usize) -> Vec<Tree> {
        /// Adds every multiset of earlier trees, none after `last`, that sums to `left`.
        fn grow(all: &[Tree], left: usize, last: usize, children: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
            if left == 0 {
                found.push(children.clone());
            }
            for i in 0..last.min(all.len()) {
                if all[i].order <= left {
                    children.push(i);
                    grow(all, left - all[i].order, i + 1, children, found);
                    children.pop();
                }
            }
        }
        let mut all = Vec::new();
        for n in 1..=order {
            let mut found = Vec::new();
            grow(&all, n - 1, usize::MAX, &mut Vec::new(), &mut found);
            for children in found {
                let density = children.iter().fold(n as f64, |d, &c: &usize| d * all[c].density);
                all.push(Tree { order: n, density, children });
            }
        }
        all
    }

    /// φ_i(τ) = Π_children Σ_j a_ij φ_j(child), for all stages i and trees τ.
    fn weights(tableau: &Tableau, trees: &[Tree]) -> Vec<Vec<f64>> {
        let mut phi: Vec<Vec<f64>> = Vec::new();
        for tree in trees {
            let of = |row: &&[f64]| {
                let child = |&c: &usize| dot(row, &phi[c]);
                tree.children.iter().map(child).product::<f64>()
            };
            let column = tableau.a.iter().map(of).collect();
            phi.push(column);
        }
        phi
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    /// The largest violation of Σ w_i φ_i(τ) = scale(τ)/γ(τ) over the trees of an order.
    fn violation(tableau: &Tableau, w: &[f64], order: usize, scale: &dyn Fn(usize) -> f64) -> f64 {
        let trees = trees(order);
        let phi = weights(tableau, &trees);
        let of = |(tree, phi): (&Tree, &Vec<f64>)| (dot(w, phi) - scale(tree.order) / tree.density).abs();
        trees.iter().zip(&phi).filter(|(tree, _)| tree.order == order).map(of).fold(0.0, f64::max)
    }

    #[test]
    fn trees_are_counted_right() {
        let trees = trees(8);
        let counts: Vec<usize> = (1..=8).map(|n| trees.iter().filter(|t| t.order == n).count()).collect();
        assert_eq!(counts, [1, 1, 2, 4, 9, 20, 48, 115]);
    }

    #[test]
    fn rows_sum_to_the_abscissae() {
        for tableau in ALL {
            assert_eq!(tableau.a.len(), tableau.c.len());
            for (i, row) in tableau.a.iter().enumerate() {
                assert!(
                    row.len() <= i && (row.iter().sum::<f64>() - tableau.c[i]).abs() < 3e-14,
                    "{} {i}",
                    tableau.name
                );
            }
        }
    }

    #[test]
    fn every_order_condition_holds_and_none_more() {
        for tableau in ALL {
            for order in 1..=tableau.order {
                let v = violation(tableau, tableau.b(), order, &|_| 1.0);
                assert!(v < 2e-14, "{} at order {order}: {v:.1e}", tableau.name);
            }
            assert!(violation(tableau, tableau.b(), tableau.order + 1, &|_| 1.0) > 1e-7);
        }
    }

    #[test]
    fn error_estimates_vanish_up_to_their_orders() {
        let orders: [(&Tableau, &[usize]); 2] = [(&DORMAND_PRINCE_5, &[4]), (&DORMAND_PRINCE_8, &[5, 3])];
        for (tableau, orders) in orders {
            for (e, &order) in tableau.errors.iter().zip(orders) {
                for n in 1..=order {
                    let v = violation(tableau, e, n, &|_| 0.0);
                    assert!(v < 1e-14, "{} at order {n}: {v:.1e}", tableau.name);
                }
                assert!(violation(tableau, e, order + 1, &|_| 0.0) > 1e-5);
            }
        }
    }

    #[test]
    fn dense_outputs_have_their_orders_everywhere_in_the_step() {
        for tableau in ALL {
            for theta in [0.0, 0.2, 0.55, 0.9, 1.0] {
                let b: Vec<f64> = (0..tableau.a.len())
                    .map(|i| {
                        // y = 0 and only the stage i is one, with h = 1
                        let unit = |at: usize| if at == i { 1.0 } else { 0.0 };
                        let end = tableau.b().get(i).copied().unwrap_or(0.0);
                        let bend = unit(0) - end;
                        let mut terms = vec![0.0, end, bend, end - unit(tableau.stages) - bend];
                        terms.extend(tableau.dense.iter().map(|d| d.get(i).copied().unwrap_or(0.0)));
                        let nest = |y: f64, (j, r): (usize, &f64)| r + y * if j % 2 == 0 { theta } else { 1.0 - theta };
                        terms.iter().enumerate().rev().fold(0.0, nest)
                    })
                    .collect();
                for order in 1..=tableau.dense_order {
                    let v = violation(tableau, &b, order, &|n| theta.powi(n as i32));
                    assert!(v < 1e-13, "{} at θ = {theta}, order {order}: {v:.1e}", tableau.name);
                }
            }
        }
    }
}
