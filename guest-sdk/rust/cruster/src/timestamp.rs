//! Points in time.

use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;
use std::time::Duration;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::{Date, Month, OffsetDateTime, UtcOffset};

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

    /// A time as milliseconds since 1970, limited to the range of the type.
    pub const fn from_unix_millis(millis: i64) -> Self {
        Timestamp(millis.saturating_mul(1_000_000))
    }

    /// A time as seconds since 1970, limited to the range of the type.
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

    /// The time from `earlier` to this; zero if `earlier` is later.
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
    /// Limited to the range of the type.
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

/// RFC 3339 in UTC, with as many digits of the second as are needed.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every i64 of nanoseconds is within the range of the crate.
        let t = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0))
            .unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let (year, month, day) = t.to_calendar_date();
        let (hour, minute, second, nanos) = t.to_hms_nano();
        let month = u8::from(month);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
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

/// The error of a text that is not a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseTimestampError(String);

impl fmt::Display for ParseTimestampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a time such as 2026-01-31T12:00:00Z", self.0)
    }
}

impl std::error::Error for ParseTimestampError {}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    /// Takes RFC 3339, and the forms in which SQLite stores times: with a space
    /// between date and time, without a zone (it is UTC then), or a date alone.
    fn from_str(s: &str) -> Result<Self, ParseTimestampError> {
        parse(s).ok_or_else(|| ParseTimestampError(s.chars().take(40).collect()))
    }
}

/// A number of exactly so many digits.
fn number<T: FromStr>(s: &str, digits: usize) -> Option<T> {
    let all = s.len() == digits && s.bytes().all(|b| b.is_ascii_digit());
    all.then(|| s.parse().ok())?
}

/// The three numbers of `2026-01-31` or `12:00:00`.
fn three<T: FromStr, U: FromStr>(s: &str, between: char, first: usize) -> Option<(T, U, U)> {
    let mut parts = s.split(between);
    let numbers = (
        number(parts.next()?, first)?,
        number(parts.next()?, 2)?,
        number(parts.next()?, 2)?,
    );
    parts.next().is_none().then_some(numbers)
}

fn parse(s: &str) -> Option<Timestamp> {
    let (date, rest) = s.split_at_checked(10)?;
    let (year, month, day) = three::<i32, u8>(date, '-', 4)?;
    let date = Date::from_calendar_date(year, Month::try_from(month).ok()?, day).ok()?;
    let time = match rest {
        "" => date.midnight().assume_utc(),
        _ => parse_clock(date, rest.strip_prefix(['T', 't', ' '])?)?,
    };
    i64::try_from(time.unix_timestamp_nanos())
        .ok()
        .map(Timestamp)
}

/// The time of `12:00:00.5+01:00` on a date.
fn parse_clock(date: Date, s: &str) -> Option<OffsetDateTime> {
    let (clock, zone) = s.split_at(s.find(['Z', 'z', '+', '-']).unwrap_or(s.len()));
    let (hms, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    if fraction.is_empty() {
        return None;
    }
    let (h, m, s) = three::<u8, u8>(hms, ':', 2)?;
    let nanos = number(&format!("{fraction:0<9}"), 9)?;
    let local = date.with_hms_nano(h, m, s, nanos).ok()?;
    let offset = match zone {
        "" | "Z" | "z" => UtcOffset::UTC,
        _ => {
            let (h, m) = zone.strip_prefix(['+', '-'])?.split_once(':')?;
            let (h, m) = (number::<i8>(h, 2)?, number::<i8>(m, 2)?);
            if h > 23 {
                return None;
            }
            let sign = if zone.starts_with('-') { -1 } else { 1 };
            UtcOffset::from_hms(sign * h, sign * m, 0).ok()?
        }
    };
    Some(local.assume_offset(offset))
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
            // Where serde buffers values, as for untagged enums, its buffer says that it
            // is readable and yet holds an extension.
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
            return Err(de::Error::custom("an extension that is not a time"));
        }
        Timestamp::from_extension(&data)
            .ok_or_else(|| de::Error::custom("a time that is out of range"))
    }

    fn visit_str<E: de::Error>(self, s: &str) -> Result<Timestamp, E> {
        s.parse().map_err(E::custom)
    }
}
