//! Result folders through all that can happen to a run.

use super::*;
use crate::json::Object;
use crate::testing::{Scratch, header};
use bellcrank_solve::record::Ended;

fn summary(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join(SUMMARY)).unwrap()).unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The files of a folder with what is in them.
fn contents(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let files = names(dir).into_iter().filter(|name| dir.join(name).is_file());
    files.map(|name| (name.clone(), fs::read(dir.join(name)).unwrap())).collect()
}

fn run(dir: &Path, rows: usize, status: &str) -> io::Result<()> {
    let mut f = Folder::new(dir);
    f.begin(&header(&["crank.x"]))?;
    for i in 0..rows {
        f.frame(i as f64, &[0.5])?;
    }
    f.end(&Object::new(json!({"status": status, "steps": rows})))
}

#[test]
fn a_run_leaves_three_files_whatever_its_end() {
    let s = Scratch::new("whole");
    let dir = s.path().join("deep/results");
    for status in ["failed", "interrupted", "finished"] {
        run(&dir, 3, status).unwrap(); // each replaces the one before
        assert_eq!(names(&dir), [CSV, PARQUET, SUMMARY]);
        let v = summary(&dir);
        assert_eq!((&v["status"], &v["steps"], &v["model"]), (&json!(status), &json!(3), &json!("test")));
        assert_eq!(v["files"], json!([PARQUET, CSV]));
        let csv = fs::read_to_string(dir.join(CSV)).unwrap();
        assert_eq!(csv, "time [s],crank.x [m]\n0.0,0.5\n1.0,0.5\n2.0,0.5\n");
    }
}

#[test]
fn events_have_a_table_of_their_own_that_the_next_run_replaces() {
    let s = Scratch::new("events");
    let mut f = Folder::new(s.path());
    f.begin(&header(&["x"])).unwrap();
    let event = |t: f64, name: &str| Event { t, name: name.into(), what: "bounces".into() };
    f.event(&event(0.1, "force `floor`")).unwrap();
    f.event(&event(1.0 / 3.0, "force `a \"b\", c`")).unwrap();
    f.end(&Ended::Finished).unwrap();
    let text = fs::read_to_string(s.path().join(EVENTS)).unwrap();
    let lines = ["time [s],name,event", "0.1,\"force `floor`\",\"bounces\""];
    assert_eq!(text.lines().take(2).collect::<Vec<_>>(), lines);
    assert!(text.ends_with("0.3333333333333333,\"force `a \"\"b\"\", c`\",\"bounces\"\n"), "{text}");
    run(s.path(), 1, "finished").unwrap();
    assert_eq!(names(s.path()), [CSV, PARQUET, SUMMARY]);
}

#[test]
fn a_running_result_says_so_and_the_earlier_one_stays_until_it_stands() {
    let s = Scratch::new("running");
    run(s.path(), 2, "finished").unwrap();
    let (earlier, aside) = (contents(s.path()), s.path().join(UNFINISHED));
    let mut f = Folder::new(s.path());
    f.begin(&header(&["crank.x"])).unwrap();
    f.frame(0.0, &[1.0]).unwrap();
    assert_eq!(names(&aside), ["lock", CSV, ROWS, SUMMARY]);
    assert_eq!((&summary(&aside)["status"], &summary(&aside)["files"]), (&json!("running"), &json!([ROWS, CSV])));
    assert_eq!(contents(s.path()), earlier);

    let e = run(s.path(), 1, "finished").unwrap_err();
    assert!(e.to_string().contains("another run is writing there; choose"), "{e}");
    assert_eq!(contents(s.path()), earlier);

    drop(f); // as if killed
    assert_eq!(contents(s.path()), earlier);
    run(s.path(), 1, "finished").unwrap();
    assert_eq!(names(s.path()), [CSV, PARQUET, SUMMARY]);
    assert_ne!(contents(s.path()), earlier);
}

#[test]
fn a_worse_result_does_not_replace_a_better_one() {
    let s = Scratch::new("worse");
    let aside = s.path().join(UNFINISHED);
    let run = |rows: usize, status: &str| {
        let mut f = Folder::new(s.path());
        f.begin(&header(&["x"])).unwrap();
        (0..rows).for_each(|k| f.frame(k as f64, &[0.5]).unwrap());
        f.end(&Object::new(json!({"status": status, "t": rows}))).unwrap();
        f.place()
    };
    assert_eq!(run(5, "interrupted"), s.path());
    assert_eq!(run(1, "failed"), aside); // it came less far
    assert_eq!(run(7, "failed"), s.path());
    assert_eq!(run(201, "finished"), s.path());
    let earlier = contents(s.path());
    for (rows, status) in [(1, "failed"), (300, "interrupted")] {
        assert_eq!(run(rows, status), aside);
        assert_eq!(contents(s.path()), earlier);
        assert_eq!(
            (names(&aside), &summary(&aside)["t"]),
            (vec![CSV.into(), PARQUET.into(), SUMMARY.into()], &json!(rows))
        );
    }
    assert_eq!(run(2, "finished"), s.path());
    assert!(!aside.exists());
}

#[test]
fn what_a_killed_run_left_becomes_a_result_unless_there_is_a_better_one() {
    let s = Scratch::new("salvaged");
    let killed = |dir: &Path, rows: usize| {
        let mut f = Folder::new(dir);
        f.begin(&header(&["x"])).unwrap();
        (0..rows).for_each(|k| f.frame(k as f64, &[0.5]).unwrap());
        f.writing.as_mut().unwrap().flush().unwrap();
    };
    for (first, kept) in [(9, 9), (0, 0)] {
        let dir = s.path().join(first.to_string());
        killed(&dir, first);
        killed(&dir, 3); // its beginning made a result of the one before
        let (v, rows) = (summary::read(&dir), crate::Results::open(&dir).unwrap().now().rows());
        assert_eq!(v.as_ref().map(|v| v["status"].clone()), (kept > 0).then(|| json!("killed")));
        assert_eq!(rows, kept.max(3));
    }
}

#[test]
fn a_run_that_was_killed_before_its_rows_began_is_not_called_damaged() {
    let s = Scratch::new("blank");
    for (k, bytes) in [0, 7, 16, 40].into_iter().enumerate() {
        let dir = s.path().join(k.to_string());
        let mut f = Folder::new(&dir);
        f.begin(&header(&["x"])).unwrap();
        let rows = dir.join(UNFINISHED).join(ROWS);
        drop(f);
        fs::write(&rows, vec![0; bytes]).unwrap();
        let now = crate::Results::open(&dir).unwrap().now();
        assert!(now.message.contains("No frames were recorded"), "{bytes}: {}", now.message);
        assert_eq!(now.rows(), 0);
        // what begins otherwise is damaged
        fs::write(&rows, [b'x'; 40]).unwrap();
        let now = crate::Results::open(&dir).unwrap().now();
        assert!(now.message.contains("cannot be read"), "{}", now.message);
    }
}

/// Whatever moment a move is cut off at, readers see the new result, and the next run completes the move.
#[test]
fn a_move_that_was_cut_off_is_completed() {
    let s = Scratch::new("moved");
    let order = [PARQUET, CSV, SUMMARY];
    for cut in 0..order.len() {
        let dir = s.path().join(cut.to_string());
        run(&dir, 2, "finished").unwrap();
        fs::write(dir.join(EVENTS), "of the first run").unwrap();
        let aside = dir.join(UNFINISHED);
        fs::create_dir(&aside).unwrap();
        let other = s.path().join(format!("other-{cut}"));
        run(&other, 5, "finished").unwrap();
        for name in order {
            fs::rename(other.join(name), aside.join(name)).unwrap();
        }
        if cut > 0 {
            fs::remove_file(dir.join(EVENTS)).unwrap();
        }
        for name in &order[..cut] {
            fs::rename(aside.join(name), dir.join(name)).unwrap();
        }
        let now = crate::Results::open(&dir).unwrap().now();
        assert_eq!((now.rows(), &now.summary["steps"]), (5, &json!(5)), "{cut}");
        let mut f = Folder::new(&dir);
        f.begin(&header(&["crank.x"])).unwrap();
        assert_eq!(
            (names(&dir), &summary(&dir)["steps"]),
            ([CSV, PARQUET, SUMMARY, UNFINISHED].map(String::from).to_vec(), &json!(5))
        );
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link() {
    use std::os::unix::fs::symlink;
    let s = Scratch::new("links");
    let (dir, mine) = (s.path().join("results"), s.path().join("mine"));
    fs::write(&mine, "precious").unwrap();
    run(&dir, 1, "finished").unwrap();
    for name in [PARQUET, CSV, SUMMARY] {
        let text = fs::read(dir.join(name)).unwrap();
        fs::remove_file(dir.join(name)).unwrap();
        fs::write(s.path().join(name), text).unwrap();
        symlink(s.path().join(name), dir.join(name)).unwrap();
    }
    let outside = contents(s.path());
    let aside = dir.join(UNFINISHED);
    fs::create_dir(&aside).unwrap();
    for name in [ROWS, CSV, PARQUET, EVENTS, SUMMARY, &part(SUMMARY), &part(CSV)] {
        symlink(&mine, aside.join(name)).unwrap();
    }
    run(&dir, 3, "finished").unwrap();
    assert_eq!(contents(s.path()), outside);
    assert!([PARQUET, CSV, SUMMARY].iter().all(|name| dir.join(name).symlink_metadata().unwrap().is_file()));
    symlink(s.path(), &aside).unwrap();
    let e = run(&dir, 3, "finished").unwrap_err().to_string();
    assert!(e.contains("unfinished: it is no folder of a run; a file is in the way"), "{e}");
    fs::remove_file(&aside).unwrap();
    fs::create_dir(&aside).unwrap();
    symlink(&mine, aside.join("lock")).unwrap();
    assert!(run(&dir, 3, "finished").is_err());
    assert_eq!(fs::read_to_string(&mine).unwrap(), "precious");
}

/// The end of a run during which somebody is busy with its folder: the writer looks at the end several times, and at one of
/// these something is removed.
struct Meddled {
    looks: std::cell::Cell<usize>,
    at: usize,
    remove: PathBuf,
}

impl RunReport for Meddled {
    fn ended(&self) -> Ended {
        if self.looks.replace(self.looks.get() + 1) == self.at {
            let _ = fs::remove_dir_all(&self.remove).or_else(|_| fs::remove_file(&self.remove));
        }
        Ended::Finished
    }
}

#[cfg(unix)]
#[test]
fn what_is_removed_while_a_result_is_put_in_place_is_told() {
    let s = Scratch::new("meddled");
    let dir = s.path().join("results");
    let mut told = 0;
    for (what, earlier) in [("", false), ("unfinished", true), (PARQUET, false), (SUMMARY, false), (PARQUET, true)] {
        for at in 0..4 {
            let _ = fs::remove_dir_all(&dir);
            if earlier {
                run(&dir, 3, "finished").unwrap();
            }
            let mut f = Folder::new(&dir);
            f.begin(&header(&["x"])).unwrap();
            f.frame(0.0, &[1.0]).unwrap();
            let inner = if what == UNFINISHED { dir.clone() } else { dir.join(UNFINISHED) };
            let remove = if what.is_empty() { dir.clone() } else { inner.join(what) };
            match f.end(&Meddled { looks: 0.into(), at, remove }) {
                Ok(()) => {
                    assert!([PARQUET, CSV, SUMMARY].iter().all(|name| dir.join(name).is_file()), "{what}, {at}");
                    assert_eq!(
                        crate::Results::open(&dir).unwrap().now().table.as_ref().unwrap().rows(),
                        1,
                        "{what}, {at}: the result before"
                    );
                }
                Err(e) => {
                    told += 1;
                    assert!(e.to_string().starts_with("cannot write "), "{e}");
                }
            }
        }
    }
    assert!(told >= 5, "{told}");
}

#[cfg(unix)]
#[test]
fn a_folder_that_vanishes_or_cannot_be_written_is_told() {
    let s = Scratch::new("vanished");
    let dir = s.path().join("results");
    let mut f = Folder::new(&dir);
    f.begin(&header(&["x"])).unwrap();
    fs::remove_dir_all(&dir).unwrap();
    f.frame(0.0, &[1.0]).unwrap();
    let e = f.end(&Ended::Finished).unwrap_err().to_string();
    assert!(e.starts_with("cannot write ") && e.contains("no such file or directory"), "{e}");
    let e = run(Path::new("/proc/nowhere"), 1, "finished").unwrap_err().to_string();
    assert!(e.starts_with("cannot write /proc/nowhere: ") && e.ends_with("choose another folder with --out"), "{e}");
}

#[test]
fn other_peoples_folders_are_left_alone() {
    let s = Scratch::new("clobber");
    fs::write(s.path().join("thesis.tex"), "years").unwrap();
    for foreign in [None, Some("{\"program\": \"other\"}"), Some("not json"), Some("[]")] {
        if let Some(text) = foreign {
            fs::write(s.path().join(SUMMARY), text).unwrap();
        }
        let mut f = Folder::new(s.path());
        let e = f.begin(&header(&["x"])).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::DirectoryNotEmpty);
        assert!(e.to_string().contains("choose another folder with --out"), "{e}");
        f.end(&Ended::Failed("it broke".into())).unwrap();
        assert_eq!(fs::read_to_string(s.path().join(SUMMARY)).ok().as_deref(), foreign);
    }
    assert_eq!(names(s.path()), [SUMMARY, "thesis.tex"]);
}

#[test]
fn what_else_lies_in_a_result_folder_stays() {
    let s = Scratch::new("beside");
    run(s.path(), 1, "finished").unwrap();
    fs::write(s.path().join("notes.txt"), "mine").unwrap();
    run(s.path(), 1, "finished").unwrap();
    assert_eq!(names(s.path()), ["notes.txt", CSV, PARQUET, SUMMARY]);
}

#[test]
fn a_file_in_the_way_is_named() {
    let s = Scratch::new("file");
    fs::write(s.path().join("results"), "").unwrap();
    for dir in ["results", "results/below"] {
        let path = s.path().join(dir);
        let e = run(&path, 1, "finished").unwrap_err().to_string();
        assert!(e.starts_with(&format!("cannot write {}: ", path.display())), "{e}");
        assert!(e.ends_with("; a file is in the way: choose another folder with --out"), "{e}");
    }
}

#[test]
fn a_bad_header_keeps_the_earlier_results() {
    let s = Scratch::new("twice");
    run(s.path(), 2, "finished").unwrap();
    let mut f = Folder::new(s.path());
    let e = f.begin(&header(&["x", "x"])).unwrap_err().to_string();
    f.end(&Ended::Failed("it broke".into())).unwrap();
    assert!(e.contains("two channels have the name \"x\""), "{e}");
    assert_eq!(names(s.path()), [CSV, PARQUET, SUMMARY]);
    assert_eq!(summary(s.path())["status"], "finished");
}

#[test]
fn wide_models_have_no_csv() {
    let s = Scratch::new("wide");
    let wide: Vec<String> = (0..=CSV_CHANNELS).map(|i| format!("b{i}.x")).collect();
    let mut f = Folder::new(s.path());
    f.begin(&header(&wide)).unwrap();
    f.end(&Ended::Finished).unwrap();
    assert_eq!(names(s.path()), [PARQUET, SUMMARY]);
    assert!(summary(s.path())["notes"][0].as_str().unwrap().contains("20001 channels"));
}

#[test]
fn a_table_that_cannot_be_written_leaves_no_final_name() {
    let s = Scratch::new("full");
    let mut f = Folder::new(s.path());
    f.begin(&header(&["x"])).unwrap();
    f.frame(0.0, &[1.0]).unwrap();
    let Ok(full) = File::options().write(true).open("/dev/full") else { return };
    f.writing.as_mut().unwrap().files.csv = Some(Csv::new(full));
    let mut csv = Csv::new(File::options().write(true).open("/dev/full").unwrap());
    assert!(csv.begin(&header(&["x"])).is_err());
    let writing = f.writing.as_mut().unwrap();
    writing.files.csv = Some(csv);
    let e = writing.flush().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::StorageFull);
    assert!(e.to_string().contains("results.csv: no space left on device; free some space"), "{e}");
    f.end(&Ended::Interrupted).unwrap();
    assert_eq!(names(s.path()), [PARQUET, SUMMARY, UNFINISHED]);
    assert_eq!(names(&s.path().join(UNFINISHED)), ["results.csv.part"]);
    let v = summary(s.path());
    assert_eq!((&v["status"], &v["files"]), (&json!("failed"), &json!([PARQUET])));
}
