//! UTF-16, which the runtime uses on every system.

/// UTF-16 of ASCII text, padded with zeros. Text that leaves no room for one is cut.
pub(super) const fn utf16<const N: usize>(text: &str) -> [u16; N] {
    let mut units = [0; N];
    let mut to = units.as_mut_slice();
    let mut from = text.as_bytes();
    while let (Some((unit, rest)), Some((byte, tail))) = (to.split_first_mut(), from.split_first()) {
        if rest.is_empty() {
            break;
        }
        *unit = *byte as u16;
        to = rest;
        from = tail;
    }
    units
}

/// The units up to and including the first zero.
pub(super) fn terminated(units: &[u16]) -> &[u16] {
    let end = units.iter().position(|unit| *unit == 0).map_or(units.len(), |zero| zero.saturating_add(1));
    units.get(..end).unwrap_or_default()
}

/// UTF-8 of UTF-16; `None` if that is invalid or does not fit.
pub(super) fn utf8<'a>(units: &[u16], buffer: &'a mut [u8]) -> Option<&'a str> {
    let mut length = 0_usize;
    for unit in char::decode_utf16(units.iter().copied()) {
        let mut bytes = [0; 4];
        let bytes = unit.ok()?.encode_utf8(&mut bytes).as_bytes();
        let end = length.checked_add(bytes.len())?;
        buffer.get_mut(length..end)?.copy_from_slice(bytes);
        length = end;
    }
    core::str::from_utf8(buffer.get(..length)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_converted_both_ways() {
        assert_eq!(utf16::<5>("abc"), [97, 98, 99, 0, 0]);
        assert_eq!(utf16::<3>("abc"), [97, 98, 0]);
        assert_eq!(terminated(&utf16::<5>("abc")), [97, 98, 99, 0]);
        let units: Vec<u16> = "grün 𝄞".encode_utf16().collect();
        let mut buffer = [0; 16];
        assert_eq!(utf8(&units, &mut buffer), Some("grün 𝄞"));
        assert_eq!(utf8(&units, &mut [0; 9]), None);
        assert_eq!(utf8(&[0xd800], &mut buffer), None);
    }
}
