//! `/list_subjects`: who may do this to a resource.
//!
//! The counterpart of `/list`, with the actor left open. A grant to everyone is an entry with the id `*`, so
//! it is neither expanded nor left out. Pages work as those of `/list`; a token contains the last actor.

use super::AppState;
use super::auth::QuestionAccess;
use super::error::ApiError;
use super::json::{Json, Object};
use super::openapi::{Name, Text};
use super::page::{Bound, MIN_PAGE, PagePosition, bad_token};
use super::values::{FactIn, FactsIn, ValueOut, facts};
use crate::engine::{ANY, ArgPattern, Engine, SubjectsPage, SubjectsQuestion, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn router() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(list_subjects))
}

/// A list of the actors that may do this to a resource.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ListSubjectsRequest)]
struct SubjectsIn {
    #[schema(value_type = Text)]
    action: String,
    #[schema(value_type = Name)]
    resource_type: String,
    #[schema(value_type = Name)]
    resource_id: String,
    /// The types of actors; without them, or null, all types. Not `Actor` or `Resource`.
    #[schema(value_type = Option<Vec<Name>>, min_items = 1, max_items = 100)]
    actor_types: Option<BTreeSet<String>>,
    /// The maximum number of actors in a page; without it the complete list is answered at once. A page
    /// never has more than 1,000,000 actors.
    #[schema(value_type = Option<u64>, minimum = 10_000)]
    page_size: Option<usize>,
    /// The `next_page_token` of the previous page, which also determines the page size; empty or null for
    /// none.
    page_token: Option<String>,
    /// Facts that count for this request alone.
    #[schema(value_type = Option<Vec<FactIn>>)]
    context_facts: FactsIn,
}

/// A list. The key of the token is present exactly if pages were requested, and null on the last page.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ListSubjectsResponse)]
#[serde(untagged)]
enum SubjectsOut {
    /// All actors
    Whole { results: Vec<ValueOut> },
    /// A page
    Page {
        results: Vec<ValueOut>,
        #[schema(required = true)]
        next_page_token: Option<String>,
    },
}

/// List the actors that may do this to a resource
///
/// The actors are in a fixed order, by type and then by id, numbers first. An entry with the id `*` stands
/// for every actor of its type, and one whose type is `*` as well for every actor of any type; concrete
/// actors may follow it. The list is complete. If it cannot be, because a rule grants to everyone *except*
/// some, the question is refused with that rule.
#[utoipa::path(
    post,
    path = "/list_subjects",
    operation_id = "list_subjects",
    tag = "Checks",
    request_body(content = SubjectsIn, example = json!({
        "action": "read", "resource_type": "Repository", "resource_id": "site", "actor_types": ["User"],
        "page_size": 10_000,
    })),
    responses((status = 200, description = "The actors", body = SubjectsOut, example = json!({
        "results": [{"type": "User", "id": "alice"}], "next_page_token": null,
    }))),
)]
async fn list_subjects(
    access: QuestionAccess,
    Json(Object(asked)): Json<Object<SubjectsIn>>,
) -> Result<Json<SubjectsOut>, ApiError> {
    let resource = Value { ty: asked.resource_type, id: asked.resource_id };
    let context = facts(asked.context_facts);
    let question = SubjectsQuestion { action: asked.action, resource, types: asked.actor_types };
    let parts = determined_by(&question);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let bound = Bound { environment: access.environment(), question: &parts, context: &context };
    let secret = access.secret();
    let place = bound.position(secret, asked.page_token.as_deref(), asked.page_size, MIN_PAGE)?;
    let page = place.as_ref().map(page).transpose()?;
    let list = async |engine: &Engine| engine.list_subjects(question, page, context.clone()).await;
    let answer = access.ask(list).await?;
    let results = answer.subjects.into_iter().map(shown).collect();
    Ok(Json(match place {
        None => SubjectsOut::Whole { results },
        Some(PagePosition { size, .. }) => {
            let after = answer.next_after.map(|after| written(&after));
            SubjectsOut::Page {
                results,
                next_page_token: after.map(|after| bound.token(secret, size, &after)),
            }
        }
    }))
}

/// The texts that determine a question. The first, which no type can be, keeps its tokens and those of
/// `/list` apart; the number of types separates these from the context facts.
fn determined_by(question: &SubjectsQuestion) -> Vec<String> {
    let SubjectsQuestion { action, resource, types } = question;
    let n_types = types.as_ref().map_or("all".to_owned(), |types| types.len().to_string());
    let first =
        ["\0list_subjects".to_owned(), action.clone(), resource.ty.clone(), resource.id.clone(), n_types];
    first.into_iter().chain(types.iter().flatten().cloned()).collect()
}

/// The page at a position.
pub(super) fn page(place: &PagePosition) -> Result<SubjectsPage, ApiError> {
    let after = place.after.as_deref().map(|after| read(after).ok_or_else(bad_token)).transpose()?;
    Ok(SubjectsPage { size: place.size, after })
}

/// An actor in a page token.
pub(super) fn written(subject: &ArgPattern) -> String {
    let (ty, id) = match subject {
        ArgPattern::Any => (None, None),
        ArgPattern::Typed(ty) => (Some(ty), None),
        ArgPattern::Exact(Value { ty, id }) => (Some(ty), Some(id)),
    };
    serde_json::json!([ty, id]).to_string()
}

/// The actor in a page token.
fn read(text: &str) -> Option<ArgPattern> {
    Some(match serde_json::from_str(text).ok()? {
        (None::<String>, None::<String>) => ArgPattern::Any,
        (Some(ty), None) => ArgPattern::Typed(ty),
        (Some(ty), Some(id)) => ArgPattern::Exact(Value { ty, id }),
        (None, Some(_)) => return None,
    })
}

/// An actor in an answer.
pub(super) fn shown(subject: ArgPattern) -> ValueOut {
    let any = || ANY.to_owned();
    ValueOut::from(match subject {
        ArgPattern::Any => Value { ty: any(), id: any() },
        ArgPattern::Typed(ty) => Value { ty, id: any() },
        ArgPattern::Exact(value) => value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_in_a_token_is_read_as_it_was_written() {
        let value = |id: &str| ArgPattern::Exact(Value { ty: "User".into(), id: id.into() });
        let subjects =
            [ArgPattern::Any, ArgPattern::Typed("User".into()), value("*"), value(""), value("\"]")];
        for subject in subjects {
            assert_eq!(read(&written(&subject)), Some(subject));
        }
        for wrong in ["", "ada", "[null,\"ada\"]", "[]"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn different_questions_are_determined_by_different_texts() {
        let question = |action: &str, types: Option<&[&str]>| SubjectsQuestion {
            action: action.into(),
            resource: Value { ty: "Doc".into(), id: "1".into() },
            types: types.map(|types| types.iter().map(|ty| (*ty).to_owned()).collect()),
        };
        let all = [
            question("read", None),
            question("read", Some(&["User"])),
            question("read", Some(&["User", "Bot"])),
            question("write", None),
        ];
        let texts: BTreeSet<Vec<String>> = all.iter().map(determined_by).collect();
        assert_eq!(texts.len(), all.len());
        assert!(texts.iter().all(|texts| texts[0].starts_with('\0')));
    }
}
