//! Stored facts: changes, and what matches a pattern.
//!
//! In: changes or a pattern from the wire. Out: the store's offset, or facts. Facts pass the checks of
//! [`facts`] before they reach the store.

use super::{Change, Engine, EngineError, Fact, FactPattern, FactReading, WriteMark, facts};

/// How many facts are read at once; more are read in parts.
const FEW_FACTS: usize = 1_000;
/// Checking more facts than this is worth a turn off the async workers: about a millisecond of work.
const CHECKED_AT_ONCE: usize = 2_000;

/// The stored facts that match a pattern.
#[derive(Debug)]
pub enum FoundFacts {
    /// All of them.
    Few(Vec<Fact>),
    /// Many facts, which are read in parts.
    Many(FactReading),
}

impl Engine {
    /// Applies changes in order, all or none, and returns the moment after them. They are durable once this
    /// returns.
    ///
    /// The active policy must accept all inserted facts.
    pub async fn apply(&self, changes: Vec<Change>) -> Result<WriteMark, EngineError> {
        let n: usize = changes.iter().map(facts::size).sum();
        if let Some(limit) = self.settings().batch_facts
            && n > limit
        {
            return Err(EngineError::TooLarge(format!(
                "the batch has {n} facts, at most {limit} are allowed: send it in parts, or raise `max_batch`"
            )));
        }
        let (active, account) = (self.active(), self.account.clone());
        let check = move || {
            let program = active.as_ref().map(|active| &*active.program);
            facts::check_changes(program, &changes)?;
            // Replaces the earlier estimate of their memory.
            if let Some(account) = account.filter(|account| account.bytes() > 0) {
                account.shrink_to(changes.iter().map(facts::bytes).sum());
            }
            Ok::<_, EngineError>(changes)
        };
        let changes = if n > CHECKED_AT_ONCE { self.in_turn(check).await?? } else { check()? };
        let (engine, reach) = (self.clone(), self.settings().delete_reach);
        // The facts stay in the writer's queue, charged to the request, even if the request is gone.
        let write = async move {
            let applied = engine.store().apply_within(changes, reach).await?;
            engine.counted().wrote(applied.inserted, applied.deleted);
            Ok::<_, EngineError>(applied.mark())
        };
        if self.account.as_ref().is_some_and(|account| account.bytes() > 0) {
            tokio::spawn(write).await.map_err(|error| EngineError::Bug(error.to_string()))?
        } else {
            write.await
        }
    }

    /// The stored facts that match a pattern.
    pub async fn facts(&self, pattern: FactPattern) -> Result<Vec<Fact>, EngineError> {
        facts::check_pattern(&pattern)?;
        Ok(self.store().facts(pattern, usize::MAX).await?.facts)
    }

    /// The stored facts that match a pattern, all of one moment, however many there are.
    pub async fn find_facts(&self, pattern: FactPattern) -> Result<FoundFacts, EngineError> {
        facts::check_pattern(&pattern)?;
        let page = self.store().facts(pattern.clone(), FEW_FACTS).await?;
        if !page.more {
            return Ok(FoundFacts::Few(page.facts));
        }
        let (engine, open) = (self.clone(), pattern.clone());
        match self.in_turn(move || engine.store().reading(open)).await?? {
            Some(reading) => Ok(FoundFacts::Many(reading)),
            None => self.facts(pattern).await.map(FoundFacts::Few),
        }
    }
}
