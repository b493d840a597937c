//! Where a condition of PostgreSQL's plan mentions a column, and what it does to it first.
//!
//! `EXPLAIN (VERBOSE)` prints each column as `alias.column` and each cast as `(alias.column)::type`.

/// What a condition does to a column before it compares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mention {
    /// Nothing: an index serves.
    Bare,
    /// It casts it to this type.
    Cast(String),
    /// It calls this function with it.
    Function(String),
}

/// Each place at which a condition mentions a column.
pub(super) fn mentions(condition: &str, alias: &str, column: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    for (alias, column) in spellings(alias, column) {
        let name = format!("{alias}.{column}");
        for (at, _) in condition.match_indices(&name) {
            let before = condition.get(..at).unwrap_or_default();
            let after = condition.get(at + name.len()..).unwrap_or_default();
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '.' | '$');
            if !before.ends_with(is_part) && !after.starts_with(is_part) {
                found.push(wrapped(before, after));
            }
        }
    }
    found
}

/// Whether a condition compares a column, as it is, with a value: a test whether it is NULL does not.
pub(super) fn is_compared(condition: &str, alias: &str, column: &str) -> bool {
    let mut tested = condition.to_owned();
    for (alias, column) in spellings(alias, column) {
        tested = tested.replace(&format!("({alias}.{column} IS NOT NULL)"), "()");
    }
    mentions(&tested, alias, column).contains(&Mention::Bare)
}

/// Whether a statement looks a column up, as text, in a set that is hashed: the plan then only names the set.
pub(super) fn is_looked_up_as_text(statement: &str, alias: &str, column: &str) -> bool {
    let mut names = spellings(alias, column).into_iter();
    names.any(|(alias, column)| statement.contains(&format!("(CAST({alias}.{column} AS TEXT) IN (")))
}

/// A name as it may be printed: bare, or in quotes where it must be.
pub(super) fn spellings(alias: &str, column: &str) -> Vec<(String, String)> {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let both = |name: &str| [name.to_owned(), quoted(name)];
    let pairs = both(alias).into_iter().flat_map(|alias| both(column).map(|column| (alias.clone(), column)));
    pairs.collect()
}

/// The text around a column.
fn wrapped(before: &str, after: &str) -> Mention {
    if let (Some(before), Some(after)) = (before.strip_suffix('('), after.strip_prefix(')')) {
        if let Some(cast) = after.strip_prefix("::") {
            // Longer names of types, such as `character varying`, come with the space.
            let end = cast.find([')', '(', '=', '<', '>', '~', ',', '[']).unwrap_or(cast.len());
            let ty = cast.get(..end).unwrap_or_default().trim_end();
            let rest = cast.get(ty.len()..).unwrap_or_default();
            return match wrapped(before, rest) {
                function @ Mention::Function(_) => function,
                Mention::Bare | Mention::Cast(_) => Mention::Cast(ty.to_owned()),
            };
        }
        if let Some(function) = function(before) {
            return Mention::Function(function);
        }
    }
    match before.strip_suffix('(').and_then(function) {
        Some(function) if after.starts_with([',', ')']) => Mention::Function(function),
        Some(_) | None => Mention::Bare,
    }
}

/// The name at the end of a text; keywords are followed by a space, functions are not.
fn function(before: &str) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '.');
    let start = before.rfind(|c| !is_part(c)).map_or(0, |at| at + 1);
    let name = before.get(start..).filter(|name| !name.is_empty())?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Mention, is_compared, mentions};

    #[track_caller]
    fn check(condition: &str, expected: &[Mention]) {
        assert_eq!(mentions(condition, "t1", "id"), expected, "{condition}");
    }

    #[test]
    fn a_column_is_found_as_it_is() {
        check("(t1.id = 7)", &[Mention::Bare]);
        check("(t1.id = ANY ($0))", &[Mention::Bare]);
        check("((t1.id IS NOT NULL) AND (t2.x = t1.id))", &[Mention::Bare, Mention::Bare]);
        check("(\"t1\".\"id\" = 7)", &[Mention::Bare]);
    }

    #[test]
    fn a_test_for_null_is_no_comparison() {
        assert!(is_compared("((t1.id IS NOT NULL) AND (t1.id = 7))", "t1", "id"));
        assert!(!is_compared("((t1.id IS NOT NULL) AND (t1.x = 7))", "t1", "id"));
        assert!(!is_compared("((t1.id)::text = '7'::text)", "t1", "id"));
    }

    #[test]
    fn other_columns_are_not() {
        for condition in ["(t1.ident = 7)", "(at1.id = 7)", "(t1.id2 = 7)", "(x.t1.id = 7)", "(id = 7)"] {
            check(condition, &[]);
        }
    }

    #[test]
    fn casts_and_functions_are_named() {
        let cast = |ty: &str| Mention::Cast(ty.to_owned());
        check("((t1.id)::text = '7'::text)", &[cast("text")]);
        check("((t1.id)::character varying = '7')", &[cast("character varying")]);
        check("(hashed SubPlan 1) AND ((t1.id)::text = t2.c0)", &[cast("text")]);
        let function = |name: &str| Mention::Function(name.to_owned());
        check("(lower(t1.id) = 'a'::text)", &[function("lower")]);
        check("(lower((t1.id)::text) = 'a'::text)", &[function("lower")]);
        check("(COALESCE(t1.id, 0) = 7)", &[function("COALESCE")]);
        check("(t2.x = ANY (ARRAY[t1.id]))", &[Mention::Bare]);
    }
}
