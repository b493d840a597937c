//! The same policy in a different order: of its blocks and rules, of the lines in a block, of alternatives
//! and conjuncts.
//!
//! In: a policy as [`generate`](super::generate) lays it out, a rule a line. Out: the same lines, mixed.

/// Mixes everything whose order is free; `number` says how.
pub fn reordered(policy: &str, number: usize) -> String {
    let mut items: Vec<Vec<String>> = Vec::new();
    let mut is_inside = false;
    for line in policy.lines() {
        match items.last_mut() {
            Some(block) if is_inside => block.push(line.to_owned()),
            _ => items.push(vec![line.to_owned()]),
        }
        is_inside = if is_inside { line != "}" } else { line.ends_with('{') };
    }
    let mut text = String::new();
    for mut item in mixed(items, number) {
        let end = item.len() - 1;
        if end > 1 {
            let lines = mixed(item[1..end].to_vec(), number);
            item.splice(1..end, lines);
        }
        item.iter().for_each(|line| text.extend([conjuncts(line, number).as_str(), "\n"]));
    }
    text
}

/// Puts the last before the first, or begins in the middle, or both.
pub fn mixed<T>(mut items: Vec<T>, number: usize) -> Vec<T> {
    let n = items.len();
    if n > 0 {
        items.rotate_left(number / 2 % n);
    }
    if number.is_multiple_of(2) {
        items.reverse();
    }
    items
}

/// A line with its body's parts mixed, if it is a rule.
fn conjuncts(line: &str, number: usize) -> String {
    let Some((head, body)) = line.split_once(" if ") else { return line.to_owned() };
    let Some(body) = body.strip_suffix(';') else { return line.to_owned() };
    let alternatives =
        parts(body, " or ").into_iter().map(|all| mixed(parts(all, " and "), number).join(" and "));
    format!("{head} if {};", mixed(alternatives.collect(), number).join(" or "))
}

/// The parts between separators that are outside of parentheses, lists and quotes.
fn parts<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let mut parts = Vec::new();
    let (mut depth, mut is_quoted, mut is_escaped, mut start) = (0_usize, false, false, 0);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '(' | '[' if !is_quoted => depth += 1,
            ')' | ']' if !is_quoted => depth -= 1,
            ' ' if !is_quoted && depth == 0 && text[at..].starts_with(separator) => {
                parts.push(&text[start..at]);
                start = at + separator.len();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}
