//! The little of HTTP/1.1 that a page on this machine needs: GET and HEAD, bounded in size and time.
//! [RFC 9112]
//!
//! By hand rather than by hyper: the server answers one page on the loopback interface, blocking, with a thread per
//! connection. hyper would bring an asynchronous runtime and some forty crates into every program that draws a plot, and
//! what is refused here (bodies, other methods, long heads) would still have to be written.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Limits of a request with its headers: its bytes, and the time it may take to arrive.
const HEAD_BYTES: usize = 16 << 10;
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long a connection may be idle between requests, and a write may block.
const REST: Duration = Duration::from_secs(30);

/// Bytes that are sent at once.
const PIECE: usize = 1 << 18;
/// Bytes per second that the other end takes at least, after some seconds: one that takes less is left.
const SLOWEST: f64 = 1e6;

/// Headers of every answer: it is for the page of this server alone.
const SAFETY: &str = "X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n\
    Referrer-Policy: no-referrer\r\nContent-Security-Policy: frame-ancestors 'none'\r\n";

/// What was asked.
#[derive(Debug, Default, PartialEq)]
pub struct Request {
    /// Whether only the headers of the answer are wanted.
    pub head_only: bool,
    pub path: String,
    pub query: String,
    pub host: Option<String>,
    /// `Sec-Fetch-Site`, which browsers send and pages cannot forge.
    pub site: Option<String>,
    /// Whether the connection ends after the answer.
    pub close: bool,
}

impl Request {
    /// A parameter of the query.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query
            .split('&')
            .find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name).map(|(_, value)| value))
    }
}

/// What is answered.
pub struct Response {
    pub status: u16,
    pub kind: &'static str,
    pub body: Body,
}

/// The bytes of an answer.
pub enum Body {
    Text(&'static str),
    Bytes(Vec<u8>),
    /// Numbers of eight bytes each, little-endian; they are made into bytes as they are sent.
    Numbers(Vec<f64>),
    /// The same as numbers of four bytes.
    Singles(Vec<f64>),
}

impl Body {
    fn len(&self) -> usize {
        match self {
            Body::Text(t) => t.len(),
            Body::Bytes(b) => b.len(),
            Body::Numbers(x) => 8 * x.len(),
            Body::Singles(x) => 4 * x.len(),
        }
    }

    /// Hands over its bytes piece by piece.
    fn pieces(&self, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut numbers = |x: &[f64], bytes: &dyn Fn(f64, &mut Vec<u8>)| {
            let mut piece = Vec::with_capacity(PIECE);
            x.chunks(PIECE / 8).try_for_each(|some| {
                piece.clear();
                some.iter().for_each(|x| bytes(*x, &mut piece));
                take(&piece)
            })
        };
        match self {
            Body::Numbers(x) => numbers(x, &|x, out| out.extend(x.to_le_bytes())),
            Body::Singles(x) => numbers(x, &|x, out| out.extend((x as f32).to_le_bytes())),
            Body::Text(t) => t.as_bytes().chunks(PIECE).try_for_each(take),
            Body::Bytes(b) => b.chunks(PIECE).try_for_each(take),
        }
    }
}

impl Response {
    pub fn new(status: u16, kind: &'static str, body: Vec<u8>) -> Response {
        Response { status, kind, body: Body::Bytes(body) }
    }

    /// An error, in words.
    pub fn error(status: u16, message: &str) -> Response {
        let body = serde_json::json!({"error": message});
        Response::new(status, "application/json", body.to_string().into_bytes())
    }
}

/// A connection and what was read of it.
pub struct Connection {
    reader: BufReader<TcpStream>,
}

/// Why there is no request.
pub enum Refusal {
    /// The other side left, or was silent for too long.
    Gone,
    /// It is answered so, and the connection ends.
    Answer(Response),
}

impl From<io::Error> for Refusal {
    fn from(_: io::Error) -> Refusal {
        Refusal::Gone
    }
}

fn bad(message: &str) -> Refusal {
    Refusal::Answer(Response::error(400, message))
}

impl Connection {
    pub fn new(stream: TcpStream) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(REST))?;
        Ok(Connection { reader: BufReader::with_capacity(HEAD_BYTES, stream) })
    }

    /// The next request.
    pub fn request(&mut self) -> Result<Request, Refusal> {
        let mut left = HEAD_BYTES;
        self.reader.get_ref().set_read_timeout(Some(REST))?;
        if self.reader.fill_buf()?.is_empty() {
            return Err(Refusal::Gone);
        }
        let until = Instant::now() + HEAD_TIME;
        let mut line = self.line(&mut left, until)?;
        if line.is_empty() {
            line = self.line(&mut left, until)?; // RFC 9112, 2.2: one empty line before is ignored
        }
        let mut words = line.split(' ');
        let (method, target, version) = (words.next(), words.next(), words.next());
        let (Some(method), Some(target), Some(version), None) = (method, target, version, words.next()) else {
            return Err(bad("this is not an HTTP request"));
        };
        let mut request = Request::default();
        match version {
            "HTTP/1.1" => {}
            "HTTP/1.0" => request.close = true,
            _ => return Err(bad("only HTTP/1.1 is supported")),
        }
        match method {
            "GET" => {}
            "HEAD" => request.head_only = true,
            _ => return Err(Refusal::Answer(Response::error(405, "only GET is allowed"))),
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        (request.path, request.query) = (path.to_string(), query.to_string());
        loop {
            let line = self.line(&mut left, until)?;
            if line.is_empty() {
                return Ok(request);
            }
            let Some((name, value)) = line.split_once(':') else { return Err(bad("a header has no colon")) };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "host" if request.host.is_some() => return Err(bad("there are two Host headers")),
                "host" => request.host = Some(value.to_string()),
                "sec-fetch-site" => request.site = Some(value.to_string()),
                "connection" => request.close |= value.eq_ignore_ascii_case("close"),
                "content-length" if value != "0" => return Err(bad("a request must have no body")),
                "transfer-encoding" => return Err(bad("a request must have no body")),
                _ => {}
            }
        }
    }

    /// One line of the head.
    fn line(&mut self, left: &mut usize, until: Instant) -> Result<String, Refusal> {
        let mut line = Vec::new();
        loop {
            let now = Instant::now();
            if now >= until {
                return Err(Refusal::Answer(Response::error(408, "the request took too long")));
            }
            self.reader.get_ref().set_read_timeout(Some(until - now))?;
            let buffer = match self.reader.fill_buf() {
                Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => continue,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if buffer.is_empty() {
                return Err(Refusal::Gone);
            }
            let end = buffer.iter().position(|b| *b == b'\n');
            let n = end.map_or(buffer.len(), |e| e + 1);
            if n > *left {
                return Err(Refusal::Answer(Response::error(431, "the request is too long")));
            }
            *left -= n;
            line.extend_from_slice(&buffer[..n]);
            self.reader.consume(n);
            if end.is_some() {
                break;
            }
        }
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        String::from_utf8(line).map_err(|_| bad("a header is not text"))
    }

    /// Sends an answer.
    pub fn respond(&mut self, response: &Response, head_only: bool, close: bool) -> io::Result<()> {
        let reason = match response.status {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            409 => "Conflict",
            413 => "Content Too Large",
            431 => "Request Header Fields Too Large",
            503 => "Service Unavailable",
            _ => "Internal Server Error",
        };
        let head = format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             {SAFETY}{}Connection: {}\r\n\r\n",
            response.status,
            response.kind,
            response.body.len(),
            if response.status == 405 { "Allow: GET, HEAD\r\n" } else { "" },
            if close { "close" } else { "keep-alive" },
        );
        let stream = self.reader.get_mut();
        stream.write_all(head.as_bytes())?;
        if !head_only {
            let until = Instant::now() + REST + Duration::from_secs_f64(response.body.len() as f64 / SLOWEST);
            response.body.pieces(|piece| {
                if Instant::now() > until {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                stream.write_all(piece)
            })?;
        }
        stream.flush()
    }

    /// Begins an answer that is a stream of events and ends with the connection.
    pub fn begin_stream(&mut self) -> io::Result<()> {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n{SAFETY}Connection: close\r\n\r\n"
        );
        self.send(&head)
    }

    /// Sends a piece of a stream.
    pub fn send(&mut self, text: &str) -> io::Result<()> {
        let stream = self.reader.get_mut();
        stream.write_all(text.as_bytes())?;
        stream.flush()
    }

    /// Reads and forgets what is still coming, so that the last answer is not lost with the connection.
    pub fn finish(mut self) {
        let stream = self.reader.get_mut();
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
        let mut rest = [0; 4096];
        for _ in 0..16 {
            if !matches!(stream.read(&mut rest), Ok(n) if n > 0) {
                break;
            }
        }
    }
}
