//! Parameters after the `?` of a path.
//!
//! Unknown names are ignored, because clients add their own. One that is known counts once: of two values,
//! none is chosen.

use super::error::ApiError;
use super::openapi::Text;
use crate::percent::decoded;
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
    let malformed = |why: &str| ApiError::BadRequest(format!("malformed query string: {why}"));
    let read = Query::<Vec<(String, String)>>::try_from_uri(uri);
    let Query(pairs) = read.map_err(|error| malformed(&error.to_string()))?;
    // The decoder puts this character in the place of bytes that are no text.
    let is_replaced =
        pairs.iter().any(|(name, value)| [name, value].iter().any(|text| text.contains('\u{fffd}')));
    if is_replaced && uri.query().is_some_and(|query| decoded(query).is_none()) {
        return Err(malformed("it is not UTF-8"));
    }
    Ok(pairs)
}

/// The value with this name.
fn value<'a>(pairs: &'a [(String, String)], name: &str) -> Result<Option<&'a str>, ApiError> {
    let mut values = pairs.iter().filter(|(other, _)| other == name).map(|(_, value)| value.as_str());
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        (_, Some(_)) => Err(twice(name)),
    }
}

/// A parameter has two values.
pub(super) fn twice(name: &str) -> ApiError {
    ApiError::BadRequest(format!("`{name}` is given twice: send it once"))
}

/// A switch, off by default; clients write it in upper or lower case.
pub(super) fn flag(pairs: &[(String, String)], name: &str) -> Result<bool, ApiError> {
    match value(pairs, name)? {
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
    let mut found = None;
    for name in names {
        if let Some(text) = value(pairs, name)?
            && let Some((other, _)) = found.replace((name, text))
        {
            let both = format!("`{other}` and `{name}` are two names of one parameter: send one of them");
            return Err(ApiError::BadRequest(both));
        }
    }
    let Some((name, text)) = found else { return Ok(None) };
    match text.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(ApiError::BadRequest(format!(
            "`{name}`: `{text}` is not the number of a policy version: write a whole number"
        ))),
    }
}

/// A time in seconds since the epoch.
pub(super) fn moment(pairs: &[(String, String)], name: &str) -> Result<Option<i64>, ApiError> {
    let Some(text) = value(pairs, name)? else { return Ok(None) };
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

    /// A client that sends two values means one of them, and nobody knows which.
    #[test]
    fn a_parameter_counts_once() {
        let twice = of("at=-5&at=1700000000&id=1&version=1&id=1&x=1&x=2&force=0&force=1");
        assert!(moment(&twice, "at").is_err() && flag(&twice, "force").is_err());
        assert!(version(&twice, &["id"]).is_err() && version(&twice, &["version"]).is_ok());
        assert!(version(&of("id=1&version=1"), &["id", "version"]).is_err());
    }

    #[test]
    fn what_is_not_utf_8_is_refused() {
        let read = |query: &str| pairs(&format!("/api/facts?{query}").parse().unwrap());
        assert!(read("predicate=%ff").is_err() && read("%ff=p").is_err());
        // A client may well send the character itself.
        let sent = read("predicate=%ef%bf%bd&a=1").unwrap();
        assert_eq!(sent[0].1, "\u{fffd}");
    }

    #[test]
    fn a_time_is_in_seconds() {
        assert_eq!(moment(&of(""), "at").unwrap(), None);
        assert_eq!(moment(&of("at=1700000000"), "at").unwrap(), Some(1_700_000_000));
        assert_eq!(moment(&of("at=-5"), "at").unwrap(), Some(-5));
        for text in ["at=", "at=1.5", "at=2026-11-23", "at=9223372036854775808"] {
            assert!(moment(&of(text), "at").is_err(), "{text}");
        }
    }
}
