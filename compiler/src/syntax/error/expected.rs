//! Bit sets of what the grammar would have accepted, and their form in messages.

use crate::syntax::token::Kind;

/// Groups of tokens that messages name as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::syntax) enum TokenGroup {
    /// Any top-level item.
    Item,
    /// A line of a block.
    Member,
    /// A line of a test.
    TestLine,
    /// A line of a setup.
    Fact,
    /// A name.
    Name,
    /// A literal or a variable.
    Term,
    /// A condition.
    Condition,
    /// A comparison operator, `in` or `matches`.
    Operator,
    /// A role, permission or relation in shorthand.
    Short,
    /// The value of an object literal.
    Id,
    /// The value of `roles` or `permissions`.
    List,
    /// The value of `relations`.
    Dictionary,
    /// Alternatives that messages never propose, because they exist only to be reported or are rarely meant.
    Mistake,
}

impl TokenGroup {
    const ALL: [Self; 13] = [
        Self::Item,
        Self::Member,
        Self::TestLine,
        Self::Fact,
        Self::Name,
        Self::Term,
        Self::Condition,
        Self::Operator,
        Self::Short,
        Self::Id,
        Self::List,
        Self::Dictionary,
        Self::Mistake,
    ];

    fn text(self) -> &'static str {
        match self {
            Self::Item => "a rule, a block, a `declare` or a `test`",
            Self::Member => "a declaration or a shorthand rule",
            Self::TestLine => "an assertion",
            Self::Fact => "a fact",
            Self::Name => "a name",
            Self::Term => "a value or a variable",
            Self::Condition => "a condition",
            Self::Operator => "a comparison",
            Self::Short => "a role, a permission or a relation",
            Self::Id => "a string, a number, `true` or `false`",
            Self::List => "a list of strings",
            Self::Dictionary => "relations in braces",
            Self::Mistake => "something else",
        }
    }
}

/// A set of kinds and labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::syntax) struct Expected(u128);

/// The bit of the first label; lower bits are kinds.
const FIRST_LABEL: u32 = 96;

impl Expected {
    /// The union of two sets.
    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether this kind of token was expected.
    pub(super) fn has(self, kind: Kind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Whether this group of tokens was expected.
    pub(super) fn has_label(self, label: TokenGroup) -> bool {
        self.0 & (1 << (FIRST_LABEL + label as u32)) != 0
    }

    /// The set as listed in a message: groups first, then single tokens.
    ///
    /// `not` is omitted where a condition is listed.
    pub(super) fn list(self) -> String {
        let unsaid = |kind: Kind| kind == Kind::Not && self.has_label(TokenGroup::Condition);
        let labels = TokenGroup::ALL
            .into_iter()
            .filter(|label| *label != TokenGroup::Mistake && self.has_label(*label))
            .map(|label| label.text().to_owned());
        let kinds = Kind::ALL
            .iter()
            .filter(|kind| self.has(**kind) && !unsaid(**kind))
            .map(|kind| if kind.is_class() { kind.text().to_owned() } else { format!("`{}`", kind.text()) });
        let mut entries: Vec<String> = labels.chain(kinds).collect();
        match entries.pop() {
            None => "something else".to_owned(),
            Some(last) if entries.is_empty() => last,
            Some(last) => format!("{} or {last}", entries.join(", ")),
        }
    }
}

impl FromIterator<Kind> for Expected {
    fn from_iter<T: IntoIterator<Item = Kind>>(kinds: T) -> Self {
        Self(kinds.into_iter().fold(0, |set, kind| set | 1 << kind as u8))
    }
}

impl FromIterator<TokenGroup> for Expected {
    fn from_iter<T: IntoIterator<Item = TokenGroup>>(labels: T) -> Self {
        Self(labels.into_iter().fold(0, |set, label| set | 1 << (FIRST_LABEL + label as u32)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_and_label_has_its_own_bit() {
        assert!(Kind::ALL.len() <= FIRST_LABEL as usize);
        assert!(Kind::ALL.iter().all(|kind| Expected::from_iter([*kind]).has(*kind)));
        assert!(TokenGroup::ALL.iter().all(|label| Expected::from_iter([*label]).has_label(*label)));
    }

    #[test]
    fn lists_read_as_english() {
        let set = Expected::from_iter([Kind::Semicolon, Kind::And, Kind::Or]);
        assert_eq!(set.list(), "`and`, `or` or `;`");
        assert_eq!(
            set.union(Expected::from_iter([TokenGroup::Operator])).list(),
            "a comparison, `and`, `or` or `;`"
        );
        assert_eq!(Expected::from_iter([Kind::String]).list(), "a string");
    }
}
