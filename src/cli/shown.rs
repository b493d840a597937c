//! How values and facts are shown to people: in the notation of questions, so that they can be asked about.

use crate::engine::{ANY, Fact, Value};
use portcullis_compiler::why::{Arg, Atom};

/// A value.
pub(super) fn value(value: &Value) -> String {
    arg(value).to_string()
}

/// The beginning of a text: so many characters, and a mark if there are more.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}

/// The value of a type with this id, or every value of the type.
pub(super) fn listed(ty: &str, id: &str) -> String {
    match (ty, id) {
        (ANY, ANY) => "every value of any other type".to_owned(),
        (ty, ANY) => format!("every {ty}"),
        (ty, id) => value(&Value { ty: ty.to_owned(), id: id.to_owned() }),
    }
}

/// An action. One that could be mistaken for something else is quoted.
pub(super) fn action(action: &str) -> String {
    if action == ANY {
        return EVERY_ACTION.to_owned();
    }
    let is_plain = |c: char| c.is_alphanumeric() || "-._:/+".contains(c);
    let is_word = !action.is_empty() && action.chars().all(is_plain);
    if is_word { action.to_owned() } else { format!("{action:?}") }
}

/// How every action is shown.
pub(super) const EVERY_ACTION: &str = "every action";

/// A text from elsewhere without the control characters that could change what a terminal shows, or that XML
/// cannot hold.
pub(super) fn printable(text: &str) -> String {
    let is_printable = |c: char| match c {
        '\n' | '\t' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        c => !c.is_control(),
    };
    text.chars().map(|c| if is_printable(c) { c } else { '\u{fffd}' }).collect()
}

/// The same for a name, which is one line.
pub(super) fn printable_name(name: &str) -> String {
    printable(name).replace(['\n', '\t'], "\u{fffd}")
}

/// A fact.
pub(super) fn fact(fact: &Fact) -> String {
    Atom { predicate: fact.predicate.clone(), args: fact.args.iter().map(arg).collect() }.to_string()
}

fn arg(value: &Value) -> Arg {
    Arg { ty: Some(value.ty.clone()), id: Some(value.id.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_read_cannot_be_mistaken() {
        assert_eq!(listed("Repo", "*"), "every Repo");
        assert_eq!(listed("*", "*"), "every value of any other type");
        assert_eq!(listed("Repo", "a\nread  Repo:b"), r#"Repo:"a\nread  Repo:b""#);
        assert_eq!(listed("Repo", "_"), r#"Repo:"_""#);
        assert_eq!([action("*"), action("every action")], ["every action", "\"every action\""]);
        assert_eq!([action("a:b"), action("")], ["a:b", "\"\""]);
    }
}
