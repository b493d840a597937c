//! Lists the resources on which an actor may act, completely or in pages.
//!
//! In: an actor, an action, a resource type, optionally a [`Page`]. Out: ids in a fixed order, and where the
//! next page starts. A page starts *after an id*, not at a row number: facts that are added or removed
//! between two pages neither skip nor repeat the ids that stay.
//!
//! A rule that grants every resource yields [`ANY`](super::ANY) in addition to the concrete ids. A paged
//! statement returns it as that text, so it is sorted among the ids and is on exactly one page.

use super::answers::{Window, expected, read};
use super::checks::sorted;
use super::{Engine, EngineError, facts, questions};
use crate::store::{ConsistentRead, Fact, Value};
use portcullis_compiler::question::Question;

/// The requested part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The maximum number of ids; at least 1.
    pub size: usize,
    /// The [`ListPage::next_after`] of the previous page; `None` for the first page.
    pub after: Option<String>,
}

/// A list, or one page of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    /// The distinct ids, sorted; [`ANY`](super::ANY) means every resource of the type.
    pub ids: Vec<String>,
    /// Where the next page starts; `None` if there is none.
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
        let question = questions::list(&actor, &action, &resource_type);
        let Some(mut question) = question else { return Ok(ListPage::default()) };
        question.paged = page.is_some();
        // One more id than the page holds shows whether there is a next one.
        let window = page
            .as_ref()
            .map(|page| Window { after: page.after.as_deref(), limit: page.size.saturating_add(1) });
        let mut ids = self.consistently(|attempt| self.window(attempt, &question, window, &context)).await?;
        let size = page.map_or(usize::MAX, |page| page.size);
        let more = ids.len() > size;
        ids.truncate(size);
        let next_after = ids.last().filter(|_| more).cloned();
        Ok(ListPage { ids, next_after })
    }

    pub(super) async fn window(
        &self,
        attempt: ConsistentRead<'_>,
        question: &Question,
        window: Option<Window<'_>>,
        context: &[Fact],
    ) -> Result<Vec<String>, EngineError> {
        let Some(view) = self.view(&attempt, context)? else { return Ok(Vec::new()) };
        let prepared = view.prepare_window(question, window).await?;
        let expected = expected([&prepared]);
        read(&attempt, expected, move |reader| Ok(sorted(prepared.ids(reader)?))).await
    }
}
