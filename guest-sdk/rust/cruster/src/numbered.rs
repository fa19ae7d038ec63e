//! A small ordered map from numbers.

/// A map whose keys are mostly given out in ascending order. `BTreeMap` would do the
/// same, but would be a tenth of a small module.
///
/// A removed entry leaves a gap. Gaps are closed once there are as many as entries,
/// so each operation takes amortised logarithmic time.
pub(crate) struct Numbered<T> {
    slots: Vec<(u64, Option<T>)>,
    gaps: usize,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered {
            slots: Vec::new(),
            gaps: 0,
        }
    }
}

impl<T> Numbered<T> {
    fn find(&self, number: u64) -> Result<usize, usize> {
        self.slots.binary_search_by_key(&number, |slot| slot.0)
    }

    /// Inserts a thing under its number, and returns the previous one.
    pub(crate) fn insert(&mut self, number: u64, thing: T) -> Option<T> {
        match self.find(number) {
            Ok(at) => {
                let old = self.slots[at].1.replace(thing);
                self.gaps -= usize::from(old.is_none());
                old
            }
            Err(at) => {
                self.slots.insert(at, (number, Some(thing)));
                None
            }
        }
    }

    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        self.slots[self.find(number).ok()?].1.as_ref()
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let at = self.find(number).ok()?;
        self.slots[at].1.as_mut()
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let at = self.find(number).ok()?;
        let thing = self.slots[at].1.take()?;
        self.gaps += 1;
        if self.gaps * 2 >= self.slots.len() {
            self.slots.retain(|slot| slot.1.is_some());
            self.gaps = 0;
        }
        Some(thing)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.slots
            .iter()
            .filter_map(|(number, thing)| Some((*number, thing.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::Numbered;
    use crate::generator::Generator;
    use std::collections::BTreeMap;

    #[test]
    fn is_an_ordered_map() {
        let mut random = Generator::seeded(b"numbered");
        let (mut map, mut oracle) = (Numbered::default(), BTreeMap::new());
        let mut next = 0;
        for step in 0..20_000u64 {
            // Growing at first, shrinking later; old numbers come back at times.
            let grow = if step < 10_000 { 6 } else { 3 };
            let number = random.next() % (next + 1);
            match random.next() % 10 {
                n if n < grow => {
                    assert_eq!(map.insert(next, step), oracle.insert(next, step));
                    next += 1;
                }
                n if n == grow => {
                    assert_eq!(map.insert(number, step), oracle.insert(number, step));
                    next = next.max(number + 1);
                }
                _ => assert_eq!(map.remove(number), oracle.remove(&number)),
            }
            assert_eq!(map.get(number), oracle.get(&number));
            assert_eq!(map.get_mut(number), oracle.get_mut(&number));
            if step % 100 == 0 {
                assert!(map.iter().eq(oracle.iter().map(|(n, thing)| (*n, thing))));
                assert!(map.slots.len() <= 2 * oracle.len() + 1, "gaps are closed");
            }
        }
    }
}
