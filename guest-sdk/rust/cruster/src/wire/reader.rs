//! Taking MessagePack apart. What comes in is not trusted: lengths are held
//! against what is there, and nesting is bounded.

use std::fmt;

/// How deep values may be nested.
pub(crate) const MAX_DEPTH: usize = 64;

/// Why bytes are not what they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the body is malformed: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// The rest of a body.
pub struct Reader<'a> {
    rest: &'a [u8],
    depth: usize,
}

type Take<T> = Result<T, Malformed>;

impl<'a> Reader<'a> {
    /// Reads from the front of `data`.
    pub fn new(data: &'a [u8]) -> Self {
        Reader {
            rest: data,
            depth: 0,
        }
    }

    /// Fails if something is left.
    pub fn end(&self) -> Take<()> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Malformed("bytes behind the value"))
        }
    }

    /// Goes one level down; [`Reader::leave`] comes back.
    pub(crate) fn enter(&mut self) -> Take<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            Err(Malformed("it is nested too deep"))
        } else {
            Ok(())
        }
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    pub(crate) fn bytes(&mut self, n: usize) -> Take<&'a [u8]> {
        let (head, rest) = self
            .rest
            .split_at_checked(n)
            .ok_or(Malformed("it ends early"))?;
        self.rest = rest;
        Ok(head)
    }

    pub(crate) fn head(&mut self) -> Take<u8> {
        Ok(self.bytes(1)?[0])
    }

    /// What is left, to come back to.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    pub(crate) fn unsigned(&mut self, width: usize) -> Take<u64> {
        Ok(self
            .bytes(width)?
            .iter()
            .fold(0, |u, b| (u << 8) | u64::from(*b)))
    }

    fn size(&mut self, width: usize) -> Take<usize> {
        Ok(self.unsigned(width)? as usize)
    }

    /// Takes a nil, if one comes next.
    pub(crate) fn nil(&mut self) -> bool {
        let nil = self.peek() == Some(0xc0);
        if nil {
            self.rest = &self.rest[1..];
        }
        nil
    }

    pub(crate) fn bool(&mut self) -> Take<bool> {
        match self.head()? {
            0xc0 | 0xc2 => Ok(false),
            0xc3 => Ok(true),
            _ => Err(Malformed("a boolean is missing")),
        }
    }

    /// An integer; beyond the largest i64 it wraps around.
    pub(crate) fn int(&mut self) -> Take<i64> {
        match self.head()? {
            0xc0 => Ok(0),
            h @ (0..=0x7f | 0xe0..) => Ok(i64::from(h as i8)),
            h @ 0xcc..=0xcf => Ok(self.unsigned(1 << (h - 0xcc))? as i64),
            h @ 0xd0..=0xd3 => {
                let width = 1 << (h - 0xd0);
                let shift = 64 - 8 * width as u32;
                Ok(((self.unsigned(width)? << shift) as i64) >> shift)
            }
            _ => Err(Malformed("an integer is missing")),
        }
    }

    pub(crate) fn float(&mut self) -> Take<f64> {
        match self.peek() {
            Some(0xca) => {
                self.head()?;
                Ok(f64::from(f32::from_bits(self.unsigned(4)? as u32)))
            }
            Some(0xcb) => {
                self.head()?;
                Ok(f64::from_bits(self.unsigned(8)?))
            }
            _ => Ok(self.int()? as f64),
        }
    }

    /// A string; nil reads as the empty one.
    pub(crate) fn str(&mut self) -> Take<&'a str> {
        let n = match self.head()? {
            0xc0 => 0,
            h @ 0xa0..=0xbf => usize::from(h & 0x1f),
            h @ 0xd9..=0xdb => self.size(1 << (h - 0xd9))?,
            _ => return Err(Malformed("a string is missing")),
        };
        std::str::from_utf8(self.bytes(n)?).map_err(|_| Malformed("a string is not UTF-8"))
    }

    pub(crate) fn bin(&mut self) -> Take<Option<&'a [u8]>> {
        match self.head()? {
            0xc0 => Ok(None),
            h @ 0xc4..=0xc6 => {
                let n = self.size(1 << (h - 0xc4))?;
                self.bytes(n).map(Some)
            }
            _ => Err(Malformed("bytes are missing")),
        }
    }

    /// The length of a list; nil reads as the empty one.
    pub(crate) fn array(&mut self) -> Take<usize> {
        let n = match self.head()? {
            0xc0 => 0,
            h @ 0x90..=0x9f => usize::from(h & 0x0f),
            h @ 0xdc..=0xdd => self.size(2 << (h - 0xdc))?,
            _ => return Err(Malformed("a list is missing")),
        };
        if n > self.rest.len() {
            Err(Malformed("a list is longer than the body"))
        } else {
            Ok(n)
        }
    }

    /// The number of entries of a map; nil reads as the empty one.
    pub(crate) fn map(&mut self) -> Take<usize> {
        let n = match self.head()? {
            0xc0 => 0,
            h @ 0x80..=0x8f => usize::from(h & 0x0f),
            h @ 0xde..=0xdf => self.size(2 << (h - 0xde))?,
            _ => return Err(Malformed("a map is missing")),
        };
        if n > self.rest.len() / 2 {
            Err(Malformed("a map is longer than the body"))
        } else {
            Ok(n)
        }
    }

    /// The type and the payload of an extension.
    pub(crate) fn ext(&mut self) -> Take<(i8, &'a [u8])> {
        let n = match self.head()? {
            h @ 0xd4..=0xd8 => 1 << (h - 0xd4),
            h @ 0xc7..=0xc9 => self.size(1 << (h - 0xc7))?,
            _ => return Err(Malformed("an extension is missing")),
        };
        let kind = self.head()? as i8;
        Ok((kind, self.bytes(n)?))
    }

    /// Passes over a value of any kind.
    pub(crate) fn skip(&mut self) -> Take<()> {
        let h = self.peek().ok_or(Malformed("it ends early"))?;
        match h {
            0x80..=0x8f | 0xde | 0xdf => {
                let n = self.map()?;
                self.skip_many(2 * n)
            }
            0x90..=0x9f | 0xdc | 0xdd => {
                let n = self.array()?;
                self.skip_many(n)
            }
            0xa0..=0xbf | 0xd9..=0xdb => self.skip_str(),
            0xc4..=0xc6 => self.bin().map(|_| ()),
            0xc7..=0xc9 | 0xd4..=0xd8 => self.ext().map(|_| ()),
            0xca..=0xcb => self.float().map(|_| ()),
            0xc2 | 0xc3 => self.bool().map(|_| ()),
            0xc1 => Err(Malformed("a byte is no type")),
            _ => self.int().map(|_| ()),
        }
    }

    /// Strings of the application may be anything; only their length counts.
    fn skip_str(&mut self) -> Take<()> {
        let n = match self.head()? {
            h @ 0xa0..=0xbf => usize::from(h & 0x1f),
            h => self.size(1 << (h - 0xd9))?,
        };
        self.bytes(n).map(|_| ())
    }

    fn skip_many(&mut self, n: usize) -> Take<()> {
        self.enter()?;
        for _ in 0..n {
            self.skip()?;
        }
        self.leave();
        Ok(())
    }
}
