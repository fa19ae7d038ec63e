//! Checks and makes names, and suggests the right one for a misspelt one.

use strsim::osa_distance;

/// The longest name of a workflow or activity, as the host sees it.
const MAX_NAME: usize = 128;

/// The problem with the name of a workflow or activity, if it is invalid. The
/// host has the same rule (CR-1006); here an author learns of it before the upload.
pub(crate) fn complain(name: &str) -> Option<String> {
    let mut chars = name.chars();
    let well_formed = chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if !well_formed {
        return Some(format!(
            "`{name}` is not a valid name: names start with a letter and contain \
             only ASCII letters, digits, `_`, `-` and `.`"
        ));
    }
    (name.len() > MAX_NAME).then(|| {
        format!(
            "a name has at most {MAX_NAME} bytes; this one has {}",
            name.len()
        )
    })
}

/// The known name that is closest to `word`, if one is close.
pub(crate) fn closest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let farthest = (word.chars().count() / 3).max(1);
    known
        .iter()
        .map(|candidate| (osa_distance(word, candidate), *candidate))
        .filter(|(d, candidate)| {
            *d <= farthest || candidate.starts_with(word) || word.starts_with(candidate)
        })
        .min_by_key(|(d, _)| *d)
        .map(|(_, candidate)| candidate)
}

/// `a`, `b` and `c`, each in back quotes, for messages.
pub(crate) fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// `PaymentReceived` as `payment_received`, and `HTTPDone` as `http_done`.
pub(crate) fn snake_case(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (i, letter) in letters.iter().enumerate() {
        let starts_word = letter.is_uppercase()
            && i > 0
            && letters[i - 1] != '_'
            && (!letters[i - 1].is_uppercase()
                || letters.get(i + 1).is_some_and(|next| next.is_lowercase()));
        if starts_word {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_host_takes() {
        for good in [
            "a",
            "ProcessOrder",
            "reserve_inventory",
            "Payments.charge",
            "v2-final",
        ] {
            assert_eq!(complain(good), None, "{good}");
        }
        for bad in ["", "1st", "_private", "ab cd", "größe", "a/b"] {
            assert!(complain(bad).is_some(), "{bad}");
        }
        assert_eq!(complain(&"a".repeat(128)), None);
        assert!(
            complain(&"a".repeat(129))
                .unwrap()
                .contains("at most 128 bytes")
        );
    }

    #[test]
    fn the_closest_name() {
        let known = [
            "retries", "backoff", "base", "jitter", "timeout", "name", "key",
        ];
        assert_eq!(closest("retires", &known), Some("retries"));
        assert_eq!(closest("retry", &known), None);
        assert_eq!(closest("time_out", &known), Some("timeout"));
        assert_eq!(closest("keys", &known), Some("key"));
        assert_eq!(closest("bakcoff", &known), Some("backoff"));
        assert_eq!(closest("colour", &known), None);
    }

    #[test]
    fn names_are_in_snake_case() {
        for (name, want) in [
            ("Paid", "paid"),
            ("PaymentReceived", "payment_received"),
            ("HTTPDone", "http_done"),
            ("Step2Done", "step2_done"),
            ("Paid_Twice", "paid_twice"),
            ("already_so", "already_so"),
        ] {
            assert_eq!(snake_case(name), want);
        }
    }

    #[test]
    fn lists_for_people() {
        assert_eq!(list(&[]), "");
        assert_eq!(list(&["a"]), "`a`");
        assert_eq!(list(&["a", "b", "c"]), "`a`, `b` and `c`");
    }
}
