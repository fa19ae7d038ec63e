//! Writes MessagePack in shortest form.

pub(crate) fn put_uint(out: &mut Vec<u8>, n: u64) {
    if n <= 0x7f {
        out.push(n as u8);
    } else if let Ok(n) = u8::try_from(n) {
        out.extend_from_slice(&[0xcc, n]);
    } else if let Ok(n) = u16::try_from(n) {
        out.push(0xcd);
        out.extend_from_slice(&n.to_be_bytes());
    } else if let Ok(n) = u32::try_from(n) {
        out.push(0xce);
        out.extend_from_slice(&n.to_be_bytes());
    } else {
        out.push(0xcf);
        out.extend_from_slice(&n.to_be_bytes());
    }
}

pub(crate) fn put_int(out: &mut Vec<u8>, n: i64) {
    if n >= 0 {
        put_uint(out, n as u64);
    } else if n >= -32 {
        out.push(n as u8);
    } else if let Ok(n) = i8::try_from(n) {
        out.extend_from_slice(&[0xd0, n as u8]);
    } else if let Ok(n) = i16::try_from(n) {
        out.push(0xd1);
        out.extend_from_slice(&n.to_be_bytes());
    } else if let Ok(n) = i32::try_from(n) {
        out.push(0xd2);
        out.extend_from_slice(&n.to_be_bytes());
    } else {
        out.push(0xd3);
        out.extend_from_slice(&n.to_be_bytes());
    }
}

pub(crate) fn put_float(out: &mut Vec<u8>, f: f64) {
    out.push(0xcb);
    out.extend_from_slice(&f.to_bits().to_be_bytes());
}

/// Writes a header: the short form up to `most`, else one of the longer ones.
/// A `long[0]` of 0 means that there is no form with a length of one byte.
fn put_header(out: &mut Vec<u8>, n: usize, short: u8, most: usize, long: [u8; 3]) {
    if n <= most && short != 0 {
        out.push(short | n as u8);
    } else if n <= 0xff && long[0] != 0 {
        out.extend_from_slice(&[long[0], n as u8]);
    } else if n <= 0xffff {
        out.push(long[1]);
        out.extend_from_slice(&(n as u16).to_be_bytes());
    } else {
        out.push(long[2]);
        out.extend_from_slice(&(n as u32).to_be_bytes());
    }
}

pub(crate) fn put_str(out: &mut Vec<u8>, s: &str) {
    put_header(out, s.len(), 0xa0, 31, [0xd9, 0xda, 0xdb]);
    out.extend_from_slice(s.as_bytes());
}

pub(crate) fn put_bin(out: &mut Vec<u8>, b: &[u8]) {
    put_header(out, b.len(), 0, 0, [0xc4, 0xc5, 0xc6]);
    out.extend_from_slice(b);
}

pub(crate) fn put_array(out: &mut Vec<u8>, n: usize) {
    put_header(out, n, 0x90, 15, [0, 0xdc, 0xdd]);
}

pub(crate) fn put_map(out: &mut Vec<u8>, n: usize) {
    put_header(out, n, 0x80, 15, [0, 0xde, 0xdf]);
}

pub(crate) fn put_ext(out: &mut Vec<u8>, kind: i8, data: &[u8]) {
    match data.len() {
        n @ (1 | 2 | 4 | 8 | 16) => out.push(0xd4 + n.trailing_zeros() as u8),
        n => put_header(out, n, 0, 0, [0xc7, 0xc8, 0xc9]),
    }
    out.push(kind as u8);
    out.extend_from_slice(data);
}
