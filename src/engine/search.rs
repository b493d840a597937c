//! Searches the stored facts for a part of a text.
//!
//! In: a predicate, a text and limits. Out: the first facts that match, or the ids of a type that occur in
//! stored facts. A search reads a limited number of facts, and says if there may be more.

use super::answers::no_room;
use super::{ArgPattern, Engine, EngineError, Fact, FactPattern, FactReading, facts};
use crate::share::Meter;
use crate::store::StoreError;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// How many facts a search reads at most.
const MOST_READ: usize = 1_000_000;

/// How many facts are read to find ids.
const READ_FOR_IDS: usize = 100_000;

/// How many facts are read in one turn: a few milliseconds of work.
const PART: usize = 10_000;

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactSearch {
    /// The predicate; `None` for any.
    pub predicate: Option<String>,
    /// A text in an id or a type, or in the predicate, whatever its case; empty for all facts.
    pub text: String,
    /// How many facts are wanted.
    pub most: usize,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundPage {
    /// The first facts.
    pub facts: Vec<Fact>,
    /// Whether there may be more.
    pub more: bool,
}

impl Engine {
    /// The first stored facts that match.
    pub async fn search_facts(&self, search: FactSearch) -> Result<FoundPage, EngineError> {
        let FactSearch { predicate, text, most } = search;
        let text = text.to_lowercase();
        let mut meter = Meter::new(self.account.as_ref());
        let mut n_read = 0;
        let each = move |found: &mut FoundPage, fact: &Fact| {
            n_read += 1;
            if found.facts.len() == most || n_read > MOST_READ {
                found.more = true;
                return Ok(ControlFlow::Break(()));
            }
            if contains(fact, &text) {
                meter.grow(facts::fact_bytes(fact)).map_err(no_room)?;
                found.facts.push(fact.clone());
            }
            Ok(ControlFlow::Continue(()))
        };
        self.read_facts(predicate, each).await
    }

    /// Ids of a type, in stored facts, that contain a text; sorted, those that begin with it first.
    pub async fn search_ids(&self, ty: String, text: &str, most: usize) -> Result<Vec<String>, EngineError> {
        let text = text.to_lowercase();
        let wanted = text.clone();
        let mut n_read = 0;
        let each = move |ids: &mut BTreeSet<String>, fact: &Fact| {
            n_read += 1;
            let of_type = fact.args.iter().filter(|arg| arg.ty == ty && contains_folded(&arg.id, &wanted));
            for arg in of_type {
                if !ids.contains(&arg.id) {
                    ids.insert(arg.id.clone());
                }
            }
            let is_enough = ids.len() >= 4 * most || n_read > READ_FOR_IDS;
            Ok(if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        let ids = self.read_facts(None, each).await?;
        let (first, others): (Vec<_>, Vec<_>) =
            ids.into_iter().partition(|id| id.to_lowercase().starts_with(&text));
        Ok(first.into_iter().chain(others).take(most).collect())
    }

    /// Passes stored facts to `each` until it has enough. Others have their turns in between, and a caller
    /// that has gone gets none.
    async fn read_facts<T: Default + Send + 'static>(
        &self,
        predicate: Option<String>,
        mut each: impl FnMut(&mut T, &Fact) -> Result<ControlFlow<()>, StoreError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let pattern = FactPattern { predicate, args: Vec::<ArgPattern>::new(), open_arity: true };
        facts::check_pattern(&pattern)?;
        let engine = self.clone();
        let reading = self.in_turn(move || engine.store().reading(pattern)).await??;
        let mut found = T::default();
        // Only a store in memory has no reading; no service has one.
        let Some(mut reading) = reading else { return Ok(found) };
        loop {
            let read = move || {
                let is_last = read_part(&reading, &mut found, &mut each)?;
                Ok::<_, StoreError>((reading, found, each, is_last))
            };
            let is_last;
            (reading, found, each, is_last) = self.in_turn(read).await??;
            if is_last {
                return Ok(found);
            }
        }
    }
}

/// Reads some facts; returns whether they were the last that are wanted.
fn read_part<T>(
    reading: &FactReading,
    found: &mut T,
    each: &mut impl FnMut(&mut T, &Fact) -> Result<ControlFlow<()>, StoreError>,
) -> Result<bool, StoreError> {
    let (mut n_read, mut failed, mut is_enough) = (0, None, false);
    let more = reading.part(|fact| {
        n_read += 1;
        let then = each(found, fact).unwrap_or_else(|error| {
            failed = Some(error);
            ControlFlow::Break(())
        });
        is_enough = then.is_break();
        if n_read == PART { ControlFlow::Break(()) } else { then }
    })?;
    failed.map_or(Ok(is_enough || !more), Err)
}

/// Whether a text is in one of the texts of a fact.
fn contains(fact: &Fact, text: &str) -> bool {
    let mut texts = fact.args.iter().flat_map(|arg| [&arg.ty, &arg.id]).chain([&fact.predicate]);
    texts.any(|part| contains_folded(part, text))
}

/// Whether a text in lower case is in another one, whatever the case of that.
fn contains_folded(part: &str, text: &str) -> bool {
    if text.is_empty() {
        return true;
    }
    if part.is_ascii() {
        let mut windows = part.as_bytes().windows(text.len());
        return windows.any(|window| window.eq_ignore_ascii_case(text.as_bytes()));
    }
    part.to_lowercase().contains(text)
}

#[cfg(test)]
mod tests {
    use super::super::EngineSettings;
    use super::super::fixture::fact;
    use super::*;
    use crate::engine::{Change, PolicyOptions};

    async fn engine() -> (tempfile::TempDir, Engine) {
        let folder = tempfile::tempdir().unwrap();
        let engine = Engine::open(folder.path(), EngineSettings::default()).await.unwrap();
        let policy = "declare has_role(User, String, Repo); declare is_public(Repo);".to_owned();
        engine.set_policy(policy, "p".to_owned(), PolicyOptions::default()).await.unwrap();
        let facts = vec![
            fact("has_role", &["User:alice", "String:owner", "Repo:Anvils"]),
            fact("has_role", &["User:bob", "String:reader", "Repo:anvils"]),
            fact("is_public", &["Repo:docs"]),
        ];
        engine.apply(vec![Change::Insert(facts)]).await.unwrap();
        (folder, engine)
    }

    #[test]
    fn the_case_of_a_text_does_not_matter() {
        for (part, text, is_in) in [
            ("Anvils", "vil", true),
            ("ANVILS", "anvils", true),
            ("anvil", "anvils", false),
            ("Ärger", "är", true),
            ("arger", "är", false),
            ("a", "", true),
            ("", "a", false),
        ] {
            assert_eq!(contains_folded(part, text), is_in, "{part} {text}");
        }
    }

    #[tokio::test]
    async fn others_have_their_turns_during_a_search() {
        let (_folder, engine) = engine().await;
        let n = 5 * PART;
        let facts = (0..n).map(|n| fact("is_public", &[&format!("Repo:r{n}")])).collect();
        engine.apply(vec![Change::Insert(facts)]).await.unwrap();
        let before = engine.turns().n_turns();
        let search = FactSearch { text: "no such text".to_owned(), most: 1, ..FactSearch::default() };
        assert_eq!(engine.search_facts(search).await.unwrap(), FoundPage::default());
        assert!(engine.turns().n_turns() - before > 5);
        let all = FactSearch { most: 2 * n, ..FactSearch::default() };
        let found = engine.search_facts(all).await.unwrap();
        assert_eq!((found.facts.len(), found.more), (n + 3, false), "no fact is missing, and none is twice");
    }

    #[tokio::test]
    async fn a_text_is_found_whatever_its_case_and_a_limit_is_told() {
        let (_folder, engine) = engine().await;
        let search = |predicate: Option<&str>, text: &str, most| FactSearch {
            predicate: predicate.map(str::to_owned),
            text: text.to_owned(),
            most,
        };
        let found = engine.search_facts(search(None, "ANVIL", 10)).await.unwrap();
        assert_eq!((found.facts.len(), found.more), (2, false));
        let found = engine.search_facts(search(Some("is_public"), "", 10)).await.unwrap();
        assert_eq!(found.facts, [fact("is_public", &["Repo:docs"])]);
        let found = engine.search_facts(search(None, "", 2)).await.unwrap();
        assert_eq!((found.facts.len(), found.more), (2, true));
        let ids = engine.search_ids("Repo".to_owned(), "an", 5).await.unwrap();
        assert_eq!(ids, ["Anvils", "anvils"]);
        assert_eq!(engine.search_ids("User".to_owned(), "b", 5).await.unwrap(), ["bob"]);
    }
}
