use super::problems::*;
use crate::study::*;
use bellcrank_solve::newton::Iteration;
use bellcrank_solve::options::On;

#[test]
fn explore() {
    for it in [Iteration::CoordinateModified, Iteration::CoordinateSplit, Iteration::Auto, Iteration::Simplified] {
        let mut line = String::new();
        for h in [0.005, 0.0025, 0.001, 0.00075, 0.0005] {
            let d = own(Bushing::preloaded());
            let start = plain(&d, &[1.0, 0.0, 0.0], &[0.0; 3]);
            let s = Setting { max_iterations: 100, on: On::All, iteration: it, ..Preset::Cs.setting(1e-10, 1) };
            let o = run(&d, &start, h, Some(h), &s);
            line += &format!("{:?} ", o.counts());
        }
        println!("table 3 {it:?} {line}");
    }
    for eps in [1e-2, 1e-6, 1e-8, 1e-10] {
        for p in Preset::ALL {
            let d = own(PointMass::s1c(eps));
            let start = consistent(&d, &[1.0, 0.0], &[0.0; 2]).unwrap();
            let s = Setting { max_steps: 1500, ..p.setting(1e-5, 2) };
            let o = run(&d, &start, 1.0, None, &s);
            println!("S1c {eps:e} {} {:?} {:?}", p.name(), o.counts(), o.last.q[1] + 0.475809922943);
        }
    }
    for tol in [1e-3, 1e-4, 1e-5, 1e-6] {
        for p in Preset::ALL {
            let d = own(TwoBody::with_stiffness(1e5));
            let (q, v) = TwoBody::start();
            let start = consistent(&d, &q, &v).unwrap();
            let s = Setting { max_steps: 1500, ..p.setting(tol, 5) };
            let o = run(&d, &start, 0.5, None, &s);
            println!("table 4 {tol:e} {} {:?} {:?}", p.name(), o.counts(), o.last.q[3] - 0.852742256263);
        }
    }
}
