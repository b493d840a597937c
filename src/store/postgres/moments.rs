//! Recent clocks of the primary, which bound the age of a replica's answer.

use crate::store::token::Token;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How many moments are kept, besides the newest.
const MOMENTS: u32 = 16;

/// Moments of the primary, with a time before which all that they lack was not acknowledged.
#[derive(Debug, Default)]
pub(super) struct Moments(VecDeque<(Instant, Token)>);

impl Moments {
    /// Adds one. Some are left out, so that there are never many.
    pub(super) fn add(&mut self, since: Instant, token: Token, most: Duration) {
        let is_soon = |(last, _): &(Instant, Token)| since.saturating_duration_since(*last) < most / MOMENTS;
        if !self.0.back().is_some_and(is_soon) {
            self.0.push_back((since, token));
        }
        while self.0.front().is_some_and(|(first, _)| since.saturating_duration_since(*first) > most) {
            self.0.pop_front();
        }
    }

    /// The oldest one since a time.
    pub(super) fn since(&self, oldest: Option<Instant>) -> Option<Token> {
        let is_since = |(since, _): &&(Instant, Token)| oldest.is_none_or(|oldest| *since >= oldest);
        self.0.iter().find(is_since).map(|(_, token)| *token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::token::Nonce;

    #[test]
    fn the_oldest_moment_within_the_age_is_enough() {
        let begin = Instant::now();
        let at = |millis: u64| begin + Duration::from_millis(millis);
        let token = |revision| Token { revision, nonce: Nonce(0) };
        let (mut moments, most) = (Moments::default(), Duration::from_secs(16));
        for second in 0..100 {
            moments.add(at(1_000 * second), token(second), most);
            moments.add(at(1_000 * second + 10), token(1_000), most);
        }
        assert_eq!(moments.since(Some(at(90_000))), Some(token(90)));
        assert_eq!(moments.since(Some(at(89_500))), Some(token(90)));
        assert_eq!(moments.since(Some(at(99_001))), None);
        assert!(moments.0.len() <= 17, "{}", moments.0.len());
        assert_eq!(Moments::default().since(None), None);
    }
}
