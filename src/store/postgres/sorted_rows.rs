//! Rows for a table, in the order in which its indexes take them best.
//!
//! A table has an index from each end, and each row has an entry in both. If rows come in the order of one
//! of them, as in most imports, then the entries of a batch are on a few pages of that index, but may be on
//! any page of the other. So rows are sorted by the other: its pages are then visited in order instead of at
//! random. Of a million relations in batches of 50,000, PostgreSQL took a fifth less time.

use super::value::form;
use std::cmp::Ordering;

/// Rows, none of them twice.
#[derive(Debug, Default)]
pub(super) struct SortedRows {
    n_columns: usize,
    /// The forms of all values, one after the other.
    bytes: Vec<u8>,
    /// Where each value ends.
    ends: Vec<usize>,
    /// The rows, in their order.
    places: Vec<usize>,
}

/// The end of a table from which rows are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TableEnd {
    First,
    Last,
}

impl SortedRows {
    /// The rows of these texts, each with `n_columns` of them.
    pub(super) fn of<'t>(
        n_columns: usize,
        texts: impl Iterator<Item = impl Iterator<Item = &'t str>>,
    ) -> Self {
        let mut rows = Self { n_columns, ..Self::default() };
        for row in texts {
            rows.places.push(rows.places.len());
            for text in row {
                rows.bytes.extend(form(text));
                rows.ends.push(rows.bytes.len());
            }
        }
        let places = std::mem::take(&mut rows.places);
        let end = rows.scattered_end(&places);
        let keyed = places.into_iter().map(|place| (rows.key(end, place), place));
        let mut keyed: Vec<(u64, usize)> = keyed.collect();
        let order =
            |a: &(u64, usize), b: &(u64, usize)| a.0.cmp(&b.0).then_with(|| rows.order(end, a.1, b.1));
        keyed.sort_unstable_by(order);
        keyed.dedup_by(|a, b| order(a, b).is_eq());
        Self { places: keyed.into_iter().map(|(_, place)| place).collect(), ..rows }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The values of each row in some columns.
    pub(super) fn iter<'r>(
        &'r self,
        columns: &'r [usize],
    ) -> impl Iterator<Item = impl ExactSizeIterator<Item = &'r [u8]>> {
        let row = move |place: &'r usize| columns.iter().map(move |column| self.value(*place, *column));
        self.places.iter().map(row)
    }

    /// The values of every nth row in some columns, column by column.
    pub(super) fn transposed(&self, columns: &[usize], nth: usize) -> Vec<Vec<&[u8]>> {
        let of_column = |column: &usize| {
            self.places.iter().step_by(nth).map(|place| self.value(*place, *column)).collect()
        };
        columns.iter().map(of_column).collect()
    }

    /// The end from which these rows are further from being sorted.
    fn scattered_end(&self, places: &[usize]) -> TableEnd {
        let ascents = |end| places.windows(2).filter(|pair| self.is_ascent(end, pair)).count();
        if ascents(TableEnd::First) > ascents(TableEnd::Last) { TableEnd::Last } else { TableEnd::First }
    }

    fn is_ascent(&self, end: TableEnd, pair: &[usize]) -> bool {
        matches!(pair, [a, b] if self.order(end, *a, *b).is_le())
    }

    /// The first bytes of the value by which a row is sorted first: they decide nearly every comparison.
    /// Where they are equal, the values may still differ.
    fn key(&self, end: TableEnd, row: usize) -> u64 {
        let value = match end {
            TableEnd::First => self.row(row).next(),
            TableEnd::Last => self.row(row).next_back(),
        };
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(value.unwrap_or_default()).for_each(|(byte, of_value)| *byte = *of_value);
        u64::from_be_bytes(bytes)
    }

    fn order(&self, end: TableEnd, a: usize, b: usize) -> Ordering {
        match end {
            TableEnd::First => self.row(a).cmp(self.row(b)),
            TableEnd::Last => self.row(a).rev().cmp(self.row(b).rev()),
        }
    }

    /// The values of the row that came as the nth, from 0.
    fn row(&self, nth: usize) -> impl DoubleEndedIterator<Item = &[u8]> {
        (0..self.n_columns).map(move |column| self.value(nth, column))
    }

    fn value(&self, row: usize, column: usize) -> &[u8] {
        let at = row * self.n_columns + column;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        let end = self.ends.get(at).copied().unwrap_or_default();
        self.bytes.get(start..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(rows: &[[&str; 2]]) -> Vec<Vec<String>> {
        let rows = SortedRows::of(2, rows.iter().map(|row| row.iter().copied()));
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        rows.iter(&[0, 1]).map(|row| row.map(text).collect()).collect()
    }

    #[test]
    fn rows_are_sorted_from_the_end_from_which_they_are_scattered() {
        let by_first = [["a", "z"], ["b", "x"], ["b", "y"], ["c", "w"]];
        assert_eq!(sorted(&by_first), [["c", "w"], ["b", "x"], ["b", "y"], ["a", "z"]]);
        let by_last = by_first.map(|[first, last]| [last, first]);
        assert_eq!(sorted(&by_last), [["w", "c"], ["x", "b"], ["y", "b"], ["z", "a"]]);
        // Rows in no order are sorted from the first column.
        assert_eq!(sorted(&[["b", "b"], ["a", "a"], ["c", "c"]]), [["a", "a"], ["b", "b"], ["c", "c"]]);
    }

    #[test]
    fn a_row_that_comes_twice_is_there_once() {
        assert_eq!(sorted(&[["a", "b"], ["b", "a"], ["a", "b"], ["", "ab"]]).len(), 3);
        assert!(sorted(&[]).is_empty());
        // The same bytes with another end between the values are another row.
        assert_eq!(sorted(&[["ab", "c"], ["a", "bc"]]).len(), 2);
    }

    #[test]
    fn values_that_begin_with_the_same_bytes_are_told_apart() {
        let same = [["abcdefghz", "x"], ["abcdefgh", "x"], ["abcdefghi", "x"], ["abcdefghz", "x"]];
        let rows = sorted(&same);
        assert_eq!(rows, [["abcdefgh", "x"], ["abcdefghi", "x"], ["abcdefghz", "x"]]);
    }

    #[test]
    fn columns_have_the_values_of_their_rows() {
        let texts = [["a", "1", "x"], ["b", "2", "x"], ["c", "3", "x"]];
        let rows = SortedRows::of(3, texts.iter().map(|row| row.iter().copied()));
        let forms = |texts: [&str; 2]| texts.map(form).to_vec();
        assert_eq!(rows.transposed(&[0, 1], 2), [forms(["a", "c"]), forms(["1", "3"])]);
        assert_eq!(rows.transposed(&[2], 1), [["x"; 3].map(form)]);
        assert_eq!(rows.len(), 3);
        assert_eq!(rows.iter(&[1]).flatten().collect::<Vec<_>>(), ["1", "2", "3"].map(form));
    }
}
