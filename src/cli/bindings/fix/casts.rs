//! Casts a column in the select list of a bound query.
//!
//! Only the simplest form is recognised: a list of names, perhaps with aliases, between `SELECT` and `FROM`,
//! without comments, escapes or calls. So it is found both in the document's text and in the parsed query.

use portcullis_compiler::catalog::ColumnId;
use std::ops::Range;

/// The query with casts to text of some columns; `None` if one cannot be found.
pub(super) fn cast(query: &str, columns: &[ColumnId]) -> Option<String> {
    let mut text = query.to_owned();
    let mut items = columns.iter().map(|&at| item(query, at)).collect::<Option<Vec<_>>>()?;
    items.sort_by_key(|range| range.start);
    for range in items.into_iter().rev() {
        let name = query.get(range.clone())?;
        text.replace_range(range, &as_text(name));
    }
    Some(text)
}

/// A name as text.
pub(super) fn as_text(name: &str) -> String {
    format!("CAST({name} AS text)")
}

/// The position of a selected name.
pub(super) fn item(query: &str, at: ColumnId) -> Option<Range<usize>> {
    let select = word(query, "select")?;
    let start = select.end;
    let from = word(query.get(start..)?, "from")?;
    let list = query.get(start..start + from.start)?;
    if list.contains(['(', '\\', '\'', '#', '`', '[']) || list.contains("--") || list.contains("/*") {
        return None;
    }
    let mut item_start = start;
    for (n, item) in list.split(',').enumerate() {
        if n == at.index() {
            let blank = item.len() - item.trim_start().len();
            let name = item.split_whitespace().next()?;
            let starts = item_start + blank;
            return is_path(name).then_some(starts..starts + name.len());
        }
        item_start += item.len() + 1;
    }
    None
}

/// The first occurrence of a keyword that is a word of its own.
fn word(text: &str, keyword: &str) -> Option<Range<usize>> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '"' | '.');
    text.to_ascii_lowercase().match_indices(keyword).map(|(at, _)| at..at + keyword.len()).find(|found| {
        let before = text.get(..found.start).and_then(|text| text.chars().next_back());
        let after = text.get(found.end..).and_then(|text| text.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Whether this is a column's name, perhaps quoted or qualified.
fn is_path(name: &str) -> bool {
    let is_keyword = ["distinct", "all"].iter().any(|word| name.eq_ignore_ascii_case(word));
    !is_keyword
        && name.split('.').all(|part| {
            let bare = part.strip_prefix('"').and_then(|part| part.strip_suffix('"')).unwrap_or(part);
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            !bare.is_empty() && bare.chars().all(is_part) && !bare.starts_with(|c: char| c.is_ascii_digit())
        })
}

#[cfg(test)]
mod tests {
    use super::cast;
    use portcullis_compiler::catalog::ColumnId;

    #[test]
    fn a_selected_name_is_cast() {
        for (query, columns, expected) in [
            ("SELECT id FROM t", vec![0], "SELECT CAST(id AS text) FROM t"),
            ("select a , t.b AS x, c from t", vec![1], "select a , CAST(t.b AS text) AS x, c from t"),
            (
                "SELECT \"Id\",\n  \"Own\"\nFROM t",
                vec![0, 1],
                "SELECT CAST(\"Id\" AS text),\n  CAST(\"Own\" AS text)\nFROM t",
            ),
            ("SELECT from_id, x FROM t", vec![0], "SELECT CAST(from_id AS text), x FROM t"),
            ("SELECT a FROM t", vec![], "SELECT a FROM t"),
        ] {
            assert_eq!(
                cast(query, &columns.into_iter().map(ColumnId).collect::<Vec<_>>()).as_deref(),
                Some(expected)
            );
        }
    }

    #[test]
    fn anything_else_is_left_to_the_author() {
        for query in [
            "SELECT lower(a), b FROM t",
            "SELECT 'a', b FROM t",
            "SELECT a -- , x\n, b FROM t",
            "SELECT * FROM t",
            "SELECT \"a b\" FROM t",
            "SELECT DISTINCT a FROM t",
            "VALUES (1)",
        ] {
            assert_eq!(cast(query, &[ColumnId(0)]), None, "{query}");
        }
        assert_eq!(cast("SELECT a FROM t", &[ColumnId(1)]), None);
    }
}
