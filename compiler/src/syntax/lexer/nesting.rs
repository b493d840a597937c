//! Bounds the nesting of brackets and `not`s.
//!
//! The grammar and every later pass recurse on expressions, so the limit is enforced before any of them runs.
//! Each `not` counts as one level. What is nested too deep is replaced by one [`Kind::Invalid`].

use crate::limits;
use crate::syntax::token::Kind;

/// What to do with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Keep it.
    Keep,
    /// It is the first that is nested too deep.
    TooDeep,
    /// It is inside something nested too deep.
    Skip,
}

/// The open brackets, each with the number of `not`s directly before it.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    open: Vec<(Kind, usize)>,
    depth: usize,
    /// `not`s directly before the next token.
    pending: usize,
    /// Brackets opened beyond the limit.
    beyond: usize,
}

impl Nesting {
    /// Updates the state with the next token.
    pub(super) fn see(&mut self, kind: Kind) -> Treatment {
        if kind == Kind::Semicolon {
            self.end_statement();
            return Treatment::Keep;
        }
        if self.beyond > 0 {
            self.beyond = if kind.closer().is_some() {
                self.beyond + 1
            } else if kind.is_closer() {
                self.beyond - 1
            } else {
                self.beyond
            };
            return Treatment::Skip;
        }
        if kind == Kind::Not {
            return self.negate();
        }
        let pending = std::mem::take(&mut self.pending);
        if kind.closer().is_some() {
            if self.depth + pending >= limits::NESTING {
                self.beyond = 1;
                return Treatment::TooDeep;
            }
            self.open.push((kind, pending));
            self.depth += pending + 1;
        } else if kind.is_closer() {
            self.close(kind);
        }
        Treatment::Keep
    }

    fn negate(&mut self) -> Treatment {
        if self.depth + self.pending < limits::NESTING {
            self.pending += 1;
            return Treatment::Keep;
        }
        Treatment::TooDeep
    }

    /// Closes the innermost bracket of this kind and everything left open inside it.
    fn close(&mut self, closer: Kind) {
        let Some(at) = self.open.iter().rposition(|(opener, _)| opener.closer() == Some(closer)) else {
            return;
        };
        self.truncate(at);
    }

    /// A `;` closes everything that its statement left open, so a forgotten bracket does not count against
    /// the rest of the text. Statements are at most two braces deep (a test and its setup).
    fn end_statement(&mut self) {
        let braces = self.open.iter().take(2).take_while(|(opener, _)| *opener == Kind::OpenBrace).count();
        self.truncate(braces);
        self.pending = 0;
        self.beyond = 0;
    }

    fn truncate(&mut self, len: usize) {
        self.open.truncate(len);
        self.depth = self.open.iter().map(|(_, nots)| nots + 1).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(kinds: impl IntoIterator<Item = Kind>) -> Vec<Treatment> {
        let mut nesting = Nesting::default();
        kinds.into_iter().map(|kind| nesting.see(kind)).collect()
    }

    #[test]
    fn sixty_four_brackets_are_kept_and_one_more_is_not() {
        let open = |n| run(std::iter::repeat_n(Kind::OpenParen, n));
        assert!(open(64).iter().all(|verdict| *verdict == Treatment::Keep));
        assert_eq!(open(65).last(), Some(&Treatment::TooDeep));
        assert_eq!(open(66).last(), Some(&Treatment::Skip));
    }

    #[test]
    fn negations_count_as_brackets_do() {
        let mut kinds = vec![Kind::Not; 40];
        kinds.push(Kind::OpenParen);
        kinds.extend([Kind::Not; 24]);
        assert_eq!(run(kinds).last(), Some(&Treatment::TooDeep));
    }

    #[test]
    fn side_by_side_is_not_nested() {
        let pair = [Kind::Not, Kind::OpenParen, Kind::CloseParen, Kind::And];
        assert!(run(pair.into_iter().cycle().take(4000)).iter().all(|verdict| *verdict == Treatment::Keep));
    }

    #[test]
    fn a_statement_end_forgets_what_was_left_open() {
        let statement = [Kind::OpenParen, Kind::OpenBracket, Kind::Semicolon];
        assert!(
            run(statement.into_iter().cycle().take(3000)).iter().all(|verdict| *verdict == Treatment::Keep)
        );
    }
}
