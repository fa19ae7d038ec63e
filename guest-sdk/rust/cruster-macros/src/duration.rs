//! Durations as people write them: `"100ms"`, `"1s"`, `"2m"`, `"1h30m"`.

/// Units and their nanoseconds. The longer of two units with the same first
/// letter is read first, as the whole unit is compared.
const UNITS: [(&str, u128); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("h", 3_600 * 1_000_000_000),
    ("d", 86_400 * 1_000_000_000),
];

/// The nanoseconds of a duration: one or more whole numbers, each with a unit.
pub(crate) fn parse(text: &str) -> Result<i64, String> {
    let mut total: u128 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let (number, after) = split(rest, |c| c.is_ascii_digit());
        let (unit, after) = split(after, |c| !c.is_ascii_digit());
        let scale = UNITS
            .iter()
            .find(|(u, _)| *u == unit)
            .map(|(_, scale)| *scale);
        let (Ok(number), Some(scale)) = (number.parse::<u64>(), scale) else {
            return Err(malformed(text));
        };
        total = total.saturating_add(u128::from(number).saturating_mul(scale));
        rest = after;
    }
    if text.is_empty() {
        return Err(malformed(text));
    }
    match i64::try_from(total) {
        Ok(0) => {
            Err("a duration must be above zero; leave the option out for the default".to_string())
        }
        Ok(nanoseconds) => Ok(nanoseconds),
        Err(_) => Err(format!("`{text}` is more than 292 years")),
    }
}

fn malformed(text: &str) -> String {
    format!(
        "`{text}` is not a duration: write whole numbers with units, as in \"100ms\", \"1s\", \"2m\" or \"1h30m\""
    )
}

/// Splits after the leading characters of one kind.
fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn durations() {
        assert_eq!(parse("1ns"), Ok(1));
        assert_eq!(parse("100ms"), Ok(100_000_000));
        assert_eq!(parse("1s"), Ok(1_000_000_000));
        assert_eq!(parse("2m"), Ok(120_000_000_000));
        assert_eq!(parse("1h30m"), Ok(5_400_000_000_000));
        assert_eq!(parse("106751d"), Ok(106_751 * 86_400_000_000_000));
    }

    #[test]
    fn what_is_no_duration() {
        for bad in [
            "",
            "1",
            "s",
            "1 s",
            "1.5s",
            "-1s",
            "1sec",
            "ten seconds",
            "1s2",
            "ä1s",
            "99999999999999999999s",
        ] {
            assert!(
                parse(bad).unwrap_err().contains("is not a duration"),
                "{bad}"
            );
        }
        assert!(parse("0s").unwrap_err().contains("above zero"));
        assert!(parse("106752d").unwrap_err().contains("292 years"));
        assert!(
            parse("18446744073709551615d")
                .unwrap_err()
                .contains("292 years")
        );
    }
}
