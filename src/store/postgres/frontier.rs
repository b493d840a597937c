//! How far a process has seen.

use crate::store::token::Token;

/// The newest moments that a process has seen, none of which is known to follow another.
///
/// Usually there is one. Of two answers that were on their way at the same time, one may come from a server
/// that took over and lacks what the other has seen. The greater revision does not decide which; so both are
/// kept, until a question that names both is answered, whose moment follows both. There are never more of
/// them than questions and writes ran at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frontier {
    /// The moment with the greatest revision.
    newest: Token,
    others: Vec<Token>,
}

impl Frontier {
    pub(super) fn newest(&self) -> Token {
        self.newest
    }

    /// All its moments.
    pub(super) fn tokens(&self) -> impl Iterator<Item = Token> + Clone {
        self.others.iter().copied().chain([self.newest])
    }

    /// Adds the moment of an answer. It follows all that its question `named`.
    pub(super) fn add(&mut self, token: Token, named: Option<&Self>) {
        let follows = |seen: Token| named.is_some_and(|named| named.tokens().any(|named| named == seen));
        let others = self.tokens().filter(|seen| *seen != token && !follows(*seen)).collect();
        *self = Self { newest: token, others };
        for other in &mut self.others {
            if other.revision > self.newest.revision {
                std::mem::swap(other, &mut self.newest);
            }
        }
    }
}

impl From<Token> for Frontier {
    fn from(newest: Token) -> Self {
        Self { newest, others: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::token::Nonce;

    fn token(revision: u64) -> Token {
        Token { revision, nonce: Nonce(revision.cast_signed()) }
    }

    fn revisions(frontier: &Frontier) -> Vec<u64> {
        frontier.tokens().map(|token| token.revision).collect()
    }

    #[test]
    fn an_answer_replaces_what_its_question_named() {
        let mut frontier = Frontier::from(token(5));
        let first = frontier.clone();
        frontier.add(token(5), Some(&first));
        assert_eq!(frontier, first);
        frontier.add(token(7), Some(&first));
        assert_eq!(revisions(&frontier), [7]);
        // These were asked before it was known, and may come from another server.
        frontier.add(token(6), Some(&first));
        assert_eq!((revisions(&frontier), frontier.newest()), (vec![6, 7], token(7)));
        frontier.add(token(9), Some(&first));
        assert_eq!((revisions(&frontier), frontier.newest()), (vec![6, 7, 9], token(9)));
        let second = frontier.clone();
        frontier.add(token(8), Some(&first));
        frontier.add(token(8), Some(&first));
        frontier.add(token(9), Some(&second));
        assert_eq!((revisions(&frontier), frontier.newest()), (vec![8, 9], token(9)));
        frontier.add(token(10), Some(&frontier.clone()));
        assert_eq!(revisions(&frontier), [10]);
    }

    #[test]
    fn moments_with_one_revision_and_two_nonces_stay_apart() {
        let other = Token { nonce: Nonce(-7), ..token(7) };
        let mut frontier = Frontier::from(token(7));
        frontier.add(other, None);
        assert_eq!(frontier.tokens().collect::<Vec<_>>(), [token(7), other]);
    }
}
