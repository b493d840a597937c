//! Safety checks before the service starts: who would get in with these settings, and with which rights?

use crate::config::{Config, InForce, Secret, SettingOrigin};
use crate::engine::Engine;
use crate::http::{DEFAULT_ENVIRONMENT, DEVELOPMENT_KEY};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The entropy in bits that a secret must have, so that it cannot be guessed.
const BITS: f64 = 128.0;

/// A secret with fewer different characters is a pattern, regardless of its length.
const DIFFERENT: usize = 8;

/// The shortest repetition or sequence that counts as a pattern. A random text has a shorter one now and
/// then.
const PATTERN: usize = 6;

/// The placeholder for the secret in the sample of the settings.
const PLACEHOLDER: &str = "replace-me";

/// How to create a good one.
const REMEDY: &str = "create one with `echo e_0123456789_1_$(openssl rand -hex 32)`";

/// What to do with a key that was perhaps given for something else.
const OWN_REMEDY: &str = "if commands use it, start the service without it; for a key of the service's own, ";

/// Why strangers could get in.
#[derive(Debug, thiserror::Error)]
pub(super) enum Precaution {
    /// The development mode listens beyond this machine.
    #[error(
        "`dev` accepts a key that everyone knows, so it is only for this machine, but `listen` is {0}: leave `dev` \
         out and make a key with `portcullis keys create`, or listen on 127.0.0.1"
    )]
    Development(SocketAddr),
    /// The configured key must not get full access.
    #[error("the configured `api_key` {0}: {first}{REMEDY}", first = .0.first_remedy())]
    Key(UnfitKey),
}

/// Refuses settings with which strangers could get in.
pub(super) fn check(config: &Config) -> Result<(), Precaution> {
    if config.dev && !config.listen.ip().to_canonical().is_loopback() {
        return Err(Precaution::Development(config.listen));
    }
    match &config.api_key {
        Some(Secret(key)) => check_key(key).map_err(Precaution::Key),
        None => Ok(()),
    }
}

/// Refuses a configured key that is also in a store: there it may be read-only or revoked.
pub(super) fn check_stored(config: &Config, environments: &[(String, Engine)]) -> Result<(), Precaution> {
    let Some(Secret(key)) = &config.api_key else { return Ok(()) };
    let stored = environments.iter().find_map(|(_, engine)| engine.held_key(key));
    match stored {
        Some(stored) => Err(Precaution::Key(UnfitKey::Stored(stored.id))),
        None => Ok(()),
    }
}

/// Why a key must not get full access.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnfitKey {
    /// It was copied from the sample.
    #[error("is the placeholder of the sample")]
    Placeholder,
    /// It was copied from the documentation.
    #[error("is the development key, which everyone knows")]
    Development,
    /// It has too little entropy.
    #[error(
        "is too easy to guess: its secret part has at most {bits:.0} bits of entropy, but {BITS} are needed"
    )]
    Guessable {
        /// The most bits that it may have.
        bits: f64,
    },
    /// It names an environment that it would not open.
    #[error(
        "names another environment than `{DEFAULT_ENVIRONMENT}`, the only one to which it would give full access"
    )]
    Foreign,
    /// It was created with `portcullis keys create`.
    #[error(
        "is the key `{0}` of `portcullis keys list`, which would get full access even if it is read-only or revoked"
    )]
    Stored(String),
}

impl UnfitKey {
    /// What may be better than another key.
    fn first_remedy(&self) -> &'static str {
        match self {
            Self::Placeholder | Self::Development | Self::Guessable { .. } => "",
            Self::Foreign | Self::Stored(_) => OWN_REMEDY,
        }
    }
}

/// Refuses a key that would not keep strangers out, or was meant for something else.
fn check_key(key: &str) -> Result<(), UnfitKey> {
    let parts: Vec<&str> = key.splitn(4, '_').collect();
    let secret = parts.get(3).copied().unwrap_or(key);
    if secret.contains(PLACEHOLDER) {
        return Err(UnfitKey::Placeholder);
    }
    if key == DEVELOPMENT_KEY {
        return Err(UnfitKey::Development);
    }
    // Any other text is a key of the default environment.
    if let ["e", environment, _, _] = parts.as_slice()
        && *environment != DEFAULT_ENVIRONMENT
    {
        return Err(UnfitKey::Foreign);
    }
    let bits = bits(secret);
    if bits < BITS {
        return Err(UnfitKey::Guessable { bits });
    }
    Ok(())
}

/// The maximum entropy of a text, if its characters were chosen at random from the kinds in it. Patterns
/// count once.
fn bits(secret: &str) -> f64 {
    let secret = without_patterns(secret);
    let different: BTreeSet<char> = secret.iter().copied().collect();
    if different.len() < DIFFERENT {
        return 0.0;
    }
    let has = |kind: fn(&char) -> bool| different.iter().any(kind);
    let is_hex = different.iter().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    let letters = |kind: fn(&char) -> bool| if has(kind) { 26 } else { 0 };
    let n_others = different.iter().filter(|c| !c.is_ascii_alphanumeric()).count();
    let n_digits = if has(char::is_ascii_digit) { 10 } else { 0 };
    let alphabet = if is_hex {
        16
    } else {
        n_digits + letters(char::is_ascii_lowercase) + letters(char::is_ascii_uppercase) + n_others
    };
    let number = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    number(secret.len()) * number(alphabet).log2()
}

/// The text without its patterns: nothing of a repeated part is left, and only the first character of a
/// sequence such as `abcdef` or `000000`.
fn without_patterns(secret: &str) -> Vec<char> {
    let text: Vec<char> = secret.chars().collect();
    let mut counts = vec![true; text.len()];
    for (at, part) in text.windows(PATTERN).enumerate() {
        let steps: BTreeSet<i64> = part.windows(2).map(step).collect();
        let is_sequence = steps.len() == 1 && steps.iter().all(|step| step.abs() <= 1);
        let is_repeated = text.windows(PATTERN).take(at).any(|before| before == part);
        let skipped = usize::from(is_sequence && !is_repeated);
        if is_sequence || is_repeated {
            counts.iter_mut().skip(at + skipped).take(PATTERN - skipped).for_each(|counts| *counts = false);
        }
    }
    text.into_iter().zip(counts).filter(|(_, counts)| *counts).map(|(c, _)| c).collect()
}

/// From one character to the next.
fn step(pair: &[char]) -> i64 {
    match pair {
        [from, to] => i64::from(u32::from(*to)) - i64::from(u32::from(*from)),
        _ => i64::MAX,
    }
}

/// Warns of files with secrets that every user of the machine can read.
pub(super) fn warn_of_readable(config: &Config, values: &[InForce]) {
    let in_file = |setting: &str| {
        values.iter().find_map(|value| match &value.origin {
            SettingOrigin::File { path, .. } if value.name == setting => Some(path.clone()),
            _ => None,
        })
    };
    let what = |what: &'static str| move |path: PathBuf| (path, what);
    let mut files: Vec<(PathBuf, &str)> = Vec::new();
    files.extend(in_file("api_key").map(what("the key with full access is in")));
    files.extend(in_file("store").map(what("the address of the store, perhaps with a password, is in")));
    files.extend(config.tls_key.clone().map(what("the private key of the certificate is in")));
    let stores = std::fs::read_dir(&config.data).into_iter().flatten().filter_map(Result::ok);
    let stores = stores.map(|entry| entry.path().join("store.db"));
    files.extend(stores.map(what("the facts and the secret of an environment are in")));
    for (path, what) in files.into_iter().filter(|(path, _)| is_readable(path)) {
        tracing::warn!(path = %path.display(), "{what} a file that every user of this machine can read: run chmod o= on it");
    }
}

/// Whether users other than a file's owner and group can read it.
#[cfg(unix)]
fn is_readable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| path.metadata().map_or(0, |found| found.permissions().mode());
    // A folder that others cannot enter protects its content.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    mode(path) & 0o004 != 0 && mode(folder) & 0o001 != 0
}

#[cfg(not(unix))]
fn is_readable(_path: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_must_not_get_full_access_is_refused() {
        for (key, reason) in [
            ("e_0123456789_1_replace-me", "placeholder"),
            ("e_0123456789_1_hush", "at most 0 bits"),
            ("e_0123456789_1_correcthorsebattery", "at most 89 bits"),
            ("e_0123456789_1_0123456789012345678901234567", "at most 0 bits"),
            ("e_0123456789_1_passwordpasswordpasswordpassword1", "at most 47 bits"),
            ("e_0123456789_1_0123456789abcdef0123456789abcdef", "at most 0 bits"),
            ("e_0123456789_1_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "at most 0 bits"),
            ("swordfish", "at most 42 bits"),
            (DEVELOPMENT_KEY, "everyone knows"),
            ("e_staging_1_0f1e2d3c4b5a69788796a5b4c3d2e1f0", "another environment"),
            ("e__1_0f1e2d3c4b5a69788796a5b4c3d2e1f0", "another environment"),
        ] {
            let refused = check_key(key).unwrap_err().to_string();
            assert!(refused.contains(reason), "{key}: {refused}");
            assert!(!refused.contains(key), "a secret is not shown");
        }
        for key in [
            "e_0123456789_1_0f1e2d3c4b5a69788796a5b4c3d2e1f0",
            "e_0123456789_1_4mXk2Zt9QwLr7Bv1Nc8YpA",
            "e_0123456789_1_4mXk2Zt9_wLr7Bv1Nc8YpA",
            "c2d4e6f80a1b3c5d7e9f0b2d4f6a8c1e3057698b",
            "e_4mXk2Zt9QwLr7Bv1Nc8YpAs3Hd6Jf0Gq",
        ] {
            assert!(check_key(key).is_ok(), "{key}");
        }
    }

    #[test]
    fn development_is_for_this_machine_alone() {
        let listening = |at: &str| Config { dev: true, listen: at.parse().unwrap(), ..Config::default() };
        for at in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(check(&listening(at)).is_ok(), "{at}");
        }
        for at in ["0.0.0.0:1", "[::]:1", "192.168.0.1:1", "[::ffff:10.0.0.1]:1"] {
            assert!(check(&listening(at)).is_err(), "{at}");
            assert!(check(&Config { dev: false, ..listening(at) }).is_ok(), "{at}");
        }
    }
}
