//! Parameters after the `?` of a path.
//!
//! Unknown names are ignored, because clients add their own.

use super::error::ApiError;
use super::openapi::Text;
use axum::extract::Query;
use axum::http::Uri;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::{IntoParams, PartialSchema};

/// The maximum number of arguments of a fact; positions beyond it are a mistake of the client.
pub(super) const MAX_ARGS: usize = 5;

/// The parameters of `GET /facts`, for its description.
pub(super) enum FactsQuery {}

impl IntoParams for FactsQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let parameter = |name: String, description: String| {
            ParameterBuilder::new()
                .name(name)
                .parameter_in(ParameterIn::Query)
                .description(Some(description))
                .schema(Some(Text::schema()))
                .build()
        };
        let predicate = parameter("predicate".to_owned(), "The predicate; `_` is any".to_owned());
        let args = (0..MAX_ARGS).flat_map(|n| {
            let ty = parameter(format!("args.{n}.type"), format!("The type of argument {n}"));
            let id =
                parameter(format!("args.{n}.id"), format!("The id of argument {n}, which needs its type"));
            [ty, id]
        });
        std::iter::once(predicate).chain(args).collect()
    }
}

/// All parameters, decoded, in order.
pub(super) fn pairs(uri: &Uri) -> Result<Vec<(String, String)>, ApiError> {
    match Query::try_from_uri(uri) {
        Ok(Query(pairs)) => Ok(pairs),
        Err(error) => Err(ApiError::BadRequest(format!("malformed query string: {error}"))),
    }
}

/// The last value with this name.
fn value<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
}

/// A switch, off by default; clients write it in upper or lower case.
pub(super) fn flag(pairs: &[(String, String)], name: &str) -> Result<bool, ApiError> {
    match value(pairs, name) {
        None => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("true") || text == "1" => Ok(true),
        Some(text) if text.eq_ignore_ascii_case("false") || text == "0" || text.is_empty() => Ok(false),
        Some(text) => Err(ApiError::BadRequest(format!(
            "`{name}`: `{text}` is neither true nor false: write `true` or `false`"
        ))),
    }
}

/// The number of a policy version, under any of its names.
pub(super) fn version(pairs: &[(String, String)], names: &[&str]) -> Result<Option<u64>, ApiError> {
    let Some((name, text)) = names.iter().find_map(|name| Some((name, value(pairs, name)?))) else {
        return Ok(None);
    };
    match text.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(ApiError::BadRequest(format!(
            "`{name}`: `{text}` is not the number of a policy version: write a whole number"
        ))),
    }
}

/// A time in seconds since the epoch.
pub(super) fn moment(pairs: &[(String, String)], name: &str) -> Result<Option<i64>, ApiError> {
    let Some(text) = value(pairs, name) else { return Ok(None) };
    let seconds = text.parse().map_err(|_| {
        ApiError::BadRequest(format!(
            "`{name}`: `{text}` is not a time: write the whole seconds since 1970-01-01 00:00 UTC"
        ))
    });
    seconds.map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> Vec<(String, String)> {
        pairs(&format!("/api/policy?{query}").parse().unwrap()).unwrap()
    }

    #[test]
    fn switches_are_off_unless_they_say_otherwise() {
        assert!(!flag(&of(""), "force").unwrap());
        assert!(flag(&of("force=True&x=y"), "force").unwrap());
        assert!(!flag(&of("force=false"), "force").unwrap());
        assert!(flag(&of("force=maybe"), "force").is_err());
    }

    #[test]
    fn a_version_is_a_number() {
        assert_eq!(version(&of(""), &["id"]).unwrap(), None);
        assert_eq!(version(&of("version=7"), &["id", "version"]).unwrap(), Some(7));
        assert!(version(&of("id=x"), &["id"]).is_err());
        assert!(version(&of("id=-1"), &["id"]).is_err());
    }

    #[test]
    fn a_time_is_in_seconds() {
        assert_eq!(moment(&of(""), "at").unwrap(), None);
        assert_eq!(moment(&of("at=-5&at=1700000000"), "at").unwrap(), Some(1_700_000_000));
        for text in ["at=", "at=1.5", "at=2026-11-23", "at=9223372036854775808"] {
            assert!(moment(&of(text), "at").is_err(), "{text}");
        }
    }
}
