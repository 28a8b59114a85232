//! From result folders to a page in the browser.

use crate::Server;
use crate::server::{ServeOptions, serve_results, serve_study};
use crate::study::StudyTable;
use bellcrank_results::{Results, State};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Serves folders, which are looked at together, or that of a study; writes the address to `out`, opens the browser where
/// there is a screen, and serves until the program ends.
pub fn view(folders: &[PathBuf], options: &ServeOptions, out: &mut dyn Write) -> io::Result<()> {
    let server = match study(folders)? {
        Some(table) => serve_study(table, options)?,
        None => serve_results(runs(folders, out)?, options)?,
    };
    tell(&server, options.open, out)?;
    server.wait();
    Ok(())
}

fn refused<T>(text: String) -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::NotFound, text))
}

/// The study in the one folder that is given.
fn study(folders: &[PathBuf]) -> io::Result<Option<StudyTable>> {
    for folder in folders {
        let shown = folder.display();
        if folder.join("unfinished/study.rows").is_file() && !StudyTable::is_in(folder) {
            return refused(format!(
                "{shown} holds an unfinished study: `bellcrank study FILE --out {shown} --resume` continues it"
            ));
        }
        match StudyTable::is_in(folder) {
            true if folders.len() > 1 => return refused(format!("{shown} holds a study: view it alone")),
            true => return StudyTable::open(folder).map(Some),
            false => {}
        }
    }
    Ok(None)
}

fn runs(folders: &[PathBuf], out: &mut dyn Write) -> io::Result<Vec<Results>> {
    let mut runs = Vec::new();
    for folder in folders {
        let results = Results::open(folder)?;
        let now = results.now();
        if now.state == State::Missing {
            let shown = folder.display();
            return refused(format!(
                "{shown} holds no results: run a model first, for example `bellcrank run MODEL --out {shown}`"
            ));
        }
        if !now.message.is_empty() {
            let which = if folders.len() > 1 { format!("{}: ", folder.display()) } else { String::new() };
            writeln!(out, "{which}{}", now.message)?;
        }
        drop(now);
        runs.push(results);
    }
    Ok(runs)
}

/// Writes the address of a server, and opens the browser where that is wanted and there is a screen.
pub fn tell(server: &Server, open: bool, out: &mut dyn Write) -> io::Result<()> {
    let (url, port) = (server.url(), server.address().port());
    writeln!(out, "viewer: {url}   (Ctrl-C ends it)")?;
    if open && screen() && browse(&url) {
        return Ok(());
    }
    if std::env::var_os("SSH_CONNECTION").is_some() {
        writeln!(out, "from your own machine: ssh -L {port}:127.0.0.1:{port} THIS-HOST, then open {url} there")?;
    }
    Ok(())
}

/// Whether there is a screen to open a browser on.
fn screen() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    if cfg!(any(windows, target_os = "macos")) {
        !set("SSH_CONNECTION")
    } else {
        set("DISPLAY") || set("WAYLAND_DISPLAY")
    }
}

fn browse(url: &str) -> bool {
    let (program, arguments): (&str, &[&str]) = if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else if cfg!(target_os = "macos") {
        ("open", &[])
    } else {
        ("xdg-open", &[])
    };
    let child = Command::new(program)
        .args(arguments)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return false };
    let _ = std::thread::Builder::new().spawn(move || child.wait()); // otherwise it stays a zombie
    true
}
