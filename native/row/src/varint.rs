//! Unsigned LEB128, as compacted rows use it: the bit pattern of a number, seven bits a byte, lowest first.

/// Most bytes that a 64-bit number takes.
const BYTES_MAX: usize = 10;

/// Appends a 64-bit pattern.
#[inline]
pub(crate) fn put_u64(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        out.push(value as u8);
    } else {
        put_long(out, value);
    }
}

/// Appends a 32-bit pattern.
#[inline]
pub(crate) fn put_u32(out: &mut Vec<u8>, value: u32) {
    put_u64(out, u64::from(value));
}

#[inline]
fn put_long(out: &mut Vec<u8>, mut value: u64) {
    let mut bytes = [0; BYTES_MAX];
    let mut length = 0;
    for byte in &mut bytes {
        length += 1;
        if value < 0x80 {
            *byte = value as u8;
            break;
        }
        *byte = value as u8 | 0x80;
        value >>= 7;
    }
    out.extend_from_slice(&bytes[..length]);
}

/// The number at the start of `bytes` and its length; `None` when it is cut off or longer than 64 bits.
#[inline]
pub(crate) fn get_u64(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 { Some((u64::from(first), 1)) } else { get_long(bytes) }
}

#[inline]
fn get_long(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (i, byte) in bytes.iter().take(BYTES_MAX).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if *byte < 0x80 {
            return (i + 1 < BYTES_MAX || *byte < 2).then_some((value, i + 1));
        }
    }
    None
}

/// The 32-bit pattern at the start of `bytes` and its length; `None` when it is cut off or longer than 32 bits.
#[inline]
pub(crate) fn get_u32(bytes: &[u8]) -> Option<(u32, usize)> {
    let (value, length) = get_u64(bytes)?;
    Some((u32::try_from(value).ok()?, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_go_there_and_back() {
        let edges = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]).chain([u64::MAX]);
        for value in edges {
            let mut bytes = Vec::new();
            put_u64(&mut bytes, value);
            assert_eq!(bytes.len(), (64 - (value | 1).leading_zeros() as usize).div_ceil(7));
            assert_eq!(get_u64(&bytes), Some((value, bytes.len())));
            assert_eq!(get_u32(&bytes), u32::try_from(value).ok().map(|v| (v, bytes.len())));
            for cut in 0..bytes.len() {
                assert_eq!(get_u64(&bytes[..cut]), None);
            }
        }
    }

    #[test]
    fn numbers_beyond_64_bits_are_refused() {
        assert_eq!(get_u64(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]), None);
        assert_eq!(get_u64(&[0x80; 11]), None);
        assert_eq!(get_u32(&[0xff, 0xff, 0xff, 0xff, 0x10]), None);
    }
}
