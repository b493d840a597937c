//! Who may use the studio: one-time tokens, and sessions with a cookie.
//!
//! A session remembers the key that opened it, in memory only, and each of its requests is authenticated with
//! that key. So a session has no rights of its own, and a revoked key ends its sessions at once. Cookies and
//! tokens are random, kept as digests, and limited in number and time.

use crate::config::Secret;
use crate::store::KeyDigest;
use axum::http::header::{COOKIE, HOST};
use axum::http::{HeaderMap, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// How many sessions there are at most. A further one ends the oldest of the key that has the most, so nobody
/// can end the sessions of other keys by opening many.
const MOST_SESSIONS: usize = 64;

/// How many cookies of a request are looked at: another program on the machine may have set one of the name.
const MOST_COOKIES: usize = 4;

/// How long a session, or a token that nobody uses, lasts: a day's work.
const LIFETIME: Duration = Duration::from_hours(12);

/// Sessions, and tokens that become one.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    open: Mutex<Vec<StudioSession>>,
    tokens: Mutex<Vec<StudioSession>>,
}

/// What a cookie or a token stands for.
#[derive(Clone, Debug)]
struct StudioSession {
    digest: KeyDigest,
    key: Secret,
    began: Instant,
}

impl Sessions {
    /// A token that opens one session with this key.
    pub(super) fn token(&self, key: &str) -> Result<String, getrandom::Error> {
        let (text, session) = StudioSession::new(key)?;
        let mut tokens = self.tokens.lock();
        tokens.truncate(MOST_SESSIONS - 1);
        tokens.insert(0, session);
        Ok(text)
    }

    /// The key of a token, which is used up.
    pub(super) fn redeem(&self, token: &str) -> Option<String> {
        let sent = KeyDigest::of(token);
        let mut tokens = self.tokens.lock();
        tokens.retain(StudioSession::lasts);
        let at = tokens.iter().position(|token| token.digest.is(&sent))?;
        Some(tokens.remove(at).key.0)
    }

    /// Opens a session with this key; the value of its cookie.
    pub(super) fn open(&self, key: &str) -> Result<String, getrandom::Error> {
        let (text, session) = StudioSession::new(key)?;
        let mut open = self.open.lock();
        open.retain(StudioSession::lasts);
        if open.len() >= MOST_SESSIONS {
            let n_of_key =
                |session: &StudioSession| open.iter().filter(|other| other.key.0 == session.key.0).count();
            let counts: Vec<usize> = open.iter().map(n_of_key).collect();
            let most = counts.iter().max();
            if let Some(oldest) = counts.iter().rposition(|count| Some(count) == most) {
                open.remove(oldest);
            }
        }
        open.insert(0, session);
        Ok(text)
    }

    /// Ends the session of a request.
    pub(super) fn close(&self, headers: &HeaderMap) {
        let sent = sent(headers);
        self.open.lock().retain(|session| !sent.iter().any(|sent| session.digest.is(sent)));
    }

    /// The key of a request's session.
    pub(super) fn key(&self, headers: &HeaderMap) -> Option<String> {
        let sent = sent(headers);
        let open = self.open.lock();
        let is_sent = |session: &&StudioSession| sent.iter().any(|sent| session.digest.is(sent));
        let found = open.iter().find(|session| is_sent(session) && session.lasts())?;
        Some(found.key.0.clone())
    }
}

impl StudioSession {
    fn new(key: &str) -> Result<(String, Self), getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        let text = URL_SAFE_NO_PAD.encode(bytes);
        let digest = KeyDigest::of(&text);
        Ok((text, Self { digest, key: Secret(key.to_owned()), began: Instant::now() }))
    }

    fn lasts(&self) -> bool {
        self.began.elapsed() < LIFETIME
    }
}

/// The name of the cookie. Browsers do not tell ports apart, so that two services on one machine need two.
fn name(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port).filter(|port| port.parse::<u16>().is_ok());
    port.map_or("portcullis-studio".to_owned(), |port| format!("portcullis-studio-{port}"))
}

/// The digests of the cookies of this name that a request carries.
fn sent(headers: &HeaderMap) -> Vec<KeyDigest> {
    let name = name(headers);
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let own = pairs.filter(|(sent, _)| *sent == name).take(MOST_COOKIES);
    own.map(|(_, value)| KeyDigest::of(value)).collect()
}

/// The header that sets the cookie; `None` ends it.
pub(super) fn cookie(headers: &HeaderMap, value: Option<&str>, is_secure: bool) -> Option<HeaderValue> {
    let (name, secure) = (name(headers), if is_secure { "; Secure" } else { "" });
    let seconds = value.map_or(0, |_| LIFETIME.as_secs());
    let value = value.unwrap_or_default();
    let text = format!("{name}={value}; Path=/studio; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    HeaderValue::try_from(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_cookie(value: &str) -> HeaderMap {
        let cookie = format!("other=1; portcullis-studio-8081={value}");
        HeaderMap::from_iter([
            (HOST, HeaderValue::from_static("localhost:8081")),
            (COOKIE, HeaderValue::try_from(cookie).unwrap()),
        ])
    }

    #[test]
    fn a_token_works_once_and_a_cookie_until_it_is_closed() {
        let sessions = Sessions::default();
        let token = sessions.token("key").unwrap();
        assert_eq!(sessions.redeem("another"), None);
        assert_eq!(sessions.redeem(&token).as_deref(), Some("key"));
        assert_eq!(sessions.redeem(&token), None);
        let value = sessions.open("key").unwrap();
        assert_eq!(sessions.key(&with_cookie(&value)).as_deref(), Some("key"));
        assert_eq!(sessions.key(&with_cookie("another")), None);
        assert_eq!(sessions.key(&HeaderMap::new()), None);
        sessions.close(&with_cookie(&value));
        assert_eq!(sessions.key(&with_cookie(&value)), None);
    }

    #[test]
    fn the_oldest_session_gives_way() {
        let sessions = Sessions::default();
        let values: Vec<String> = (0..=MOST_SESSIONS).map(|_| sessions.open("key").unwrap()).collect();
        assert_eq!(sessions.key(&with_cookie(&values[0])), None);
        assert!(sessions.key(&with_cookie(&values[1])).is_some());
        assert!(sessions.key(&with_cookie(&values[MOST_SESSIONS])).is_some());
    }

    #[test]
    fn a_key_with_many_sessions_ends_no_others() {
        let sessions = Sessions::default();
        let own = sessions.open("own").unwrap();
        let others: Vec<String> = (0..2 * MOST_SESSIONS).map(|_| sessions.open("other").unwrap()).collect();
        assert_eq!(sessions.key(&with_cookie(&own)).as_deref(), Some("own"));
        assert_eq!(sessions.key(&with_cookie(&others[0])), None);
        assert!(sessions.key(&with_cookie(&others[2 * MOST_SESSIONS - 1])).is_some());
    }

    #[test]
    fn another_cookie_of_the_name_hides_none() {
        let sessions = Sessions::default();
        let value = sessions.open("key").unwrap();
        let both = with_cookie(&format!("planted; portcullis-studio-8081={value}"));
        assert_eq!(sessions.key(&both).as_deref(), Some("key"));
        sessions.close(&both);
        assert_eq!(sessions.key(&both), None);
    }

    #[test]
    fn a_cookie_is_for_the_studio_alone_and_no_script_reads_it() {
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("[::1]:9000"))]);
        let set = cookie(&headers, Some("v"), true).unwrap();
        let text = "portcullis-studio-9000=v; Path=/studio; HttpOnly; SameSite=Strict; Max-Age=43200; Secure";
        assert_eq!(set, text);
        let ended = cookie(&HeaderMap::new(), None, false).unwrap();
        assert_eq!(ended, "portcullis-studio=; Path=/studio; HttpOnly; SameSite=Strict; Max-Age=0");
    }
}
