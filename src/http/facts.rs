//! Endpoints that add, delete and read facts.
//!
//! Each mutation becomes one list of changes, applied in order, all or none; the deprecated endpoints are
//! shorter forms of `/batch`. `GET /facts` reads only stored facts, not derived ones.

use super::auth::{ReadAccess, WriteAccess};
use super::error::ApiError;
use super::headers::Offset;
use super::json::{Json, Message, Object};
use super::openapi::BatchItem;
use super::params::{FactsQuery, MAX_ARGS, pairs, twice};
use super::values::{DeletedIn, DeletesIn, FactIn, FactOut, FactsIn, PatternIn, facts, patterns};
use super::{AppState, stream};
use crate::engine::{ArgPattern, Change, Fact, FactPattern, FoundFacts, Value};
use crate::share::Account;
use axum::Extension;
use axum::extract::State;
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The answer of most mutations.
type Done = Result<(Offset, Json<Message>), ApiError>;

pub(super) fn router() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new()
        .routes(routes!(batch))
        .routes(routes!(bulk))
        .routes(routes!(bulk_load))
        .routes(routes!(bulk_delete))
        .routes(routes!(read, add, delete))
        .routes(routes!(clear))
}

/// One group of a batch, as sent.
#[derive(Debug, Deserialize)]
struct GroupIn {
    inserts: FactsIn,
    deletes: DeletesIn,
}

/// One group of a batch: exactly one of the two.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Object<GroupIn>")]
struct Group(Change);

impl TryFrom<Object<GroupIn>> for Group {
    type Error = &'static str;

    fn try_from(Object(group): Object<GroupIn>) -> Result<Self, Self::Error> {
        match (group.inserts, group.deletes) {
            (inserts @ Some(_), None) => Ok(Self(Change::Insert(facts(inserts)))),
            (None, deletes @ Some(_)) => Ok(Self(Change::Delete(patterns(deletes)))),
            (Some(_), Some(_)) | (None, None) => Err("exactly one of `inserts` and `deletes` is expected"),
        }
    }
}

/// Add and delete facts, in order, all or none
///
/// A fact that is added in one group may be deleted in a later one. Facts are a set: adding a stored fact
/// changes nothing, nor does deleting one that is not stored.
#[utoipa::path(
    post,
    path = "/batch",
    operation_id = "batch",
    tag = "Facts",
    extensions(("x-access" = json!("read-write"))),
    request_body(content = Vec<BatchItem>, example = json!([
        {"deletes": [{"predicate": "has_role", "args": [{"type": "User", "id": "alice"}, null, {"type": "Organization"}]}]},
        {"inserts": [
            {"predicate": "has_role", "args": [
                {"type": "User", "id": "alice"}, {"type": "String", "id": "reader"}, {"type": "Organization", "id": "acme"},
            ]},
            {"predicate": "has_relation", "args": [
                {"type": "Repository", "id": "site"}, {"type": "String", "id": "organization"}, {"type": "Organization", "id": "acme"},
            ]},
            {"predicate": "is_public", "args": [{"type": "Repository", "id": "docs"}]},
        ]},
    ])),
    responses((status = 200, description = "Done", body = Message, example = json!({"message": "The facts were updated."}))),
)]
async fn batch(access: WriteAccess, Json(groups): Json<Vec<Group>>) -> Done {
    done(access, groups.into_iter().map(|Group(change)| change).collect()).await
}

/// The deletions and additions of `/bulk`.
///
/// An unknown field is ignored, unless it begins like one of these. A body of unknown fields alone is
/// refused: it would change nothing.
#[derive(Debug, ToSchema)]
#[schema(as = BulkRequest)]
struct BulkIn {
    /// The facts to delete, first.
    #[schema(value_type = Option<Vec<PatternIn>>)]
    delete: DeletesIn,
    /// The facts to add, afterwards.
    #[schema(value_type = Option<Vec<FactIn>>)]
    tell: FactsIn,
}

impl<'de> Deserialize<'de> for BulkIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = BulkIn;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BulkIn, A::Error> {
                let (mut delete, mut tell) = (None, None);
                let (mut unknown, mut is_misspelt) = (Vec::new(), false);
                while let Some(name) = map.next_key::<String>()? {
                    let is_repeated = match name.as_str() {
                        "delete" => delete.replace(map.next_value::<DeletesIn>()?).is_some(),
                        "tell" => tell.replace(map.next_value::<FactsIn>()?).is_some(),
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            let lower = name.to_lowercase();
                            is_misspelt |= ["del", "tel"].iter().any(|start| lower.starts_with(start));
                            unknown.push(format!("`{name}`"));
                            false
                        }
                    };
                    if is_repeated {
                        return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
                    }
                }
                let is_empty = delete.is_none() && tell.is_none();
                if is_misspelt || is_empty && !unknown.is_empty() {
                    let unknown = unknown.join(", ");
                    return Err(A::Error::custom(format_args!(
                        "unknown field {unknown}: write `delete` for the facts to delete, `tell` for those to add"
                    )));
                }
                Ok(BulkIn { delete: delete.flatten(), tell: tell.flatten() })
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// Delete facts, then add facts, all or none
#[utoipa::path(
    post,
    path = "/bulk",
    operation_id = "bulk",
    tag = "Facts",
    extensions(("x-access" = json!("read-write")), ("x-replacement" = json!("POST /batch with the deletes, then the inserts"))),
    request_body(content = BulkIn, example = json!({
        "delete": [{"predicate": "is_public", "args": [null]}],
        "tell": [{"predicate": "is_public", "args": [{"type": "Repository", "id": "docs"}]}],
    })),
    responses((status = 200, description = "Done", body = Message, example = json!({"message": "The facts were updated."}))),
)]
async fn bulk(access: WriteAccess, Json(Object(bulk)): Json<Object<BulkIn>>) -> Done {
    done(access, vec![Change::Delete(patterns(bulk.delete)), Change::Insert(facts(bulk.tell))]).await
}

/// Add facts, all or none
#[utoipa::path(
    post,
    path = "/bulk_load",
    operation_id = "bulk_load",
    tag = "Facts",
    extensions(("x-access" = json!("read-write")), ("x-replacement" = json!("POST /batch with one group of inserts"))),
    request_body(content = Vec<FactIn>, example = json!([
        {"predicate": "is_public", "args": [{"type": "Repository", "id": "docs"}]},
    ])),
    responses((status = 200, description = "Done", body = Message, example = json!({"message": "The facts were updated."}))),
)]
async fn bulk_load(access: WriteAccess, Json(sent): Json<Vec<Object<FactIn>>>) -> Done {
    done(access, vec![Change::Insert(facts(Some(sent)))]).await
}

/// Delete facts, all or none
#[utoipa::path(
    post,
    path = "/bulk_delete",
    operation_id = "bulk_delete",
    tag = "Facts",
    extensions(("x-access" = json!("read-write")), ("x-replacement" = json!("POST /batch with one group of deletes"))),
    request_body(content = Vec<PatternIn>, example = json!([{"predicate": "is_banned", "args": [{"type": "User"}, null]}])),
    responses((status = 200, description = "Done", body = Message, example = json!({"message": "The facts were updated."}))),
)]
async fn bulk_delete(access: WriteAccess, Json(sent): Json<Vec<Object<DeletedIn>>>) -> Done {
    done(access, vec![Change::Delete(patterns(Some(sent)))]).await
}

/// Add a fact
#[utoipa::path(
    post,
    path = "/facts",
    operation_id = "add_fact",
    tag = "Facts",
    extensions(("x-access" = json!("read-write")), ("x-replacement" = json!("POST /batch with one fact to insert"))),
    request_body(content = FactIn, example = json!(
        {"predicate": "is_public", "args": [{"type": "Repository", "id": "docs"}]}
    )),
    responses((status = 200, description = "The fact", body = FactIn, example = json!(
        {"predicate": "is_public", "args": [{"type": "Repository", "id": "docs"}]}
    ))),
)]
async fn add(
    WriteAccess(environment): WriteAccess,
    Json(sent): Json<Object<FactIn>>,
) -> Result<(Offset, Json<FactOut>), ApiError> {
    let fact = Fact::from(sent);
    let mark = environment.engine.apply(vec![Change::Insert(vec![fact.clone()])]).await?;
    Ok((Offset(mark), Json(fact.into())))
}

/// Delete the facts that match a pattern
#[utoipa::path(
    delete,
    path = "/facts",
    operation_id = "delete_fact",
    tag = "Facts",
    extensions(("x-access" = json!("read-write")), ("x-replacement" = json!("POST /batch with one pattern to delete"))),
    request_body(content = PatternIn, example = json!({"predicate": "is_banned", "args": [null, null]})),
    responses((status = 200, description = "Done", body = Message, example = json!({"message": "The facts were updated."}))),
)]
async fn delete(access: WriteAccess, Json(sent): Json<Object<DeletedIn>>) -> Done {
    done(access, vec![Change::Delete(vec![sent.into()])]).await
}

/// Delete all facts and the policy
#[utoipa::path(
    post,
    path = "/clear_data",
    operation_id = "clear_data",
    tag = "Facts",
    extensions(("x-access" = json!("read-write"))),
    responses((status = 200, description = "Done", body = Message, example = json!({"message": "The facts and the policy were cleared."}))),
)]
async fn clear(WriteAccess(environment): WriteAccess) -> Done {
    let mark = environment.engine.clear().await?;
    Ok((Offset(mark), Json(Message { message: "The facts and the policy were cleared.".to_owned() })))
}

async fn done(WriteAccess(environment): WriteAccess, changes: Vec<Change>) -> Done {
    let mark = environment.engine.apply(changes).await?;
    Ok((Offset(mark), Json(Message { message: "The facts were updated.".to_owned() })))
}

/// Read the stored facts that match
///
/// Returns only stored facts, not what follows from them by the policy. A position that is not mentioned
/// matches anything, including no argument; a type without an id matches any value of the type.
#[utoipa::path(
    get,
    path = "/facts",
    operation_id = "get_facts",
    tag = "Facts",
    params(FactsQuery),
    responses((status = 200, description = "The facts", body = Vec<FactIn>, example = json!([
        {"predicate": "has_relation", "args": [
            {"type": "Repository", "id": "site"}, {"type": "String", "id": "organization"}, {"type": "Organization", "id": "acme"},
        ]},
        {"predicate": "has_role", "args": [
            {"type": "User", "id": "alice"}, {"type": "String", "id": "reader"}, {"type": "Organization", "id": "acme"},
        ]},
        {"predicate": "is_public", "args": [{"type": "Repository", "id": "docs"}]},
    ]))),
)]
async fn read(
    ReadAccess(environment): ReadAccess,
    State(app): State<Arc<AppState>>,
    Extension(account): Extension<Arc<Account>>,
    uri: Uri,
) -> Result<Response, ApiError> {
    match environment.engine.find_facts(pattern(&pairs(&uri)?)?).await? {
        FoundFacts::Few(facts) => {
            Ok(Json(facts.into_iter().map(FactOut::from).collect::<Vec<_>>()).into_response())
        }
        FoundFacts::Many(reading) => stream::facts(reading, &app, &account).await,
    }
}

/// The pattern that `?predicate=P&args.0.type=T&args.0.id=I&args.1.…` describes.
///
/// A position that is not mentioned matches anything, including no argument at all.
fn pattern(pairs: &[(String, String)]) -> Result<FactPattern, ApiError> {
    let mut predicate = None;
    let mut args: Vec<(Option<&str>, Option<&str>)> = Vec::new();
    for (name, value) in pairs {
        if name == "predicate" && predicate.replace(value.as_str()).is_some() {
            return Err(twice(name));
        }
        let Some((position, part)) = name.strip_prefix("args.").and_then(|rest| rest.split_once('.')) else {
            continue;
        };
        let position = position.parse().ok().filter(|position| *position < MAX_ARGS).ok_or_else(|| {
            ApiError::BadRequest(format!("`{name}`: a fact has arguments 0 to {} only", MAX_ARGS - 1))
        })?;
        if args.len() <= position {
            args.resize(position + 1, (None, None));
        }
        let former = match (args.get_mut(position), part) {
            (Some((ty, _)), "type") => ty.replace(value),
            (Some((_, id)), "id") => id.replace(value),
            (Some(_) | None, _) => None,
        };
        if former.is_some() {
            return Err(twice(name));
        }
    }
    let args = (0..).zip(args).map(|(position, arg)| match arg {
        (None, None) => Ok(ArgPattern::Any),
        (Some(ty), None) => Ok(ArgPattern::Typed(ty.to_owned())),
        (Some(ty), Some(id)) => Ok(ArgPattern::Exact(Value { ty: ty.to_owned(), id: id.to_owned() })),
        (None, Some(_)) => Err(ApiError::BadRequest(format!(
            "`args.{position}.id`: an id without a type: add `args.{position}.type`"
        ))),
    });
    let predicate = predicate.filter(|name| *name != "_").map(str::to_owned);
    Ok(FactPattern { predicate, args: args.collect::<Result<_, _>>()?, open_arity: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> Result<FactPattern, String> {
        let uri: Uri = format!("/api/facts?{query}").parse().unwrap();
        let pairs = pairs(&uri).map_err(|error| format!("{error:?}"))?;
        pattern(&pairs).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn unmentioned_positions_match_anything() {
        let open = |predicate: Option<&str>, args| {
            Ok(FactPattern { predicate: predicate.map(Into::into), args, open_arity: true })
        };
        assert_eq!(of(""), open(None, vec![]));
        assert_eq!(of("predicate=_"), open(None, vec![]));
        assert_eq!(of("predicate=has_role"), open(Some("has_role"), vec![]));
        let ada = ArgPattern::Exact(Value { ty: "User".into(), id: "a d&a".into() });
        assert_eq!(
            of("predicate=p&args.0.type=User&args.0.id=a%20d%26a&args.2.type=Doc"),
            open(Some("p"), vec![ada, ArgPattern::Any, ArgPattern::Typed("Doc".into())])
        );
    }

    #[test]
    fn an_id_needs_a_type_and_a_position_is_small() {
        assert!(
            of("args.1.id=x").unwrap_err().contains("`args.1.id`: an id without a type: add `args.1.type`")
        );
        assert!(of("args.5.type=x").unwrap_err().contains("0 to 4"));
        assert!(of("args.99999999999999999999.type=x").unwrap_err().contains("0 to 4"));
        assert!(of("args.-1.type=x").is_err());
        for twice in [
            "predicate=p&predicate=q",
            "args.0.type=T&args.0.type=T",
            "args.0.type=T&args.0.id=1&args.0.id=2",
        ] {
            assert!(of(twice).unwrap_err().contains("is given twice"), "{twice}");
        }
    }
}
