//! Points in time.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bytes::Bytes;
use crate::extension::{EXTENSION, EXTENSION_TIME, Extension};

const NANOS: i64 = 1_000_000_000;

/// A point in time, in nanoseconds since the first of January 1970, UTC. It
/// reaches from 1677 to 2262.
///
/// ```
/// use cruster::Timestamp;
/// use std::time::Duration;
///
/// let t: Timestamp = "2026-01-01T00:00:00Z".parse()?;
/// assert_eq!((t + Duration::from_millis(1500)).to_string(), "2026-01-01T00:00:01.5Z");
/// # Ok::<(), cruster::Error>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The first of January 1970.
    pub const UNIX_EPOCH: Timestamp = Timestamp(0);

    /// A time as nanoseconds since 1970.
    pub const fn from_unix_nanos(nanos: i64) -> Self {
        Timestamp(nanos)
    }

    /// A time as milliseconds since 1970; what is out of reach becomes the
    /// outermost time within.
    pub const fn from_unix_millis(millis: i64) -> Self {
        Timestamp(millis.saturating_mul(1_000_000))
    }

    /// A time as seconds since 1970; what is out of reach becomes the outermost
    /// time within.
    pub const fn from_unix_seconds(seconds: i64) -> Self {
        Timestamp(seconds.saturating_mul(NANOS))
    }

    /// Nanoseconds since 1970.
    pub const fn unix_nanos(self) -> i64 {
        self.0
    }

    /// Milliseconds since 1970.
    pub const fn unix_millis(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Seconds since 1970.
    pub const fn unix_seconds(self) -> i64 {
        self.0.div_euclid(NANOS)
    }

    /// How long it is from `earlier` until this time; zero if it is later.
    pub fn duration_since(self, earlier: Timestamp) -> Duration {
        Duration::from_nanos(u64::try_from(i128::from(self.0) - i128::from(earlier.0)).unwrap_or(0))
    }

    /// The payload of the extension, in its shortest form.
    pub(crate) fn to_extension(self) -> Vec<u8> {
        let (seconds, nanos) = (self.unix_seconds(), self.0.rem_euclid(NANOS) as u64);
        match u64::try_from(seconds) {
            Ok(s) if nanos == 0 && s <= u64::from(u32::MAX) => (s as u32).to_be_bytes().to_vec(),
            Ok(s) if s >> 34 == 0 => ((nanos << 34) | s).to_be_bytes().to_vec(),
            _ => {
                let mut out = (nanos as u32).to_be_bytes().to_vec();
                out.extend_from_slice(&seconds.to_be_bytes());
                out
            }
        }
    }

    /// Reads the payload of the extension.
    pub(crate) fn from_extension(b: &[u8]) -> Option<Self> {
        let (seconds, nanos) = match b.len() {
            4 => (i64::from(u32::from_be_bytes(b.try_into().ok()?)), 0),
            8 => {
                let packed = u64::from_be_bytes(b.try_into().ok()?);
                ((packed & ((1 << 34) - 1)) as i64, (packed >> 34) as i64)
            }
            12 => {
                let nanos = u32::from_be_bytes(b[..4].try_into().ok()?);
                (
                    i64::from_be_bytes(b[4..].try_into().ok()?),
                    i64::from(nanos),
                )
            }
            _ => return None,
        };
        if nanos >= NANOS {
            return None;
        }
        seconds
            .checked_mul(NANOS)?
            .checked_add(nanos)
            .map(Timestamp)
    }
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;
    /// Sums that are out of reach become the last time within.
    fn add(self, d: Duration) -> Timestamp {
        Timestamp(
            self.0
                .saturating_add(i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)),
        )
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Timestamp;
    fn sub(self, d: Duration) -> Timestamp {
        Timestamp(
            self.0
                .saturating_sub(i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)),
        )
    }
}

impl Sub for Timestamp {
    type Output = Duration;
    /// Zero if the other time is later.
    fn sub(self, earlier: Timestamp) -> Duration {
        self.duration_since(earlier)
    }
}

impl From<std::time::SystemTime> for Timestamp {
    fn from(t: std::time::SystemTime) -> Self {
        match t.duration_since(std::time::SystemTime::UNIX_EPOCH) {
            Ok(d) => Timestamp::UNIX_EPOCH + d,
            Err(e) => Timestamp::UNIX_EPOCH - e.duration(),
        }
    }
}

/// Days since 1970 of a date of the Gregorian calendar. Years begin in March
/// here, so that leap days come last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let era = y.div_euclid(400);
    let year_of_era = y.rem_euclid(400);
    let day_of_year = (153 * m + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The date of a day since 1970: the reverse of [`days_of`].
fn date_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let m = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * m + 2) / 5 + 1;
    let month = if m < 10 { m + 3 } else { m - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// RFC 3339 in UTC, with as many digits of the second as are needed.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, nanos) = (self.unix_seconds(), self.0.rem_euclid(NANOS));
        let (year, month, day) = date_of(seconds.div_euclid(86_400));
        let s = seconds.rem_euclid(86_400);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}",
            s / 3600,
            s / 60 % 60,
            s % 60
        )?;
        if nanos != 0 {
            let digits = format!("{nanos:09}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a text is no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseTimestampError(String);

impl fmt::Display for ParseTimestampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no time such as 2026-01-31T12:00:00Z", self.0)
    }
}

impl std::error::Error for ParseTimestampError {}

impl std::str::FromStr for Timestamp {
    type Err = ParseTimestampError;

    /// Takes RFC 3339, and the forms in which SQLite keeps times: with a blank
    /// between date and time, without a zone (UTC is meant), or a date alone.
    fn from_str(s: &str) -> Result<Self, ParseTimestampError> {
        parse(s).ok_or_else(|| ParseTimestampError(s.chars().take(40).collect()))
    }
}

fn number(s: &str, digits: usize) -> Option<i64> {
    (s.len() == digits && s.bytes().all(|b| b.is_ascii_digit())).then(|| s.parse().ok())?
}

fn parse(s: &str) -> Option<Timestamp> {
    let (date, rest) = s.split_at_checked(10)?;
    let mut parts = date.split('-');
    let (year, month, day) = (
        number(parts.next()?, 4)?,
        number(parts.next()?, 2)?,
        number(parts.next()?, 2)?,
    );
    let days = days_of(year, month, day);
    if parts.next().is_some() || date_of(days) != (year, month, day) {
        return None;
    }
    let nanos = if rest.is_empty() {
        0
    } else {
        parse_clock(rest.strip_prefix(['T', 't', ' '])?)?
    };
    days.checked_mul(86_400 * NANOS)?
        .checked_add(nanos)
        .map(Timestamp)
}

/// Nanoseconds since midnight UTC of `12:00:00.5+01:00`.
fn parse_clock(s: &str) -> Option<i64> {
    let zone_at = s.find(['Z', 'z', '+', '-']).unwrap_or(s.len());
    let (clock, zone) = s.split_at(zone_at);
    let (hms, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = hms.split(':');
    let (h, m, sec) = (
        number(parts.next()?, 2)?,
        number(parts.next()?, 2)?,
        number(parts.next()?, 2)?,
    );
    if parts.next().is_some()
        || h > 23
        || m > 59
        || sec > 59
        || fraction.is_empty()
        || fraction.len() > 9
    {
        return None;
    }
    let nanos = number(&format!("{fraction:0<9}"), 9)?;
    let offset = match zone {
        "" | "Z" | "z" => 0,
        _ => {
            let (zh, zm) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
            let (zh, zm) = (number(zh, 2)?, number(zm, 2)?);
            if zh > 23 || zm > 59 {
                return None;
            }
            let minutes = zh * 60 + zm;
            if zone.starts_with('-') {
                -minutes
            } else {
                minutes
            }
        }
    };
    Some((h * 3600 + m * 60 + sec - offset * 60) * NANOS + nanos)
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if s.is_human_readable() {
            return s.collect_str(self);
        }
        s.serialize_newtype_struct(EXTENSION, &(EXTENSION_TIME, Bytes(self.to_extension())))
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        if d.is_human_readable() {
            // Where serde has to look ahead, as in untagged enums, it keeps values in
            // a form that is no text and yet calls itself readable.
            return d.deserialize_any(TimeVisitor);
        }
        d.deserialize_newtype_struct(EXTENSION, TimeVisitor)
    }
}

struct TimeVisitor;

impl<'de> Visitor<'de> for TimeVisitor {
    type Value = Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, d: D) -> Result<Timestamp, D::Error> {
        let (kind, data) = Extension::deserialize(d)?;
        if kind != EXTENSION_TIME {
            return Err(de::Error::custom("an extension that is no time"));
        }
        Timestamp::from_extension(&data)
            .ok_or_else(|| de::Error::custom("a time that is out of range"))
    }

    fn visit_str<E: de::Error>(self, s: &str) -> Result<Timestamp, E> {
        s.parse().map_err(E::custom)
    }
}
