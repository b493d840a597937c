//! Lists what an actor may act on, whole or in pages.
//!
//! In: an actor, an action, a resource type, perhaps a [`Page`]. Out: ids, sorted as text, and where the next
//! page starts. A page starts *after an id*, not at a number of rows: facts that come or go between two pages
//! neither shift nor repeat the ids that stay.
//!
//! A rule that grants every resource answers with one NULL row beside the concrete ids. The statement gives
//! it with the first page only, as it sorts before every id; on the wire it is [`ANY`] and has its place among
//! the ids. A cursor therefore says whether [`ANY`] is still due:
//!
//! ```text
//! answers: NULL, "#1", "a", "b"     pages of two: ["#1", "*"] ─ cursor "-*" ─▶ ["a", "b"] ─ None
//! cursor:  "*…" any is still due, ids after "…"        "-…" any came already or does not hold
//! ```

use super::answers::Window;
use super::checks::sorted;
use super::{ANY, Engine, EngineError, facts, questions};
use crate::store::{Fact, Value};

/// Which part of a list is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// How many ids at most; at least 1.
    pub size: usize,
    /// The [`ListPage::next_after`] of the page before; `None` for the first page.
    pub after: Option<String>,
}

/// A list, or one page of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    /// The ids, sorted, distinct; [`ANY`] stands for every resource of the type.
    pub ids: Vec<String>,
    /// Where the next page starts; `None` if this is the last, or the whole.
    pub next_after: Option<String>,
}

impl Engine {
    /// The resources of a type that the actor may do this to.
    pub async fn list(
        &self,
        actor: Value,
        action: String,
        resource_type: String,
        page: Option<Page>,
        context: Vec<Fact>,
    ) -> Result<ListPage, EngineError> {
        facts::check_entity("actor", &actor)?;
        facts::check_action(&action)?;
        facts::check_type("resource", &resource_type)?;
        let cursor = page.as_ref().map(|page| Cursor::read(page.after.as_deref())).transpose()?;
        let Some(view) = self.view(&context)? else { return Ok(ListPage::default()) };
        let question = questions::list(&actor, &action, &resource_type, page.is_some());
        let Some(question) = question else { return Ok(ListPage::default()) };
        let (Some(page), Some(cursor)) = (page, cursor) else {
            let prepared = view.prepare(&question).await?;
            let ids = self.read(move |reader| prepared.ids(reader)).await?;
            return Ok(ListPage { ids: sorted(ids), next_after: None });
        };
        // One more than the page holds tells whether there is a next one.
        let window = Window { after: &cursor.after, limit: page.size.saturating_add(1) };
        let prepared = view.prepare_window(&question, Some(window)).await?;
        let ids = self.read(move |reader| prepared.ids(reader)).await?;
        Ok(cursor.page(ids, page.size))
    }
}

/// Where a page starts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cursor {
    /// The ids of the page come after this one.
    after: String,
    /// Whether [`ANY`] has its place on this page or a later one.
    any: AnyRow,
}

/// What is known of the row that stands for every resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnyRow {
    /// Nothing yet: this is the first page, whose rows tell.
    Unknown,
    /// It holds and was not given yet.
    Due,
    /// It was given, or does not hold.
    Settled,
}

impl Cursor {
    fn read(text: Option<&str>) -> Result<Self, EngineError> {
        let Some(text) = text else { return Ok(Self { after: String::new(), any: AnyRow::Unknown }) };
        let (any, after) = if let Some(after) = text.strip_prefix('*') {
            (AnyRow::Due, after)
        } else if let Some(after) = text.strip_prefix('-') {
            (AnyRow::Settled, after)
        } else {
            return Err(EngineError::BadRequest("the page token is not one of this list".into()));
        };
        Ok(Self { after: after.to_owned(), any })
    }

    fn write(&self) -> String {
        let mark = if self.any == AnyRow::Due { '*' } else { '-' };
        format!("{mark}{}", self.after)
    }

    /// Makes a page of `size` ids from the rows of its statement, which are up to `size + 1`.
    fn page(&self, rows: Vec<Option<String>>, size: usize) -> ListPage {
        let any = match self.any {
            AnyRow::Unknown => rows.iter().any(Option::is_none),
            AnyRow::Due => true,
            AnyRow::Settled => false,
        };
        let mut ids = sorted(rows.into_iter().flatten().map(Some).collect());
        let full = ids.len() > size;
        if any && let Err(place) = ids.binary_search_by(|id| id.as_str().cmp(ANY)) {
            ids.insert(place, ANY.to_owned());
        }
        let more = full || ids.len() > size;
        ids.truncate(size);
        let next = ids.last().filter(|_| more).map(|last| {
            let any = if any && last.as_str() < ANY { AnyRow::Due } else { AnyRow::Settled };
            Self { after: last.clone(), any }.write()
        });
        ListPage { ids, next_after: next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a statement in pages gives: NULL first, then ids, after the cursor, up to the limit.
    fn statement(all: &[Option<String>], after: &str, limit: usize) -> Vec<Option<String>> {
        let later = |id: &&Option<String>| id.as_deref().map_or(after.is_empty(), |id| id > after);
        all.iter().filter(later).take(limit).cloned().collect()
    }

    fn read_all(all: &[Option<String>], size: usize) -> Vec<Vec<String>> {
        let mut pages = Vec::new();
        let mut after = None;
        loop {
            let cursor = Cursor::read(after.as_deref()).expect("a cursor of ours");
            let page = cursor.page(statement(all, &cursor.after, size + 1), size);
            pages.push(page.ids);
            after = page.next_after;
            if after.is_none() {
                return pages;
            }
            assert!(pages.len() <= all.len() + 1, "paging does not end");
        }
    }

    #[test]
    fn any_comes_in_its_place_and_once() {
        let all = [None, Some("#1"), Some("a"), Some("b")].map(|id| id.map(str::to_owned));
        assert_eq!(read_all(&all, 2), [vec!["#1", "*"], vec!["a", "b"]]);
        assert_eq!(read_all(&all[..2], 1), [["#1"], ["*"]]);
        assert_eq!(read_all(&all[..1], 1), [["*"]]);
        assert_eq!(read_all(&[], 1), [Vec::<String>::new()]);
    }

    #[test]
    fn a_cursor_of_another_form_is_refused() {
        assert!(Cursor::read(Some("x")).is_err());
        assert!(Cursor::read(Some("")).is_err());
    }

    proptest! {
        #[test]
        fn pages_put_together_are_the_whole_list(
            ids in prop::collection::btree_set("[!*a]{1,2}", 0..9), any: bool, size in 1_usize..5,
        ) {
            let all: Vec<_> = any.then_some(None).into_iter().chain(ids.into_iter().map(Some)).collect();
            let pages = read_all(&all, size);
            prop_assert!(pages.iter().rev().skip(1).all(|page| page.len() == size));
            prop_assert_eq!(pages.concat(), sorted(all));
        }
    }
}
