//! Unsigned LEB128, as compacted rows use it: the bit pattern of a number, seven bits a byte, lowest first.

//!
//! Numbers of up to 56 bits, which is nearly all, are spread over and gathered from the bytes of one word without a loop.

/// Most bytes that a 64-bit number takes.
const BYTES_MAX: usize = 10;

/// The bit of each byte that says that another one follows.
const MORE: u64 = 0x8080_8080_8080_8080;

/// Appends a 64-bit pattern.
#[inline]
pub(crate) fn put_u64(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        out.push(value as u8);
    } else if value >> 56 == 0 {
        let length = (70 - value.leading_zeros() as usize) / 7;
        let more = MORE & !(u64::MAX << (8 * (length - 1)));
        let end = out.len() + length;
        out.extend_from_slice(&(spread(value) | more).to_le_bytes());
        out.truncate(end);
    } else {
        put_long(out, value);
    }
}

/// Appends a 32-bit pattern.
#[inline]
pub(crate) fn put_u32(out: &mut Vec<u8>, value: u32) {
    put_u64(out, u64::from(value));
}

fn put_long(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Puts each group of 7 of the lowest 56 bits into the low bits of a byte of its own.
const fn spread(value: u64) -> u64 {
    let halves = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
    let quarters = halves & 0x0000_3fff_0000_3fff | (halves & 0x0fff_c000_0fff_c000) << 2;
    quarters & 0x007f_007f_007f_007f | (quarters & 0x3f80_3f80_3f80_3f80) << 1
}

/// The reverse of `spread`.
const fn gather(bytes: u64) -> u64 {
    let quarters = bytes & 0x007f_007f_007f_007f | (bytes & 0x7f00_7f00_7f00_7f00) >> 1;
    let halves = quarters & 0x0000_3fff_0000_3fff | (quarters & 0x3fff_0000_3fff_0000) >> 2;
    halves & 0x0fff_ffff | (halves & 0x0fff_ffff_0000_0000) >> 4
}

/// The number at the start of `bytes` and its length; `None` when it is cut off or longer than 64 bits.
#[inline]
pub(crate) fn get_u64(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u64::from(first), 1));
    }
    if let Some(word) = bytes.first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let ends = !word & MORE;
        if ends != 0 {
            let bits = ends.trailing_zeros() + 1;
            return Some((gather(word & !MORE & (u64::MAX >> (64 - bits))), bits as usize / 8));
        }
    }
    get_long(bytes)
}

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
            let followed = [&bytes[..], &[0xff; 12]].concat();
            assert_eq!(get_u64(&followed), Some((value, bytes.len())), "the same with more behind it");
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
