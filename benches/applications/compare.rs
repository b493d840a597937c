//! The service's statement next to the expert's: the same rows, and what both cost.

use crate::measure::{Pair, Rounds};
use portcullis_testkit::applications::question::Question;
use portcullis_testkit::expert::database::Database;
use portcullis_testkit::server::Server;
use std::time::Instant;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// What became of a question.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Both answered alike.
    Measured { n_bytes: usize, n_rows: usize, pair: Pair },
    /// Ours did not end in time; the expert's took `expert` milliseconds.
    TooSlow { n_bytes: usize, expert: f64 },
    /// Ours has other rows.
    Wrong { n_bytes: usize, difference: String },
    /// The service refused, or the database.
    Failed(String),
}

impl Outcome {
    /// Our time to the expert's; no answer is worse than any other.
    pub(crate) fn ratio(&self) -> f64 {
        match self {
            Self::Measured { pair, .. } => pair.ratio,
            Self::TooSlow { .. } | Self::Wrong { .. } | Self::Failed(_) => f64::INFINITY,
        }
    }

    /// How long the service's text is.
    pub(crate) fn n_bytes(&self) -> Option<usize> {
        match self {
            Self::Measured { n_bytes, .. } | Self::TooSlow { n_bytes, .. } | Self::Wrong { n_bytes, .. } => {
                Some(*n_bytes)
            }
            Self::Failed(_) => None,
        }
    }
}

/// Asks the service, runs both statements, and measures them if their rows are equal.
pub(crate) async fn compare(
    service: &Server,
    database: &Database,
    question: &Question,
    bindings: &str,
    rounds: Rounds,
) -> Outcome {
    let (ours, n_bytes) = match statement(service, question, bindings) {
        Ok(found) => found,
        Err(refused) => return refused,
    };
    let expert = &question.expert;
    let start = Instant::now();
    let mut their_rows = match database.undone(expert).await {
        Ok(rows) => rows,
        Err(error) if is_timeout(&error) => return Outcome::Failed("the expert's took too long".to_owned()),
        Err(error) => return Outcome::Failed(format!("the expert's: {}\n{expert}", said(&error))),
    };
    let expert_time = start.elapsed();
    let too_slow = || Outcome::TooSlow { n_bytes, expert: expert_time.as_secs_f64() * 1_000.0 };
    let mut our_rows = match database.undone(&ours).await {
        Ok(rows) => rows,
        Err(error) if is_timeout(&error) => return too_slow(),
        Err(error) => return Outcome::Failed(format!("{}\n{ours}", said(&error))),
    };
    if let Some(difference) = difference(question, &mut their_rows, &mut our_rows, &ours) {
        return Outcome::Wrong { n_bytes, difference };
    }
    match Pair::measure(database, expert, &ours, rounds).await {
        Ok(pair) => Outcome::Measured { n_bytes, n_rows: our_rows.len(), pair },
        Err(error) if is_timeout(&error) => too_slow(),
        Err(error) => Outcome::Failed(format!("{}\n{ours}", said(&error))),
    }
}

fn is_timeout(error: &Error) -> bool {
    error.code() == Some(&SqlState::QUERY_CANCELED)
}

/// The database's own words.
fn said(error: &Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned())
}

/// The application's statement around the service's text, and the length of the text.
pub(crate) fn statement(
    service: &Server,
    question: &Question,
    bindings: &str,
) -> Result<(String, usize), Outcome> {
    let (path, body) = question.request(bindings);
    let answer = service.post(path, &body);
    if answer.status != 200 {
        return Err(Outcome::Failed(answer.text));
    }
    let answer = answer.json();
    let sql = answer["sql"].as_str().unwrap();
    Ok((question.around(sql), sql.len()))
}

/// How many rows each has and the first of them that differ, if they are not the same.
pub(crate) fn difference(
    question: &Question,
    theirs: &mut [String],
    ours: &mut [String],
    sql: &str,
) -> Option<String> {
    if !question.is_ordered() {
        theirs.sort_unstable();
        ours.sort_unstable();
    }
    if theirs == ours {
        return None;
    }
    let at = theirs.iter().zip(&*ours).take_while(|(their, our)| their == our).count();
    let (their, our) = (theirs.get(at), ours.get(at));
    Some(format!(
        "{} rows, the expert's {}; at {at} stands {our:?}, in the expert's {their:?}\n{sql}",
        ours.len(),
        theirs.len()
    ))
}
