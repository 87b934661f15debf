//! Runs that are killed or interrupted, run beside each other, or run out of disk: the store stays whole, and the same command ends
//! with the bytes of a run that was left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rusqlite::{Connection, OpenFlags};

use crate::folder::Folder;
use crate::sweep::SMALL;
use crate::{Outcome, command, outcome};

/// Two claims with two plots and thousands of short replications.
const REPRODUCE: &[&str] =
    &["reproduce", "cube-examples", "cube-delay-5", "--quick", "--jobs", "2", "--format", "json", "--out", "out"];

/// Replications that take a while.
const SWEEP: &[&str] = &[
    "sweep",
    "small.toml",
    "--jobs",
    "2",
    "--out",
    "out",
    "--set",
    "run.messages=1500",
    "--set",
    "sweep.\"traffic.arrivals.rate\"=[0.05, 0.2]",
];

const LONG: Duration = Duration::from_secs(60);

/// Another one every time, unless a seed is given.
fn generator() -> Xoshiro256PlusPlus {
    const SEED: &str = "WORMCAST_TEST_SEED";
    let seed = std::env::var(SEED).map_or_else(|_| RandomState::new().hash_one(0), |seed| seed.parse().unwrap());
    println!("{SEED}={seed}");
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn folder() -> Folder {
    Folder::with(&[("small.toml", SMALL)])
}

fn start(folder: &Folder, arguments: &[&str]) -> Child {
    command(arguments).current_dir(folder.path()).spawn().expect("the command starts")
}

type Key = (String, u32);

/// The rows of a store: hash of the point and replication, with the result as it is stored.
type Rows = BTreeMap<Key, String>;

/// The rows of the store, which must be whole, of a run that has ended in whatever way. They are looked at in a copy: to repair the
/// original is the business of the next run.
fn rows(folder: &Folder) -> Rows {
    let copy = tempfile::tempdir().unwrap();
    for name in ["store.db", "store.db-wal", "store.db-journal"] {
        let from = folder.path().join("out").join(name);
        if from.exists() {
            fs::copy(from, copy.path().join(name)).unwrap();
        }
    }
    let connection = Connection::open(copy.path().join("store.db")).unwrap();
    let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    let tables: u32 = connection
        .query_row("SELECT count(*) FROM sqlite_master WHERE name = 'results'", [], |row| row.get(0))
        .unwrap();
    if tables == 0 {
        return Rows::new();
    }
    let mut statement = connection.prepare("SELECT config_hash, replication, result FROM results").unwrap();
    let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// The store while somebody writes to it; an error, while it is made.
fn watch(folder: &Folder) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(folder.path().join("out/store.db"), OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// What it has.
fn seen(folder: &Folder) -> rusqlite::Result<BTreeSet<Key>> {
    let connection = watch(folder)?;
    let mut statement = connection.prepare("SELECT config_hash, replication FROM results")?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// How many results it has.
fn stored(folder: &Folder) -> usize {
    let count =
        |connection: Connection| connection.query_row("SELECT count(*) FROM results", [], |row| row.get::<_, u32>(0));
    watch(folder).and_then(count).unwrap_or(0) as usize
}

/// A page without what differs between two runs of the same thing.
fn timeless(page: &str) -> String {
    let made = |line: &&str| !line.starts_with("| runs |") && !line.starts_with('*');
    match (page.split_once("<p class=\"byline\">"), page.split_once("<section id=\"made\">")) {
        (Some((before, _)), Some((whole, _))) => {
            let (_, rest) = whole[before.len()..].split_once("</p>").expect("a byline");
            format!("{before}{rest}")
        }
        _ => page.lines().filter(made).collect::<Vec<_>>().join("\n"),
    }
}

/// Everything that a run leaves but the store, by path; of pages, without when and where their results were computed.
fn outputs(folder: &Folder) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
            if path.is_dir() {
                walk(&path, files);
            } else if !name.starts_with("store.db") {
                let mut bytes = fs::read(&path).unwrap_or_default();
                if name.starts_with("report") {
                    bytes = timeless(&String::from_utf8(bytes).unwrap()).into_bytes();
                }
                files.insert(path.clone(), bytes);
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(&folder.path().join("out"), &mut files);
    files.into_iter().map(|(path, bytes)| (path.strip_prefix(folder.path()).unwrap().to_owned(), bytes)).collect()
}

/// What a run leaves that nobody disturbs.
struct Alone {
    said: String,
    rows: Rows,
    outputs: BTreeMap<PathBuf, Vec<u8>>,
}

static REPRODUCED: LazyLock<Alone> = LazyLock::new(|| Alone::run(REPRODUCE));
static SWEPT: LazyLock<Alone> = LazyLock::new(|| Alone::run(SWEEP));

impl Alone {
    fn run(arguments: &[&str]) -> Self {
        let folder = folder();
        let said = folder.run(arguments).success();
        let alone = Self { said, rows: rows(&folder), outputs: outputs(&folder) };
        assert!(alone.rows.len() > 10 && alone.outputs.len() > 2);
        alone
    }

    /// After an end of whatever kind: no row that is not one of these, and no file that is not whole.
    fn is_part_of(&self, folder: &Folder) -> Rows {
        let rows = rows(folder);
        for (key, result) in &rows {
            assert!(self.rows.get(key) == Some(result), "{key:?} is not what it should be: {result}");
        }
        for (path, bytes) in outputs(folder) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let temporary = name.starts_with('.') && path.extension().is_some_and(|ending| ending == "tmp");
            assert!(temporary || self.outputs.get(&path) == Some(&bytes), "{} is not whole", path.display());
        }
        rows
    }

    /// After an end that was a good one.
    fn is(&self, folder: &Folder, run: Outcome) {
        assert_eq!(run.success(), self.said);
        assert!(rows(folder) == self.rows);
        let outputs = outputs(folder);
        assert!(outputs == self.outputs, "{:?}", outputs.keys());
        assert!(!folder.path().join("out/store.db-wal").exists(), "the store is one file");
    }
}

/// Waits until something is so, or the process has ended.
fn wait(process: &mut Child, mut reached: impl FnMut() -> bool) {
    let since = Instant::now();
    while !reached() && process.try_wait().unwrap().is_none() {
        assert!(since.elapsed() < LONG, "the process is stuck");
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// SIGKILL at 20 random moments: four in each life of a folder, from the making of the store to the writing of the report.
#[test]
fn a_killed_reproduction_loses_only_what_was_in_flight() {
    let mut random = generator();
    let alone = &*REPRODUCED;
    let all = alone.rows.len();
    let mut kills = Vec::new();
    while kills.len() < 20 {
        let folder = folder();
        let mut before = Rows::new();
        for moment in 0..4 {
            let mut victim = start(&folder, REPRODUCE);
            match moment {
                0 => wait(&mut victim, || folder.path().join("out").exists()),
                1 => wait(&mut victim, || stored(&folder) > before.len()),
                2 => {
                    let middle = random.random_range(before.len()..=all);
                    wait(&mut victim, || stored(&folder) >= middle);
                }
                _ => {
                    // With the experiments' folder, with temporary files, and without the store's three.
                    let files = random.random_range(2..=5);
                    wait(&mut victim, || {
                        folder.files("out").iter().filter(|name| !name.starts_with("store")).count() >= files
                    });
                }
            }
            let delay = random.random_range(0..[40_000, 4000, 4000, 500][moment]);
            std::thread::sleep(Duration::from_micros(delay));
            let seen = if moment < 3 { seen(&folder).unwrap_or_default() } else { BTreeSet::new() };
            victim.kill().unwrap();
            let end = victim.wait().unwrap();
            let after = alone.is_part_of(&folder);
            assert!(before.keys().chain(&seen).all(|key| after.contains_key(key)), "a result is gone");
            // On a busy machine one may be done before it is killed; it does not count.
            if end.code().is_none() {
                kills.push((moment, after.len(), outputs(&folder).len()));
            } else {
                assert!(end.success(), "{end}");
            }
            before = after;
        }
        alone.is(&folder, folder.run(REPRODUCE));
    }
    println!("of {all} results and {} files, where they were killed: {kills:?}", alone.outputs.len());
}

/// Two at once make one store and write the same files; then one of the two is killed.
fn together(arguments: &[&str], alone: &Alone) {
    let mut random = generator();
    for round in 0..3 {
        let folder = folder();
        let [mut one, other] = [(); 2].map(|()| start(&folder, arguments));
        if round > 0 {
            let rows = random.random_range(0..alone.rows.len());
            wait(&mut one, || stored(&folder) >= rows);
            one.kill().unwrap();
            one.wait().unwrap();
            assert_eq!(outcome(other).success(), alone.said);
            // Nothing is left to do but to take away what the one that was killed may have been writing.
            alone.is(&folder, folder.run(arguments));
        } else {
            assert_eq!(outcome(one).success(), alone.said);
            alone.is(&folder, outcome(other));
        }
    }
}

#[test]
fn two_reproductions_share_a_folder() {
    together(REPRODUCE, &REPRODUCED);
}

#[test]
fn two_sweeps_share_a_folder() {
    together(SWEEP, &SWEPT);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_where_its_results_are() {
    let folder = folder();
    let alone = &*SWEPT;
    let fresh = [SWEEP, &["--fresh"]].concat();
    for (signal, code, arguments, again) in
        [("INT", 130, SWEEP, "the same command"), ("TERM", 143, &fresh, "the same command without `--fresh`")]
    {
        let mut process = start(&folder, arguments);
        // `--fresh` takes away what was there.
        let before = stored(&folder);
        wait(&mut process, || ![0, before].contains(&stored(&folder)));
        // Twice at once, as `timeout` does: to the process and to its group.
        let id = process.id().to_string();
        let kill = r#"kill -s "$0" "$1"; kill -s "$0" "$1" 2>&-; :"#;
        assert!(Command::new("sh").args(["-c", kill, signal, &id]).status().unwrap().success());
        let ended = outcome(process);
        let line = format!("interrupted: results so far are kept in `out/store.db`; {again} goes on from there\n");
        assert_eq!((ended.code, ended.stdout, ended.stderr), (code, String::new(), line));
        assert!(!alone.is_part_of(&folder).is_empty());
        // The file alone has results too.
        let copy = folder.path().join("copy.db");
        fs::copy(folder.path().join("out/store.db"), &copy).unwrap();
        let count = |connection: Connection| connection.query_row("SELECT count(*) FROM results", [], |row| row.get(0));
        assert!(Connection::open(&copy).and_then(count).is_ok_and(|count: u32| count > 0));
    }
    alone.is(&folder, folder.run(SWEEP));
}

/// The signal handlers of the sweep and of its refinement would both have said so.
#[cfg(unix)]
#[test]
fn an_interrupted_refinement_says_so_once() {
    // Where the curve ends, between 0.2 and 8, takes long to find.
    const CURVE: &[&str] = &["sweep", "small.toml", "--jobs", "2", "--out", "out", "--set", "run.messages=30000"];
    let folder = folder();
    folder.run(CURVE);
    let before = stored(&folder);
    let mut process = start(&folder, &[CURVE, &["--refine", "100000"]].concat());
    wait(&mut process, || stored(&folder) > before + 2);
    assert!(Command::new("kill").args(["-INT", &process.id().to_string()]).status().unwrap().success());
    let ended = outcome(process);
    let line = "interrupted: results so far are kept in `out/store.db`; the same command goes on from there\n";
    assert_eq!((ended.code, ended.stderr.as_str()), (130, line));
    let log = fs::metadata(folder.path().join("out/store.db-wal")).map_or(0, |log| log.len());
    assert_eq!(log, 0, "what the log had is in the store");
}

/// A limit for the size of files stands for all that can be wrong with a disk but that it is full.
#[cfg(unix)]
#[test]
fn a_disk_that_fails_is_reported_and_the_sweep_goes_on_later() {
    let folder = folder();
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 150; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_wormcast")]).args(SWEEP);
    limited.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = outcome(limited.spawn().unwrap());
    assert_eq!(failed.code, 1, "{failed:?}");
    let message = "error: the result store `out/store.db` cannot be read or written: disk I/O error (is the disk full, or a quota reached?); what it has is kept\n";
    assert_eq!(failed.stderr, message);
    let alone = &*SWEPT;
    assert!(!alone.is_part_of(&folder).is_empty());
    alone.is(&folder, folder.run(SWEEP));
}

/// Linux lets a small file system be made only for root: where it cannot be had, the test says so.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_and_the_run_goes_on_later() {
    let runs: [(_, &Alone, _); 2] = [(SWEEP, &SWEPT, "size=160k"), (REPRODUCE, &REPRODUCED, "size=1m")];
    for (arguments, alone, size) in runs {
        let folder = folder();
        let disk = folder.path().join("out");
        fs::create_dir(&disk).unwrap();
        let mount = |arguments: &[&str]| {
            let mut command = Command::new(arguments[0]);
            command.args(&arguments[1..]).arg(&disk).stdout(Stdio::null()).stderr(Stdio::null());
            command.status().is_ok_and(|status| status.success())
        };
        if !mount(&["mount", "-t", "tmpfs", "-o", size, "tmpfs"]) {
            eprintln!("skipped: no file system can be mounted");
            return;
        }
        let full = folder.run(arguments);
        let kept = rows(&folder);
        let grown = mount(&["mount", "-o", "remount,size=64m"]);
        let resumed = folder.run(arguments);
        // What it has can be read where the database finds no place for its own files.
        {
            let mut rest = fs::File::create(disk.join("rest")).unwrap();
            while rest.write_all(&[0; 4096]).is_ok() {}
        }
        let read = folder.run(&["merge", "out/store.db", "--out", "other"]);
        fs::remove_file(disk.join("rest")).unwrap();
        let (rows, outputs) = (rows(&folder), outputs(&folder));
        assert!(mount(&["umount"]) && grown);

        assert_eq!(full.code, 1, "{full:?}");
        let message = full.stderr.as_str();
        let explained = message.contains("no space left for the result store `out/store.db`")
            || message.starts_with("error: cannot write `out/") && message.contains("No space left");
        assert!(explained && message.lines().count() == 1, "{message}");
        assert!(!kept.is_empty() && kept.iter().all(|(key, result)| rows.get(key) == Some(result)));
        assert_eq!(resumed.success(), alone.said);
        assert!(read.code == 0 && folder.path().join("other/store.db").exists(), "{read:?}");
        assert!(rows == alone.rows && outputs == alone.outputs);
    }
}

#[test]
fn a_store_that_is_deleted_while_it_is_written_is_missed() {
    let folder = folder();
    let mut started = command(SWEEP);
    let running = started.current_dir(folder.path()).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let store = folder.path().join("out/store.db");
    let log = store.with_extension("db-wal");
    let begin = Instant::now();
    while fs::metadata(&log).map_or(0, |log| log.len()) == 0 {
        assert!(begin.elapsed() < LONG, "a store is written");
        std::thread::sleep(Duration::from_millis(1));
    }
    fs::remove_file(&store).unwrap();
    let ended = outcome(running);
    // A database that is not quite set up yet cannot go on.
    let said = if ended.code == 0 {
        "somebody deleted the result store `out/store.db`"
    } else {
        "error: the result store `out/store.db`"
    };
    assert!(ended.code <= 1 && ended.stderr.contains(said), "{ended:?}");
}
