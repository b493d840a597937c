//! Local checks: SQL that the caller runs on its own database.
//!
//! In: a data-bindings document, a question, and the request's context facts. Out: one SQL text over the
//! caller's tables. What stored and context facts decide alone is decided here; the values that the rest
//! needs from them are embedded in the text, so its size depends on the answer, not on the store.
//!
//! ```text
//! question + bindings ─plans─▶ LocalPlan ─┬─stored parts─▶ rows on a reader ─▶ SQL
//!                                         └─no parts─▶ Template, cached ─values─▶ SQL
//! ```

mod documents;
mod explain;
mod forms;
mod misspelt;
mod notes;
mod outline;
mod question;
mod run;
mod usable;

pub(super) use documents::{Document, Documents};
pub use forms::{allow_question, conjunction_of, given_value, local_question, wanted_columns};
pub use misspelt::UnboundDenials;
pub(super) use misspelt::check as check_names;
pub(super) use run::{LocalKey, TextKey};
pub use usable::reads_bound;

use super::{Engine, EngineError, EvaluateQuery};
use crate::store::{ConsistentRead, Fact, Value};
use portcullis_compiler::Stage;
use portcullis_compiler::local::StartingEnd;

/// A request for SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalRequest {
    /// The data-bindings document.
    pub bindings: String,
    /// What is asked.
    pub question: LocalQuestion,
    /// The context facts of the request.
    pub context: Vec<Fact>,
}

/// A question, and the form of its SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalQuestion {
    /// One row with one boolean column `allowed`.
    Authorize {
        /// The actor.
        actor: Value,
        /// The action.
        action: String,
        /// The resource.
        resource: Value,
    },
    /// A boolean expression over a column with the ids of resources.
    List {
        /// The actor.
        actor: Value,
        /// The action.
        action: String,
        /// The resources' type.
        resource_type: String,
        /// The column, an expression in SQL.
        column: String,
    },
    /// A boolean expression over a column with the ids of actors.
    Subjects {
        /// The actors' type.
        actor_type: String,
        /// The action.
        action: String,
        /// The resource.
        resource: Value,
        /// The column, an expression in SQL.
        column: String,
    },
    /// Distinct text in a column `actions`, sorted.
    Actions {
        /// The actor.
        actor: Value,
        /// The resource.
        resource: Value,
    },
    /// Any conjunction of predicates.
    Evaluate {
        /// The conjunction.
        query: EvaluateQuery,
        /// Rows or a condition.
        mode: LocalMode,
    },
}

/// The form of the SQL for a conjunction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalMode {
    /// Distinct rows of text, with a column for each variable: the variable and the column's name. Without
    /// any, one row with one boolean column `result`.
    Select(Vec<(String, String)>),
    /// A boolean expression over a column with the values of one variable.
    Filter {
        /// The variable.
        var: String,
        /// The column, an expression in SQL.
        column: String,
    },
}

/// The answer to [`Engine::explain_local`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalExplanation {
    /// The SQL.
    pub sql: String,
    /// The caller's database, as the bindings name it.
    pub dialect: String,
    /// The plan after substituting values and stored rows, as text.
    pub plan: String,
    /// The rules that took part, by line.
    pub rules: Vec<LocalRule>,
    /// The keys of the bindings that the SQL reads.
    pub bindings: Vec<String>,
    /// The facts of the store and the request that are embedded in the text.
    pub embedded: Vec<LocalEmbedded>,
    /// From which end stored facts were followed, where there are two.
    pub stored_facts: Option<LocalEnd>,
    /// The sets that the text makes.
    pub sets: Vec<LocalSet>,
    /// What a filter asks for each row.
    pub probes: Vec<LocalProbe>,
    /// Which parts are slow on a large database.
    pub slow: Vec<LocalSlow>,
    /// Which parts of the bindings were ignored, what would make the SQL faster, and from which end stored
    /// facts were read.
    pub notes: Vec<String>,
}

/// A rule that took part in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalRule {
    /// Its line in the policy, from 1.
    pub line: usize,
    /// Its text.
    pub text: String,
}

/// Facts that are embedded in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalEmbedded {
    /// Their predicates.
    pub predicates: Vec<String>,
    /// How many rows there are.
    pub n_rows: usize,
}

/// From which end stored facts were followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalEnd {
    /// The end that was taken.
    pub from: StartingEnd,
    /// How many values the text embeds.
    pub n_values: usize,
    /// How many it would embed from the other end; `None` if they were not counted, or are more than allowed.
    pub n_values_otherwise: Option<usize>,
}

/// A set that a text makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalSet {
    /// Its name in the text; `None` if it is written where it is used.
    pub name: Option<String>,
    /// What it holds, if it has a name.
    pub holds: Option<String>,
    /// `recursion`, `table`, `row`, `array` or `subquery`.
    pub kind: &'static str,
    /// Why the text makes it, and what bounds it.
    pub why: String,
    /// The keys of the bindings and the names of the text's own tables that it reads.
    pub reads: Vec<String>,
}

/// A look-up for each row that the caller's query looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalProbe {
    /// What it reads, as in [`LocalSet::reads`].
    pub reads: Vec<String>,
    /// The columns that lead to it: an index has to start with one of them.
    pub by: Vec<String>,
}

/// A part that is slow on a large database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalSlow {
    /// What is slow, and why.
    pub what: String,
    /// What would help.
    pub help: Option<String>,
    /// Whether it is a matter of the rules; of the data bindings or the column otherwise.
    pub is_of_rule: bool,
}

impl Engine {
    /// The SQL that answers a question on the caller's database.
    ///
    /// # Errors
    /// [`EngineError::BadRequest`] for wrong bindings, a wrong question or column, and for a question that
    /// one statement cannot answer.
    pub async fn local(&self, request: LocalRequest) -> Result<String, EngineError> {
        let request = &request;
        self.consistently(|attempt| async move {
            self.local_text(&attempt, self.plan_local(&attempt, request).await?).await
        })
        .await
    }

    /// [`Engine::local`] at a time, within one attempt.
    pub(super) async fn local_at(
        &self,
        attempt: &ConsistentRead<'_>,
        request: &LocalRequest,
        now: i64,
    ) -> Result<String, EngineError> {
        let planned = self.plan_local(attempt, request).await?;
        self.local_text(attempt, planned.at(now)).await
    }

    /// [`Engine::local`], with an explanation.
    pub async fn explain_local(&self, request: LocalRequest) -> Result<LocalExplanation, EngineError> {
        let request = &request;
        self.consistently(|attempt| async move {
            self.explained(&attempt, self.plan_local(&attempt, request).await?).await
        })
        .await
    }

    /// The result of each stage of the compiler for the question of [`Engine::local`], up to the SQL.
    pub async fn local_stages(&self, request: LocalRequest) -> Result<Vec<Stage>, EngineError> {
        let request = &request;
        self.consistently(|attempt| async move {
            self.stages(&attempt, self.plan_local(&attempt, request).await?).await
        })
        .await
    }
}
