//! The order in which the service promises ids: numbers by their value, then other ids by their bytes, except
//! that UUIDs come after those that begin with U+0001 and before all others.
//!
//! It is written down once more here, so that a change of the store's forms cannot change it unseen.

use portcullis::engine::EngineError;

/// What an id is ordered by.
pub(crate) type Key<'i> = (u8, i64, &'i str);

/// What an id is ordered by, from the id.
pub(crate) fn key(id: &str) -> Key<'_> {
    match id.parse::<i64>() {
        Ok(number) if number.to_string() == id => return (0, number, ""),
        Ok(_) | Err(_) => {}
    }
    let is_digit = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
    };
    let is_uuid = id.len() == 36 && id.bytes().enumerate().all(is_digit);
    let class = match id.chars().next() {
        None | Some('\u{1}') => 1,
        Some(_) if is_uuid => 2,
        Some(_) => 3,
    };
    (class, 0, id)
}

/// Whether ids are in the promised order, and each once.
pub fn is_in_order(ids: &[String]) -> bool {
    ids.is_sorted_by(|before, after| key(before) < key(after))
}

/// The ids as they are, or a fault if they are out of order.
pub(crate) fn in_order(ids: Vec<String>) -> Result<Vec<String>, EngineError> {
    if is_in_order(&ids) { Ok(ids) } else { Err(EngineError::Bug(format!("out of order: {ids:?}"))) }
}
