//! Reads MessagePack. The input is not trusted: lengths are checked against the
//! bytes that are left, and nesting is bounded.
//!
//! [`Reader::next`] is the one place that knows the type bytes of the format.
//! Everything else that decodes matches on the [`Token`] it returns: the bodies
//! of the ABI and [`Value`](crate::value::Value) in this module, and the
//! application's own types in `codec`.

use std::fmt;

/// How deep values may be nested.
pub(crate) const MAX_DEPTH: usize = 64;

/// That they are nested deeper.
pub(crate) const TOO_DEEP: Malformed = Malformed("it is nested too deep");

/// The reason why bytes are invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the body is malformed: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

/// One item of MessagePack: a scalar, or the head of a list or map, whose
/// elements follow.
#[derive(Clone, Copy)]
pub(crate) enum Token<'a> {
    Nil,
    Bool(bool),
    /// One of the signed forms.
    Int(i64),
    /// One of the unsigned forms.
    Uint(u64),
    Float32(f32),
    Float(f64),
    /// A string. It is not checked yet: a string that is skipped need not be UTF-8.
    Str(&'a [u8]),
    Bin(&'a [u8]),
    /// The type and the payload of an extension.
    Ext(i8, &'a [u8]),
    /// The number of elements.
    Array(usize),
    /// The number of entries.
    Map(usize),
}

/// The rest of a body.
pub struct Reader<'a> {
    rest: &'a [u8],
    depth: usize,
}

type Take<T> = Result<T, Malformed>;

/// The text of a [`Token::Str`].
pub(crate) fn utf8(b: &[u8]) -> Take<&str> {
    std::str::from_utf8(b).map_err(|_| Malformed("a string is not UTF-8"))
}

impl<'a> Reader<'a> {
    /// Reads from the front of `data`.
    pub fn new(data: &'a [u8]) -> Self {
        Reader {
            rest: data,
            depth: 0,
        }
    }

    /// Fails if bytes are left.
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
            Err(TOO_DEEP)
        } else {
            Ok(())
        }
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }

    fn bytes(&mut self, n: usize) -> Take<&'a [u8]> {
        let (head, rest) = self
            .rest
            .split_at_checked(n)
            .ok_or(Malformed("it ends early"))?;
        self.rest = rest;
        Ok(head)
    }

    /// The bytes that are left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn unsigned(&mut self, width: usize) -> Take<u64> {
        Ok(self
            .bytes(width)?
            .iter()
            .fold(0, |u, b| (u << 8) | u64::from(*b)))
    }

    fn size(&mut self, width: usize) -> Take<usize> {
        Ok(self.unsigned(width)? as usize)
    }

    /// Takes one item. The elements of a list or map are left to the caller.
    pub(crate) fn next(&mut self) -> Take<Token<'a>> {
        Ok(match self.bytes(1)?[0] {
            h @ 0x00..=0x7f => Token::Uint(u64::from(h)),
            h @ 0x80..=0x8f => self.map_of(usize::from(h & 0x0f))?,
            h @ 0x90..=0x9f => self.array_of(usize::from(h & 0x0f))?,
            h @ 0xa0..=0xbf => Token::Str(self.bytes(usize::from(h & 0x1f))?),
            0xc0 => Token::Nil,
            0xc1 => return Err(Malformed("a byte is no type")),
            h @ 0xc2..=0xc3 => Token::Bool(h == 0xc3),
            h @ 0xc4..=0xc6 => {
                let n = self.size(1 << (h - 0xc4))?;
                Token::Bin(self.bytes(n)?)
            }
            h @ 0xc7..=0xc9 => {
                let n = self.size(1 << (h - 0xc7))?;
                self.ext_of(n)?
            }
            0xca => Token::Float32(f32::from_bits(self.unsigned(4)? as u32)),
            0xcb => Token::Float(f64::from_bits(self.unsigned(8)?)),
            h @ 0xcc..=0xcf => Token::Uint(self.unsigned(1 << (h - 0xcc))?),
            h @ 0xd0..=0xd3 => {
                let width = 1 << (h - 0xd0);
                let shift = 64 - 8 * width as u32;
                Token::Int(((self.unsigned(width)? << shift) as i64) >> shift)
            }
            h @ 0xd4..=0xd8 => self.ext_of(1 << (h - 0xd4))?,
            h @ 0xd9..=0xdb => {
                let n = self.size(1 << (h - 0xd9))?;
                Token::Str(self.bytes(n)?)
            }
            h @ 0xdc..=0xdd => {
                let n = self.size(2 << (h - 0xdc))?;
                self.array_of(n)?
            }
            h @ 0xde..=0xdf => {
                let n = self.size(2 << (h - 0xde))?;
                self.map_of(n)?
            }
            h @ 0xe0.. => Token::Int(i64::from(h as i8)),
        })
    }

    fn ext_of(&mut self, n: usize) -> Take<Token<'a>> {
        let kind = self.bytes(1)?[0] as i8;
        Ok(Token::Ext(kind, self.bytes(n)?))
    }

    /// A list of n elements, each at least a byte long.
    fn array_of(&self, n: usize) -> Take<Token<'a>> {
        if n > self.rest.len() {
            Err(Malformed("a list is longer than the body"))
        } else {
            Ok(Token::Array(n))
        }
    }

    fn map_of(&self, n: usize) -> Take<Token<'a>> {
        if n > self.rest.len() / 2 {
            Err(Malformed("a map is longer than the body"))
        } else {
            Ok(Token::Map(n))
        }
    }

    /// Takes a nil, if one comes next.
    pub(crate) fn nil(&mut self) -> bool {
        match self.rest.split_first() {
            Some((0xc0, rest)) => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    pub(crate) fn bool(&mut self) -> Take<bool> {
        match self.next()? {
            Token::Nil => Ok(false),
            Token::Bool(b) => Ok(b),
            _ => Err(Malformed("a boolean is missing")),
        }
    }

    /// An integer; beyond the largest i64 it wraps around.
    pub(crate) fn int(&mut self) -> Take<i64> {
        match self.next()? {
            Token::Nil => Ok(0),
            Token::Int(n) => Ok(n),
            Token::Uint(n) => Ok(n as i64),
            _ => Err(Malformed("an integer is missing")),
        }
    }

    pub(crate) fn uint(&mut self) -> Take<u64> {
        match self.next()? {
            Token::Nil => Ok(0),
            Token::Int(n) => u64::try_from(n).map_err(|_| Malformed("a number is out of range")),
            Token::Uint(n) => Ok(n),
            _ => Err(Malformed("an integer is missing")),
        }
    }

    pub(crate) fn float(&mut self) -> Take<f64> {
        match self.next()? {
            Token::Nil => Ok(0.0),
            Token::Float32(f) => Ok(f64::from(f)),
            Token::Float(f) => Ok(f),
            Token::Int(n) => Ok(n as f64),
            Token::Uint(n) => Ok(n as i64 as f64),
            _ => Err(Malformed("an integer is missing")),
        }
    }

    /// A string; nil reads as the empty one.
    pub(crate) fn str(&mut self) -> Take<&'a str> {
        self.text().and_then(utf8)
    }

    /// A string that is not checked yet. The short ones, which most are, take no
    /// detour.
    pub(crate) fn text(&mut self) -> Take<&'a [u8]> {
        if let [head @ 0xa0..=0xbf, rest @ ..] = self.rest {
            self.rest = rest;
            return self.bytes(usize::from(head & 0x1f));
        }
        match self.next()? {
            Token::Nil => Ok(b""),
            Token::Str(b) => Ok(b),
            _ => Err(Malformed("a string is missing")),
        }
    }

    pub(crate) fn bin(&mut self) -> Take<Option<&'a [u8]>> {
        match self.next()? {
            Token::Nil => Ok(None),
            Token::Bin(b) => Ok(Some(b)),
            _ => Err(Malformed("bytes are missing")),
        }
    }

    /// The length of a list; nil reads as the empty one.
    pub(crate) fn array(&mut self) -> Take<usize> {
        match self.next()? {
            Token::Nil => Ok(0),
            Token::Array(n) => Ok(n),
            _ => Err(Malformed("a list is missing")),
        }
    }

    /// The number of entries of a map; nil reads as the empty one.
    pub(crate) fn map(&mut self) -> Take<usize> {
        match self.next()? {
            Token::Nil => Ok(0),
            Token::Map(n) => Ok(n),
            _ => Err(Malformed("a map is missing")),
        }
    }

    /// Passes over a value of any kind.
    pub(crate) fn skip(&mut self) -> Take<()> {
        let elements = match self.next()? {
            Token::Array(n) => n,
            Token::Map(n) => 2 * n,
            _ => return Ok(()),
        };
        self.enter()?;
        for _ in 0..elements {
            self.skip()?;
        }
        self.leave();
        Ok(())
    }
}
