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
    let dassl = std::env::var("DASSL").is_ok();
    let presets = [Preset::Cs, Preset::Cm, Preset::Auto, Preset::GglStar];
    let show = |name: &str,
                tol: f64,
                order: usize,
                d: &std::sync::Arc<dyn bellcrank_model::Dynamics>,
                q: &[f64],
                v: &[f64],
                t: f64| {
        let start = consistent(d, q, v).unwrap();
        let mut line = format!("{name:22} {tol:e} order {order}: ");
        let mut f = Vec::new();
        for p in presets {
            let s = Setting { max_steps: 5000, as_dassl: dassl, ..p.setting(tol, order) };
            let o = run(d, &start, t, None, &s);
            f.push(o.counts()[1]);
            line += &format!("{} {:?} ", p.name(), o.counts());
        }
        println!("{line} ratio {:.2}", f[2] as f64 / f[0].min(f[1]) as f64);
    };
    for tol in [1e-3, 1e-4, 1e-5, 1e-6] {
        for order in [2, 5] {
            for eps in [1e-2, 1e-4, 1e-6, 1e-8, 1e-10] {
                show(&format!("S1c {eps:e}"), tol, order, &own(PointMass::s1c(eps)), &[1.0, 0.0], &[0.0; 2], 1.0);
            }
            for eps in [1e-2, 1e-4, 1e-6, 1e-8] {
                if eps == 1e-8 && tol < 1e-4 {
                    continue;
                }
                for angle in [-0.25f64, 0.2] {
                    show(
                        &format!("S1a {eps:e} from {angle}"),
                        tol,
                        order,
                        &own(PointMass::s1a(eps)),
                        &[angle.cos(), angle.sin()],
                        &[0.0; 2],
                        2.0,
                    );
                    show(
                        &format!("S1b {eps:e} from {angle}"),
                        tol,
                        order,
                        &own(PointMass::s1b(eps)),
                        &[angle.cos(), angle.sin()],
                        &[0.0; 2],
                        2.0,
                    );
                }
            }
            for k in [1e4, 1e5, 1e6, 1e8, 1e10] {
                let (q, v) = TwoBody::start();
                show(&format!("table 4 {k:e}"), tol, order, &own(TwoBody::with_stiffness(k)), &q, &v, 0.5);
            }
        }
    }
}
