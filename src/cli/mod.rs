//! The command line: one file for each command.
//!
//! In: arguments. Out: an exit code, answers on the standard output, errors and logs on the standard error.
//! Exit code 0 means success, 1 that something was refused or failed, 2 that the arguments are wrong. A
//! command reads its files, calls the engine or the compiler, and prints; it decides nothing.

mod accept_loss;
mod active_policy;
mod admin;
mod ask;
mod backup;
mod bindings;
mod compile;
mod completions;
mod config;
mod data;
mod environments;
mod error;
mod explain;
mod facts;
mod facts_file;
mod flags;
mod fmt;
mod folder;
mod generate;
mod init;
mod keys;
mod local;
mod login;
mod lsp;
mod man;
mod open_files;
mod origin;
mod output;
mod policy;
mod policy_file;
mod precautions;
mod private;
mod progress;
mod reason;
mod replace;
mod restore;
mod review;
mod serve;
mod service;
mod shown;
mod source;
mod stats;
mod store;
mod telemetry;
mod test;
mod validate;
mod why;

use clap::{Parser, Subcommand};
use output::Format;
use review::ReviewFormat;
use std::process::ExitCode;

/// An authorization service that compiles policies to SQL
#[derive(Debug, Parser)]
#[command(name = "portcullis", version, max_term_width = HELP_WIDTH, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The width of help texts.
const HELP_WIDTH: usize = 100;

const EXIT_CODES: &str = "Exit codes: 0 done, 1 refused or failed, 2 wrong arguments";

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Args),
    Serve(serve::Args),
    Compile(compile::Args),
    Explain(explain::Args),
    Authorize(ask::authorize::Args),
    List(ask::list::Args),
    ListSubjects(ask::list_subjects::Args),
    Actions(ask::actions::Args),
    Query(ask::query::Args),
    Why(why::Args),
    Review(review::Args),
    Test(test::Args),
    Validate(validate::Args),
    Fmt(fmt::Args),
    Generate(generate::Args),
    Lsp(lsp::Args),
    Bindings(bindings::Args),
    Keys(keys::Args),
    Environments(environments::Args),
    Login(login::Args),
    Logout(login::LogoutArgs),
    Config(config::Args),
    Facts(facts::Args),
    Policy(policy::Args),
    Stats(stats::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    AcceptLoss(accept_loss::Args),
    Store(store::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// The result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// All is well.
    Good,
    /// It ran, and found and reported something wrong.
    Bad,
}

/// Runs the program with the arguments of the process.
pub fn run() -> ExitCode {
    let Cli { command } = Cli::parse();
    let format = command.format();
    let outcome = match command {
        Command::Init(args) => init::run(&args),
        Command::Serve(args) => serve::run(args),
        Command::Compile(args) => compile::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Authorize(args) => ask::authorize::run(args),
        Command::List(args) => ask::list::run(args),
        Command::ListSubjects(args) => ask::list_subjects::run(args),
        Command::Actions(args) => ask::actions::run(args),
        Command::Query(args) => ask::query::run(args),
        Command::Why(args) => why::run(args),
        Command::Review(args) => review::run(args),
        Command::Test(args) => test::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Fmt(args) => fmt::run(&args),
        Command::Generate(args) => generate::run(args),
        Command::Lsp(args) => lsp::run(args),
        Command::Bindings(args) => bindings::run(&args),
        Command::Keys(args) => keys::run(args),
        Command::Environments(args) => environments::run(args),
        Command::Login(args) => login::run(args),
        Command::Logout(args) => login::run_logout(args),
        Command::Config(args) => config::run(args),
        Command::Facts(args) => facts::run(args),
        Command::Policy(args) => policy::run(args),
        Command::Stats(args) => stats::run(args),
        Command::Backup(args) => backup::run(args),
        Command::Restore(args) => restore::run(args),
        Command::AcceptLoss(args) => accept_loss::run(args),
        Command::Store(args) => store::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    };
    match outcome {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Bad) => ExitCode::FAILURE,
        Err(error) => error.report(format),
    }
}

impl Command {
    /// The format of its output, in which its failure is reported, too.
    fn format(&self) -> Format {
        match self {
            Self::Compile(args) => args.output.format(),
            Self::Explain(args) => args.output.format(),
            Self::Authorize(args) => args.output.format(),
            Self::List(args) => args.output.format(),
            Self::ListSubjects(args) => args.output.format(),
            Self::Actions(args) => args.output.format(),
            Self::Query(args) => args.output.format(),
            Self::Stats(args) => args.output.format(),
            Self::Facts(args) => args.format(),
            Self::Policy(args) => args.format(),
            Self::Why(args) => args.output.format(),
            Self::Review(args) => match args.format() {
                ReviewFormat::Json => Format::Json,
                ReviewFormat::Text | ReviewFormat::Csv => Format::Text,
            },
            Self::Test(args) => args.output.format(),
            Self::Validate(args) => args.output.format(),
            Self::Fmt(args) => args.output.format(),
            Self::Bindings(args) => args.format(),
            Self::Config(args) => args.format(),
            Self::Environments(args) => args.format(),
            Self::Store(args) => args.format(),
            Self::Init(_)
            | Self::Serve(_)
            | Self::Generate(_)
            | Self::Lsp(_)
            | Self::Keys(_)
            | Self::Login(_)
            | Self::Logout(_)
            | Self::Backup(_)
            | Self::Restore(_)
            | Self::AcceptLoss(_)
            | Self::Completions(_)
            | Self::Man(_) => Format::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cli, HELP_WIDTH};
    use clap::CommandFactory;

    #[test]
    fn the_commands_are_well_formed() {
        Cli::command().debug_assert();
    }

    /// A paragraph below the options is one line, which clap wraps, or lines that fit.
    #[test]
    fn the_lines_of_help_fit() {
        fn check(command: &clap::Command) {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for paragraph in text.split("\n\n").filter(|paragraph| paragraph.contains('\n')) {
                let widest = paragraph.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
                assert!(widest.chars().count() <= HELP_WIDTH, "{}: {widest}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
