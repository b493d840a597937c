//! `portcullis accept-loss`: what is left of an environment that is not served because something is missing.

use super::backup::described;
use super::data::DataFolder;
use super::error::CliError;
use super::{Verdict, output};
use crate::engine::check_environment_name;
use crate::http::DEFAULT_ENVIRONMENT;
use crate::store::accept_loss;

/// Tell what is left of a damaged environment, and go on with it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "For an environment that the service refuses to open as its log is missing, cut or not its own. Without \
--yes nothing is changed. Look for what is missing first: with the file back in its place, the service starts. A \
backup is the better way, too, where it is newer than what is left.

Examples:
  portcullis accept-loss --environment staging          # what is missing, and what is there
  portcullis accept-loss --environment staging --yes    # go on without what is missing"
)]
pub(super) struct Args {
    #[command(flatten)]
    data: DataFolder,
    /// The environment
    #[arg(long, value_name = "NAME", default_value = DEFAULT_ENVIRONMENT)]
    environment: String,
    /// Go on with what is there
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    let Args { data, environment, yes } = args;
    let dir = data.find()?.join(&environment);
    check_environment_name(&environment)?;
    let Some(remains) = accept_loss(&dir, yes)? else {
        output::to_stdout(&format!("`{environment}` lacks nothing that was acknowledged"))?;
        return Ok(Verdict::Good);
    };
    let mut lines = vec![
        format!("missing: {}", remains.loss),
        format!("there is: {}", described(&environment, &remains.held)),
    ];
    lines.extend(remains.aside.map(|aside| format!("a log that is not its own goes to {}", aside.display())));
    let outcome = if yes {
        "it can be served again, without what is missing"
    } else {
        "nothing was changed: --yes goes on with what there is"
    };
    lines.push(outcome.to_owned());
    output::to_stdout(&lines.join("\n"))?;
    Ok(if yes { Verdict::Good } else { Verdict::Bad })
}
