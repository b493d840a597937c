//! Limits the connected editors, in all and for each key, because each of them has two threads.

use crate::store::KeyDigest;
use parking_lot::Mutex;
use std::sync::Arc;

/// How many editors may be connected at once.
const MOST_EDITORS: usize = 32;

/// How many of them may have the same key, so that one key cannot take all.
const MOST_OF_KEY: usize = 8;

/// The connected editors, by their keys.
#[derive(Debug, Default)]
pub(super) struct Editors(Mutex<Vec<KeyDigest>>);

/// A connected editor, until it is dropped.
#[derive(Debug)]
pub(super) struct EditorSeat {
    editors: Arc<Editors>,
    key: KeyDigest,
}

/// Why an editor is not connected. The text is shown to the user, and must fit the 123 bytes of a close
/// frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoSeat {
    #[error("this key has 8 editors open, the most that a key may have: close another tab of the studio")]
    OfKey,
    #[error("32 editors of the studio are open, the most that this service allows: try again later")]
    AtAll,
}

impl Editors {
    /// A seat for an editor with this key.
    pub(super) fn take(self: &Arc<Self>, key: &str) -> Result<EditorSeat, NoSeat> {
        let key = KeyDigest::of(key);
        let mut connected = self.0.lock();
        if connected.iter().filter(|other| other.is(&key)).count() >= MOST_OF_KEY {
            return Err(NoSeat::OfKey);
        }
        if connected.len() >= MOST_EDITORS {
            return Err(NoSeat::AtAll);
        }
        connected.push(key.clone());
        Ok(EditorSeat { editors: Arc::clone(self), key })
    }
}

impl Drop for EditorSeat {
    fn drop(&mut self) {
        let mut connected = self.editors.0.lock();
        if let Some(at) = connected.iter().position(|other| other.is(&self.key)) {
            connected.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_leaves_seats_to_others_and_gives_its_own_back() {
        let editors = Arc::<Editors>::default();
        let mut seats: Vec<EditorSeat> = (0..MOST_OF_KEY).map(|_| editors.take("one").unwrap()).collect();
        assert_eq!(editors.take("one").unwrap_err(), NoSeat::OfKey);
        seats.pop();
        seats.push(editors.take("one").unwrap());
        for n in MOST_OF_KEY..MOST_EDITORS {
            seats.push(editors.take(&format!("other {}", n / MOST_OF_KEY)).unwrap());
        }
        assert_eq!(editors.take("another").unwrap_err(), NoSeat::AtAll);
        drop(seats);
        assert!(editors.0.lock().is_empty());
        let most = [MOST_OF_KEY, MOST_EDITORS].map(|most| most.to_string());
        for (reason, most) in [NoSeat::OfKey, NoSeat::AtAll].iter().zip(most) {
            let text = reason.to_string();
            assert!(text.contains(&most) && text.len() <= 123, "{text}");
        }
    }
}
