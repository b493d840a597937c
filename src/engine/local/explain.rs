//! Explains the SQL of a local check.

use super::outline::Words;
use super::run::Planned;
use super::{LocalEmbedded, LocalEnd, LocalExplanation, LocalRule, notes, usable};
use crate::engine::{Engine, EngineError};
use crate::store::ConsistentRead;
use portcullis_compiler::local::{End, SqlDetail};
use std::sync::Arc;

impl Engine {
    /// [`Engine::explain_local`] for a planned question.
    pub(super) async fn explained(
        &self,
        attempt: &ConsistentRead<'_>,
        planned: Planned,
    ) -> Result<LocalExplanation, EngineError> {
        let (document, plans) = (Arc::clone(&planned.document), Arc::clone(&planned.plans));
        let filtered = planned.filtered_type().map(str::to_owned);
        let program = &plans.policy.program;
        let (sql, text) = self.local_sql(attempt, planned, SqlDetail::Explained).await?;
        let mut rules: Vec<LocalRule> = sql
            .rules
            .iter()
            .map(|rule| &program.rules[*rule])
            // An implied entry point has no line.
            .filter(|rule| !rule.span.range().is_empty())
            .map(|rule| LocalRule {
                line: program.source.locate(rule.span).line,
                text: program.source.snippet(rule.span).trim().to_owned(),
            })
            .collect();
        rules.sort_unstable_by(|left, right| (left.line, &left.text).cmp(&(right.line, &right.text)));
        rules.dedup();
        let bound: Vec<_> = sql.bindings.iter().map(|binding| &document.bindings.facts[*binding]).collect();
        let words = Words { bindings: &document.bindings };
        let end = |End { from, n_values, other }: &End| LocalEnd {
            from: *from,
            n_values: *n_values,
            n_values_otherwise: other.n_values(),
        };
        let embedded = sql.embedded.into_iter();
        let mut notes = notes::notes(&document.bindings, &bound);
        notes.extend(notes::unmentioned(program, &document.bindings));
        notes.extend(usable::unread(program, &document.bindings));
        notes.extend(sql.end.as_ref().map(notes::end));
        notes.extend(
            filtered.and_then(|ty| notes::rows_before(&document.bindings, &ty, &sql.outline, &bound)),
        );
        Ok(LocalExplanation {
            dialect: document.bindings.dialect.to_string(),
            plan: sql.plan,
            rules,
            notes,
            bindings: bound.iter().map(|binding| binding.key.clone()).collect(),
            embedded: embedded.map(|(predicates, n_rows)| LocalEmbedded { predicates, n_rows }).collect(),
            stored_facts: sql.end.as_ref().map(end),
            sets: words.sets(&sql.outline),
            probes: words.probes(&sql.outline),
            slow: words.slow(&sql.outline),
            sql: text,
        })
    }
}
