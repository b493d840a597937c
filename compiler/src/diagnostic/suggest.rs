//! Suggests the name that was probably meant.
//!
//! A far-fetched suggestion is worse than none, so the edit distance (Damerau–Levenshtein) may be at most a
//! third of the longer name's length.

/// Returns the nearest candidate within that distance, or the first of several.
pub fn near<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.chars().take(LONGEST).collect();
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        let chars: Vec<char> = candidate.chars().take(LONGEST).collect();
        if chars == name || chars.len().abs_diff(name.len()) * 3 > name.len().max(chars.len()) {
            continue;
        }
        let slips = distance(&name, &chars);
        if slips * 3 <= name.len().max(chars.len()) && best.is_none_or(|(least, _)| slips < least) {
            best = Some((slips, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns the first candidate at distance one.
pub fn one_slip<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.chars().take(LONGEST).collect();
    candidates.into_iter().find(|candidate| {
        let chars: Vec<char> = candidate.chars().take(LONGEST).collect();
        chars != name && chars.len().abs_diff(name.len()) < 2 && distance(&name, &chars) == 1
    })
}

/// Longest name compared, in characters; the work is quadratic.
const LONGEST: usize = 64;

/// The edit distance: letters added, removed or changed, and swaps of two neighbours. Words that differ only
/// in case are at distance one.
fn distance(from: &[char], to: &[char]) -> usize {
    if from.iter().flat_map(|c| c.to_lowercase()).eq(to.iter().flat_map(|c| c.to_lowercase())) {
        return 1;
    }
    // Three rows of the usual table; a swap needs the row before the previous one.
    let mut before_last = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    let mut previous = None;
    for (row, &a) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        let mut left = row + 1;
        let mut previous_b = None;
        for (column, &b) in to.iter().enumerate() {
            let above = |line: &[usize], at: usize| line.get(at).copied().unwrap_or(usize::MAX / 2);
            let mut least =
                (above(&last, column) + usize::from(a != b)).min(above(&last, column + 1) + 1).min(left + 1);
            if previous == Some(b) && previous_b == Some(a) && column > 0 {
                least = least.min(above(&before_last, column - 1) + 1);
            }
            current.push(least);
            left = least;
            previous_b = Some(b);
        }
        previous = Some(a);
        before_last = last;
        last = current;
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slip_of_each_kind_is_found() {
        for slip in ["reder", "readder", "reqder", "raeder", "READER", "Reader"] {
            assert_eq!(near(slip, ["writer", "reader", "owner"]), Some("reader"), "{slip}");
        }
    }

    #[test]
    fn a_far_name_is_not_suggested() {
        assert_eq!(near("viewer", ["admin", "member"]), None);
        assert_eq!(near("a", ["b"]), None);
        assert_eq!(near("", ["a", ""]), None);
    }

    #[test]
    fn the_nearest_wins_and_the_name_itself_never_does() {
        assert_eq!(near("ownr", ["owned", "owner"]), Some("owner"));
        assert_eq!(near("owner", ["owner"]), None);
        assert_eq!(near("größe", ["groesse", "grösse"]), Some("grösse"));
        assert_eq!(near("müller", ["müler"]), Some("müler"));
    }

    #[test]
    fn one_slip_is_not_two() {
        assert_eq!(one_slip("has_roles", ["allow", "has_role"]), Some("has_role"));
        assert_eq!(one_slip("has_group", ["has_role"]), None);
        assert_eq!(one_slip("has_role", ["has_role"]), None);
        assert_eq!(one_slip("Has_Role", ["has_role"]), Some("has_role"));
    }

    #[test]
    fn long_names_cost_little() {
        let long = "x".repeat(100_000);
        assert_eq!(near(&long, [format!("{long}y").as_str()]), None);
    }
}
