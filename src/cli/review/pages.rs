//! The lists of a review, page by page.

use crate::cli::error::CliError;
use crate::cli::folder::EnvironmentState;
use crate::cli::service::{Service, ServiceReply};
use crate::cli::source::Source;
use crate::engine::{
    ANY, ArgPattern, Engine, EngineError, Page, ReviewQuestion, Reviewed, SubjectsPage, SubjectsQuestion,
};
use crate::http::{ErrorCode, ReviewOut, ReviewRefusedOut};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;

/// How many ids a page has.
const PAGE: usize = 20_000;

/// Where the next page starts.
enum PageStart {
    /// After this id.
    Resource(String),
    /// After this actor.
    Actor(ArgPattern),
    /// Where the service says.
    Token(String),
}

/// A part of a list.
enum Listed {
    /// Ids, [`ANY`] for every one, and where the next page starts.
    Page { ids: Vec<String>, next: Option<PageStart> },
    /// There is no list.
    Refused(ReviewRefusedOut),
}

/// A page as the service answers it; without `next_page_token` the list has ended.
#[derive(Deserialize)]
struct PageJson<T> {
    results: Vec<T>,
    next_page_token: Option<String>,
}

#[derive(Deserialize)]
struct ActorJson {
    id: String,
}

impl Source {
    /// The types and actions of a review; all types if none is given.
    pub(super) fn review(&self, about: &Reviewed, types: &[String]) -> Result<ReviewOut, CliError> {
        match self {
            Self::Memory { engine, runtime, state } => {
                let types = (!types.is_empty()).then(|| types.iter().cloned().collect());
                let question = ReviewQuestion { about: about.clone(), types };
                let found: ReviewOut = runtime.block_on(engine.review(question))?.into();
                Ok(match *state {
                    Some(EnvironmentState { policy_version, offset }) => {
                        ReviewOut { policy_version, offset, ..found }
                    }
                    None => found,
                })
            }
            Self::Service(service) => {
                let mut body = match about {
                    Reviewed::Actor(actor) => json!({ "actor_type": actor.ty, "actor_id": actor.id }),
                    Reviewed::Resource(it) => json!({ "resource_type": it.ty, "resource_id": it.id }),
                };
                if let (false, Json::Object(body)) = (types.is_empty(), &mut body) {
                    body.insert("types".to_owned(), json!(types));
                }
                service.answer("review", &body)
            }
        }
    }

    /// Passes each id of the resources, or actors, of a type with an action to `each`, [`ANY`] for every one.
    /// Returns why, if there is no such list.
    pub(in crate::cli) fn each_listed(
        &self,
        about: &Reviewed,
        ty: &str,
        action: &str,
        mut each: impl FnMut(&str) -> Result<(), CliError>,
    ) -> Result<Option<ReviewRefusedOut>, CliError> {
        let mut start = None;
        loop {
            match self.page(about, ty, action, start)? {
                Listed::Page { ids, next } => {
                    ids.iter().try_for_each(|id| each(id))?;
                    if next.is_none() {
                        return Ok(None);
                    }
                    start = next;
                }
                Listed::Refused(refused) => return Ok(Some(refused)),
            }
        }
    }

    /// A page of the resources, or actors, of a type with an action.
    fn page(
        &self,
        about: &Reviewed,
        ty: &str,
        action: &str,
        start: Option<PageStart>,
    ) -> Result<Listed, CliError> {
        match self {
            Self::Memory { engine, runtime, .. } => {
                let page = runtime.block_on(engine_page(engine, about, ty, action, start));
                match page {
                    Ok((ids, next)) => Ok(Listed::Page { ids, next }),
                    Err(
                        error
                        @ (EngineError::Refused(_) | EngineError::TooLarge(_) | EngineError::Timeout(_)),
                    ) => {
                        let message = error.to_string();
                        let code = ErrorCode::from(error).as_str().to_owned();
                        Ok(Listed::Refused(ReviewRefusedOut { message, code }))
                    }
                    Err(error) => Err(error.into()),
                }
            }
            Self::Service(service) => service_page(service, about, ty, action, start),
        }
    }
}

async fn engine_page(
    engine: &Engine,
    about: &Reviewed,
    ty: &str,
    action: &str,
    start: Option<PageStart>,
) -> Result<(Vec<String>, Option<PageStart>), EngineError> {
    match about {
        Reviewed::Actor(actor) => {
            let after = match start {
                Some(PageStart::Resource(id)) => Some(id),
                Some(PageStart::Actor(_) | PageStart::Token(_)) | None => None,
            };
            let page = Some(Page { size: PAGE, after });
            let (actor, action, ty) = (actor.clone(), action.to_owned(), ty.to_owned());
            let list = engine.list(actor, action, ty, page, Vec::new()).await?;
            Ok((list.ids, list.next_after.map(PageStart::Resource)))
        }
        Reviewed::Resource(resource) => {
            let after = match start {
                Some(PageStart::Actor(actor)) => Some(actor),
                Some(PageStart::Resource(_) | PageStart::Token(_)) | None => None,
            };
            let page = Some(SubjectsPage { size: PAGE, after });
            let types = Some(BTreeSet::from([ty.to_owned()]));
            let question = SubjectsQuestion { action: action.to_owned(), resource: resource.clone(), types };
            let list = engine.list_subjects(question, page, Vec::new()).await?;
            let id = |subject: ArgPattern| match subject {
                ArgPattern::Exact(value) => value.id,
                ArgPattern::Typed(_) | ArgPattern::Any => ANY.to_owned(),
            };
            Ok((list.subjects.into_iter().map(id).collect(), list.next_after.map(PageStart::Actor)))
        }
    }
}

fn service_page(
    service: &Service,
    about: &Reviewed,
    ty: &str,
    action: &str,
    start: Option<PageStart>,
) -> Result<Listed, CliError> {
    let token = match start {
        Some(PageStart::Token(token)) => Some(token),
        Some(PageStart::Resource(_) | PageStart::Actor(_)) | None => None,
    };
    let page =
        |ids: Vec<String>, next: Option<String>| Listed::Page { ids, next: next.map(PageStart::Token) };
    let listed = match about {
        Reviewed::Actor(actor) => {
            let body = json!({
                "actor_type": actor.ty, "actor_id": actor.id, "action": action, "resource_type": ty,
                "page_size": PAGE, "page_token": token,
            });
            match service.try_ask::<PageJson<String>>("list", &body)? {
                ServiceReply::Answer(list) => Ok(page(list.results, list.next_page_token)),
                ServiceReply::Refused { message, code } => Err(ReviewRefusedOut { message, code }),
            }
        }
        Reviewed::Resource(resource) => {
            let body = json!({
                "action": action, "resource_type": resource.ty, "resource_id": resource.id,
                "actor_types": [ty], "page_size": PAGE, "page_token": token,
            });
            match service.try_ask::<PageJson<ActorJson>>("list_subjects", &body)? {
                ServiceReply::Answer(list) => {
                    let ids = list.results.into_iter().map(|actor| actor.id).collect();
                    Ok(page(ids, list.next_page_token))
                }
                ServiceReply::Refused { message, code } => Err(ReviewRefusedOut { message, code }),
            }
        }
    };
    Ok(listed.unwrap_or_else(Listed::Refused))
}
