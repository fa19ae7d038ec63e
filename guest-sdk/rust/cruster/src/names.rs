//! Names of workflows, activities and deferreds, checked while the module is
//! compiled.

/// The longest name, in bytes.
pub(crate) const MAX_NAME: usize = 128;

/// Checks a name; `what` begins the message.
///
/// # Panics
///
/// If the name is invalid.
pub const fn check(what: &str, name: &str) {
    let b = name.as_bytes();
    if b.is_empty() || b.len() > MAX_NAME {
        fail(&[what, " `", name, "` must have 1 to 128 bytes"]);
    }
    if !b[0].is_ascii_alphabetic() {
        fail(&[what, " `", name, "` must start with a letter"]);
    }
    let mut i = 0;
    while i < b.len() {
        if !b[i].is_ascii_alphanumeric() && b[i] != b'_' && b[i] != b'-' && b[i] != b'.' {
            fail(&[
                what,
                " `",
                name,
                "` may hold only letters, digits, `_`, `-` and `.`",
            ]);
        }
        i += 1;
    }
}

/// Equality of strings in constants.
pub(crate) const fn same(a: &str, b: &str) -> bool {
    equal(a.as_bytes(), b.as_bytes())
}

/// Whether a text is longer than another and begins with it, in constants.
pub(crate) const fn goes_on(text: &str, beginning: &str) -> bool {
    let (text, beginning) = (text.as_bytes(), beginning.as_bytes());
    text.len() > beginning.len() && equal(text.split_at(beginning.len()).0, beginning)
}

/// The part after the last mark, or all of it, in constants.
pub(crate) const fn after_last(mark: u8, text: &str) -> &[u8] {
    let mut rest = text.as_bytes();
    let mut after = rest;
    while let [first, tail @ ..] = rest {
        if *first == mark {
            after = tail;
        }
        rest = tail;
    }
    after
}

/// Equality of bytes in constants.
pub(crate) const fn equal(mut a: &[u8], mut b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    while let ([x, rest_of_a @ ..], [y, rest_of_b @ ..]) = (a, b) {
        if *x != *y {
            return false;
        }
        (a, b) = (rest_of_a, rest_of_b);
    }
    true
}

/// Panics with a message of several parts. Constants cannot format, so this joins
/// the parts by hand.
pub(crate) const fn fail(parts: &[&str]) -> ! {
    let mut text = [0u8; 512];
    let mut n = 0;
    let mut p = 0;
    while p < parts.len() {
        let part = parts[p].as_bytes();
        let mut i = 0;
        while i < part.len() && n < text.len() {
            text[n] = part[i];
            n += 1;
            i += 1;
        }
        p += 1;
    }
    match std::str::from_utf8(text.split_at(n).0) {
        Ok(message) => panic!("{}", message),
        Err(_) => panic!("a name is too long or not acceptable"),
    }
}

/// A stable sort for short lists. The sort of the standard library is made for long
/// ones, and adds kilobytes to a module for each type.
pub(crate) fn sort<T>(items: &mut [T], before: impl Fn(&T, &T) -> bool) {
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && before(&items[at], &items[at - 1]) {
            items.swap(at, at - 1);
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_whole() {
        for (a, b, want) in [
            ("charge", "charge", true),
            ("charge", "charged", false),
            ("charged", "charge", false),
            ("charge", "change", false),
            ("", "", true),
        ] {
            assert_eq!(same(a, b), want, "{a} {b}");
        }
    }
}
