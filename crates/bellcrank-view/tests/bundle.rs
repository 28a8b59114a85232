//! The page that is committed is the page that the source builds.

use std::path::Path;
use std::process::{Command, Stdio};

/// The output of a program, or what it said before it failed.
fn run(program: &str, arguments: &[&str], dir: &Path) -> Result<String, String> {
    let out = Command::new(program).args(arguments).current_dir(dir).stdin(Stdio::null()).output();
    let out = out.map_err(|e| e.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
    if out.status.success() {
        Ok(text(&out.stdout))
    } else {
        Err(format!("{}\n{}", text(&out.stdout), text(&out.stderr)))
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if path.is_dir() {
            if name != "node_modules" && name != "dist" {
                copy(&path, &to.join(name));
            }
        } else {
            std::fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

#[test]
fn the_page_is_self_contained_and_small() {
    let page = bellcrank_view::viewer_page();
    assert!(page.len() < 900_000, "{} bytes", page.len());
    assert_eq!(page.matches("<!--bellcrank-data-->").count(), 1);
    assert_eq!(page.matches("<script").count(), 1);
    assert!(page.contains("default-src 'none'; script-src 'sha256-") && !page.contains("unsafe-"));
    for link in ["src=\"http", "href=\"http", "url(http", "@import", "innerHTML", "sourceMappingURL"] {
        assert!(!page.contains(link), "{link}");
    }
}

#[test]
fn the_committed_page_is_what_the_source_builds() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../viewer");
    let version = run("node", &["--version"], &source).unwrap_or_default();
    let mut parts = version.trim_start_matches('v').split('.').map(|n| n.parse().unwrap_or(0));
    let (major, minor) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    // what vite needs
    if !((major == 20 && minor >= 19) || (major == 22 && minor >= 12) || major > 22)
        || run("npm", &["--version"], &source).is_err()
    {
        eprintln!("NOTE: the viewer's page is not rebuilt here: that needs node 20.19 or later, and npm");
        return;
    }
    let copied = Path::new(env!("CARGO_TARGET_TMPDIR")).join("viewer-source");
    for old in ["src", "dist"] {
        let _ = std::fs::remove_dir_all(copied.join(old));
    }
    copy(&source, &copied);
    if let Err(e) = run("npm", &["ci", "--no-audit", "--no-fund", "--prefer-offline"], &copied) {
        let offline =
            ["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "E404", "E403"];
        assert!(offline.iter().any(|code| e.contains(code)), "npm ci: {e}");
        eprintln!("NOTE: the viewer's page is not rebuilt here: its packages cannot be had");
        return;
    }
    run("npm", &["run", "check"], &copied).expect("the source of the page has the right types");
    run("npm", &["run", "build"], &copied).expect("the page builds");
    let built = std::fs::read_to_string(copied.join("dist/index.html")).unwrap();
    assert!(
        built == bellcrank_view::viewer_page(),
        "the page was not built again after its source changed: npm ci && npm run build, in viewer/"
    );
}
