//! Which of 64 bytes are commas, quotes and line ends: one bit a byte.

/// Bit `i` of each is for byte `i`.
pub(crate) struct Marks {
    pub(crate) commas: u64,
    pub(crate) quotes: u64,
    pub(crate) line_ends: u64,
}

impl Marks {
    /// Bytes looked at together.
    pub(crate) const WIDTH: usize = 64;

    /// Those of up to 64 bytes.
    pub(crate) fn of(bytes: &[u8]) -> Marks {
        let Ok(whole) = <&[u8; Marks::WIDTH]>::try_from(bytes) else {
            let mut padded = [0; Marks::WIDTH];
            let length = bytes.len().min(Marks::WIDTH);
            padded[..length].copy_from_slice(&bytes[..length]);
            return Marks::of_64(&padded);
        };
        Marks::of_64(whole)
    }

    fn of_64(bytes: &[u8; Marks::WIDTH]) -> Marks {
        let mut marks = Marks { commas: 0, quotes: 0, line_ends: 0 };
        for (part, shift) in bytes.as_chunks::<{ part::WIDTH }>().0.iter().zip((0..).step_by(part::WIDTH)) {
            let part = part::load(part);
            marks.commas |= part::equal(part, b',') << shift;
            marks.quotes |= part::equal(part, b'"') << shift;
            marks.line_ends |= part::equal(part, b'\n') << shift;
        }
        marks
    }

    /// The bytes inside quotes, given whether the first one is; an opening quote is inside, a closing one is not.
    pub(crate) fn quoted(&self, first: bool) -> u64 {
        let carry = if first { u64::MAX } else { 0 };
        if self.quotes == 0 {
            return carry;
        }
        // Each bit becomes the parity of all up to it.
        let mut parity = self.quotes;
        for shift in [1, 2, 4, 8, 16, 32] {
            parity ^= parity << shift;
        }
        parity ^ carry
    }
}

/// Sixteen bytes at a time; every x86-64 can.
#[cfg(target_arch = "x86_64")]
use sixteen as part;

/// Eight bytes at a time as one number, on any processor.
#[cfg(not(target_arch = "x86_64"))]
use eight as part;

#[cfg(target_arch = "x86_64")]
mod sixteen {
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};

    pub(super) const WIDTH: usize = 16;

    pub(super) fn load(bytes: &[u8; WIDTH]) -> __m128i {
        // SAFETY: SSE2 is part of x86-64; there are 16 bytes, aligned or not.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    /// Which of the bytes are `byte`, as as many bits.
    pub(super) fn equal(bytes: __m128i, byte: u8) -> u64 {
        // SAFETY: SSE2 is part of x86-64.
        let mask = unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8))) };
        u64::from(mask as u32)
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod eight {
    pub(super) const WIDTH: usize = 8;

    pub(super) fn load(bytes: &[u8; WIDTH]) -> u64 {
        u64::from_le_bytes(*bytes)
    }

    /// Which of the bytes are `byte`, as as many bits.
    pub(super) fn equal(bytes: u64, byte: u8) -> u64 {
        const LOW_SEVEN: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        let differs = bytes ^ (0x0101_0101_0101_0101 * u64::from(byte));
        // The high bit of each byte that is 0; no carry leaves a byte.
        let zero = !((((differs & LOW_SEVEN) + LOW_SEVEN) | differs) | LOW_SEVEN);
        // Moves those bits together: bit 7 of byte i to bit i of the highest byte.
        (zero >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_where_the_bytes_are() {
        for byte in 0..=255u8 {
            for at in 0..16 {
                let mut bytes = [byte.wrapping_add(1); 16];
                bytes[at] = byte;
                assert_eq!(part::equal(part::load(&bytes), byte), 1 << at, "{byte} at {at}");
                let half: &[u8; 8] = bytes[at / 8 * 8..][..8].try_into().expect("eight bytes");
                assert_eq!(eight::equal(eight::load(half), byte), 1 << (at % 8), "{byte} at {at}");
            }
            assert_eq!(eight::equal(eight::load(&[byte; 8]), byte), 255);
            assert_eq!(eight::equal(eight::load(&[byte ^ 0x80; 8]), byte), 0);
        }
        let marks = Marks::of(b"a,\"b,\n\",c\n");
        assert_eq!((marks.commas, marks.quotes, marks.line_ends), (0b0_1001_0010, 0b0_0100_0100, 0b10_0010_0000));
    }

    #[test]
    fn quotes_open_and_close() {
        let marks = Marks::of(b"a\"bc\"d\"\"e");
        assert_eq!(marks.quoted(false), 0b0_0100_1110);
        assert_eq!(marks.quoted(true), !0b0_0100_1110);
    }
}
