//! From a bucket key's bytes to a bucket number (protocol, bucket functions).

/// How a table maps keys to buckets; fixed when the table is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BucketFunction {
    /// Paimon's default: rows land in the bucket of the same number as in the lake.
    Paimon,
    /// Fluss's own, for tables without a lake format.
    Fluss,
}

impl BucketFunction {
    /// The bucket of `key`, in `0..buckets`; 0 when `buckets` is below 2.
    #[must_use]
    pub fn bucket(self, key: &[u8], buckets: i32) -> i32 {
        if buckets < 2 {
            return 0;
        }
        let hash = hash(key);
        match self {
            Self::Paimon => (hash % buckets).abs(),
            Self::Fluss => spread(hash) % buckets,
        }
    }
}

const SEED: u32 = 42;

/// Murmur3's body over little-endian words; each of the last 1 to 3 bytes counts as a word of its own, sign-extended.
/// That tail is not the published algorithm's, but that of the reference implementation.
pub(crate) fn hash(bytes: &[u8]) -> i32 {
    let (words, tail) = bytes.as_chunks::<4>();
    let body = words.iter().fold(SEED, |h, word| mix(h, u32::from_le_bytes(*word)));
    let all = tail.iter().fold(body, |h, byte| mix(h, i32::from(*byte as i8) as u32));
    let length = bytes.len() as u32;
    finish(all ^ length) as i32
}

/// Murmur3 of one word with seed 0, made non-negative.
fn spread(hash: i32) -> i32 {
    (finish(mix(0, hash as u32) ^ 4) as i32).checked_abs().unwrap_or(0)
}

const fn mix(h: u32, word: u32) -> u32 {
    let k = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    (h ^ k).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
}

const fn finish(mut h: u32) -> u32 {
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

#[cfg(test)]
mod tests {
    use super::BucketFunction::{Fluss, Paimon};

    /// Answers of the reference implementation's Java 0.9.1 for 16 buckets.
    #[test]
    fn buckets_equal_those_of_the_reference() {
        let vectors: [(&[u8], i32, i32); 8] = [
            (&[0x01], 12, 10),
            (&[0x7f], 10, 13),
            (&[0x80, 0x01], 2, 9),
            (&[0xc8, 0x01], 6, 12),
            (&[0xff, 0xff, 0x03], 1, 2),
            (&[1, 2, 3, 4, 0xc8, 0x01], 5, 0),
            (b"abcd", 5, 4),
            (&[0x03, 0x61, 0xc3, 0xa9], 10, 9),
        ];
        for (key, fluss, paimon) in vectors {
            assert_eq!((Fluss.bucket(key, 16), Paimon.bucket(key, 16)), (fluss, paimon), "{key:02x?}");
        }
    }

    #[test]
    fn one_bucket_or_a_senseless_number_is_bucket_0() {
        for buckets in [1, 0, -7, i32::MIN] {
            assert_eq!(Fluss.bucket(b"k", buckets), 0);
            assert_eq!(Paimon.bucket(b"k", buckets), 0);
        }
    }
}
