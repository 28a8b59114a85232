//! The server: whom it answers, what it serves, and that columns are what was recorded.

mod samples;

use bellcrank_results::Folder;
use bellcrank_results::json::Object;
use bellcrank_solve::engines::Refusal;
use bellcrank_solve::events::Event;
use bellcrank_solve::history::AcceptedStep;
use bellcrank_solve::record::{Channel, Header, Recorder};
use bellcrank_view::{
    Fact, Live, LiveRecorder, Report, Section, ServeOptions, Server, Verdict, report, serve, serve_together,
};
use samples::*;
use serde_json::{Value, json};
use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

fn start(dir: &Path) -> Server {
    serve(dir, &ServeOptions { port: Some(0), open: false }).unwrap()
}

/// Sends bytes, and reads all that comes back.
fn raw(server: &Server, request: &[u8]) -> (u16, String, Vec<u8>) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let end = answer.windows(4).position(|w| w == b"\r\n\r\n").map_or(answer.len(), |i| i + 4);
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
    (status, head, answer[end..].to_vec())
}

fn get(server: &Server, path: &str) -> (u16, String, Vec<u8>) {
    raw(server, format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes())
}

fn json_of(server: &Server, path: &str) -> Value {
    let (status, head, body) = get(server, path);
    assert_eq!(status, 200, "{path}: {head}");
    serde_json::from_slice(&body).unwrap()
}

fn numbers(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| x.to_bits()).collect()
}

fn header(names: &[&str]) -> Header {
    let channels = names.iter().map(|n| Channel { name: n.to_string(), unit: "m" }).collect();
    Header { model: "test".into(), channels }
}

#[test]
fn only_this_machine_is_answered() {
    let s = Scratch::new("host");
    write(s.path(), FOUR_BAR, 1.0, 11, four_bar()).unwrap();
    let server = start(s.path());
    assert!(server.address().ip().is_loopback());
    let with = |lines: &str| raw(&server, format!("GET / HTTP/1.1\r\n{lines}Connection: close\r\n\r\n").as_bytes()).0;
    for host in ["localhost", "127.0.0.1:1234", "[::1]:80"] {
        assert_eq!(with(&format!("Host: {host}\r\n")), 200, "{host}");
    }
    for host in ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "0.0.0.0", ""] {
        assert_eq!(with(&format!("Host: {host}\r\n")), 403, "{host}");
    }
    assert_eq!(with(""), 403);
    assert_eq!(with("Host: localhost\r\nHost: evil.example\r\n"), 400);
    for (site, expected) in [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)] {
        let request = format!(
            "GET /api/summary HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: {site}\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(raw(&server, request.as_bytes()).0, expected, "{site}");
    }
}

#[test]
fn nothing_but_the_page_and_the_results_is_served() {
    let s = Scratch::new("paths");
    write(&s.path().join("results"), FOUR_BAR, 1.0, 11, four_bar()).unwrap();
    std::fs::write(s.path().join("secret.txt"), "secret").unwrap();
    std::fs::write(s.path().join("results/notes.txt"), "secret").unwrap();
    let server = start(&s.path().join("results"));
    let (status, head, page) = get(&server, "/");
    assert_eq!((status, page), (200, bellcrank_view::viewer_page().as_bytes().to_vec()));
    for line in ["text/html; charset=utf-8", "nosniff", "frame-ancestors 'none'", "no-store"] {
        assert!(head.contains(line), "{head}");
    }
    for path in [
        "/../secret.txt",
        "/notes.txt",
        "/results.csv",
        "/summary.json",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "//etc/passwd",
        "/etc/passwd",
        "/api/../notes.txt",
        "/api/scene/../../secret.txt",
        "/api/notes.txt",
        "/api/",
        "/api/column",
        "*",
        "http://localhost/",
        "/index.html/..",
        "\\..\\secret.txt",
    ] {
        let (status, _, body) = get(&server, path);
        assert_eq!(status, 404, "{path}");
        assert!(!String::from_utf8_lossy(&body).contains("secret"), "{path}");
    }
    assert_eq!(raw(&server, b"HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").2, b"");
}

#[test]
fn columns_are_what_was_recorded_to_the_bit() {
    let s = Scratch::new("columns");
    let names = ["a", "b.x", "<c>", "d"];
    let value = |i: usize, j: usize| match (i % 1000, j) {
        (7, 1) => f64::NAN,
        (8, 1) => f64::NEG_INFINITY,
        (9, 1) => -0.0,
        _ => ((i * (j + 1)) as f64).sin() / 3.0,
    };
    let rows = 20_000; // several row groups
    let mut folder = Folder::new(s.path());
    folder.begin(&header(&names)).unwrap();
    for i in 0..rows {
        let row: Vec<f64> = (0..names.len()).map(|j| value(i, j)).collect();
        folder.frame(i as f64 * 0.1, &row).unwrap();
    }
    folder.end(&Object::new(json!({"status": "finished"}))).unwrap();
    let server = start(s.path());
    let channels = json_of(&server, "/api/channels");
    assert_eq!(channels["names"], json!(["time", "a", "b.x", "<c>", "d"]));
    assert_eq!(channels["units"], json!(["s", "m", "m", "m", "m"]));
    assert_eq!((&channels["rows"], &channels["generation"]), (&json!(rows), &json!(1)));
    // the same as bytes: a head, where names end, their units, the names
    let bytes = get(&server, "/api/channels?as=bytes").2;
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let size = word(0);
    let head: Value = serde_json::from_slice(&bytes[4..4 + size]).unwrap();
    assert_eq!((size % 4, head), (0, json!({"generation": 1, "rows": rows, "count": 5, "units": ["m", "s"]})));
    assert_eq!((0..5).map(|k| word(4 + size + 4 * k)).collect::<Vec<_>>(), [4, 5, 8, 11, 12]);
    let rest = &bytes[4 + size + 20..];
    assert_eq!((&rest[..10], &rest[10..]), (&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &b"timeab.x<c>d"[..]));
    let expect = |columns: &[usize], from: usize, to: usize| -> Vec<f64> {
        let one = |c: usize, i: usize| if c == 0 { i as f64 * 0.1 } else { value(i, c - 1) };
        columns.iter().flat_map(|c| (from..to).map(move |i| one(*c, i))).collect()
    };
    for (list, columns, from, to) in [
        ("0", vec![0], 0, rows),
        ("2", vec![2], 0, 12),
        ("4,0,2-3", vec![4, 0, 2, 3], 8190, 8195),
        ("1-4", vec![1, 2, 3, 4], 16_384, 16_384),
        ("0*3+2,1-2*2+2", vec![0, 2, 4, 1, 2, 3, 4], 8190, 8195),
        ("3,3", vec![3, 3], 19_999, 20_000),
        ("0-4", (0..5).collect(), 5, 19_990),
    ] {
        let (status, _, body) = get(&server, &format!("/api/columns?at={list}&from={from}&to={to}&generation=1"));
        assert_eq!(status, 200);
        assert_eq!(bits(&numbers(&body)), bits(&expect(&columns, from, to)), "{list} {from} {to}");
    }
    let (_, _, one) = get(&server, "/api/column/2?from=3&to=20");
    assert_eq!(bits(&numbers(&one)), bits(&expect(&[2], 3, 20)));
    let (_, _, single) = get(&server, "/api/columns?at=1&to=50&as=f32");
    let single: Vec<u32> = single.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(single, expect(&[1], 0, 50).iter().map(|x| (*x as f32).to_bits()).collect::<Vec<_>>());
    for bad in
        ["at=5", "at=", "at=1&from=-1", "at=1&from=3&to=2", "at=1&to=20001", "at=1&as=i8", "at=a", "at=1%2C2", ""]
    {
        assert_eq!(get(&server, &format!("/api/columns?{bad}")).0, 400, "{bad}");
    }
    let many = (0..500).map(|_| "0-4").collect::<Vec<_>>().join(",");
    assert_eq!(get(&server, &format!("/api/columns?at={many}")).0, 413);
    assert_eq!(get(&server, "/api/columns?at=1&generation=2").0, 409);
}

#[test]
fn strange_requests_are_refused_and_do_not_disturb() {
    let s = Scratch::new("strange");
    write(s.path(), FOUR_BAR, 1.0, 11, four_bar()).unwrap();
    let server = start(s.path());
    let long = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(20_000));
    let many = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(4000));
    for (request, status) in [
        (b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), 405),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello".to_vec(), 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(), 400),
        (b"GET / HTTP/2\r\nHost: localhost\r\n\r\n".to_vec(), 400),
        (b"GET /\r\n\r\n".to_vec(), 400),
        (b"\xff\xfe\r\n\r\n".to_vec(), 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n".to_vec(), 400),
        (long.into_bytes(), 431),
        (many.into_bytes(), 431),
    ] {
        assert_eq!(raw(&server, &request).0, status, "{}", String::from_utf8_lossy(&request[..request.len().min(60)]));
    }
    // connections that say nothing are many, and others are served
    let idle: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    let begun = Instant::now();
    assert_eq!(get(&server, "/api/summary").0, 200);
    assert!(begun.elapsed() < Duration::from_secs(5));
    drop(idle);
    // several requests on one connection
    let two = "GET /api/summary HTTP/1.1\r\nHost: localhost\r\n\r\nGET /api/summary HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let (_, head, rest) = raw(&server, two.as_bytes());
    assert!(head.contains("keep-alive") && String::from_utf8_lossy(&rest).contains("Connection: close"));
}

#[test]
fn too_many_connections_are_told_so() {
    let s = Scratch::new("crowd");
    write(s.path(), FOUR_BAR, 1.0, 3, four_bar()).unwrap();
    let server = start(s.path());
    let crowd: Vec<TcpStream> = (0..60).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    let mut last = &crowd[59];
    last.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut head = [0; 12];
    last.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 503");
    drop(crowd);
    let until = Instant::now() + Duration::from_secs(10);
    while get(&server, "/").0 != 200 {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn every_state_of_a_run_is_told_in_words() {
    let s = Scratch::new("states");
    let told = |dir: &Path| {
        let v = json_of(&start(dir), "/api/summary");
        (
            v["state"].as_str().unwrap().to_string(),
            v["message"].as_str().unwrap().to_string(),
            v["rows"].as_u64().unwrap(),
        )
    };
    let dir = s.path().join("none");
    std::fs::create_dir(&dir).unwrap();
    let (state, message, _) = told(&dir);
    assert_eq!(state, "missing");
    assert!(message.contains("bellcrank run"), "{message}");

    let dir = s.path().join("done");
    write(&dir, FOUR_BAR, 1.0, 11, four_bar()).unwrap();
    assert_eq!(told(&dir), ("finished".into(), String::new(), 11));

    // cut off in the middle, as by a broken copy
    let whole = std::fs::read(dir.join("results.parquet")).unwrap();
    for length in [0, 3, 100, whole.len() / 2, whole.len() - 1] {
        std::fs::write(dir.join("results.parquet"), &whole[..length]).unwrap();
        let server = start(&dir);
        let v = json_of(&server, "/api/summary");
        assert_eq!(v["state"], "damaged", "{length}");
        assert!(v["message"].as_str().unwrap().contains("its end is missing"), "{v}");
        assert_eq!(get(&server, "/api/channels").0, 404);
    }
    // bytes within that changed: an error, and no crash
    for at in [5, whole.len() / 3, whole.len() / 2, whole.len() - 40] {
        let mut bad = whole.clone();
        bad[at] ^= 0x55;
        std::fs::write(dir.join("results.parquet"), &bad).unwrap();
        let server = start(&dir);
        let width = get(&server, "/api/channels").2.len().min(3);
        for column in 0..width {
            let status = get(&server, &format!("/api/column/{column}")).0;
            assert!([200, 400, 404, 500].contains(&status), "{status}");
        }
        assert_eq!(get(&server, "/api/summary").0, 200);
    }

    let dir = s.path().join("empty");
    write(&dir, FOUR_BAR, 1.0, 0, four_bar()).unwrap();
    let (state, message, rows) = told(&dir);
    assert_eq!((state.as_str(), rows), ("finished", 0));
    assert!(message.contains("recorded no frames"), "{message}");

    for (status, word) in [("failed", "failed: the step is too small"), ("interrupted", "interrupted")] {
        let dir = s.path().join(status);
        let mut folder = begin(&dir, FOUR_BAR, 1.0, 11, four_bar()).unwrap();
        folder.end(&Object::new(json!({"status": status, "error": "the step is too small"}))).unwrap();
        let (state, message, rows) = told(&dir);
        assert_eq!((state.as_str(), rows), (status, 11));
        assert!(message.contains(word) && message.contains("The results so far are shown"), "{message}");
    }

    let dir = s.path().join("running");
    let mut folder = begin(&dir, FOUR_BAR, 1.0, 10_000, four_bar()).unwrap();
    folder.flush().unwrap();
    let (state, message, rows) = told(&dir);
    assert_eq!((state.as_str(), rows), ("running", 10_000));
    assert!(message.contains("in progress"), "{message}");
    drop(folder); // as if killed
    let (state, message, rows) = told(&dir);
    assert_eq!((state.as_str(), rows), ("killed", 10_000));
    assert!(message.contains("killed"), "{message}");

    std::fs::remove_file(dir.join("unfinished/summary.json")).unwrap();
    assert_eq!(told(&dir).0, "unknown");
    let missing = serve(s.path().join("nowhere"), &ServeOptions { port: Some(0), open: false }).err().unwrap();
    assert!(missing.to_string().contains("there is no folder"), "{missing}");
    let file = serve(dir.join("unfinished/scene.json"), &ServeOptions { port: Some(0), open: false }).err().unwrap();
    assert!(file.to_string().contains("name the folder"), "{file}");
}

#[test]
fn a_run_that_grows_keeps_its_generation_and_another_does_not() {
    let s = Scratch::new("grows");
    let mut folder = begin(s.path(), FOUR_BAR, 1.0, 8192, four_bar()).unwrap();
    folder.flush().unwrap();
    let server = start(s.path());
    let look = || json_of(&server, "/api/summary");
    assert_eq!(
        (&look()["generation"], &look()["rows"], &look()["state"]),
        (&json!(1), &json!(8192), &json!("running"))
    );
    let row = vec![0.25; json_of(&server, "/api/channels")["names"].as_array().unwrap().len() - 1];
    for i in 0..5000 {
        folder.frame(1.0 + i as f64, &row).unwrap();
    }
    folder.end(&Object::new(json!({"status": "finished"}))).unwrap();
    assert_eq!(
        (&look()["generation"], &look()["rows"], &look()["state"]),
        (&json!(1), &json!(13_192), &json!("finished"))
    );
    let (_, _, tail) = get(&server, "/api/column/1?from=8192&generation=1");
    assert_eq!(numbers(&tail), vec![0.25; 5000]);

    write(s.path(), SLIDER_CRANK, 1.0, 50, slider_crank).unwrap();
    assert_eq!((&look()["generation"], &look()["rows"]), (&json!(2), &json!(50)));
    assert_eq!(get(&server, "/api/columns?at=1&generation=1").0, 409);
    assert_eq!(json_of(&server, "/api/scene")["model"], "Slider-crank");
}

#[test]
fn reports_hold_the_data_and_no_markup_of_others() {
    let s = Scratch::new("report");
    write(s.path(), &odd_model(), 3.0, 31, odd).unwrap();
    let facts = vec![Fact { name: "</script>".into(), value: "<b>".into(), verdict: Verdict::Good, ..Fact::default() }];
    let wanted = Report {
        sections: vec![Section { title: "<!--".into(), text: String::new(), facts, ..Section::default() }],
        ..Report::default()
    };
    let html = report(s.path(), &wanted).unwrap();
    let begin = html.find("id=\"bellcrank-data\">").unwrap() + 20;
    let end = begin + html[begin..].find("</script>").unwrap();
    assert!(!html[begin..end].contains('<'));
    let data: Value = serde_json::from_str(&html[begin..end]).unwrap();
    assert_eq!((&data["rows"], &data["every"]), (&json!(31), &json!(1)));
    assert_eq!(data["sections"][0]["facts"][0]["name"], "</script>");
    assert_eq!(data["scene"]["bodies"][0]["name"], ODD[0]);
    // the rest is the page itself
    let rest = html[..begin].len() + html[end..].len();
    assert!(rest < bellcrank_view::viewer_page().len() + 200);

    let thin = report(s.path(), &Report { bytes: 31 * 21 * 8 / 4, ..Report::default() }).unwrap();
    let begin = thin.find("id=\"bellcrank-data\">").unwrap() + 20;
    let data: Value = serde_json::from_str(thin[begin..].split("</script>").next().unwrap()).unwrap();
    let every = data["every"].as_u64().unwrap();
    assert!(
        every > 1 && data["rows"].as_u64().unwrap() == 30 / every + 1 + u64::from(30 % every != 0),
        "{}",
        data["rows"]
    );
}

#[test]
fn a_stopped_server_is_gone() {
    let s = Scratch::new("stop");
    write(s.path(), FOUR_BAR, 1.0, 3, four_bar()).unwrap();
    let server = start(s.path());
    let address = server.address();
    assert_eq!(get(&server, "/").0, 200);
    drop(server);
    assert!(TcpStream::connect_timeout(&address, Duration::from_millis(300)).is_err());
}

/// A run of which some frames are there.
fn live_run(frames: usize) -> (Live, LiveRecorder) {
    let live = Live::new(&json!({"format": "bellcrank-scene"}), &ServeOptions { port: Some(0), open: false }).unwrap();
    let mut run = live.recorder();
    run.begin(&header(&["a.x", "a.y"])).unwrap();
    (0..frames).for_each(|i| run.frame(i as f64, &[2.0 * i as f64, -1.0]).unwrap());
    (live, run)
}

#[test]
fn a_live_run_answers_like_a_folder_and_grows() {
    let (live, mut run) = live_run(3);
    let server = live.server();
    let now = json_of(server, "/api/summary");
    assert_eq!((&now["state"], &now["rows"], &now["live"]), (&json!("running"), &json!(3), &json!(true)));
    assert_eq!(json_of(server, "/api/channels")["names"], json!(["time", "a.x", "a.y"]));
    assert_eq!(numbers(&get(server, "/api/columns?at=0-1&from=1&to=3").2), [1.0, 2.0, 2.0, 4.0]);
    assert_eq!(get(server, "/api/columns?at=0&to=4").0, 400);
    assert_eq!(get(server, "/api/columns?at=9").0, 400);
    run.frame(3.0, &[6.0, -1.0]).unwrap();
    assert_eq!(numbers(&get(server, "/api/column/1").2), [0.0, 2.0, 4.0, 6.0]);
    run.end(&Object::new(json!({"status": "failed", "error": "it broke"}))).unwrap();
    let now = json_of(server, "/api/summary");
    assert_eq!(now["state"], "failed");
    assert!(now["message"].as_str().unwrap().contains("it broke"));
}

#[test]
fn news_of_a_run_are_for_its_page_alone_and_end_with_it() {
    let (live, mut run) = live_run(2);
    let ask = |headers: &str| {
        let mut stream = std::net::TcpStream::connect(live.server().address()).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        stream.write_all(format!("GET /api/live HTTP/1.1\r\n{headers}\r\n\r\n").as_bytes()).unwrap();
        std::io::BufReader::new(stream)
    };
    for headers in ["Host: evil.example", "Host: 127.0.0.1\r\nSec-Fetch-Site: cross-site"] {
        let mut line = String::new();
        ask(headers).read_line(&mut line).unwrap();
        assert!(line.contains("403"), "{line}");
    }
    assert!(!live.watched());
    let mut news = ask("Host: 127.0.0.1");
    let mut next = || loop {
        let mut line = String::new();
        if news.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        if let Some(data) = line.strip_prefix("data: ") {
            return Some(serde_json::from_str::<Value>(data).unwrap());
        }
    };
    assert_eq!(next().unwrap()["rows"], 2);
    assert!(live.watched());
    let refusals = [Refusal { h: 0.2, convergence: true, owner: (bellcrank_model::Unknown::Q, 0) }];
    let events = [Event { t: 1.0, name: "a".into(), what: "bumped".into() }];
    let taken = AcceptedStep { t: 1.0, h: 0.1, order: 5, iterations: 3, refusals: &refusals, events: &events };
    run.step(&taken);
    run.frame(2.0, &[0.0, 0.0]).unwrap();
    run.end(&Object::new(json!({"status": "finished"}))).unwrap();
    let mut last = Value::Null;
    let mut told = vec![];
    while last["ended"] != true {
        last = next().unwrap();
        told.extend(last["events"].as_array().unwrap().clone());
    }
    assert_eq!((&last["rows"], &last["t"]), (&json!(3), &json!(1.0)));
    assert_eq!(last["strip"], json!([[1.0, 1, 0.1, 0.1, 5, 5, 3, 1]]));
    assert_eq!(told, [json!("t = 1.000000 s: a bumped")]);
    drop(live);
    assert_eq!(next(), Some(json!({})), "the end is told");
    assert_eq!(next(), None);
}

#[test]
fn a_run_that_nobody_watches_is_not_waited_for() {
    let (live, _run) = live_run(1);
    let from = std::time::Instant::now();
    live.wait(false, || false);
    assert!(from.elapsed().as_secs() < 10);
    live.wait(true, || true);
}

#[test]
fn several_runs_are_served_side_by_side() {
    let s = Scratch::new("several");
    let [a, b] = ["one/results", "two/results"].map(|name| s.path().join(name));
    write(&a, FOUR_BAR, 4.0, 41, four_bar()).unwrap();
    write(&b, FOUR_BAR, 2.0, 11, four_bar()).unwrap();
    let server = serve_together(&[a, b], &ServeOptions { port: Some(0), open: false }).unwrap();
    let [first, second] = ["/api/summary", "/api/summary?run=1"].map(|path| json_of(&server, path));
    assert_eq!((&first["folder"], &second["folder"]), (&json!("one/results"), &json!("two/results")));
    assert_eq!((&first["runs"], &first["rows"], &second["rows"]), (&json!(2), &json!(41), &json!(11)));
    let times = |path: &str| numbers(&get(&server, path).2);
    assert_eq!(times("/api/columns?at=0").last(), Some(&4.0));
    assert_eq!(times("/api/columns?at=0&run=1").last(), Some(&2.0));
    assert_eq!(json_of(&server, "/api/scene?run=1")["model"], "Four-bar linkage");
    for path in ["/api/summary?run=2", "/api/columns?at=0&run=-1", "/api/channels?run=x"] {
        assert_eq!(get(&server, path).0, 404, "{path}");
    }
    assert!(serve_together(&[s.path().join("three")], &ServeOptions::default()).is_err());
}
