//! A row that mostly has one element, which lies within its owner: no pointer stands between the two.

use std::ops::{Index, IndexMut};

/// The elements in order; the first one inline.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Row<T> {
    first: Option<T>,
    more: Vec<T>,
}

impl<T> Default for Row<T> {
    fn default() -> Self {
        Row { first: None, more: Vec::new() }
    }
}

impl<T> Row<T> {
    /// Adds an element at the end.
    pub(crate) fn push(&mut self, it: T) {
        match self.first {
            None => self.first = Some(it),
            Some(_) => self.more.push(it),
        }
    }

    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }

    /// The first one.
    #[inline(always)]
    pub(crate) fn first(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// The one at `index`.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        match index.checked_sub(1) {
            None => self.first.as_ref(),
            Some(index) => self.more.get(index),
        }
    }

    /// All of them, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().chain(&mut self.more)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.more)
    }
}

impl<T> Index<usize> for Row<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        match (index.checked_sub(1), &self.first) {
            (None, Some(first)) => first,
            (None, None) => &self.more[0],
            (Some(index), _) => &self.more[index],
        }
    }
}

impl<T> IndexMut<usize> for Row<T> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        match (index.checked_sub(1), &mut self.first) {
            (None, Some(first)) => first,
            // As of a slice without elements.
            (None, None) => &mut self.more[0],
            (Some(index), _) => &mut self.more[index],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_what_a_vector_would_be() {
        let (mut row, mut vector) = (Row::default(), Vec::new());
        for n in 0..5 {
            assert_eq!((row.len(), row.first(), row.get(n)), (n, vector.first(), None));
            row.push(10 * n);
            vector.push(10 * n);
            row[n] += 1;
            vector[n] += 1;
            assert_eq!((0..=n).map(|i| (row[i], row.get(i))).collect::<Vec<_>>(), {
                vector.iter().map(|v| (*v, Some(v))).collect::<Vec<_>>()
            });
            assert!(row.iter().eq(&vector));
        }
    }
}
