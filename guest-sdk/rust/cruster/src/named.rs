//! Short lists of things with names.

use std::cell::RefCell;

/// Things that a workflow has set while it runs, by their names.
pub(crate) type Named<T> = RefCell<Vec<(&'static str, T)>>;

/// Puts something under a name, and returns the previous entry.
pub(crate) fn replace<T>(list: &Named<T>, name: &'static str, thing: T) -> Option<T> {
    let mut list = list.borrow_mut();
    match list.iter_mut().find(|(known, _)| *known == name) {
        Some((_, before)) => Some(std::mem::replace(before, thing)),
        None => {
            list.push((name, thing));
            None
        }
    }
}

/// The entry under a name.
pub(crate) fn find<T: Clone>(list: &Named<T>, name: &str) -> Option<T> {
    let list = list.borrow();
    let found = list.iter().find(|(known, _)| *known == name);
    found.map(|(_, thing)| thing.clone())
}
