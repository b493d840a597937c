//! Local checks: SQL that the caller runs on its own database.
//!
//! In: a data-bindings document, a question, and the request's context facts. Out: one SQL text over the
//! caller's tables. What stored and context facts decide alone is decided here, and what the rest needs of
//! them is put into the text: the text grows with the answer, not with the store.
//!
//! ```text
//! question + bindings ─plans─▶ LocalPlan ─┬─stored parts─▶ rows on a reader ─▶ SQL
//!                                         └─no parts─▶ Template, kept ─values─▶ SQL
//! ```

mod documents;
mod explain;
mod notes;
mod question;
mod run;

pub(super) use documents::{Document, Documents};
pub(super) use run::{LocalKey, TextKey};

use super::{Engine, EngineError, EvaluateQuery};
use crate::store::{Fact, Value};

/// A request for SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalRequest {
    /// The data-bindings document.
    pub bindings: String,
    /// What is asked.
    pub question: LocalQuestion,
    /// Facts of this request alone.
    pub context: Vec<Fact>,
}

/// What is asked, and what the SQL is to look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalQuestion {
    /// One row with one boolean column `allowed`.
    Authorize {
        /// Who would act.
        actor: Value,
        /// How.
        action: String,
        /// On what.
        resource: Value,
    },
    /// A boolean expression over a column with the ids of resources.
    List {
        /// Who would act.
        actor: Value,
        /// How.
        action: String,
        /// The resources' type.
        resource_type: String,
        /// The column, an expression of the caller's.
        column: String,
    },
    /// Distinct text in a column `actions`, sorted.
    Actions {
        /// Who would act.
        actor: Value,
        /// On what.
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

/// What the SQL for a conjunction is to look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalMode {
    /// Distinct rows of text, a column a variable: the variable and the column's name. Without any, one row
    /// with one boolean column `result`.
    Select(Vec<(String, String)>),
    /// A boolean expression over a column with the values of one variable.
    Filter {
        /// The variable.
        var: String,
        /// The column, an expression of the caller's.
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
    /// What the store was asked for, and what was left of the plan, as text.
    pub split: String,
    /// What was left once values and stored rows were known, as text.
    pub plan: String,
    /// The rules that took part, by line.
    pub rules: Vec<LocalRule>,
    /// The keys of the bindings that the SQL reads.
    pub bindings: Vec<String>,
    /// Which facts of the store and the request are in the text.
    pub embedded: Vec<LocalEmbedded>,
    /// What was ignored of the bindings, what would make it faster, and from which end stored facts were read.
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

/// Facts that were put into the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalEmbedded {
    /// The predicates that they come from.
    pub predicates: Vec<String>,
    /// How many rows there are.
    pub n_rows: usize,
}

impl Engine {
    /// The SQL that answers a question on the caller's database.
    ///
    /// # Errors
    /// [`EngineError::BadRequest`] for a fault of the bindings, the question or its column, and for a
    /// question that cannot be answered by one statement.
    pub async fn local(&self, request: LocalRequest) -> Result<String, EngineError> {
        let request = &request;
        self.store()
            .consistently(|attempt| async move {
                self.local_text(attempt, self.plan_local(attempt, request).await?).await
            })
            .await
    }

    /// [`Engine::local`], and how it came about.
    pub async fn explain_local(&self, request: LocalRequest) -> Result<LocalExplanation, EngineError> {
        let request = &request;
        self.store()
            .consistently(|attempt| async move {
                self.told(attempt, self.plan_local(attempt, request).await?).await
            })
            .await
    }
}
