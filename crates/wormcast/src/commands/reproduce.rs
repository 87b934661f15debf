//! `wormcast reproduce`: the papers' claims, each with its verdict.

use std::io::Write;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};

use super::output::{Files, store_file};
use super::results::{AGAIN, failure, folder, make_folder, report_name, threads, unusable, with_progress};
use super::{Format, warn_of_idle_option, write_json};
use crate::failure::Failure;
use crate::lab::report::Page;
use crate::lab::{Verdict, check_file, write_file};
use crate::papers::{Choice, Explain, ReproducedClaim, Searched, Selection, SelectionError, papers, reproduction_page};
use crate::program;
use crate::usage::positive;

/// Reproduce what papers report: every claim with its verdict, the figures behind it, and a page that shows them.
///
/// Experiments and plots go to the output folder, with `report.html` and `report.md`, or with `report-NAME.html` and `report-NAME.md` if
/// only some claims are chosen. What its store already has is not run again, so a reproduction that was interrupted continues where it
/// stopped.
#[derive(Args)]
#[command(after_help = "Example:\n  wormcast reproduce mesh-example paper-1-table-1 --quick")]
pub(crate) struct Arguments {
    /// Claims, papers (`paper-1`), exhibits (`paper-1-figure-9`) or single experiments (`paper-1-figure-9a`); by default all claims.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// List the claims and what measures them, and run nothing.
    #[arg(long)]
    list: bool,
    /// Fewer and shorter runs: all claims in a few minutes, with wider intervals.
    #[arg(long)]
    quick: bool,
    /// For claims that are not reproduced, also test pairs of the settings that their papers leave open, until this many replications have
    /// been looked at for a claim. Without a number, 5,000.
    #[arg(long, value_name = "BUDGET", num_args = 0..=1, default_missing_value = "5000", require_equals = true, value_parser = positive::<NonZeroU64>)]
    explain: Option<NonZeroU64>,
    /// End with exit code 1 if a claim is not reproduced.
    #[arg(long)]
    strict: bool,
    /// How verdicts are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The folder for everything that is made; made if it is not there.
    #[arg(long, value_name = "DIR", default_value = "reproduction", value_parser = folder())]
    out: PathBuf,
    /// Also write the Markdown page to this file, and its plots to a folder beside it of the same name without the ending. Folders that are
    /// not there are made.
    #[arg(long, value_name = "FILE.md", value_parser = PathBufValueParser::new().try_map(markdown_file))]
    markdown: Option<PathBuf>,
    /// The result store; by default `store.db` in the output folder.
    #[arg(long, value_name = "FILE", value_parser = store_file)]
    store: Option<PathBuf>,
    /// Threads; by default as many as there are cores.
    #[arg(long, value_name = "N", value_parser = positive::<NonZeroUsize>)]
    jobs: Option<NonZeroUsize>,
}

pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    let choice = arguments.choice()?;
    if arguments.list {
        arguments.warn_of_idle();
        return list(&choice, arguments.format, out);
    }
    let pages = Pages::new(arguments, &choice);
    let store = arguments.store.clone().unwrap_or_else(|| arguments.out.join("store.db"));
    let experiments = arguments.out.join("experiments");
    pages.check(&store, &experiments)?;
    let selection = Selection::prepare(choice, arguments.quick, &experiments).map_err(unselected)?;
    let mut store = program::store(&store).map_err(unusable)?;
    let jobs = threads(arguments.jobs);
    let explain = match arguments.explain {
        Some(budget) => Explain::Pairs(budget.get()),
        None if arguments.quick => Explain::Known,
        None => Explain::Singles,
    };
    let reproduction =
        with_progress(&mut store, AGAIN, |store, progress| selection.run(explain, jobs, store, progress))
            .map_err(failure)?;

    let page = reproduction_page(&reproduction, &arguments.out, program::THIS).map_err(Failure::failed)?;
    #[cfg(feature = "serve")]
    let page = {
        let exhibits = reproduction.exhibits.iter().map(|exhibit| (&exhibit.experiment, &exhibit.findings));
        super::played::with_small_run(page, exhibits)?
    };
    pages.write(&page, &arguments.out)?;
    match arguments.format {
        Format::Json => write_json(out, &reproduction.claims)?,
        Format::Text => {
            write_claims(&reproduction.claims, out)?;
            let also = pages.copy.map_or_else(String::new, |path| format!(", {}", path.display()));
            writeln!(out, "Wrote {}{also}.", pages.html.display())?;
        }
    }
    out.flush()?;
    let accepted = reproduction
        .claims
        .iter()
        .flat_map(|claim| &claim.mutants)
        .filter(|mutated| mutated.rejected == Some(false))
        .count();
    if arguments.strict && accepted > 0 {
        let message = format!("tests do not reject {accepted} of the results that are wrong on purpose");
        return Err(Failure::Failed(message));
    }
    let failed = reproduction.claims.iter().filter(|claim| !claim.verdict.is_reproduced()).count();
    if arguments.strict && failed > 0 {
        let claims = reproduction.claims.len();
        let (claim, are) = (if claims == 1 { "claim" } else { "claims" }, if failed == 1 { "is" } else { "are" });
        return Err(Failure::Failed(format!("{failed} of {claims} {claim} {are} not reproduced")));
    }
    Ok(())
}

/// A path that a page of Markdown may have: its plots go to a folder beside it that has its name without ending.
fn markdown_file(path: PathBuf) -> Result<PathBuf, &'static str> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    if matches!(ending.as_deref(), Some("md" | "markdown")) {
        Ok(path)
    } else {
        Err("expected a file that ends in `.md`")
    }
}

impl Arguments {
    /// The claims that are named. A number is none of them, and may be what `--explain` was to take.
    fn choice(&self) -> Result<Choice, Failure> {
        Choice::named(&self.names).map_err(|unknown| {
            let number = self.names.iter().find(|name| name.parse::<u64>().is_ok());
            match number.filter(|_| self.explain.is_some()) {
                Some(budget) => Failure::BadInput(format!(
                    "`{budget}` is no claim, paper or exhibit: the number of replications goes to `--explain` with an equals sign, as in `--explain={budget}`"
                )),
                None => Failure::bad_input(unknown),
            }
        })
    }

    /// Warns of options that make no difference to a list.
    fn warn_of_idle(&self) {
        for (option, given) in [
            ("--quick", self.quick),
            ("--explain", self.explain.is_some()),
            ("--strict", self.strict),
            ("--jobs", self.jobs.is_some()),
            ("--markdown", self.markdown.is_some()),
            ("--store", self.store.is_some()),
        ] {
            warn_of_idle_option(option, given, "`--list` runs nothing");
        }
    }
}

/// The files of the page.
struct Pages<'a> {
    html: PathBuf,
    markdown: PathBuf,
    /// That of `--markdown`.
    copy: Option<&'a Path>,
}

impl<'a> Pages<'a> {
    fn new(arguments: &'a Arguments, choice: &Choice) -> Self {
        let report = if choice.is_everything() {
            "report".to_owned()
        } else {
            report_name(&arguments.names.iter().map(String::as_str).collect())
        };
        let [html, markdown] = [".html", ".md"].map(|ending| arguments.out.join(format!("{report}{ending}")));
        Self { html, markdown, copy: arguments.markdown.as_deref() }
    }

    /// Makes the folders, that of the experiments too, and finds out whether the files can be written.
    fn check(&self, store: &Path, experiments: &Path) -> Result<(), Failure> {
        Files::default()
            .writes("the report", Some(&self.html))
            .writes("the report", Some(&self.markdown))
            .writes("--markdown", self.copy)
            .writes("--store", Some(store))
            .check()?;
        make_folder(experiments)?;
        for path in [&self.html, &self.markdown] {
            check_file(path).map_err(Failure::failed)?;
        }
        if let Some(path) = self.copy {
            if path.extension().is_none() {
                let message = format!("`--markdown {0}`: expected a file such as `{0}.md`", path.display());
                return Err(Failure::BadInput(message));
            }
            make_folder(path.parent().unwrap_or(Path::new("")))?;
            check_file(path).map_err(Failure::failed)?;
        }
        Ok(())
    }

    /// Writes the page, with its plots in `folder`.
    fn write(&self, page: &Page, folder: &Path) -> Result<(), Failure> {
        let write = |path: &Path, text: &str| write_file(path, text.as_bytes()).map_err(Failure::failed);
        write(&self.html, &page.html())?;
        write(&self.markdown, &page.markdown(""))?;
        for (name, svg) in page.plots() {
            write(&folder.join(name), svg)?;
        }
        self.copy.map_or(Ok(()), |path| write_markdown(page, path))
    }
}

/// What it comes to that experiments cannot be run that were chosen.
fn unselected(error: SelectionError) -> Failure {
    match error {
        SelectionError::Changed { .. } => {
            Failure::BadInput(format!("{error}: choose another folder with `--out`, or take it away"))
        }
        SelectionError::Experiment(diagnostic) => Failure::diagnostic(*diagnostic),
        other => Failure::failed(other),
    }
}

/// The verdicts, and of what does not hold, why.
fn write_claims(claims: &[ReproducedClaim], out: &mut dyn Write) -> Result<(), Failure> {
    for claim in claims {
        let condition = claim.condition.as_ref().map_or_else(String::new, |condition| format!(" {}", condition.text));
        writeln!(out, "{:<20}{}{}", claim.claim.id, claim.verdict, condition.replace('`', ""))?;
        if let Some(Searched { conditions, of, changed_at_once, .. }) = &claim.searched {
            let at_once = if *changed_at_once < 2 { "one setting" } else { "up to two settings" };
            writeln!(out, "  tested under {conditions} of {of} conditions with {at_once} changed")?;
        }
        if !claim.left_out.is_empty() {
            writeln!(out, "  not looked at: {}", claim.left_out.join(", "))?;
        }
        for mutated in claim.mutants.iter().filter(|mutated| mutated.rejected == Some(false)) {
            writeln!(out, "  its tests do not reject: {}", mutated.text)?;
        }
        for evidence in &claim.evidence {
            let sentence = evidence.sentence();
            if sentence.verdict == Verdict::Reproduced {
                continue;
            }
            writeln!(out, "  {}: {} ({})", sentence.text, sentence.verdict, evidence.source())?;
            for line in sentence.because.lines() {
                writeln!(out, "    {line}")?;
            }
        }
    }
    Ok(())
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
fn list(choice: &Choice, format: Format, out: &mut dyn Write) -> Result<(), Failure> {
    if format == Format::Json {
        let rows: Vec<_> = choice
            .claims()
            .iter()
            .map(|claim| {
                serde_json::json!({
                    "claim": claim.id, "paper": claim.paper, "exhibit": claim.exhibit, "statement": claim.statement,
                    "measured_by": claim.sources(),
                })
            })
            .collect();
        return write_json(out, &rows);
    }
    for claim in choice.claims() {
        writeln!(
            out,
            "{:<20}paper {} ({}), {}",
            claim.id,
            claim.paper,
            papers()[claim.paper - 1].subject,
            claim.exhibit
        )?;
        writeln!(out, "  {}", claim.statement)?;
        writeln!(out, "  measured by {}", claim.sources().join(", "))?;
    }
    Ok(())
}
