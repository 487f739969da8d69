//! Numbers from text, exactly: decimal digits in, whole nanoseconds out, never through a float.
//!
//! An absolute start in us has 16 digits before the point and three behind it; an `f64` holds 15 to 17 in all, so that
//! starts read through one move by up to a quarter of a us, and operators seem to overlap that do not.

/// Why a text is not the number that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotANumber {
    /// `N/A`, or nothing.
    #[error("does not say")]
    Unknown,
    #[error("is not a number")]
    Text,
    #[error("is negative")]
    Negative,
    #[error("is not a whole number")]
    Fraction,
    #[error("is more than 64 bits of nanoseconds hold")]
    TooLarge,
}

/// The text without what CSV writers and spreadsheets put around a number.
pub(crate) fn trim(mut text: &[u8]) -> &[u8] {
    let around = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'"';
    while let [first, rest @ ..] = text
        && around(first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && around(last)
    {
        text = rest;
    }
    text
}

/// Whether a trimmed text says that there is no value.
pub(crate) fn is_unknown(text: &[u8]) -> bool {
    matches!(text, b"" | b"N/A" | b"NA" | b"n/a" | b"nan" | b"NaN" | b"None" | b"null" | b"-")
}

/// `text` times ten to the power of `decimals`, rounded half up: microseconds become nanoseconds with 3.
pub(crate) fn scaled(text: &[u8], decimals: i32) -> Result<u64, NotANumber> {
    let text = trim(text);
    if let Some(value) = short(text, decimals) {
        return Ok(value);
    }
    if is_unknown(text) {
        return Err(NotANumber::Unknown);
    }
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let (mantissa, exponent) = split_exponent(digits)?;
    let value = decimal(mantissa, decimals.saturating_add(exponent))?;
    if negative && value != 0 { Err(NotANumber::Negative) } else { Ok(value) }
}

/// A whole number; `12.0`, which spreadsheets make of 12 beside empty cells, is one.
pub(crate) fn whole(text: &[u8]) -> Result<u64, NotANumber> {
    let text = trim(text);
    if let Some(value) = short(text, 0) {
        return Ok(value);
    }
    if let Some(point) = text.iter().position(|&byte| byte == b'.')
        && text[point + 1..].iter().any(|byte| matches!(byte, b'1'..=b'9'))
    {
        return Err(NotANumber::Fraction);
    }
    scaled(text, 0)
}

/// A whole number of 32 bits.
pub(crate) fn whole_u32(text: &[u8]) -> Result<u32, NotANumber> {
    u32::try_from(whole(text)?).map_err(|_| NotANumber::TooLarge)
}

/// A number as nearly all are: some digits, perhaps a point, and no more digits behind it than are asked for.
fn short(text: &[u8], decimals: i32) -> Option<u64> {
    /// No more digits than these overflow.
    const DIGITS: usize = 19;
    let decimals = u32::try_from(decimals).ok()?;
    if text.len() > DIGITS + 1 {
        return None;
    }
    let (mut value, mut behind, mut point) = (0u64, 0, 0);
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            // Too many digits are seen below.
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            behind += point;
        } else if byte == b'.' && point == 0 {
            point = 1;
        } else {
            return None;
        }
    }
    let digits = text.len() - point as usize;
    if digits == 0 || digits > DIGITS || behind > decimals {
        return None;
    }
    value.checked_mul(10u64.checked_pow(decimals - behind)?)
}

fn split_exponent(digits: &[u8]) -> Result<(&[u8], i32), NotANumber> {
    let Some(e) = digits.iter().position(|byte| matches!(byte, b'e' | b'E')) else {
        return Ok((digits, 0));
    };
    let exponent = std::str::from_utf8(&digits[e + 1..]).ok().and_then(|text| text.parse::<i32>().ok());
    Ok((&digits[..e], exponent.filter(|e| e.abs() < 1_000).ok_or(NotANumber::Text)?))
}

/// Digits with at most one point among them, with the point moved `shift` places to the right.
fn decimal(mantissa: &[u8], shift: i32) -> Result<u64, NotANumber> {
    let mut value: u64 = 0;
    // Digits still to be taken behind the point; before the point is met, all are taken.
    let mut room = None;
    let mut any = false;
    let mut half = None;
    for &byte in mantissa {
        match byte {
            b'0'..=b'9' => {
                any = true;
                let digit = u64::from(byte - b'0');
                match &mut room {
                    Some(0) => {
                        half.get_or_insert(digit >= 5);
                        continue;
                    }
                    Some(left) => *left -= 1,
                    None => {}
                }
                value = value.checked_mul(10).and_then(|v| v.checked_add(digit)).ok_or(NotANumber::TooLarge)?;
            }
            b'.' if room.is_none() => room = Some(shift.max(0)),
            _ => return Err(NotANumber::Text),
        }
    }
    if !any {
        return Err(NotANumber::Text);
    }
    if shift < 0 {
        return Ok(shift_down(value, shift.unsigned_abs()));
    }
    for _ in 0..room.unwrap_or(shift) {
        value = value.checked_mul(10).ok_or(NotANumber::TooLarge)?;
    }
    value.checked_add(u64::from(half == Some(true))).ok_or(NotANumber::TooLarge)
}

/// Rounded half up. (Digits behind the point of the text are too small to matter then, unless they are what makes a half;
/// such numbers, fractions with a negative exponent, have the half in the digits before the point.)
fn shift_down(value: u64, places: u32) -> u64 {
    let Some(unit) = 10u64.checked_pow(places) else { return 0 };
    value / unit + u64::from(value % unit >= unit.div_ceil(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_exact_to_the_nanosecond() {
        for (text, ns) in [
            ("1774497535428633.256\t", 1_774_497_535_428_633_256),
            ("\"1774497535428633.256\t\"", 1_774_497_535_428_633_256),
            (" 1695115378713661 ", 1_695_115_378_713_661_000),
            ("1699529622790614.8", 1_699_529_622_790_614_800),
            ("56635864652.490005", 56_635_864_652_490),
            ("0.02003125", 20),
            ("496.8508", 496_851),
            ("4975.2664", 4_975_266),
            ("53.7410625", 53_741),
            ("0.0005", 1),
            ("0.00049999", 0),
            ("0.9999", 1_000),
            ("1.5e+3", 1_500_000),
            ("1.774497535428633256E15", 1_774_497_535_428_633_256),
            ("15e-1", 1_500),
            ("15e-4", 2),
            ("5.0e-4", 1),
            ("4.9e-4", 0),
            ("-0.0", 0),
            (".5", 500),
            ("5.", 5_000),
            ("18446744073709551.615", u64::MAX),
        ] {
            assert_eq!(scaled(text.as_bytes(), 3), Ok(ns), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_says_why() {
        for (text, why) in [
            ("N/A", NotANumber::Unknown),
            ("", NotANumber::Unknown),
            ("\t", NotANumber::Unknown),
            ("abc", NotANumber::Text),
            ("1.2.3", NotANumber::Text),
            ("1,000", NotANumber::Text),
            (".", NotANumber::Text),
            ("1e", NotANumber::Text),
            ("1e99999999999", NotANumber::Text),
            ("-5", NotANumber::Negative),
            ("18446744073709551.616", NotANumber::TooLarge),
            ("99999999999999999999", NotANumber::TooLarge),
            ("1e300", NotANumber::TooLarge),
        ] {
            assert_eq!(scaled(text.as_bytes(), 3), Err(why), "{text}");
        }
    }

    #[test]
    fn whole_numbers_may_have_passed_through_a_spreadsheet() {
        assert_eq!(whole(b"49243"), Ok(49243));
        assert_eq!(whole(b"24.0"), Ok(24));
        assert_eq!(whole(b"24.5"), Err(NotANumber::Fraction));
        assert_eq!(whole_u32(b"4294967296"), Err(NotANumber::TooLarge));
    }
}
