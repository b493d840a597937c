//! `portcullis generate`: writes the types of a policy for the official clients.
//!
//! In: a policy. Out: a module that gives a client the types of the policy's actors, resources, actions and
//! facts. The same policy always gives the same text, so a build can check that a generated file is up to
//! date.

mod layout;
mod names;
mod python;
mod quoted;
mod typescript;

use super::Verdict;
use super::error::{CliError, ServiceError, UsageError};
use super::folder;
use super::origin::{FolderArgs, Origin, ServiceArgs};
use super::output;
use super::policy_file::{self, PolicyFile};
use super::replace;
use clap::ValueEnum;
use names::PolicyTypes;
use portcullis_compiler::diagnostic::{Severity, render};
use portcullis_compiler::ir::Program;
use portcullis_compiler::source::SourceMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Write the types of a policy for the official clients
#[derive(Debug, clap::Args)]
#[command(
    after_help = "With these types, a type checker rejects a misspelled action or a fact that the policy cannot use. \
They are for version 2 of the package `oso-cloud`, from npm or PyPI.

Exit code 1 with `--check` if the file is missing or out of date.

Examples:
  portcullis generate typescript policy.polar --out src/policy.ts
  portcullis generate python policy.polar --out policy_types.py
  portcullis generate typescript policy.polar --out src/policy.ts --check
  portcullis generate python --url https://authz.example.com"
)]
pub(super) struct Args {
    /// The language of the application
    language: Language,
    /// The policy file, or `-` for the standard input; if not given, the policy of a service or a data folder
    #[arg(conflicts_with_all = ["url", "key_file", "config", "data"])]
    policy: Option<PathBuf>,
    /// The file to write, instead of the standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Show how the file differs from what would be written, without writing it
    #[arg(long, requires = "out")]
    check: bool,
    #[command(flatten)]
    service: ServiceArgs,
    #[command(flatten)]
    folder: FolderArgs,
}

/// A language for which types are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Language {
    /// For the npm package `oso-cloud`
    #[value(name = "typescript")]
    TypeScript,
    /// For the Python package `oso-cloud`
    Python,
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let Args { language, policy, out, check, service, folder } = args;
    let program = program(Origin::of(policy, None, service, folder)?)?;
    let types = PolicyTypes::of(&program);
    let file = file_name(program.source.name());
    let text = match language {
        Language::TypeScript => typescript::module(&types, file),
        Language::Python => python::module(&types, file),
    };
    match out {
        None => output::to_stdout_as_is(&text).map(|()| Verdict::Good),
        Some(out) if check => compare(&out, &text),
        Some(out) => write(&out, &text).map(|()| Verdict::Good),
    }
}

/// The program of the policy, which must validate.
fn program(origin: Origin) -> Result<Program, CliError> {
    let (name, text) = match origin {
        Origin::Files { policy, .. } => return PolicyFile::program(&policy),
        Origin::Service(service) => {
            let source = service.policy_source(None)?.ok_or(ServiceError::NoPolicy)?;
            (source.filename, source.src)
        }
        Origin::Folder { folder, .. } => folder::policy(&folder)?.ok_or(ServiceError::NoPolicy)?,
    };
    let source = SourceMap::new(name, text);
    let checked = portcullis_compiler::check(&source);
    checked.program.ok_or_else(|| {
        let errors = checked.diagnostics.iter().filter(|found| found.severity() == Severity::Error);
        let errors: Vec<String> = errors.map(|error| render::render(&source, error)).collect();
        CliError::Policy(errors.join("\n\n"))
    })
}

/// A file's name without its folders: these differ between machines, and the generated text must not.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn compare(out: &Path, text: &str) -> Result<Verdict, CliError> {
    let kept = policy_file::read(out)?;
    if kept == text {
        return Ok(Verdict::Good);
    }
    let name = out.display().to_string();
    output::to_stdout_as_is(&replace::diff(&kept, text, [&name, "what would be written"]))?;
    output::to_stderr(&format!("`{name}` is not up to date: run the command without `--check`"));
    Ok(Verdict::Bad)
}

fn write(out: &Path, text: &str) -> Result<(), CliError> {
    if out.as_os_str() == "-" {
        return Err(UsageError::GeneratedOutput.into());
    }
    match policy_file::read(out) {
        Ok(kept) if kept == text => Ok(()),
        Ok(kept) => replace::replace(out, &kept, text),
        Err(CliError::Unreadable { error, .. }) if error.kind() == ErrorKind::NotFound => {
            std::fs::write(out, text).map_err(|error| CliError::unwritable(out, error))
        }
        Err(error) => Err(error),
    }
}
