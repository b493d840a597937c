//! An entry of a list together with its siblings, so that it is replaced without looking it up again.

/// The entries of a list before and after one of them.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Others<'l, T> {
    before: &'l [T],
    after: &'l [T],
}

impl<'l, T> Others<'l, T> {
    /// The entry at a place, and the others; `None` if the list has no such place.
    pub(crate) fn at(list: &'l [T], place: usize) -> Option<(Self, &'l T)> {
        let (before, rest) = list.split_at_checked(place)?;
        let (entry, after) = rest.split_first()?;
        Some((Self { before, after }, entry))
    }

    /// Each entry of a list, and the others, in order.
    pub(crate) fn each(list: &'l [T]) -> impl Iterator<Item = (Self, &'l T)> {
        (0..list.len()).filter_map(|place| Self::at(list, place))
    }

    /// Edits each entry of a list in order; those before it are edited already.
    pub(crate) fn for_each_mut(list: &mut [T], mut edit: impl FnMut(Others<'_, T>, &mut T)) {
        for place in 0..list.len() {
            let (before, rest) = list.split_at_mut(place);
            if let Some((entry, after)) = rest.split_first_mut() {
                edit(Others { before, after }, entry);
            }
        }
    }

    /// The other entries in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'l T> + use<'l, T> {
        self.before.iter().chain(self.after)
    }
}

impl<T: Clone> Others<'_, T> {
    /// The other entries in order.
    pub(crate) fn to_vec(&self) -> Vec<T> {
        [self.before, self.after].concat()
    }

    /// The list with this entry in the place of the one that was there.
    pub(crate) fn with(&self, entry: T) -> Vec<T> {
        [self.before, &[entry], self.after].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::Others;

    #[test]
    fn each_entry_has_a_place_in_the_list() {
        let list = [1, 2, 3];
        let replaced: Vec<Vec<i32>> =
            Others::each(&list).map(|(others, entry)| others.with(10 * entry)).collect();
        assert_eq!(replaced, [[10, 2, 3], [1, 20, 3], [1, 2, 30]]);
        let left: Vec<Vec<i32>> = Others::each(&list).map(|(others, _)| others.to_vec()).collect();
        assert_eq!(left, [[2, 3], [1, 3], [1, 2]]);
        assert!(Others::at(&list, 3).is_none() && Others::at(&list, 4).is_none());
    }

    #[test]
    fn an_edit_sees_the_edits_before_it() {
        let mut list = [1, 2, 3];
        Others::for_each_mut(&mut list, |others, entry| *entry += others.iter().sum::<i32>());
        assert_eq!(list, [6, 11, 20]);
    }
}
