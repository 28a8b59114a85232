//! HHT as the paper prints it (eq. 8), on a double pendulum in joint angles, whose mass depends on the position.

/// α, β and γ.
pub(super) const ALPHA: f64 = -0.3;
pub(super) const BETA: f64 = 0.25 * (1.0 - ALPHA) * (1.0 - ALPHA);
pub(super) const GAMMA: f64 = 0.5 - ALPHA;

/// M(q) of two unit masses on unit rods, angles from the vertical.
pub(super) fn mass(q: [f64; 2]) -> [[f64; 2]; 2] {
    let c = (q[0] - q[1]).cos();
    [[2.0, c], [c, 1.0]]
}

/// Q(q, v).
pub(super) fn force(q: [f64; 2], v: [f64; 2]) -> [f64; 2] {
    let s = (q[0] - q[1]).sin();
    [-v[1] * v[1] * s - 2.0 * 9.81 * q[0].sin(), v[0] * v[0] * s - 9.81 * q[1].sin()]
}

fn solve(m: [[f64; 2]; 2], f: [f64; 2]) -> [f64; 2] {
    let d = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    [(f[0] * m[1][1] - f[1] * m[0][1]) / d, (f[1] * m[0][0] - f[0] * m[1][0]) / d]
}

/// Angles at t = 1 after n steps; `printed` weighs M(q)a against the forces of two times.
fn run(n: usize, printed: bool) -> [f64; 2] {
    let h = 1.0 / n as f64;
    let (mut q, mut v) = ([1.0, -0.5], [0.0, 2.0]);
    let mut rate = solve(mass(q), force(q, v));
    let mut load = force(q, v);
    let mut a = rate;
    for _ in 0..n {
        let mut next = a;
        let (mut q1, mut v1) = (q, v);
        // M a_{n+1} = (1 + α) Q_{n+1} − α Q_n, or a_{n+1} = (1 + α) M⁻¹Q_{n+1} − α q̈_n, by repetition
        for _ in 0..60 {
            for i in 0..2 {
                q1[i] = q[i] + h * v[i] + h * h * ((0.5 - BETA) * a[i] + BETA * next[i]);
                v1[i] = v[i] + h * ((1.0 - GAMMA) * a[i] + GAMMA * next[i]);
            }
            let f = force(q1, v1);
            next = if printed {
                solve(mass(q1), [0, 1].map(|i| (1.0 + ALPHA) * f[i] - ALPHA * load[i]))
            } else {
                let new = solve(mass(q1), f);
                [0, 1].map(|i| (1.0 + ALPHA) * new[i] - ALPHA * rate[i])
            };
        }
        (q, v, a) = (q1, v1, next);
        load = force(q, v);
        rate = solve(mass(q), load);
    }
    q
}

/// The orders of both forms.
pub fn orders() -> [f64; 2] {
    let exact = {
        // Richardson on the form of second order
        let (a, b) = (run(8192, false), run(16384, false));
        [0, 1].map(|i| (4.0 * b[i] - a[i]) / 3.0)
    };
    [true, false].map(|printed| {
        let error = |n: usize| {
            let q = run(n, printed);
            (q[0] - exact[0]).abs().max((q[1] - exact[1]).abs())
        };
        (error(512) / error(1024)).log2()
    })
}
