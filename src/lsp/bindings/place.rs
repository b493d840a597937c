//! What surrounds a position in a data-bindings document.
//!
//! A document that is being typed is rarely valid YAML, so only lines and their indentation are read.

/// What is written at a position.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BindingsPlace<'a> {
    /// The key of a bound fact.
    Fact {
        /// What has been typed of it.
        typed: &'a str,
    },
    /// A bound query.
    Query {
        /// Its text before the position.
        before: &'a str,
        /// Its whole text.
        text: &'a str,
    },
    /// The table and column of a type.
    Table {
        /// What has been typed of it.
        before: &'a str,
    },
    /// Something else.
    Other,
}

/// What is written at a byte.
pub(super) fn place(text: &str, byte: usize) -> BindingsPlace<'_> {
    let before = text.get(..byte).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let typed = before.get(line_start..).unwrap_or_default();
    if typed.trim_start().starts_with('#') {
        return BindingsPlace::Other;
    }
    if let Some(value) = after_key(typed, "query") {
        return query(text, line_start, byte - value.len(), byte);
    }
    // The enclosing lines, from the inside out: each has less indentation than the one before.
    let mut least = typed.len() - typed.trim_start().len();
    let mut keys: Vec<&str> = Vec::new();
    let mut start = line_start;
    while let Some(above) = before.get(..start.saturating_sub(1)).filter(|_| start > 0 && least > 0) {
        let line_start = above.rfind('\n').map_or(0, |end| end + 1);
        let line = above.get(line_start..).unwrap_or_default();
        let key = line.trim_start();
        start = line_start;
        if key.is_empty() || key.starts_with('#') || line.len() - key.len() >= least {
            continue;
        }
        if let Some(value) = after_key(line, "query") {
            return query(text, line_start, line_start + line.len() - value.len(), byte);
        }
        least = line.len() - key.len();
        keys.push(key.trim_end());
    }
    match keys.as_slice() {
        ["facts:"] => BindingsPlace::Fact { typed: typed.trim_start() },
        ["tables:"] => match typed.split_once(": ") {
            Some((_, before)) => BindingsPlace::Table { before },
            None => BindingsPlace::Other,
        },
        _ => BindingsPlace::Other,
    }
}

/// What follows a key in its line.
fn after_key<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.trim_start().strip_prefix(key)?.strip_prefix(':')
}

/// The query whose key is in this line, and whose text starts at this byte.
fn query(text: &str, line_start: usize, start: usize, byte: usize) -> BindingsPlace<'_> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text.get(line_start..).unwrap_or_default().split_inclusive('\n');
    let own = lines.next().unwrap_or_default();
    let below = lines.take_while(|line| line.trim().is_empty() || indent(line) > indent(own));
    let end = line_start + own.len() + below.map(str::len).sum::<usize>();
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
    BindingsPlace::Query { before: part(start..byte), text: part(start..end) }
}

#[cfg(test)]
mod tests {
    use super::{BindingsPlace, place};

    #[track_caller]
    fn check(text: &str, expected: &BindingsPlace<'_>) {
        let byte = text.find('^').unwrap();
        assert_eq!(place(&text.replacen('^', "", 1), byte), *expected, "{text}");
    }

    #[test]
    fn lines_say_what_is_written() {
        let query = |before, text| BindingsPlace::Query { before, text };
        check("facts:\n  ^", &BindingsPlace::Fact { typed: "" });
        check(
            "# x\nfacts:\n  a(User:_):\n    query: SELECT 1\n  has_^\n",
            &BindingsPlace::Fact { typed: "has_" },
        );
        check("facts:\n  a(User:_):\n    query: SELECT ^ FROM t\n", &query(" SELECT ", " SELECT  FROM t\n"));
        check(
            "facts:\n  a(User:_):\n    query: |\n      SELECT id\n\n      FROM ^\n  b(User:_):\n",
            &query(" |\n      SELECT id\n\n      FROM ", " |\n      SELECT id\n\n      FROM \n"),
        );
        check("facts:\n  a(User:_):\n    ^", &BindingsPlace::Other);
        check("tables:\n  User: us^\n", &BindingsPlace::Table { before: "us" });
        check("tables:\n  Us^\n", &BindingsPlace::Other);
        check("^", &BindingsPlace::Other);
        check("facts:\n  # has_^", &BindingsPlace::Other);
    }
}
