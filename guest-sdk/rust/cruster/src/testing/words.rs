//! How a host words its refusals: quoted names, advice, and the name that was meant.

use std::fmt::Write;
use std::time::Duration;

use crate::codes::Code;
use crate::wire::Fault;

/// A failure with advice of its own in place of its code's.
pub(crate) fn hinted(mut fault: Box<Fault>, hint: impl Into<String>) -> Box<Fault> {
    fault.hint = hint.into();
    fault
}

/// The beginning of a text in quotes: as many characters as `most`.
pub(crate) fn quoted(text: &str, most: usize) -> String {
    let mut out = String::from("\"");
    text.chars().take(most).for_each(|c| escape(&mut out, c));
    out.push('"');
    out
}

/// A character as Go writes it in quotes.
fn escape(out: &mut String, c: char) {
    let short = match c {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{b}' => "\\v",
        _ => "",
    };
    let code = u32::from(c);
    let escaped = match c {
        _ if !short.is_empty() => out.write_str(short),
        _ if c.is_ascii_control() => write!(out, "\\x{code:02x}"),
        // As its own, it is printable.
        _ if c.is_ascii() || c.escape_debug().len() == 1 => out.write_char(c),
        ..='\u{ffff}' => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
    debug_assert!(escaped.is_ok(), "a string takes every text");
}

/// A time as Go writes it: `1h0m0s`, `1.5s`, `20ms`.
pub(crate) fn duration(d: Duration) -> String {
    let nanos = d.as_nanos();
    let (unit, name) = match nanos {
        0 => return "0s".to_owned(),
        1..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let decimal = |whole: u128| {
        let part = nanos % unit;
        let width = unit.ilog10() as usize;
        let text = format!("{whole}.{part:0width$}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned() + name
    };
    let whole = nanos / unit;
    match (name, whole) {
        ("s", 60..3600) => format!("{}m{}", whole / 60, decimal(whole % 60)),
        ("s", 3600..) => {
            let (h, m) = (whole / 3600, whole / 60 % 60);
            format!("{h}h{m}m{}", decimal(whole % 60))
        }
        _ => decimal(whole),
    }
}

/// Names that are declared, for [`undeclared`].
pub(crate) fn names<'a>(declared: impl Iterator<Item = &'a str>) -> Vec<String> {
    declared.map(str::to_owned).collect()
}

/// The failure of a message that a workflow does not declare: a `signal`, a `query` and so on.
/// `near` are undeclared names that may be meant, each with its declaration.
pub(crate) fn undeclared(
    code: &Code,
    workflow: &str,
    kind: &str,
    name: &str,
    declared: &[String],
    near: &[(String, String)],
) -> Box<Fault> {
    let texts = declared.iter().chain(near.iter().map(|(text, _)| text));
    let meant = closest(name, texts)
        .map(|best| match near.iter().find(|(text, _)| text == best) {
            Some((_, of)) => of,
            None => best,
        })
        .map(|best| format!("; did you mean {}?", quoted(best, usize::MAX)))
        .unwrap_or_default();
    let name = quoted(name, 100);
    let fault = code.fault(format!("workflow {workflow} has no {kind} {name}{meant}"));
    match declared {
        [] => fault,
        _ => hinted(fault, format!("It has: {}.", declared.join(", "))),
    }
}

/// The name that is most like another, if one is.
pub(crate) fn closest<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a String>,
) -> Option<&'a str> {
    if name.len() > MAX_NAME {
        return None;
    }
    let mut best = None;
    let mut distance = 1 + (name.len() / 3).max(1);
    for known in known {
        let d = edits(&name.to_lowercase(), &known.to_lowercase());
        if d < distance {
            (best, distance) = (Some(known.as_str()), d);
        }
    }
    best
}

/// How long names are at most, in bytes.
pub(crate) const MAX_NAME: usize = 128;

/// How many bytes are to be inserted, deleted, replaced or swapped with their neighbour to turn one
/// text into the other.
fn edits(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1; b.len() + 1];
        for (j, y) in b.iter().enumerate() {
            let mut cost = above[j] + usize::from(x != y);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                cost = cost.min(before[j - 1] + 1);
            }
            row[j + 1] = cost.min(row[j] + 1).min(above[j + 1] + 1);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes;

    #[test]
    fn quotes() {
        for (text, want) in [
            ("plain ä €", r#""plain ä €""#),
            ("a\"b\\c\n\u{7}\0\u{7f}", r#""a\"b\\c\n\a\x00\x7f""#),
            ("\u{85}\u{200b}\u{e0001}", r#""\u0085\u200b\U000e0001""#),
        ] {
            assert_eq!(quoted(text, 40), want);
        }
        assert_eq!(quoted("äöüß", 2), "\"äö\"");
    }

    #[test]
    fn durations() {
        for (nanos, want) in [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5µs"),
            (20_000_000, "20ms"),
            (1_000_000_000, "1s"),
            (1_050_000_000, "1.05s"),
            (60_000_000_000, "1m0s"),
            (3_600_000_000_000, "1h0m0s"),
            (90_061_500_000_000, "25h1m1.5s"),
        ] {
            assert_eq!(duration(Duration::from_nanos(nanos)), want);
        }
    }

    #[test]
    fn the_closest_name() {
        let known = ["Ping".to_owned(), "Refund".to_owned()];
        for (name, want) in [
            ("Pign", Some("Ping")),
            ("iPng", Some("Ping")),
            ("Pin", Some("Ping")),
            ("Refudn", Some("Refund")),
            ("gniP", None),
            ("", None),
        ] {
            assert_eq!(closest(name, &known), want, "{name}");
        }
    }

    #[test]
    fn a_misspelt_name_is_recognised() {
        let known = ["Approve".to_owned(), "Reject".to_owned()];
        let fault = undeclared(
            &codes::UNKNOWN_SIGNAL,
            "Order",
            "signal",
            "aprove",
            &known,
            &[],
        );
        assert_eq!(
            fault.message,
            r#"workflow Order has no signal "aprove"; did you mean "Approve"?"#
        );
        assert_eq!(fault.hint, "It has: Approve, Reject.");
        let fault = undeclared(&codes::UNKNOWN_QUERY, "Order", "query", "x", &[], &[]);
        assert_eq!(fault.message, r#"workflow Order has no query "x""#);
        assert_eq!(fault.hint, codes::UNKNOWN_QUERY.hint);
    }
}
