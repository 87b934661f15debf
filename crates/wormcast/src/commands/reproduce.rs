//! `wormcast reproduce`: the papers' claims, each with its verdict.

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::ProgressBar;

use super::results::{failure, progress_bar, threads, unusable};
use super::{Format, write_json};
use crate::failure::Failure;
use crate::lab::{
    PAPERS, Page, ReproductionObserver, Selection, Status, Store, Verdict, check_file, claims_named, reproduction_page,
    write_file,
};

/// Reproduce what five papers report: every claim with its verdict, the figures behind it, and a page that shows them.
///
/// Experiments, tables and plots go to the output folder, with `report.html` and `report.md`; what is in its store is not run again,
/// so that a reproduction that is interrupted goes on where it was.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast reproduce mesh-example paper-1-table-1 --quick")]
pub(crate) struct Arguments {
    /// Claims, papers (`paper-1`) or experiments (`paper-1-figure-9a`); by default all claims.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// List the claims and what measures them, and run nothing.
    #[arg(long)]
    list: bool,
    /// Fewer and shorter runs: all claims in some minutes, with wider intervals.
    #[arg(long)]
    quick: bool,
    /// End with exit code 1 if a claim is not reproduced.
    #[arg(long)]
    strict: bool,
    /// How verdicts are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The folder for everything that is made; made if it is not there.
    #[arg(long, value_name = "DIR", default_value = "reproduction")]
    out: PathBuf,
    /// Write the Markdown page to this file as well, with its plots in a folder beside it that has its name without ending.
    #[arg(long, value_name = "FILE.md")]
    markdown: Option<PathBuf>,
    /// The result store; by default `store.db` in the output folder.
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Threads; by default as many as there are cores.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let claims = claims_named(&arguments.names).map_err(Failure::bad_input)?;
    if arguments.list {
        return list(arguments, out);
    }
    let experiments = arguments.out.join("experiments");
    make_folder(&experiments)?;
    for name in ["report.html", "report.md"] {
        check_file(&arguments.out.join(name)).map_err(Failure::failed)?;
    }
    if let Some(path) = &arguments.markdown {
        if path.extension().is_none() {
            let message = format!("`--markdown {0}`: expected a file such as `{0}.md`", path.display());
            return Err(Failure::BadInput(message));
        }
        make_folder(path.parent().unwrap_or(Path::new("")))?;
        check_file(path).map_err(Failure::failed)?;
    }
    let selection = Selection::new(claims, arguments.quick, &experiments).map_err(failure)?;
    let store = arguments.store.clone().unwrap_or_else(|| arguments.out.join("store.db"));
    let mut store = Store::open(&store).map_err(unusable)?;
    let mut progress = Progress::new();
    let result = selection.run(threads(arguments.jobs), &mut store, &mut progress);
    progress.bar.finish_and_clear();
    let reproduction = result.map_err(failure)?;

    let page = reproduction_page(&reproduction, &arguments.out).map_err(Failure::failed)?;
    let write =
        |name: &str, text: &str| write_file(&arguments.out.join(name), text.as_bytes()).map_err(Failure::failed);
    write("report.html", &page.html())?;
    write("report.md", &page.markdown(""))?;
    for (name, svg) in page.plots() {
        write(name, svg)?;
    }
    if let Some(path) = &arguments.markdown {
        write_markdown(&page, path)?;
    }
    match arguments.format {
        Format::Json => write_json(out, &reproduction.claims)?,
        Format::Text => {
            for claim in &reproduction.claims {
                writeln!(out, "{:<20}{}", claim.claim.id, claim.verdict)?;
                for evidence in claim.evidence.iter().filter(|evidence| evidence.verdict() != Verdict::Reproduced) {
                    writeln!(out, "  {}: {} ({})", evidence.text(), evidence.verdict(), evidence.source())?;
                    for line in evidence.because().lines() {
                        writeln!(out, "    {line}")?;
                    }
                }
            }
            writeln!(out, "Wrote {}.", arguments.out.join("report.html").display())?;
        }
    }
    out.flush()?;
    let failed = reproduction.claims.iter().filter(|claim| claim.verdict != Verdict::Reproduced).count();
    if arguments.strict && failed > 0 {
        return Err(Failure::Failed(format!("{failed} of {} claims are not reproduced", reproduction.claims.len())));
    }
    Ok(())
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder)
        .map_err(|error| Failure::bad_input(format!("cannot make the folder `{}`: {error}", folder.display())))
}

/// The page as a file of a repository: plots in a folder of their own.
fn write_markdown(page: &Page, path: &Path) -> Result<(), Failure> {
    let folder = path.with_extension("");
    for (name, svg) in page.plots() {
        make_folder(&folder)?;
        write_file(&folder.join(name), svg.as_bytes()).map_err(Failure::failed)?;
    }
    let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    write_file(path, page.markdown(&name).as_bytes()).map_err(Failure::failed)
}

/// The claims, and what measures each.
fn list(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let claims = claims_named(&arguments.names).map_err(Failure::bad_input)?;
    if arguments.format == Format::Json {
        let rows: Vec<_> = claims
            .iter()
            .map(|claim| {
                serde_json::json!({
                    "claim": claim.id, "paper": claim.paper, "exhibit": claim.exhibit, "statement": claim.statement,
                    "measured_by": Selection::sources(claim.id),
                })
            })
            .collect();
        return write_json(out, &rows);
    }
    for claim in claims {
        writeln!(
            out,
            "{:<20}paper {} ({}), {}",
            claim.id,
            claim.paper,
            PAPERS[claim.paper - 1].subject,
            claim.exhibit
        )?;
        writeln!(out, "  {}", claim.statement)?;
        writeln!(out, "  measured by {}", Selection::sources(claim.id).join(", "))?;
    }
    Ok(())
}

/// A bar over the whole on standard error, if that is a terminal.
struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Steps of the bar for a part.
    const STEPS: u64 = 1000;

    fn new() -> Self {
        Self { bar: progress_bar("{wide_msg}") }
    }
}

impl ReproductionObserver for Progress {
    fn update(&mut self, done: usize, parts: usize, name: &str, status: Option<&Status<'_>>) {
        let within = status.map_or(0, |status| Self::STEPS * status.replications / status.replications_expected.max(1));
        self.bar.set_length(Self::STEPS * parts as u64);
        self.bar.set_position(Self::STEPS * done as u64 + within.min(Self::STEPS));
        let points =
            status.map_or_else(String::new, |status| format!(": {} of {} points", status.points_done, status.points));
        self.bar.set_message(format!("{} of {parts}: {name}{points}", done + 1));
    }
}
