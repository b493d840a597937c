//! `portcullis review`: everything that one actor may do, or everyone who may act on one resource.
//!
//! ```text
//! actor or resource ─/review─▶ types and actions ─/list, /list_subjects, page by page─▶ rows
//! ```
//!
//! In: a policy and facts in files, a data folder, or a running service. Out: a row for each action with each
//! resource or actor. Rows are written as they arrive, so no more than a page is in memory, here and in the
//! service: the pages of the lists exist, continue after an id and need nothing from the service between two
//! of them. An answer that is streamed from one read transaction would hold its snapshot for as long as the
//! reader takes, and meanwhile the store's log could not start over. Instead the offset of the store is
//! compared before and after, and the end of the review says whether anything was written in between.
//!
//! What is refused is a row, and makes the exit code 1: a review that lacks something never looks complete.

mod pages;
mod rows;

use super::Verdict;
use super::error::{CliError, UsageError};
use super::origin::OriginArgs;
use super::output::output_error;
use super::source::Source;
use crate::engine::{ANY, Reviewed, Value, notation};
use crate::http::{ReviewOut, ReviewRefusedOut};
use rows::{ReviewEnd, Rows};
use std::io::{self, BufWriter, Write};

/// List everything that one actor may do, or everyone who may act on one resource
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Every type and every action is listed, including those named only by facts. \"every Repository\" is a
rule that grants all of them, which are not listed one by one; \"any other type\" is one that the
policy does not name. What cannot be listed is shown as refused, and the exit code is 1.

From a service, lists are read in pages and written as they arrive. The last line says if facts or
the policy changed in the meantime. With --format json each row is a line of JSON, `*` stands for
every type, action or id, and the last line has the field `end`: if it is missing, the output is
incomplete.

Examples:
  portcullis review policy.polar --facts facts.txt --actor User:alice
  portcullis review --resource Repo:anvils
  portcullis review --data /var/lib/portcullis --resource Repo:anvils
  portcullis review --url https://authz.example.com --actor User:alice --type Repo --format csv"
)]
pub(super) struct Args {
    #[command(flatten)]
    origin: OriginArgs,
    /// What this actor may do, for example User:alice
    #[arg(long, value_name = "VALUE", value_parser = notation::value)]
    #[arg(required_unless_present = "resource", conflicts_with = "resource")]
    actor: Option<Value>,
    /// Who may act on this resource, for example Repo:anvils
    #[arg(long, value_name = "VALUE", value_parser = notation::value)]
    resource: Option<Value>,
    /// Only resources, or actors, of this type; may be repeated
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Only this action; may be repeated
    #[arg(long = "action", value_name = "ACTION")]
    actions: Vec<String>,
    /// How to write the rows
    #[arg(long, value_enum, default_value_t)]
    format: ReviewFormat,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl Args {
    /// The format of the output.
    pub(super) fn format(&self) -> ReviewFormat {
        if self.json { ReviewFormat::Json } else { self.format }
    }
}

/// The format of a review.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ReviewFormat {
    /// A table for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
    /// A table with a header.
    Csv,
}

pub(super) fn run(args: Args) -> Result<Verdict, CliError> {
    match reviewed(args) {
        // The reader closed the pipe, which is not a failure.
        Err(CliError::OutputClosed) => Ok(Verdict::Good),
        reviewed => reviewed,
    }
}

fn reviewed(args: Args) -> Result<Verdict, CliError> {
    let format = args.format();
    let Args { origin, actor, resource, types, actions, .. } = args;
    let about = match (actor, resource) {
        (Some(actor), _) => Reviewed::Actor(actor),
        (None, Some(resource)) => Reviewed::Resource(resource),
        (None, None) => return Err(UsageError::NothingReviewed.into()),
    };
    let source = Source::of(origin.origin()?)?;
    let found = source.review(&about, &types)?;
    let to = BufWriter::new(io::stdout().lock());
    let rows = Rows::new(format, to, &about, &found).map_err(written)?;
    let mut review = ReviewWriter { source, about, actions, rows, end: ReviewEnd::of(&found) };
    review.parts(&found)?;
    // Asked after every list was read, so that a change in between shows.
    let after = review.source.review(&review.about, &[ANY.to_owned()])?;
    let ReviewWriter { mut rows, mut end, .. } = review;
    end.offset_after = after.offset;
    rows.end(&end).map_err(written)?;
    let is_complete = end.n_refused == 0 && end.unknown_types.is_empty();
    Ok(if is_complete { Verdict::Good } else { Verdict::Bad })
}

/// A review that is being written.
struct ReviewWriter<W: Write> {
    source: Source,
    about: Reviewed,
    /// The actions that are asked for; empty for all.
    actions: Vec<String>,
    rows: Rows<W>,
    end: ReviewEnd,
}

impl<W: Write> ReviewWriter<W> {
    /// Each type with each of its actions.
    fn parts(&mut self, found: &ReviewOut) -> Result<(), CliError> {
        for found in &found.types {
            let ty = found.ty.as_deref();
            let is_open = found.refused.is_some() || found.actions.iter().any(|action| action == ANY);
            let actions: Vec<String> = if self.actions.is_empty() {
                found.actions.clone()
            } else {
                let is_found = |action: &&String| is_open || found.actions.contains(action);
                self.actions.iter().filter(is_found).cloned().collect()
            };
            // Which actions there are does not matter if some were asked for.
            if let Some(refused) = found.refused.as_ref().filter(|_| self.actions.is_empty()) {
                self.refused(ty, None, refused)?;
            }
            for action in actions {
                match ty {
                    Some(ty) => self.list(ty, &action)?,
                    None if found.actions.contains(&action) => self.row(&action, None)?,
                    None if found.actions.iter().any(|found| found == ANY) => self.row(ANY, None)?,
                    None => {
                        if let Some(refused) = &found.refused {
                            self.refused(None, Some(&action), refused)?;
                        }
                    }
                }
            }
            self.rows.flush().map_err(written)?;
        }
        Ok(())
    }

    /// Every resource, or actor, of a type with an action.
    fn list(&mut self, ty: &str, action: &str) -> Result<(), CliError> {
        let Self { source, about, rows, end, .. } = self;
        let refused = source.each_listed(about, ty, action, |id| {
            end.n_rows += 1;
            rows.row(action, Some((ty, id))).map_err(written)
        })?;
        refused.map_or(Ok(()), |refused| self.refused(Some(ty), Some(action), &refused))
    }

    fn row(&mut self, action: &str, value: Option<(&str, &str)>) -> Result<(), CliError> {
        self.end.n_rows += 1;
        self.rows.row(action, value).map_err(written)
    }

    fn refused(
        &mut self,
        ty: Option<&str>,
        action: Option<&str>,
        refused: &ReviewRefusedOut,
    ) -> Result<(), CliError> {
        self.end.n_refused += 1;
        self.rows.refused(ty, action, refused).map_err(written)
    }
}

fn written(error: io::Error) -> CliError {
    output_error("the standard output", error)
}
