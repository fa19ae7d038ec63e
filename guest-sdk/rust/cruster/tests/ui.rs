//! The compile errors that authors see.
//!
//! `CRUSTER_TEST_UI=overwrite cargo test --test ui` writes the expected output. Read it as an
//! author would before you commit it.
//!
//! Each case is handed to the compiler with the library that these tests were built with: a
//! package for the cases would compile everything that the SDK depends on once more.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// The folder of this crate, as paths in messages begin: the compiler names files from the root
/// of the workspace.
const CRATE: &str = "guest-sdk/rust/cruster/";

#[test]
fn errors_read_like_advice() {
    // Errors of the macros, which are the same in every compiler.
    let mut cases = cases_in("tests/ui");
    // Errors of bounds. The advice in them is ours; the text around it is the compiler's,
    // and differs before this version.
    if minor_version_of_rustc() >= 95 {
        cases.extend(cases_in("tests/ui/bounds"));
    }
    let (next, work) = (AtomicUsize::new(0), Work::new());
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let wrong: Vec<String> = thread::scope(|scope| {
        let running: Vec<_> = (0..workers)
            .map(|_| {
                scope.spawn(|| {
                    std::iter::from_fn(|| cases.get(next.fetch_add(1, Relaxed)))
                        .filter_map(|case| work.check(case).err())
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        running
            .into_iter()
            .flat_map(|worker| worker.join().unwrap())
            .collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

fn minor_version_of_rustc() -> u32 {
    let output = rustc().arg("--version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split('.').nth(1).unwrap().parse().unwrap()
}

fn cases_in(folder: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap();
    let mut cases: Vec<_> = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "no cases in {folder}");
    cases
}

/// The flags that all cases are compiled with.
struct Work {
    /// The folder of libraries that Cargo has built.
    libraries: PathBuf,
    cruster: PathBuf,
    /// The crates that derived code names.
    serde: PathBuf,
    root: PathBuf,
    overwrite: bool,
}

impl Work {
    fn new() -> Work {
        let this = std::env::current_exe().unwrap();
        let libraries = this.parent().unwrap().to_owned();
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        // Other sets of features may have left others. Cargo has just brought one up to date, and
        // that is the one of its serde.
        let cruster = newest_of("cruster", &libraries).remove(0);
        let work = |serde| Work {
            libraries: libraries.clone(),
            cruster: cruster.clone(),
            serde,
            root: here.ancestors().nth(3).unwrap().to_owned(),
            overwrite: std::env::var_os("CRUSTER_TEST_UI").is_some_and(|what| what == "overwrite"),
        };
        let same = Path::new("tests/ui/with/serde.rs");
        newest_of("serde", &libraries)
            .into_iter()
            .map(work)
            .find(|work| work.compile(same).status.success())
            .expect("the serde of the library")
    }

    fn compile(&self, file: &Path) -> Output {
        let equals = |name: &str, path: &Path| {
            let mut both = OsString::from(name);
            both.push(path);
            both
        };
        rustc()
            .current_dir(&self.root)
            .arg(Path::new(CRATE).join(file))
            .args(["--edition=2024", "--crate-type=bin", "--emit=metadata"])
            .args([
                "--crate-name=case",
                "--color=never",
                "--diagnostic-width=140",
            ])
            .args(["-A", "dead_code", "--out-dir", env!("CARGO_TARGET_TMPDIR")])
            .arg("--extern")
            .arg(equals("cruster=", &self.cruster))
            .arg("--extern")
            .arg(equals("serde=", &self.serde))
            .arg("-L")
            .arg(equals("dependency=", &self.libraries))
            .output()
            .unwrap()
    }

    /// Compiles a case, and returns the difference of its messages from the expected messages.
    fn check(&self, case: &Path) -> Result<(), String> {
        let output = self.compile(case);
        let says = told(&String::from_utf8(output.stderr).unwrap());
        if output.status.success() {
            return Err(format!("{} compiles\n\n{says}", case.display()));
        }
        let expected = case.with_extension("stderr");
        if self.overwrite {
            fs::write(&expected, &says).unwrap();
            return Ok(());
        }
        let expects = fs::read_to_string(&expected).unwrap_or_default();
        if lines_of(&says) == lines_of(&expects) {
            return Ok(());
        }
        Err(format!(
            "{}: it says\n\n{says}\n\nand should say\n\n{expects}",
            case.display()
        ))
    }
}

/// The libraries of a crate, the newest first.
fn newest_of(name: &str, libraries: &Path) -> Vec<PathBuf> {
    let begin = format!("lib{name}-");
    let mut found: Vec<_> = fs::read_dir(libraries)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with(&begin) && name.ends_with(".rlib")
        })
        .collect();
    found.sort_by_key(|path| {
        let built = fs::metadata(path).and_then(|file| file.modified());
        std::cmp::Reverse(built.unwrap())
    });
    assert!(!found.is_empty(), "{begin}*.rlib is not beside the tests");
    found
}

/// The compiler's words, without any that only this machine or the state of other files make it
/// say, and without the summary at the end.
fn told(text: &str) -> String {
    let mut lines = Vec::new();
    let mut of_the_case = true;
    for line in text.lines() {
        let summary = [
            "error: aborting due to ",
            "Some errors have detailed ",
            "For more information about ",
        ];
        if summary.iter().any(|begin| line.starts_with(begin)) {
            continue;
        }
        let mut line = line.replace(CRATE, "");
        let from = line.trim_start();
        if from.starts_with("--> ") || from.starts_with("::: ") {
            of_the_case = from[4..].starts_with("tests/ui/");
        } else if !is_of_source(from) {
            of_the_case = true;
        }
        if !of_the_case {
            line = without_numbers(&line);
        }
        if let Some(others) = line.strip_suffix(" others") {
            let count = others.rsplit(' ').next().unwrap();
            if count.parse::<u32>().is_ok() {
                line = format!("{}$N others", &others[..others.len() - count.len()]);
            }
        }
        lines.push(line);
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.join("\n") + "\n"
}

/// Tells whether a line without its indentation shows source.
fn is_of_source(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line == "..." || rest.trim_start().starts_with('|')
}

/// A line about a file that is no case: where in the file something is changes with the file.
fn without_numbers(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    let (_, from) = line.split_at(indent);
    if from.starts_with("--> ") || from.starts_with("::: ") {
        let mut parts = line.rsplitn(3, ':');
        let numbers = [parts.next(), parts.next()];
        let are_numbers = numbers
            .iter()
            .all(|part| part.is_some_and(|n| n.parse::<u32>().is_ok()));
        return parts
            .next()
            .filter(|_| are_numbers)
            .unwrap_or(line)
            .to_owned();
    }
    let digits = from.len() - from.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    format!("{}{}", " ".repeat(indent + digits), &from[digits..])
}

/// The lines to compare. How far they are indented depends on the number of the last line that
/// is shown, also of other files, and on the compiler.
fn lines_of(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).collect()
}
