//! The expert's statement and ours return the same rows.

use super::database::Database;
use super::questions::{Ask, Question};

/// Runs both, and returns how many rows they have. Where the order is not part of the question, it may
/// differ.
pub async fn rows(database: &Database, question: &Question, expert: &str, ours: &str) -> usize {
    let mut their_rows = database.first_column(expert).await;
    let mut our_rows = database.first_column(ours).await;
    match question.ask {
        Ask::Check { allowed, .. } => {
            assert_eq!(their_rows, [if allowed { "t" } else { "f" }], "{}", question.name);
        }
        Ask::Actions { .. } | Ask::Page { .. } => {}
        Ask::List { .. } => {
            their_rows.sort_unstable();
            our_rows.sort_unstable();
        }
    }
    assert!(their_rows == our_rows, "{}: not the rows of the expert\n{ours}", question.name);
    their_rows.len()
}
