//! Shows how the compiler and the database process a question.
//!
//! In: a question. Out: the result of each stage, readable SQL, the statement that the store runs, and the
//! plan of the store's database.

use super::answers::SlotValues;
use super::catalog;
use super::tables::review_tables;
use super::{Engine, EngineError, questions};
use crate::store::{ConsistentRead, Expected, Fact, Param, Reader};
use portcullis_compiler::question::{CompileError, Question, Shape};
use portcullis_compiler::{Dialect, Explained, StoreDialect, compile_for_store, explain};

/// What becomes of a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuestionStages {
    /// The title and the text of each stage.
    pub stages: Vec<(String, String)>,
    /// The SQL over one table for each kind of fact.
    pub sql: String,
    /// The statement that the store runs.
    pub statement: String,
    /// The plan of the store's database, a step a line.
    pub plan: Vec<String>,
}

impl Engine {
    /// The stages of a question under the policy that answers, over the stored facts and these.
    pub async fn question_stages(
        &self,
        question: &Question,
        context: &[Fact],
    ) -> Result<QuestionStages, EngineError> {
        self.consistently(|attempt| self.staged(attempt, question, context)).await
    }

    async fn staged(
        &self,
        attempt: ConsistentRead<'_>,
        question: &Question,
        context: &[Fact],
    ) -> Result<QuestionStages, EngineError> {
        let Some(view) = self.view(&attempt, context)? else { return Ok(QuestionStages::default()) };
        questions::check_predicates(view.program(), question)?;
        let store = self.store().dialect();
        let (plans, asked) = (view.plans(), question.clone());
        let relations = attempt.relations().clone();
        let signatures = view.context().signatures.clone();
        let compiled = self.in_turn(move || {
            let program = &plans.policy.program;
            let tables = review_tables(program).map_err(|error| EngineError::TooLarge(error.to_string()))?;
            let failed = |error: CompileError| EngineError::uncompiled(error, &asked);
            let explained =
                explain(program, &tables, &asked, dialect(store), plans.deadline()).map_err(failed)?;
            let stored = catalog::catalog(&catalog::stored(program, &relations), &signatures);
            let shape = Shape::of(program, &asked);
            let statement = compile_for_store(program, &stored, &shape, store, plans.deadline());
            let statement = statement.map_err(failed)?;
            Ok::<_, EngineError>((explained, statement))
        });
        let (Explained { stages, sql }, statement) = compiled.await??;
        let values = SlotValues { context: view.context(), now: view.now(), window: None };
        let params: Vec<Param> = values.params(question, &statement.slots)?;
        let text = statement.sql.clone();
        let plan = attempt
            .read(Expected::Brief, move |reader: &Reader<'_>| reader.database_plan(&text, &params))
            .await
            .map_err(EngineError::from)?;
        let stages = stages.into_iter().map(|stage| (stage.title, stage.text)).collect();
        Ok(QuestionStages { stages, sql, statement: statement.sql, plan })
    }
}

/// The dialect of readable SQL that is closest to the store's own.
fn dialect(store: StoreDialect) -> Dialect {
    match store {
        StoreDialect::Sqlite => Dialect::Sqlite,
        StoreDialect::Postgresql => Dialect::Postgresql,
    }
}
