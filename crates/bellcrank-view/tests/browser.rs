//! The page in a browser: what it shows is what was recorded, and names do no harm.

#[cfg(unix)]
mod chromium;
mod samples;

#[cfg(unix)]
mod page {
    use super::chromium::{Page, browser};
    use super::samples::*;
    use bellcrank_results::json::Object;
    use bellcrank_solve::events::Event;
    use bellcrank_solve::history::AcceptedStep;
    use bellcrank_solve::record::Recorder;
    use bellcrank_view::{
        Diagram, Fact, Live, Report, Section, ServeOptions, Server, Verdict, report, serve, serve_together,
    };
    use serde_json::{Value, json};
    use std::path::Path;

    fn start(dir: &Path) -> Server {
        serve(dir, &ServeOptions { port: Some(0), open: false }).unwrap()
    }

    /// The value of a channel at a time, by the closed form.
    fn exact(name: &str, t: f64, motion: impl FnMut(f64, &mut Frame)) -> f64 {
        channel(name, &[t], motion)[0]
    }

    fn close(a: f64, b: f64, tolerance: f64, what: &str) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}: {a} against {b}");
    }

    /// The picture is there: bodies cover some of it, in many shades.
    fn not_blank(page: &mut Page) -> i64 {
        let p = page.eval("bellcrank.pixels()");
        assert!(p["solid"].as_f64().unwrap() > 0.002 && p["colours"].as_u64().unwrap() > 100, "{p}");
        p["digest"].as_i64().unwrap()
    }

    /// The pose of a planar body as drawn: x, y, angle up to whole turns.
    fn drawn(page: &mut Page, body: &str) -> [f64; 3] {
        let p = page.numbers(&format!("bellcrank.pose({body:?})"));
        [p[0], p[1], 2.0 * p[6].atan2(p[7])]
    }

    fn same_angle(a: f64, b: f64) -> bool {
        ((a - b) / 2.0).sin().abs() < 1e-5
    }

    #[test]
    fn a_planar_model_moves_as_recorded() {
        let mut browser = browser();
        let s = Scratch::new("planar");
        write(s.path(), FOUR_BAR, 4.0, 801, four_bar()).unwrap();
        let server = start(s.path());
        let mut page = browser.open(&server.url());
        page.picture("plane");
        assert_eq!(
            page.eval("[bellcrank.state().view, bellcrank.state().flat, bellcrank.state().rows]"),
            json!(["front", true, 801])
        );
        let first = not_blank(&mut page);

        // scrubbing shows the recorded position
        for row in [0, 1, 137, 799, 800] {
            page.eval(&format!("bellcrank.seekRow({row})"));
            let t = page.number("bellcrank.state().t");
            assert_eq!(t, 4.0 * f64::from(row) / 800.0);
            for body in ["crank", "coupler", "rocker"] {
                let [x, y, angle] = drawn(&mut page, body);
                close(x, exact(&format!("{body}.x"), t, four_bar()), 1e-6, body);
                close(y, exact(&format!("{body}.y"), t, four_bar()), 1e-6, body);
                assert!(same_angle(angle, exact(&format!("{body}.angle"), t, four_bar())), "{body}");
            }
        }
        let slider = page.numbers("(() => { const r = document.querySelector('.scrub').getBoundingClientRect(); return [r.left, r.top, r.width, r.height] })()");
        page.click(slider[0] + 0.4 * slider[2], slider[1] + 0.5 * slider[3]);
        let t = page.number("bellcrank.state().t");
        assert!((t - 1.6).abs() < 0.05, "{t}");
        page.until("bellcrank.state().row === Math.floor(bellcrank.state().t / 0.005 + 1e-9)");
        let [x, _, _] = drawn(&mut page, "crank");
        close(x, exact("crank.x", t, four_bar()), 1e-4, "between samples");
        page.eval("(() => { const e = document.querySelector('.time'); e.focus(); e.value = '2.5'; e.dispatchEvent(new Event('change')) })()");
        assert_eq!(page.number("bellcrank.state().t"), 2.5);
        page.key("ArrowRight");
        assert_eq!(page.number("bellcrank.state().t"), 2.505);
        page.key("Home");
        assert_eq!(page.number("bellcrank.state().row"), 0.0);

        // playing moves bodies
        page.key(" ");
        page.until("bellcrank.state().t > 0.03");
        page.key(" ");
        assert_eq!(page.eval("bellcrank.state().playing"), json!(false));
        let t = page.number("bellcrank.state().t");
        let [x, y, _] = drawn(&mut page, "crank");
        close(x, exact("crank.x", t, four_bar()), 1e-4, "after playing");
        close(y, exact("crank.y", t, four_bar()), 1e-4, "after playing");
        assert_ne!(not_blank(&mut page), first);
        page.quiet(&server.url());
        page.close();
    }

    #[test]
    fn bodies_and_joints_are_picked_and_their_values_shown() {
        let mut browser = browser();
        let s = Scratch::new("pick");
        write(s.path(), DOUBLE_PENDULUM, 2.0, 401, double_pendulum()).unwrap();
        let server = start(s.path());
        let mut page = browser.open(&server.url());
        page.eval("bellcrank.seekRow(200)");
        for (name, kind) in [("upper", "body"), ("lower", "body"), ("elbow", "joint"), ("tip", "probe")] {
            let at = page.numbers(&format!("bellcrank.place({name:?})"));
            page.click(at[0], at[1]);
            let selected = page.eval("bellcrank.state().selected");
            assert_eq!((&selected["name"], &selected["kind"]), (&json!(name), &json!(kind)));
            assert_eq!(page.text("document.querySelector('.card h2').textContent"), name);
        }
        let at = page.numbers("bellcrank.place('upper')");
        page.click(at[0], at[1]);
        page.until("[...document.querySelectorAll('.card .value')].every((e) => e.textContent !== '…')");
        page.picture("picked");
        let shown = page.eval("Object.fromEntries([...document.querySelectorAll('.card .channel')].map((r) => [r.querySelector('.name').textContent, r.querySelector('.value').textContent]))");
        for part in ["x", "y", "angle", "vx", "vy", "w"] {
            let value: f64 = shown[part].as_str().unwrap().replace('−', "-").parse().unwrap();
            close(value, exact(&format!("upper.{part}"), 1.0, double_pendulum()), 1e-5, part);
        }
        // a value is plotted by a click, an empty place chooses nothing
        let plots = page.number("bellcrank.plots().length");
        page.eval("[...document.querySelectorAll('.card .channel')].at(-1).click()");
        assert_eq!(page.number("bellcrank.plots().length"), plots + 1.0);
        let canvas = page.numbers(
            "(() => { const r = document.querySelector('.scene').getBoundingClientRect(); return [r.left, r.top] })()",
        );
        page.click(canvas[0] + 5.0, canvas[1] + 5.0);
        assert_eq!(page.eval("bellcrank.state().selected"), Value::Null);
        // reactions are arrows over the scene
        let before = not_blank(&mut page);
        page.key("r");
        page.until("bellcrank.state().shown.reactions");
        page.until(&format!("bellcrank.pixels().digest !== {before}"));
        page.picture("reactions");
        page.key("?");
        assert_eq!(page.eval("document.querySelector('dialog').open"), json!(true));
        page.quiet(&server.url());
        page.close();
    }

    /// A crank that turns once a second: a circle, and one line in the spectrum.
    #[test]
    fn plots_over_a_channel_and_spectra_are_what_mathematics_says() {
        let mut browser = browser();
        let s = Scratch::new("curves");
        write(s.path(), FOUR_BAR, 4.0, 801, four_bar()).unwrap();
        let server = start(s.path());
        let mut page = browser.open(&server.url());
        page.eval("document.querySelectorAll('.plot').forEach((p) => p.querySelector('.plot-tools button:last-child').click())");
        page.eval("bellcrank.plot('crank.x', 'crank.y')");
        page.eval("bellcrank.over(0, 'crank.x')");
        page.until("bellcrank.plots()[0].along === 'over crank.x' && bellcrank.plots()[0].range.from < 0");
        let radius = exact("crank.x", 0.0, four_bar());
        // the spot is where the crank is, once the page has drawn the time asked for
        page.eval("bellcrank.seek(0.125)");
        let [x, y] = ["crank.x", "crank.y"].map(|c| exact(c, 0.125, four_bar()));
        page.until(&format!(
            "(() => {{ const {{ left, top, width, height }} = document.querySelector('.chart').getBoundingClientRect();
                const {{ range, bounds }} = bellcrank.plots()[0];
                const spot = document.querySelectorAll('.spot')[1].getBoundingClientRect();
                const at = (of, v) => (v - of.from) / (of.to - of.from);
                const x = left + 62 + (width - 62 - 14) * at(range, {x});
                const y = top + 8 + (height - 8 - 22) * (1 - at(bounds, {y}));
                return Math.hypot(spot.left + spot.width / 2 - x, spot.top + spot.height / 2 - y) < 1.5 }})()"
        ));
        // a metre is as long on both axes
        let frame = page.numbers("(() => { const r = document.querySelector('.chart').getBoundingClientRect(); return [r.width - 62 - 14, r.height - 8 - 22, r.left, r.top] })()");
        let plot = page.eval("bellcrank.plots()[0]");
        let length = |what: &str| plot[what]["to"].as_f64().unwrap() - plot[what]["from"].as_f64().unwrap();
        close(length("range") / frame[0], length("bounds") / frame[1], 1e-9, "scale");
        // a click on the circle goes to that time
        let place = |t: f64| {
            let at = |what: &str, v: f64| (v - plot[what]["from"].as_f64().unwrap()) / length(what);
            let [x, y] = ["crank.x", "crank.y"].map(|c| exact(c, t, four_bar()));
            [frame[2] + 62.0 + frame[0] * at("range", x), frame[3] + 8.0 + frame[1] * (1.0 - at("bounds", y))]
        };
        let [x, y] = place(0.4);
        page.click(x, y);
        page.until("Math.abs(bellcrank.state().t % 1 - 0.4) < 0.02");
        page.picture("circle");
        // amplitude and frequency
        page.eval("bellcrank.over(0, 'frequency')");
        page.until("bellcrank.plots()[0].told.every((t) => t === 'peak at 1.000 Hz')");
        let csv = page.text("bellcrank.file(0, 'CSV')");
        let mut lines = csv.lines();
        assert_eq!(lines.next(), Some("frequency [Hz],crank.x [m],crank.y [m]"));
        for line in lines {
            let [f, x, y]: [f64; 3] =
                line.split(',').map(|v| v.parse().unwrap()).collect::<Vec<_>>().try_into().unwrap();
            // Hann's window spreads a line over its neighbours, half as high
            let share = if f == 1.0 {
                1.0
            } else if (f - 1.0).abs() == 0.25 {
                0.5
            } else {
                0.0
            };
            close(x, share * radius, 1e-3, line);
            close(y, share * radius, 1e-3, line);
        }
        page.picture("spectrum");
        page.quiet(&server.url());
        page.close();
    }

    fn big(bytes: &[u8]) -> u64 {
        bytes.iter().fold(0, |n, b| (n << 8) | u64::from(*b))
    }

    /// The number of pictures in an MP4 and its length, from the boxes `stsz` and `mdhd`; each picture lies in the file.
    fn mp4_pictures(file: &[u8]) -> (usize, f64) {
        let find = |name: &[u8]| file.windows(4).position(|w| w == name).unwrap() + 4;
        let (mdhd, stsz, stco) = (find(b"mdhd"), find(b"stsz"), find(b"stco"));
        let word = |at: usize| big(&file[at..at + 4]);
        let count = word(stsz + 8) as usize;
        let sizes: u64 = (0..count).map(|k| word(stsz + 12 + 4 * k)).sum();
        assert_eq!(word(stco + 8) + sizes, file.len() as u64);
        (count, word(mdhd + 16) as f64 / word(mdhd + 12) as f64)
    }

    /// The same of a WebM: SimpleBlocks in Clusters of the Segment, and the Duration in milliseconds.
    fn webm_pictures(file: &[u8]) -> (usize, f64) {
        let (mut count, mut seconds, mut at) = (0, 0.0, 0);
        while at < file.len() {
            let length = file[at].leading_zeros() as usize + 1;
            let id = big(&file[at..at + length]);
            at += length;
            let size = big(&file[at + 1..at + 8]) as usize;
            assert_eq!(file[at], 1, "sizes have seven bytes");
            at += 8;
            match id {
                0x18538067 | 0x1549a966 | 0x1f43b675 => continue, // go inside
                0xa3 => count += 1,
                0x4489 => seconds = f64::from_bits(big(&file[at..at + 8])) / 1000.0,
                _ => {}
            }
            at += size;
        }
        assert_eq!(at, file.len());
        (count, seconds)
    }

    /// Pictures of a GIF, each of which has a block that tells its time.
    fn gif_pictures(file: &[u8]) -> usize {
        file.windows(4).filter(|w| *w == [0x21, 0xf9, 0x04, 0x04] || *w == [0x21, 0xf9, 0x04, 0x00]).count()
    }

    const PAINTED: &str = r##"
        [model]
        name = "painted"
        plane = "xy"
        gravity = [0, -9.81]
        [body.box]
        box = { size = [1, 1], mass = 1 }
        colour = "#20c020"
        [body.pane]
        box = { size = [3, 3], mass = 1 }
        colour = "#ff0000"
        opacity = 0.3
        [body.ghost]
        box = { size = [9, 9], mass = 1 }
        hidden = true
        [body.block]
        cylinder = { radius = 0.1, length = 0.05, mass = 40 }
        at = [0, -2]
        [visual.sign]
        body = "ground"
        box = { size = [0.2, 0.2] }
        at = [-2, 0]
        [force.rope]
        type = "rope"
        bodies = ["ground", "block", "ground", "box"]
        at = [[-0.1, 0], [0, -2], [0.2, 0], [0.3, -1]]
        radii = [0.1, 0.1]
        stiffness = 1
        [force.push]
        type = "force"
        body = "box"
        force = [0, 2500]
        [solve]
        until = 1
    "##;

    fn painted(t: f64, frame: &mut Frame) {
        frame.planar("box", 2.0 * t, 0.0, 0.0);
        frame.planar("pane", 5.0, 0.0, 0.0);
        frame.planar("ghost", 0.0, 0.0, 0.0);
        frame.planar("block", 0.0, -2.0, 1e-9 * t);
    }

    /// The colour of the scene at a place, as red, green, blue and opacity.
    fn colour_at(page: &mut Page, place: &str) -> [f64; 4] {
        let script = format!(
            "(() => {{ bellcrank.pixels(); const c = document.querySelector('.scene'), r = c.getBoundingClientRect(), [x, y] = {place}; \
             const k = c.width / r.width, p = document.createElement('canvas'); [p.width, p.height] = [c.width, c.height]; \
             const g = p.getContext('2d'); g.drawImage(c, 0, 0); \
             return Array.from(g.getImageData((x - r.left) * k, (y - r.top) * k, 1, 1).data) }})()"
        );
        page.numbers(&script).try_into().unwrap()
    }

    #[test]
    fn bodies_have_their_colours_and_can_be_hidden_and_followed() {
        let mut browser = browser();
        let s = Scratch::new("painted");
        write(s.path(), PAINTED, 1.0, 11, painted).unwrap();
        let server = start(s.path());
        let mut page = browser.open(&server.url());
        page.eval("bellcrank.show('grid', false)");
        page.eval("bellcrank.seekRow(0)");
        page.picture("painted");
        assert_eq!(page.eval("bellcrank.hidden()"), json!(["ghost"]));
        // the large hidden body does not count for the view, and cannot be picked
        assert!(page.number("bellcrank.filled()") > 0.5);
        let [r, g, b, _] = colour_at(&mut page, "bellcrank.place('box', [-0.3, -0.3, 0])");
        assert!(g > 1.8 * r && g > 1.8 * b, "green: {r} {g} {b}");
        let glass = colour_at(&mut page, "bellcrank.place('pane', [0.7, 0.7, 0])");
        let full = page.eval("getComputedStyle(document.querySelector('[data-pick=\"1\"] .glyph')).backgroundColor");
        assert_eq!(full, json!("rgb(255, 0, 0)"));
        // a hidden body is seen no more, nor picked; the key brings it back
        let at = page.numbers("bellcrank.place('box', [-0.3, -0.3, 0])"); // beside the arrow
        let there = |page: &mut Page| page.eval(&format!("bellcrank.pick({}, {})?.name ?? null", at[0], at[1]));
        assert_eq!(there(&mut page), json!("box"));
        page.eval("bellcrank.select('box')");
        page.key("h");
        assert_eq!(page.eval("bellcrank.hidden()"), json!(["ghost", "box"]));
        assert_eq!(there(&mut page), Value::Null);
        assert_eq!(page.eval("document.querySelector('[data-pick=\"0\"]').classList.contains('hidden')"), json!(true));
        // new colours keep what is hidden
        page.eval("bellcrank.theme('dark'); bellcrank.theme('light')");
        assert_eq!(there(&mut page), Value::Null);
        page.key("h");
        assert_eq!(there(&mut page), json!("box"));
        // the load is an arrow with its value
        page.until(
            "[...document.querySelectorAll('.label.size')].some((e) => !e.hidden && e.textContent === '2.5 kN')",
        );
        // the view goes along: the body stays where it is on the page
        page.key("m");
        page.eval("bellcrank.seekRow(10)");
        let [before, later] = ["bellcrank.seekRow(3)", "bellcrank.seekRow(9)"].map(|go| {
            page.eval(go);
            page.numbers("bellcrank.place('box')")
        });
        close(before[0], later[0], 1e-3, "the view moves with the box");
        close(page.numbers("bellcrank.at('box')")[0], 1.8, 1e-6, "and the box moves");
        assert!(
            glass[0] > 2.0 * glass[1] && (glass[3] / 255.0 - 0.3).abs() < 0.05,
            "one sees through the pane: {glass:?}"
        );
        page.quiet(&server.url());
        page.close();
    }

    #[test]
    fn films_are_files_that_others_can_read() {
        let mut browser = browser();
        let s = Scratch::new("films");
        write(s.path(), FOUR_BAR, 1.0, 11, four_bar()).unwrap();
        let server = start(s.path());
        let mut page = browser.open(&server.url());
        page.eval("bellcrank.seek(0.25)");
        for format in page.eval("bellcrank.formats()").as_array().unwrap() {
            let format = format.as_str().unwrap();
            let film = page.text(&format!("bellcrank.film({format:?})"));
            let begins = match format {
                "GIF" => "R0lGODlh", // GIF89a
                "WebM" => "GkXfo",   // the magic number of EBML
                _ => "AAAA",         // the length of the box ftyp
            };
            assert!(film.starts_with(begins) && film.len() > 4000, "{format}: {} characters", film.len());
            // however long the page took to draw them, a film of a second has its 30 pictures, or 20
            let bytes = page.eval(&format!(
                "(() => {{ const b = atob({film:?}); return Array.from(b, (c) => c.charCodeAt(0)) }})()"
            ));
            let bytes: Vec<u8> = serde_json::from_value(bytes).unwrap();
            let (pictures, seconds) = match format {
                "MP4" => mp4_pictures(&bytes),
                "WebM" => webm_pictures(&bytes),
                _ => (gif_pictures(&bytes), 1.0),
            };
            assert_eq!((pictures, seconds), (if format == "GIF" { 20 } else { 30 }, 1.0), "{format}");
        }
        // time is where it was, and the page as well
        close(page.number("bellcrank.state().t"), 0.25, 1e-12, "time");
        assert_eq!(page.eval("document.querySelector('.busy').hidden"), json!(true));
        page.quiet(&server.url());
        page.close();
    }

    #[test]
    fn names_and_sizes_of_arrows_do_not_overlap_and_a_phone_shows_everything() {
        let mut browser = browser();
        let s = Scratch::new("phone");
        write(s.path(), DOUBLE_PENDULUM, 2.0, 401, double_pendulum()).unwrap();
        let server = start(s.path());
        let mut page = browser.open(&server.url());
        page.eval("bellcrank.show('labels', true)");
        page.eval("bellcrank.show('reactions', true)");
        page.eval("bellcrank.seekRow(200)");
        page.until("[...document.querySelectorAll('.label.size')].some((e) => !e.hidden)");
        let boxes = page.eval("[...document.querySelectorAll('.label')].filter((e) => !e.hidden).map((e) => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom] })");
        let boxes: Vec<[f64; 4]> = serde_json::from_value(boxes).unwrap();
        assert!(boxes.len() > 5, "{boxes:?}");
        for (k, a) in boxes.iter().enumerate() {
            for b in &boxes[..k] {
                assert!(
                    a[2] <= b[0] + 1.0 || b[2] <= a[0] + 1.0 || a[3] <= b[1] + 1.0 || b[3] <= a[1] + 1.0,
                    "{a:?} {b:?}"
                );
            }
        }
        page.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": 390, "height": 780, "deviceScaleFactor": 1, "mobile": true}),
        );
        page.until("innerWidth === 390");
        let outside = "[...document.querySelectorAll('button, select, input')].filter((e) => e.offsetParent && !e.closest('.plots, .sheet')).map((e) => e.getBoundingClientRect()).filter((r) => r.left < 0 || r.right > innerWidth + 0.5 || r.bottom > innerHeight + 0.5).length";
        assert_eq!(page.number(outside), 0.0);
        assert_eq!(page.eval("document.documentElement.scrollWidth <= innerWidth"), json!(true));
        page.picture("phone");
        // a page that is opened there begins with its first plot
        page.go(&server.url());
        assert_eq!(
            page.eval("document.querySelector('.plots').scrollHeight > document.querySelector('.plots').clientHeight"),
            json!(true)
        );
        assert_eq!(page.number("document.querySelector('.plots').scrollTop"), 0.0);
        page.quiet(&server.url());
        page.close();
    }

    #[test]
    fn plots_show_and_save_the_right_values() {
        let mut browser = browser();
        let s = Scratch::new("plots");
        write(s.path(), DOUBLE_PENDULUM, 2.0, 401, double_pendulum()).unwrap();
        let server = start(s.path());
        let mut page = browser.open(&server.url());
        page.eval("bellcrank.plot('energy.kinetic', 'energy.stored', 'energy.total', 'upper.vx')");
        page.eval("bellcrank.seekRow(123)");
        page.until("bellcrank.plots().every((p) => p.values.every((v) => v !== undefined))");
        let plots = page.eval("bellcrank.plots()");
        let mut seen = 0;
        for plot in plots.as_array().unwrap() {
            for (name, value) in plot["names"].as_array().unwrap().iter().zip(plot["values"].as_array().unwrap()) {
                let name = name.as_str().unwrap();
                let expected = exact(name, 2.0 * 123.0 / 400.0, double_pendulum());
                close(value.as_f64().unwrap(), expected, 1e-12, name);
                seen += 1;
            }
        }
        assert!(seen >= 6, "{plots}");
        // one unit in each plot; the axis holds all values
        let energies = plots.as_array().unwrap().iter().position(|p| p["unit"] == "J").unwrap();
        assert_eq!(plots[energies]["names"].as_array().unwrap().len(), 3);
        page.until(&format!("bellcrank.plots()[{energies}].bounds.to > 1"));
        let times: Vec<f64> = (0..401).map(|i| f64::from(i) * 2.0 / 400.0).collect();
        let kinetic = channel("energy.kinetic", &times, double_pendulum());
        let bounds = page.eval(&format!("bellcrank.plots()[{energies}].bounds"));
        assert!(bounds["to"].as_f64().unwrap() >= kinetic.iter().fold(0.0, |a: f64, b| a.max(*b)), "{bounds}");
        // the legend tells the value at the time
        let legend =
            page.text(&format!("document.querySelectorAll('.plot')[{energies}].querySelector('.value').textContent"));
        close(legend.replace('−', "-").parse().unwrap(), kinetic[123], 1e-5, "legend");
        // files
        let csv = page.text(&format!("bellcrank.file({energies}, 'CSV')"));
        let mut lines = csv.lines();
        assert_eq!(lines.next(), Some("time [s],energy.kinetic [J],energy.stored [J],energy.total [J]"));
        let read: Vec<Vec<f64>> = lines.map(|l| l.split(',').map(|x| x.parse().unwrap()).collect()).collect();
        assert_eq!(read.len(), 401);
        assert_eq!(
            read.iter().map(|r| r[1].to_bits()).collect::<Vec<_>>(),
            kinetic.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        );
        let svg = format!(
            "bellcrank.file({energies}, 'SVG').then((s) => new DOMParser().parseFromString(s, 'image/svg+xml'))"
        );
        assert_eq!(page.number(&format!("{svg}.then((d) => d.querySelectorAll('parsererror').length)")), 0.0);
        assert!(page.text(&format!("{svg}.then((d) => d.documentElement.textContent)")).contains("energy.kinetic"));
        assert!(page.number(&format!("bellcrank.file({energies}, 'PNG')")) > 2000.0);
        // a click goes to its time; a drag zooms; a double click shows all again
        page.eval("document.querySelector('.chart-frame').scrollIntoView({ behavior: 'instant' })");
        let frame = page.numbers("(() => { const r = document.querySelector('.chart-frame').getBoundingClientRect(); return [r.left, r.top, r.width, r.height] })()");
        let x = |t: f64| frame[0] + 62.0 + t / 2.0 * (frame[2] - 62.0 - 14.0);
        let y = frame[1] + frame[3] / 2.0;
        page.click(x(1.5), y);
        close(page.number("bellcrank.state().t"), 1.5, 0.01, "click");
        page.drag([x(0.5), y], [x(1.0), y]);
        close(page.number("bellcrank.plots()[0].range.from"), 0.5, 0.01, "zoom");
        close(page.number("bellcrank.plots()[0].range.to"), 1.0, 0.01, "zoom");
        page.picture("plots");
        page.eval("document.querySelector('.chart-frame').dispatchEvent(new MouseEvent('dblclick'))");
        assert_eq!(page.number("bellcrank.plots()[0].range.to"), 2.0);
        page.quiet(&server.url());
        page.close();
    }

    #[test]
    fn a_spatial_model_opens_in_space_and_turns() {
        let mut browser = browser();
        let s = Scratch::new("space");
        write(s.path(), TOP, 20.0, 2001, top).unwrap();
        let server = start(s.path());
        let mut page = browser.open(&server.url());
        assert_eq!(page.eval("[bellcrank.state().view, bellcrank.state().flat]"), json!(["iso", false]));
        page.eval("bellcrank.seekRow(437)");
        let before = not_blank(&mut page);
        page.picture("space-light");
        let t = page.number("bellcrank.state().t");
        let pose = page.numbers("bellcrank.pose('top')");
        let mut want = Frame::default();
        top(t, &mut want);
        for k in 0..3 {
            close(pose[k], want.values[k], 1e-6, "position");
        }
        let q = &want.values[3..7]; // w, x, y, z
        let cosine = pose[7] * q[0] + pose[4] * q[1] + pose[5] * q[2] + pose[6] * q[3];
        close(cosine.abs(), 1.0, 1e-6, "rotation");
        // dragging turns the view
        let at = page.numbers("(() => { const r = document.querySelector('.scene').getBoundingClientRect(); return [r.left + 40, r.top + r.height / 2] })()");
        page.drag([at[0], at[1]], [at[0] + 160.0, at[1] - 30.0]);
        page.until(&format!("bellcrank.pixels().digest !== {before}"));
        for view in ["1", "2", "3", "4"] {
            page.key(view);
            not_blank(&mut page);
        }
        page.key("d");
        page.until("document.documentElement.dataset.theme === 'dark'");
        not_blank(&mut page);
        page.picture("space-dark");
        page.key("l");
        assert!(page.text("document.querySelector('.labels').textContent").contains("satellite"));
        page.quiet(&server.url());
        page.close();
    }

    #[test]
    fn a_thousand_bodies_are_drawn() {
        let mut browser = browser();
        let s = Scratch::new("thousand");
        write(s.path(), &cloud_model(1000), 2.0, 21, cloud(1000)).unwrap();
        let server = start(s.path());
        let mut page = browser.open(&server.url());
        page.eval("bellcrank.seekRow(13)");
        not_blank(&mut page);
        page.picture("thousand");
        for i in [0, 1, 999] {
            let p = page.numbers(&format!("bellcrank.pose('b{i}')"));
            close(p[0], exact(&format!("b{i}.x"), 1.3, cloud(1000)), 1e-6, "x");
            close(p[2], exact(&format!("b{i}.z"), 1.3, cloud(1000)), 1e-6, "z");
        }
        // all of a kind in one call, few triangles for what is small, and full care at rest
        let moving = page.eval("bellcrank.cost(3)");
        let rest = page.eval("bellcrank.cost(1, false)");
        let of = |cost: &Value, what: &str| cost[what].as_f64().unwrap();
        assert!((1.0..=8.0).contains(&of(&moving, "calls")), "{moving}");
        assert!(of(&moving, "triangles") <= 100.0 * 1000.0, "{moving}");
        assert!(of(&rest, "calls") <= 16.0 && of(&rest, "triangles") <= 1500.0 * 1000.0, "{rest}");
        assert_eq!((&moving["care"], &rest["care"]), (&json!(2), &json!(0)));
        // nothing is allocated for a body while time runs, once it does
        page.eval("bellcrank.cost(100); bellcrank.play(); new Promise((r) => setTimeout(r, 1000))");
        let frames = "new Promise((done) => { let n = 0; const f = () => (++n < 20 ? requestAnimationFrame(f) : done(n)); f() })";
        let bytes = page.allocated(|page| page.eval(frames)) / 20.0;
        assert!(bytes < 50_000.0, "{bytes} bytes a frame");
        page.eval("bellcrank.pause()");
        page.quiet(&server.url());
        page.close();
    }

    #[test]
    fn ten_thousand_bodies_are_lines_until_one_comes_near() {
        let mut browser = browser();
        let s = Scratch::new("many");
        let n = 10_000;
        write(s.path(), &rods_model(n), 1.0, 31, rods(n)).unwrap();
        let server = start(s.path());
        let mut page = browser.open(&server.url());
        // poses of all bodies in a few requests, names as bytes, and no more of the page's memory than that takes
        assert!(page.number("performance.getEntriesByType('resource').length") < 30.0);
        assert!(page.heap() < 120e6, "{} bytes", page.heap());
        not_blank(&mut page);
        for i in [0, 1, 5432, n - 1] {
            page.eval("bellcrank.seekRow(17)");
            let [x, y, angle] = drawn(&mut page, &format!("b{i}"));
            let t = 17.0 / 30.0;
            close(x, exact(&format!("b{i}.x"), t, rods(n)), 1e-6, "x");
            close(y, exact(&format!("b{i}.y"), t, rods(n)), 1e-6, "y");
            assert!(same_angle(angle, exact(&format!("b{i}.angle"), t, rods(n))));
        }
        // the whole motion is in the picture, and thin bodies are lines
        assert!(fills(&mut page), "{}", page.number("bellcrank.filled()"));
        let far = page.eval("bellcrank.cost(1)");
        assert_eq!((&far["level"], &far["triangles"]), (&json!(4), &json!(0)), "{far}");
        page.picture("ten-thousand");
        // a line can be picked, and near it is a solid
        page.eval("bellcrank.select('b5050')");
        page.key("c");
        page.eval("bellcrank.zoom(0.01)");
        let near = page.eval("bellcrank.cost(1)");
        assert!(near["level"].as_f64().unwrap() < 4.0 && near["triangles"].as_f64().unwrap() > 0.0, "{near}");
        let at = page.numbers("bellcrank.place('b5050')");
        assert_eq!(page.eval(&format!("bellcrank.pick({}, {})", at[0], at[1]))["name"], "b5050");
        assert!(page.text("document.querySelector('.card').innerText").contains("angle"));
        page.quiet(&server.url());
        page.close();
    }

    fn harmless(page: &mut Page) {
        assert_eq!(page.eval("window.hacked ?? null"), Value::Null);
        assert_eq!(page.number("document.querySelectorAll('img, #app script, #app style, #app iframe').length"), 0.0);
        let text = page.text("document.body.innerText");
        for shown in [
            "<script>window.hacked = 1</script>",
            "<img src=x onerror=window.hacked=1>",
            "‹ESC›[31mred‹BEL›",
            "‹RLO›txt.exe",
            "Räder \"φ\", a/b 🛞",
            "</script><script>",
        ] {
            assert!(text.contains(shown), "{shown} is not in {text}");
        }
    }

    #[test]
    fn names_are_shown_and_never_run() {
        let mut browser = browser();
        let s = Scratch::new("odd");
        write(s.path(), &odd_model(), 3.0, 31, odd).unwrap();
        let server = start(s.path());
        let mut page = browser.open(&server.url());
        for name in ODD {
            let name = serde_json::to_string(name).unwrap();
            page.eval(&format!("bellcrank.select({name}); bellcrank.plot({name} + '.x')"));
        }
        page.eval("bellcrank.show('labels', true)");
        let svg = page.text("bellcrank.file(0, 'SVG')");
        assert!(!svg.contains("<script") && !svg.contains("<img"), "{svg}");
        harmless(&mut page);
        page.picture("odd-names");
        page.quiet(&server.url());
        page.close();
    }

    #[test]
    fn a_report_works_from_a_file() {
        let mut browser = browser();
        let s = Scratch::new("report-file");
        let dir = s.path().join("r");
        write(&dir, DOUBLE_PENDULUM, 2.0, 401, double_pendulum()).unwrap();
        let facts = vec![
            Fact { name: "Drift".into(), value: "3e-14 m".into(), verdict: Verdict::Good, ..Fact::default() },
            Fact { name: "Energy".into(), value: "1e-3".into(), verdict: Verdict::Doubtful, ..Fact::default() },
        ];
        let wanted = Report {
            plots: vec![vec!["energy.total".into()], vec!["tip.x".into(), "tip.y".into()]],
            sections: vec![
                Section { title: "Accuracy".into(), text: "How far to trust it.".into(), facts, ..Section::default() },
                Section {
                    title: "Steps".into(),
                    table: vec![vec!["who".into(), "how often".into()], vec!["<b>lower</b>".into(), "3".into()]],
                    diagrams: vec![Diagram {
                        title: "Step size".into(),
                        unit: "s".into(),
                        logarithmic: true,
                        points: vec![[0.5, 1e-3, 2e-3], [2.0, 1e-5, 1e-4]],
                        marks: vec![0.5],
                        marked: "rejected steps".into(),
                    }],
                    code: "[body.\u{202e}x]\n<script>window.hacked = 1</script>".into(),
                    ..Section::default()
                },
            ],
            ..Report::default()
        };
        let file = s.path().join("report.html");
        std::fs::write(&file, report(&dir, &wanted).unwrap()).unwrap();
        let url = format!("file://{}", file.display());
        let mut page = browser.open(&url);
        assert_eq!(page.eval("bellcrank.plots().map((p) => p.names)"), json!([["energy.total"], ["tip.x", "tip.y"]]));
        assert!(page.text("document.querySelector('.run').innerText").contains("How far to trust it."));
        page.eval("bellcrank.seekRow(200)");
        not_blank(&mut page);
        let [x, y, _] = drawn(&mut page, "lower");
        close(x, exact("lower.x", 1.0, double_pendulum()), 1e-6, "x");
        close(y, exact("lower.y", 1.0, double_pendulum()), 1e-6, "y");
        page.picture("report");
        // the truth report beside the scene
        page.key("v");
        assert_eq!(page.eval("document.querySelector('.truth').hidden"), json!(false));
        page.eval("document.querySelector('.truth details').open = true");
        let text = page.text("document.querySelector('.truth').innerText");
        for told in ["Accuracy", "3e-14 m", "<b>lower</b>", "rejected steps", "‹RLO›", "<script>window.hacked"] {
            assert!(text.contains(told), "{told} is not in {text}");
        }
        let path = page.text("document.querySelector('.diagram .curve').getAttribute('d')");
        assert!(path.matches('L').count() == 3 && !path.contains("NaN"), "{path}");
        page.picture("truth");
        page.key("v");
        assert_eq!(page.eval("document.querySelector('.truth').hidden"), json!(true));
        page.quiet(&url);
        page.close();

        let dir = s.path().join("odd");
        write(&dir, &odd_model(), 3.0, 31, odd).unwrap();
        std::fs::write(&file, report(&dir, &Report::default()).unwrap()).unwrap();
        let mut page = browser.open(&url);
        harmless(&mut page);
        page.quiet(&url);
        page.close();
    }

    /// Whether the motion fills the picture, but for the margin.
    fn fills(page: &mut Page) -> bool {
        (0.75..0.95).contains(&page.number("bellcrank.filled()"))
    }

    #[test]
    fn a_view_of_everything_stays_one_when_the_page_changes() {
        let mut browser = browser();
        let s = Scratch::new("fit");
        write(s.path(), FOUR_BAR, 4.0, 201, four_bar()).unwrap();
        let server = start(s.path());
        let mut page = browser.open(&server.url());
        assert!(fills(&mut page));
        // plots take their part of the page, and give it back
        for plots in ["60px", "400px"] {
            page.eval(&format!("document.documentElement.style.setProperty('--plots', '{plots}')"));
            let seen = "(() => { const c = document.querySelector('.scene'); return Math.abs(c.height - c.clientHeight) < 2 })()";
            page.until(&format!(
                "Math.abs(document.querySelector('.plots').offsetHeight - parseInt('{plots}')) < 3 && {seen}"
            ));
            assert!(fills(&mut page), "plots of {plots}: {}", page.number("bellcrank.filled()"));
        }
        for [width, height] in [[900, 420], [1280, 800], [640, 900]] {
            let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
            page.call("Emulation.setDeviceMetricsOverride", size);
            page.until("(() => { const c = document.querySelector('.scene'); return Math.abs(c.width - c.clientWidth) < 2 && Math.abs(c.height - c.clientHeight) < 2 })()");
            assert!(fills(&mut page), "{width} × {height}: {}", page.number("bellcrank.filled()"));
        }
        // a view that the user chose stays as it is
        page.eval("bellcrank.zoom(3)");
        let before = page.number("bellcrank.filled()");
        page.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": false}),
        );
        page.until("document.querySelector('.scene').clientWidth > 800");
        assert!(before < 0.4 && page.number("bellcrank.filled()") < 0.5);
        page.key("f");
        assert!(fills(&mut page));
        page.quiet(&server.url());
        page.close();
    }

    #[test]
    fn a_live_run_is_followed_and_its_steps_are_shown() {
        let mut browser = browser();
        let model = bellcrank_model::read::read_text("m.toml", FOUR_BAR, &[]).unwrap().model;
        let live =
            Live::new(&bellcrank_model::scene::scene(&model), &ServeOptions { port: Some(0), open: false }).unwrap();
        let mut run = live.recorder();
        let (mut frame, mut motion) = (Frame::default(), four_bar());
        motion(0.0, &mut frame);
        let channels = std::mem::take(&mut frame.channels);
        run.begin(&bellcrank_solve::record::Header { model: "Four-bar".into(), channels }).unwrap();
        let mut go = |from: usize, to: usize| {
            for i in from..to {
                let t = i as f64 * 0.01;
                let mut frame = Frame::default();
                motion(t, &mut frame);
                run.frame(t, &frame.values).unwrap();
                let events = [Event { t: 0.5, name: "<b>stop</b>".into(), what: "closed".into() }];
                let events = if i > 50 { &events[..] } else { &[] };
                run.step(&AcceptedStep {
                    t: t + 0.01,
                    h: 0.01,
                    order: 1 + i / 40,
                    iterations: 2,
                    refusals: &[],
                    events,
                });
            }
        };
        go(0, 5);
        let url = live.server().url();
        let mut page = browser.open(&url);
        assert_eq!(page.text("document.querySelector('.chip').textContent"), "running");
        go(5, 100);
        page.until("bellcrank.state().rows === 100 && bellcrank.state().row === 99");
        let t = page.number("bellcrank.state().t");
        let [x, y, _] = drawn(&mut page, "crank");
        close(x, exact("crank.x", t, four_bar()), 1e-6, "at the head");
        close(y, exact("crank.y", t, four_bar()), 1e-6, "at the head");
        assert!(fills(&mut page), "{}", page.number("bellcrank.filled()"));
        // who looks back stays there while the run goes on, and plots grow
        page.eval("bellcrank.seek(0.4); bellcrank.plot('crank.x')");
        go(100, 160);
        page.until(
            "bellcrank.state().rows === 160 && bellcrank.state().live.stretches.reduce((n, s) => n + s[1], 0) >= 100",
        );
        assert_eq!(page.number("bellcrank.state().t"), 0.4);
        page.until("bellcrank.column('crank.x').then((c) => c.length === 160)");
        let column = page.numbers("bellcrank.column('crank.x')");
        let times: Vec<f64> = (0..160).map(|i| f64::from(i) * 0.01).collect();
        let wanted = channel("crank.x", &times, four_bar());
        assert_eq!(column.len(), 160);
        column.iter().zip(wanted).for_each(|(a, b)| close(*a, b, 1e-15, "while it grows"));
        page.eval("bellcrank.seek(99)");
        page.picture("live");
        run.end(&Object::new(json!({"status": "finished", "model": "Four-bar"}))).unwrap();
        page.until("document.querySelector('.chip').textContent === 'finished'");
        let live_state = page.eval("bellcrank.state().live");
        let steps: f64 = live_state["stretches"].as_array().unwrap().iter().map(|s| s[1].as_f64().unwrap()).sum();
        assert_eq!((steps, &live_state["events"]), (160.0, &json!(["t = 0.500000 s: <b>stop</b> closed"])));
        let strip = page.text("document.querySelector('.strip').innerText");
        assert!(strip.contains("<b>stop</b> closed") && strip.contains("0 of 160"), "{strip}");
        assert!(live.watched());
        drop(live);
        page.until("bellcrank.state().live.over");
        assert!(page.text("document.querySelector('.banner').innerText").contains("The program has ended"));
        page.quiet(&url);
        page.close();
    }

    #[test]
    fn meshes_and_bending_bodies_are_drawn() {
        let mut browser = browser();
        let s = Scratch::new("mesh");
        let text = "model = { gravity = [0, 0, -9.81] }\nbody.part = { mass = 1, inertia = [1, 1, 1] }\n\
                    body.beam = { mass = 1, inertia = [1, 1, 1], at = [0, 1, 0] }\n\
                    joint.tip = { type = \"spherical\", between = [\"part\", \"beam\"], at = [2, 1, 0] }\n\
                    joint.middle = { type = \"spherical\", between = [\"part\", \"beam\"], at = [1, 1, 0] }";
        let motion = |t: f64, f: &mut Frame| {
            f.spatial("part", [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]);
            f.spatial("beam", [0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]);
            f.put("beam.mode1", "m", 0.01 * (std::f64::consts::TAU * t).sin());
        };
        write(s.path(), text, 1.0, 101, motion).unwrap();
        // a tetrahedron and a beam of nine points with a parabola for a mode
        let corner = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let corners: Vec<f32> = faces.iter().flatten().flat_map(|k: &usize| corner[*k]).collect();
        let file = s.path().join("scene.json");
        let mut scene: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let solid = bellcrank_model::appearance::VisualSolid {
            mesh: std::sync::Arc::new(bellcrank_model::mesh::Mesh { corners }),
            appearance: Default::default(),
        };
        scene["bodies"][0]["solids"] = json!([bellcrank_model::scene::SceneSolid::of(&solid)]);
        let along: Vec<f64> = (0..9).map(|i| f64::from(i) / 8.0).collect();
        scene["bodies"][1]["flexible"] = json!({
            "line": true,
            "nodes": along.iter().map(|x| [2.0 * x, 0.0, 0.0]).collect::<Vec<_>>(),
            "modes": [{
                "channel": "beam.mode1",
                "shape": along.iter().map(|x| [0.0, 0.0, x * x]).collect::<Vec<_>>(),
            }],
            "radius": 0.03,
        });
        std::fs::write(&file, scene.to_string()).unwrap();
        let server = start(s.path());
        let mut page = browser.open(&server.url());
        page.eval("bellcrank.view('front')");
        let at = page.numbers("bellcrank.place('part', [0.25, 0, 0.25])");
        assert_eq!(page.eval(&format!("bellcrank.pick({}, {})", at[0], at[1]))["name"], "part");
        assert_eq!(page.eval("bellcrank.place('part', [0.8, 0, 0.8]).concat()").as_array().unwrap().len(), 2);
        let at = page.numbers("bellcrank.place('part', [0.8, 0, 0.8])");
        assert_eq!(page.eval(&format!("bellcrank.pick({}, {})", at[0], at[1])), Value::Null);
        // the tip of the beam is where the mode puts it, times the scale
        page.eval("bellcrank.seekRow(25)");
        for scale in [1.0, 40.0] {
            page.eval(&format!("bellcrank.deform({scale})"));
            let tip = page.numbers("bellcrank.bent('beam')");
            let n = tip.len();
            close(tip[n - 3], 2.0, 1e-6, "x");
            close(tip[n - 1], 0.01 * scale, 1e-5, "z");
            // and what stands on it is there, too
            for (joint, x) in [("tip", 1.0), ("middle", 0.5)] {
                let at = page.numbers(&format!("bellcrank.at('{joint}')"));
                close(at[0], 2.0 * x, 1e-6, joint);
                close(at[2], 0.01 * scale * x * x, 1e-5, joint);
            }
        }
        page.until("bellcrank.pixels().solid > 0.01");
        page.picture("bending");
        page.quiet(&server.url());
        page.close();
    }

    #[test]
    fn every_state_of_a_run_is_told_on_the_page() {
        let mut browser = browser();
        let s = Scratch::new("page-states");
        let says = |page: &mut Page| page.text("document.body.innerText");

        // no results; then a run begins, and ends: the page follows
        let dir = s.path().join("live");
        std::fs::create_dir(&dir).unwrap();
        let server = start(&dir);
        let mut page = browser.open(&server.url());
        assert!(says(&mut page).contains("There are no results in this folder"));
        let mut folder = begin(&dir, FOUR_BAR, 1.0, 100, four_bar()).unwrap();
        page.until("document.body.innerText.includes('Waiting for the first frames')");
        let mut frame = Frame::default();
        let mut motion = four_bar();
        for i in 100..8192 {
            frame.values.clear();
            motion(f64::from(i) / 100.0, &mut frame);
            folder.frame(f64::from(i) / 100.0, &frame.values).unwrap();
        }
        folder.flush().unwrap();
        page.until(
            "globalThis.bellcrank?.state?.()?.rows === 8192 && document.body.innerText.includes('The run is in progress')",
        );
        folder.end(&Object::new(json!({"status": "interrupted"}))).unwrap();
        page.until("document.body.innerText.includes('The run was interrupted')");
        // another run in the same folder
        write(&dir, SLIDER_CRANK, 1.0, 20, slider_crank).unwrap();
        page.until("document.title.startsWith('Slider-crank') && globalThis.bellcrank?.state?.()?.rows === 20");
        page.close();
        drop(server);

        // damaged, and empty
        let whole = std::fs::read(dir.join("results.parquet")).unwrap();
        std::fs::write(dir.join("results.parquet"), &whole[..whole.len() / 2]).unwrap();
        let server = start(&dir);
        let mut page = browser.open(&server.url());
        let text = says(&mut page);
        assert!(text.contains("cannot be read") && text.contains("results.csv"), "{text}");
        page.picture("damaged");
        page.quiet(&server.url());
        page.close();
        let dir = s.path().join("empty");
        write(&dir, FOUR_BAR, 1.0, 0, four_bar()).unwrap();
        let server = start(&dir);
        let mut page = browser.open(&server.url());
        assert!(says(&mut page).contains("recorded no frames"));
        page.quiet(&server.url());
        page.close();

        // no scene, and a broken one: points, and a word about it
        let dir = s.path().join("plain");
        write(&dir, FOUR_BAR, 1.0, 11, four_bar()).unwrap();
        for (scene, told) in [
            (None, "no scene.json"),
            (Some("{}"), "no scene of Bellcrank"),
            (Some("{\"format\": \"bellcrank-scene\", \"version\": 9}"), "later version"),
        ] {
            std::fs::remove_file(dir.join("scene.json")).ok();
            if let Some(text) = scene {
                std::fs::write(dir.join("scene.json"), text).unwrap();
            }
            let server = start(&dir);
            let mut page = browser.open(&server.url());
            assert!(says(&mut page).contains(told), "{told}");
            not_blank(&mut page);
            page.quiet(&server.url());
            page.close();
        }
    }

    /// A study of 24 runs, one of which failed: y = 2a + b, with b in words.
    fn write_study(dir: &Path) {
        use bellcrank_results::tidy::{TABLE, TidyColumn, TidyValues, TidyWriter};
        let column = |name: &str, unit: &str, is_text| TidyColumn { name: name.into(), unit: unit.into(), is_text };
        let columns = [
            column("row", "", false),
            column("a <b>", "N/m", false),
            column("method", "", true),
            column("y", "m", false),
            column("status", "", true),
            column("reason", "", true),
        ];
        let about = [("model", "<i>car</i>"), ("axes", "[\"a <b>\",\"method\"]"), ("columns", "[\"y\"]")];
        let rows: Vec<usize> = (0..24).collect();
        let number = |f: &dyn Fn(usize) -> f64| TidyValues::Numbers(rows.iter().map(|k| f(*k)).collect());
        let text = |f: &dyn Fn(usize) -> &'static str| TidyValues::Texts(rows.iter().map(|k| f(*k).into()).collect());
        let failed = |k: usize| k == 23;
        let values = [
            number(&|k| k as f64),
            number(&|k| (k / 2) as f64),
            text(&|k| ["bdf", "<script>alert(1)</script>"][k % 2]),
            number(&|k| if failed(k) { f64::NAN } else { 2.0 * (k / 2) as f64 + (k % 2) as f64 }),
            text(&|k| if failed(k) { "failed" } else { "finished" }),
            text(&|k| if failed(k) { "it broke" } else { "" }),
        ];
        std::fs::create_dir_all(dir).unwrap();
        let mut out = TidyWriter::new(std::fs::File::create(dir.join(TABLE)).unwrap(), &columns, &about).unwrap();
        out.write(&values).unwrap();
        out.finish().unwrap();
    }

    #[test]
    fn a_study_is_drawn_and_chosen_on_its_page() {
        use bellcrank_view::study::StudyTable;
        let mut browser = browser();
        let s = Scratch::new("study-page");
        write_study(s.path());
        let options = ServeOptions { port: Some(0), open: false };
        let server = bellcrank_view::serve_study(StudyTable::open(s.path()).unwrap(), &options).unwrap();
        let mut page = browser.open(&server.url());
        let told = page.text("document.body.innerText");
        assert!(told.contains("Study of <i>car</i>") && told.contains("24 runs, 2 values varied, 1 failed"), "{told}");
        assert!(told.contains("row 23: it broke"), "{told}");
        let figures = page.eval("[...document.querySelectorAll('figure')].map((f) => f.id)");
        assert_eq!(figures, json!(["tornado", "parallel", "scatter", "heat"]));
        // names do no harm: no element comes from them
        assert_eq!(page.eval("document.querySelectorAll('script, i, b').length"), json!(0));
        // a dot and a line for every row that has a result
        assert_eq!(page.number("document.querySelectorAll('#scatter circle').length"), 23.0);
        assert_eq!(page.number("document.querySelectorAll('#parallel polyline[stroke-opacity]').length"), 23.0);
        // 12 values by 2 words
        let cells =
            "[...document.querySelectorAll('#heat polygon')].filter((p) => p.getAttribute('stroke') === '#ffffff')";
        assert_eq!(page.number(&format!("{cells}.length")), 24.0);
        // the dots rise with what they are drawn over
        let rises = "(() => { const c = [...document.querySelectorAll('#scatter circle')].map((e) => [+e.getAttribute('cx'), +e.getAttribute('cy')]); \
             return c[0][0] < c[22][0] && c[0][1] > c[22][1] })()";
        assert_eq!(page.eval(rises), json!(true));
        page.picture("study");

        // another choice, by the form
        page.eval("(() => { document.querySelector('select[name=x]').value = 'method'; document.querySelector('form').submit() })()");
        page.until("location.search.includes('x=method') && !!document.documentElement?.dataset.ready");
        assert_eq!(page.text("document.querySelector('select[name=x]').value"), "method");
        assert!(page.text("document.body.innerText").contains("y over method"));
        page.eval("(() => { document.querySelector('select[name=x]').value = 'a <b>'; document.querySelector('form').submit() })()");
        page.until("location.search.includes('x=a+') && document.body?.innerText.includes('y over a <b>')");

        // dark: the ground of page and drawings is dark
        page.call(
            "Emulation.setEmulatedMedia",
            json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]}),
        );
        assert_eq!(page.text("getComputedStyle(document.body).backgroundColor"), "rgb(22, 24, 28)");
        assert!(page.text("getComputedStyle(document.querySelector('svg')).filter").contains("invert"));
        page.picture("study-dark");
        // a telephone: nothing but drawings is wider than the screen
        page.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": true}),
        );
        page.until("document.documentElement.scrollWidth <= 390");
        page.quiet(&server.url());
        page.close();
    }

    #[test]
    fn two_runs_are_seen_in_one_scene_and_in_the_same_plots() {
        let mut browser = browser();
        let s = Scratch::new("together");
        let [a, b, c] = ["a", "b", "c"].map(|name| s.path().join(name));
        write(&a, FOUR_BAR, 4.0, 801, four_bar()).unwrap();
        // half as fast, shorter, at other times; and a machine that shares no channel with the first
        let slow = |t: f64, frame: &mut Frame| four_bar()(0.5 * t, frame);
        write(&b, FOUR_BAR, 3.0, 151, slow).unwrap();
        write(&c, DOUBLE_PENDULUM, 6.0, 61, double_pendulum()).unwrap();
        let server = serve_together(&[a, b, c], &ServeOptions { port: Some(0), open: false }).unwrap();
        let mut page = browser.open(&server.url());
        assert_eq!(
            page.eval("bellcrank.runs().map((r) => [r.label, r.rows, r.drawn])"),
            json!([["b", 151, true], ["c", 61, true]])
        );
        // time runs until the last run has ended
        assert_eq!(page.number("bellcrank.state().end"), 6.0);
        let banner = page.eval("document.querySelector('.banner').textContent");
        assert!(banner.as_str().unwrap().contains("channels are only in “a”"), "{banner}");
        assert!(!banner.as_str().unwrap().contains("“b”"), "{banner}");
        for t in [0.0, 1.0, 2.37] {
            page.eval(&format!("bellcrank.seek({t})"));
            page.until(&format!("bellcrank.state().t === {t}"));
            let p = page.numbers("bellcrank.ghost(0, 'coupler')");
            close(f64::from(p[0] as f32), exact("coupler.x", 0.5 * t, four_bar()), 1e-3, "the ghost of b");
            close(p[1], exact("coupler.y", 0.5 * t, four_bar()), 1e-3, "the ghost of b");
            let [x, y, _] = drawn(&mut page, "coupler");
            close(x, exact("coupler.x", t, four_bar()), 1e-3, "a");
            close(y, exact("coupler.y", t, four_bar()), 1e-3, "a");
        }
        page.picture("together");
        let with = not_blank(&mut page);
        // curves of both, each at its own times
        page.eval("bellcrank.plot('crank.angle')");
        page.until("bellcrank.plots().some((p) => p.names.includes('crank.angle') && p.beside[0][p.names.indexOf('crank.angle')] !== undefined)");
        let plot = page.eval("bellcrank.plots().find((p) => p.names.includes('crank.angle'))");
        let k = plot["names"].as_array().unwrap().iter().position(|n| n == "crank.angle").unwrap();
        close(plot["values"][k].as_f64().unwrap(), exact("crank.angle", 2.37, four_bar()), 1e-3, "a");
        close(plot["beside"][0][k].as_f64().unwrap(), exact("crank.angle", 1.185, four_bar()), 1e-3, "b");
        assert_eq!(plot["beside"][1][k], Value::Null, "c has no crank");
        assert_eq!(page.eval("document.querySelector('.runs').textContent"), json!("abc"));
        let told = plot["told"][k].as_str().unwrap();
        assert!(told.ends_with("|  –") && told.matches('|').count() == 2, "{told}");
        // after the end of a run it has no value
        page.eval("bellcrank.seek(3.5)");
        page.until("bellcrank.plots()[0].told[0].includes('–  |  –')");
        let table =
            page.eval("bellcrank.file(bellcrank.plots().findIndex((p) => p.names.includes('crank.angle')), 'CSV')");
        let lines: Vec<&str> = table.as_str().unwrap().lines().collect();
        assert_eq!(lines.len(), 802);
        assert!(lines[0].contains("crank.angle (b) [rad]") && lines[0].contains("time (b) [s]"), "{}", lines[0]);
        // a run that is hidden is seen no more, neither in the scene nor in the plots
        page.eval("bellcrank.seek(2.37)");
        page.eval("document.querySelectorAll('.runs input').forEach((e) => e.click())");
        assert_eq!(page.eval("bellcrank.runs().map((r) => r.drawn)"), json!([false, false]));
        page.eval("bellcrank.seekRow(474)");
        assert_ne!(not_blank(&mut page), with);
        assert_eq!(page.eval("bellcrank.plots()[0].beside"), json!([]));
        page.quiet(&server.url());
        page.close();
    }

    #[test]
    fn chapters_are_chosen_and_played_over_and_over() {
        let mut browser = browser();
        let s = Scratch::new("chapters");
        let mut folder = begin(s.path(), FOUR_BAR, 5.0, 101, four_bar()).unwrap();
        let chapters = json!([
            {"name": "Mode 1", "from": 0.0, "to": 2.0, "facts": ["1.25 Hz", "damping 0.1"]},
            {"name": "Mode 2", "from": 2.5, "to": 4.5, "facts": ["7.5 Hz", "<b>damping</b> 0.2"]},
            {"name": "Rest", "from": 5.0, "to": 5.0, "facts": []},
            {"name": "no chapter"},
        ]);
        folder.end(&Object::new(json!({"status": "finished", "t": 5.0, "chapters": chapters}))).unwrap();
        let server = start(s.path());
        let mut page = browser.open(&server.url());
        // who wants less motion starts it himself
        assert_eq!(page.eval("bellcrank.state().playing"), json!(false));
        page.eval("bellcrank.play()");
        let chapter = page.eval("bellcrank.state().chapter");
        assert_eq!((&chapter["number"], &chapter["name"]), (&json!(0), &json!("Mode 1")));
        assert!(chapter["told"].as_str().unwrap().contains("1.25 Hz · damping 0.1"), "{chapter}");
        assert_eq!(page.number("bellcrank.state().end"), 2.0);
        page.key("PageDown");
        let chapter = page.eval("bellcrank.state().chapter");
        assert!(chapter["told"].as_str().unwrap().contains("7.5 Hz · <b>damping</b> 0.2"), "{chapter}");
        assert_eq!(page.eval("[bellcrank.state().start, bellcrank.state().end]"), json!([2.5, 4.5]));
        page.picture("chapters");
        // it is repeated: time never leaves the chapter
        page.eval("bellcrank.seek(4.45); bellcrank.play()");
        page.until("bellcrank.state().t < 4 && bellcrank.state().t >= 2.5");
        page.eval("bellcrank.pause(); bellcrank.chapter(2)");
        assert_eq!(
            page.eval("[bellcrank.state().t, bellcrank.state().start, bellcrank.state().end]"),
            json!([5, 0, 5])
        );
        // going on in time goes through the chapters
        page.eval("bellcrank.seek(2.6)");
        assert_eq!(page.eval("bellcrank.state().chapter.name"), json!("Mode 2"));
        page.quiet(&server.url());
        page.close();
    }
}
