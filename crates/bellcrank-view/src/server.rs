//! A server for result folders, or for one live run, on the loopback interface.

use crate::broadcast::Shared;
use crate::crowd::{Guest, Guests, Share, Shares};
use crate::http::{Body, Connection, Refusal, Request, Response};
use crate::study::{self, StudyTable};
use crate::viewer_page;
use bellcrank_results::{Results, Snapshot};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The port that is tried first: a fixed one can be forwarded over ssh once and for all.
const PORT: u16 = 8427;
/// Bytes that the page of a study is taken to need.
const STUDY: usize = 32 << 20;
/// Values in one answer, at most.
const VALUES: usize = 8 << 20;

/// How to serve.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The port; if none is given, 8427 or any free one.
    pub port: Option<u16>,
    /// Whether a browser is opened.
    pub open: bool,
}

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        ServeOptions { port: None, open: true }
    }
}

/// A server that answers until it is dropped.
pub struct Server {
    address: SocketAddr,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Serves the viewer and the results in `folder`, to this machine only.
pub fn serve(folder: impl Into<PathBuf>, options: &ServeOptions) -> io::Result<Server> {
    serve_together(&[folder.into()], options)
}

/// Serves the viewer and the results in several folders, which are looked at together: the first one has the say.
pub fn serve_together(folders: &[PathBuf], options: &ServeOptions) -> io::Result<Server> {
    let runs = folders.iter().map(Results::open).collect::<io::Result<Vec<_>>>()?;
    serve_results(runs, options)
}

/// Serves results that were opened before.
pub(crate) fn serve_results(runs: Vec<Results>, options: &ServeOptions) -> io::Result<Server> {
    serve_origin(Arc::new(DataOrigin::Folders(runs)), options)
}

/// Where the numbers come from.
pub(crate) enum DataOrigin {
    /// Result folders.
    Folders(Vec<Results>),
    /// A run that goes on.
    Live(Arc<Shared>),
}

/// What a server shows.
enum Show {
    /// One run.
    Run(Arc<DataOrigin>),
    /// The table of a study.
    Study(Box<StudyTable>),
}

/// What a server shows, and the memory it has for answers.
struct Site {
    show: Show,
    shares: Shares,
}

pub(crate) fn serve_origin(origin: Arc<DataOrigin>, options: &ServeOptions) -> io::Result<Server> {
    serve_site(Show::Run(origin), options)
}

/// Serves the page of a study, to this machine only.
pub fn serve_study(study: StudyTable, options: &ServeOptions) -> io::Result<Server> {
    serve_site(Show::Study(Box::new(study)), options)
}

fn serve_site(show: Show, options: &ServeOptions) -> io::Result<Server> {
    let site = Arc::new(Site { show, shares: Shares::default() });
    let listener = match options.port {
        Some(port) => TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|e| {
            io::Error::new(e.kind(), format!("cannot listen on port {port}: {e}; choose another with --port"))
        }),
        None => TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))),
    }?;
    let address = listener.local_addr()?;
    let stopping = Arc::new(AtomicBool::new(false));
    let stop = stopping.clone();
    let thread = std::thread::Builder::new().name("viewer".into()).spawn(move || accept(&listener, &site, &stop))?;
    Ok(Server { address, stopping, thread: Some(thread) })
}

impl Server {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the page.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Begins to stop: streams are closed, and no new requests are answered.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    /// Serves until the program ends.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1)); // wakes the thread that accepts
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &TcpListener, site: &Arc<Site>, stopping: &Arc<AtomicBool>) {
    let mut guests = Guests::default();
    for stream in listener.incoming() {
        if stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else {
            std::thread::sleep(Duration::from_millis(20)); // out of file handles, for instance
            continue;
        };
        let guest = guests.enter(&stream);
        let Ok(mut connection) = Connection::new(stream) else { continue };
        let Some(guest) = guest else {
            let _ = connection.respond(&Response::error(503, "there are too many connections"), false, true);
            continue;
        };
        let (site, stopping) = (site.clone(), stopping.clone());
        let _ = std::thread::Builder::new()
            .name("viewer-connection".into())
            .spawn(move || converse(connection, &guest, &site, &stopping));
    }
}

fn converse(mut connection: Connection, guest: &Guest, site: &Site, stopping: &AtomicBool) {
    loop {
        guest.waits(true);
        let request = connection.request();
        guest.waits(false);
        match request {
            Ok(request) => {
                let close = request.close || stopping.load(Ordering::SeqCst);
                let refused = refusal(&request);
                if let (Show::Run(origin), "/api/live", None, false) =
                    (&site.show, request.path.as_str(), &refused, request.head_only)
                    && let DataOrigin::Live(run) = &**origin
                {
                    let stop = || stopping.load(Ordering::SeqCst);
                    if connection.begin_stream().is_ok() {
                        let _ = run.stream(&stop, &mut |text| connection.send(text));
                    }
                    return connection.finish();
                }
                let (response, _share) = match (refused, &site.show) {
                    (Some(refused), _) => (refused, None),
                    (None, Show::Run(origin)) => answer(&request, origin, &site.shares),
                    (None, Show::Study(study)) => match site.shares.take(STUDY) {
                        share @ Some(_) => (answer_of_study(&request, study), share),
                        None => (busy(), None),
                    },
                };
                if connection.respond(&response, request.head_only, close).is_err() || close {
                    return connection.finish();
                }
            }
            Err(Refusal::Answer(response)) => {
                let _ = connection.respond(&response, false, true);
                return connection.finish();
            }
            Err(Refusal::Gone) => return,
        }
    }
}

/// Whether a Host header names this machine. A page of another site that points its name here
/// (DNS rebinding) does not; the port may differ, for it may be forwarded.
fn names_this_machine(host: &str) -> bool {
    let (name, port) = match host.strip_prefix("[::1]") {
        Some(rest) => ("[::1]", rest),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let port = port.is_empty() || port.strip_prefix(':').is_some_and(|p| p.parse::<u16>().is_ok());
    port && (name == "[::1]" || name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost"))
}

/// Why a request is refused; nothing if it is not.
fn refusal(request: &Request) -> Option<Response> {
    if !request.host.as_deref().is_some_and(names_this_machine) {
        return Some(Response::error(403, "this server answers only to 127.0.0.1 and localhost"));
    }
    let other = matches!(request.site.as_deref(), Some("cross-site" | "same-site"));
    (other && request.path.starts_with("/api/")).then(|| Response::error(403, "results are not for other pages"))
}

/// The run that a request is about: the first one unless it says `run`.
enum Asked<'a> {
    Folder(&'a Results),
    Live(&'a Shared),
}

fn asked<'a>(request: &Request, origin: &'a DataOrigin) -> Result<Asked<'a>, Response> {
    let number = request.parameter("run").map_or(Some(0), number);
    let found = match origin {
        DataOrigin::Folders(runs) => number.and_then(|k| runs.get(k)).map(Asked::Folder),
        DataOrigin::Live(run) => number.filter(|k| *k == 0).map(|_| Asked::Live(run)),
    };
    found.ok_or_else(|| Response::error(404, "there is no such run"))
}

/// An answer, and the share of the memory that it holds until it is sent.
fn answer<'a>(request: &Request, origin: &DataOrigin, shares: &'a Shares) -> (Response, Option<Share<'a>>) {
    let run = match asked(request, origin) {
        Ok(run) => run,
        Err(response) => return (response, None),
    };
    let size = match size(request, &run) {
        Ok(size) => size,
        Err(response) => return (response, None),
    };
    match shares.take(size) {
        Some(share) => (answer_of_run(request, origin, run), Some(share)),
        None => (busy(), None),
    }
}

fn busy() -> Response {
    Response::error(503, "there are too many large requests at once: try again")
}

/// Bytes that an answer takes, about.
fn size(request: &Request, run: &Asked) -> Result<usize, Response> {
    match request.path.strip_prefix("/api/") {
        Some("columns") => values(request, run, request.parameter("at").unwrap_or("")).map(|v| v.bytes()),
        Some(other) if other.starts_with("column/") => {
            values(request, run, &other["column/".len()..]).map(|v| v.bytes())
        }
        Some("channels") => Ok(match run {
            Asked::Live(run) => 64 * run.size().0,
            Asked::Folder(results) => 64 * results.now().table.as_ref().map_or(0, |t| t.width()),
        }),
        Some("scene") => Ok(match run {
            Asked::Live(_) => 0,
            Asked::Folder(results) => results.scene_bytes(),
        }),
        _ => Ok(0),
    }
}

fn answer_of_run(request: &Request, origin: &DataOrigin, run: Asked) -> Response {
    let api = request.path.strip_prefix("/api/");
    match (request.path.as_str(), api) {
        ("/" | "/index.html", _) => {
            Response { status: 200, kind: "text/html; charset=utf-8", body: Body::Text(viewer_page()) }
        }
        (_, Some("summary")) => {
            let mut text = match &run {
                Asked::Folder(results) => results.refresh().describe(results.dir()),
                Asked::Live(run) => run.describe(),
            };
            if let (DataOrigin::Folders(runs), Asked::Folder(results)) = (origin, &run)
                && runs.len() > 1
            {
                text["folder"] = label(results.dir(), runs).into();
                text["runs"] = runs.len().into();
            }
            json_text(text.to_string().into_bytes())
        }
        (_, Some("scene")) => match run {
            Asked::Live(run) => json_text(run.scene()),
            Asked::Folder(results) => match results.scene() {
                Ok(text) => json_text(text.unwrap_or_else(|| b"null".to_vec())),
                Err(e) => Response::error(500, &format!("scene.json cannot be read: {e}")),
            },
        },
        (_, Some("channels")) => channels(request, &run),
        (_, Some("columns")) => {
            let list = request.parameter("at").unwrap_or("");
            columns(request, &run, list)
        }
        (_, Some(other)) if other.starts_with("column/") => columns(request, &run, &other["column/".len()..]),
        _ => Response::error(404, "there is no such page"),
    }
}

fn answer_of_study(request: &Request, study: &StudyTable) -> Response {
    match request.path.as_str() {
        "/" | "/index.html" => {
            let asked = |key: &str| request.parameter(key).map(decoded);
            Response::new(200, "text/html; charset=utf-8", study::page(study, &asked).into_bytes())
        }
        _ => Response::error(404, "there is no such page"),
    }
}

/// A value of a query as it was before a form encoded it [WHATWG URL, application/x-www-form-urlencoded].
fn decoded(text: &str) -> String {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    let hex = |b: &[u8]| std::str::from_utf8(b).ok().and_then(|t| u8::from_str_radix(t, 16).ok());
    while let Some((byte, after)) = rest.split_first() {
        let code = after.get(..2).and_then(hex).filter(|_| *byte == b'%');
        out.push(code.unwrap_or(if *byte == b'+' { b' ' } else { *byte }));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// As much of the end of a path as tells it from the other runs.
fn label(dir: &Path, runs: &[Results]) -> String {
    let end = |path: &Path, n: usize| {
        let parts: Vec<_> = path.components().collect();
        parts[parts.len().saturating_sub(n)..].iter().collect::<PathBuf>()
    };
    let alone = |n: &usize| runs.iter().filter(|other| end(other.dir(), *n) == end(dir, *n)).count() == 1;
    let n = (1..=dir.components().count()).find(alone).unwrap_or(dir.components().count());
    end(dir, n).display().to_string()
}

fn json_text(text: Vec<u8>) -> Response {
    Response::new(200, "application/json", text)
}

fn channels(request: &Request, asked: &Asked) -> Response {
    let bytes = request.parameter("as") == Some("bytes");
    let told = |names: &[&str], units: &[&str]| if bytes { packed(names, units) } else { listed(names, units) };
    let (generation, (rows, (head, body))) = match asked {
        Asked::Live(run) => (run.generation(), run.channels(told)),
        Asked::Folder(results) => {
            let now = results.now();
            let Some(table) = &now.table else { return Response::error(404, &now.message) };
            (now.generation, (table.rows(), told(&table.names().collect::<Vec<_>>(), &table.units())))
        }
    };
    let mut head = format!("{{\"generation\":{generation},\"rows\":{rows},{head}}}");
    if !bytes {
        return json_text(head.into_bytes());
    }
    while head.len() % 4 != 0 {
        head.push(' ');
    }
    let mut out = (head.len() as u32).to_le_bytes().to_vec();
    out.extend(head.into_bytes());
    out.extend(body);
    Response::new(200, "application/octet-stream", out)
}

/// Written by hand: for a million names a tree of JSON values takes seconds.
fn listed(names: &[&str], units: &[&str]) -> (String, Vec<u8>) {
    let text = |list: &[&str]| serde_json::to_string(list).unwrap_or_default();
    (format!("\"names\":{},\"units\":{}", text(names), text(units)), vec![])
}

/// How many names there are and which units, as JSON; then where each name ends, which unit it has (two bytes), and all
/// names: a page with a million columns keeps them as they come.
fn packed(names: &[&str], units: &[&str]) -> (String, Vec<u8>) {
    let mut kinds: Vec<&str> = units.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.truncate(usize::from(u16::MAX));
    let (mut body, mut end) = (Vec::with_capacity(24 * names.len()), 0u32);
    for name in names {
        end = end.saturating_add(name.len() as u32);
        body.extend(end.to_le_bytes());
    }
    for unit in units {
        body.extend((kinds.binary_search(unit).unwrap_or(0) as u16).to_le_bytes());
    }
    names.iter().for_each(|name| body.extend(name.as_bytes()));
    let kinds = serde_json::to_string(&kinds).unwrap_or_default();
    (format!("\"count\":{},\"units\":{kinds}", names.len()), body)
}

/// The values that a request asks for.
struct ValueQuery {
    now: Option<Arc<Snapshot>>,
    columns: Vec<ColumnQuery>,
    rows: Range<usize>,
}

impl ValueQuery {
    /// Bytes that they take with the list of their columns.
    fn bytes(&self) -> usize {
        8 * count(&self.columns) * (1 + self.rows.len())
    }
}

/// What is asked for, or why it cannot be sent.
fn values(request: &Request, asked: &Asked, list: &str) -> Result<ValueQuery, Response> {
    let now = match asked {
        Asked::Folder(results) => Some(results.now()),
        Asked::Live(_) => None,
    };
    let (generation, width, all) = match (asked, &now) {
        (Asked::Live(run), _) => (run.generation(), run.size().0, run.size().1),
        (_, Some(now)) => match &now.table {
            Some(table) => (now.generation, table.width(), table.rows()),
            None => return Err(Response::error(404, &now.message)),
        },
        _ => return Err(Response::error(404, "there are no results")),
    };
    if request.parameter("generation").is_some_and(|g| g != generation.to_string()) {
        return Err(Response::error(409, "the folder holds another run by now"));
    }
    let Some(columns) = parse_list(list, width) else {
        return Err(Response::error(400, &format!("`at` must be column numbers below {width}, such as 0,3-6")));
    };
    let Some(rows) = parse_rows(request, all) else {
        return Err(Response::error(400, &format!("`from` and `to` must be row numbers up to {all}")));
    };
    if count(&columns).saturating_mul(rows.len()) > VALUES {
        return Err(Response::error(
            413,
            &format!("at most {VALUES} values are sent at once: ask for fewer rows or columns"),
        ));
    }
    Ok(ValueQuery { now, columns, rows })
}

fn columns(request: &Request, asked: &Asked, list: &str) -> Response {
    let ValueQuery { now, columns, rows } = match values(request, asked, list) {
        Ok(values) => values,
        Err(response) => return response,
    };
    let columns: Vec<usize> = columns.iter().flat_map(ColumnQuery::each).collect();
    let values = match (asked, now.as_ref().and_then(|n| n.table.as_ref())) {
        (_, Some(table)) => match table.read(&columns, rows) {
            Ok(values) => values,
            Err(e) => return Response::error(500, &format!("the results cannot be read: {e}")),
        },
        (Asked::Live(run), _) => match run.read(&columns, rows) {
            Some(values) => values,
            None => return Response::error(409, "the frames were thinned out"),
        },
        _ => return Response::error(404, "there are no results"),
    };
    let body = match request.parameter("as") {
        None | Some("f64") => Body::Numbers(values),
        Some("f32") => Body::Singles(values),
        Some(_) => return Response::error(400, "`as` is f64 or f32"),
    };
    Response { status: 200, kind: "application/octet-stream", body }
}

/// Column numbers such as `3-6`, as many times as `*2+10` says.
struct ColumnQuery {
    range: Range<usize>,
    times: usize,
    step: usize,
}

impl ColumnQuery {
    fn each(&self) -> impl Iterator<Item = usize> {
        (0..self.times).flat_map(move |k| self.range.start + k * self.step..self.range.end + k * self.step)
    }
}

fn count(columns: &[ColumnQuery]) -> usize {
    columns.iter().map(|c| c.times * c.range.len()).sum()
}

/// Column numbers such as `0,3-6`, all below `width`; `3-6*2+10` is `3-6,13-16`.
fn parse_list(list: &str, width: usize) -> Option<Vec<ColumnQuery>> {
    let (mut columns, mut all) = (Vec::new(), 0usize);
    for part in list.split(',') {
        let (range, again) = part.split_once('*').map_or((part, None), |(range, again)| (range, Some(again)));
        let (times, step) = match again {
            Some(again) => again.split_once('+').and_then(|(n, step)| Some((number(n)?, number(step)?)))?,
            None => (1, 0),
        };
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (number(first)?, number(last)?);
        let end = times.checked_sub(1)?.checked_mul(step)?.checked_add(last)?;
        if first > last || end >= width {
            return None;
        }
        all = all.checked_add(times.checked_mul(last - first + 1)?).filter(|all| *all <= VALUES)?;
        columns.push(ColumnQuery { range: first..last + 1, times, step });
    }
    Some(columns)
}

fn parse_rows(request: &Request, rows: usize) -> Option<Range<usize>> {
    let bound = |name, default| request.parameter(name).map_or(Some(default), number);
    let (from, to) = (bound("from", 0)?, bound("to", rows)?);
    (from <= to && to <= rows).then_some(from..to)
}

/// Digits only: no sign, no space.
fn number(text: &str) -> Option<usize> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_hosts() {
        for good in ["127.0.0.1:8427", "localhost", "LOCALHOST:1", "[::1]:80", "[::1]"] {
            assert!(names_this_machine(good), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil:80",
            "127.0.0.1:",
            "127.0.0.1:x",
            "localhost:99999",
            "[::1]x",
            "[::2]",
            "127.0.0.2",
            "a:b:c",
        ] {
            assert!(!names_this_machine(bad), "{bad}");
        }
    }

    #[test]
    fn values_of_forms_are_decoded() {
        assert_eq!(decoded("start.pin.rate+%5Brad%2Fs%5D"), "start.pin.rate [rad/s]");
        assert_eq!((decoded("100%"), decoded("%C3%A9%zz"), decoded("%")), ("100%".into(), "é%zz".into(), "%".into()));
    }

    #[test]
    fn lists_of_columns() {
        let parse_list = |list: &str, width: usize| -> Option<Vec<usize>> {
            let columns = parse_list(list, width)?;
            let all: Vec<usize> = columns.iter().flat_map(ColumnQuery::each).collect();
            assert_eq!(all.len(), count(&columns), "{list}");
            Some(all)
        };
        assert_eq!(parse_list("0,3-5", 6), Some(vec![0, 3, 4, 5]));
        assert_eq!(parse_list("1-2*3+4,9", 12), Some(vec![1, 2, 5, 6, 9, 10, 9]));
        let huge = "0*99999999999999999+0";
        for bad in [
            "",
            "6",
            "3-2",
            "-1",
            "1-",
            "+1",
            " 1",
            "1,,2",
            "0-99999999999999999999",
            "x",
            "1*2+5",
            "1*0+1",
            "1*2",
            huge,
        ] {
            assert_eq!(parse_list(bad, 6), None, "{bad}");
        }
    }
}
