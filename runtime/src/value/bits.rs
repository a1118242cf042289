//! Elements of less than a byte: packed without gaps, least significant bit first.

/// Copies `count` bits from bit `source` of `from` to bit `target` of `to`; other bits are unchanged.
///
/// # Panics
/// If either slice is too short.
pub(crate) fn copy_bits(to: &mut [u8], target: usize, from: &[u8], source: usize, count: usize) {
    let end = |start: usize| start.checked_add(count).map(|end| end.div_ceil(8));
    assert!(end(target).is_some_and(|end| end <= to.len()) && end(source).is_some_and(|end| end <= from.len()));
    // SAFETY: the bits are within both slices, as checked above.
    unsafe { copy_bits_between(to.as_mut_ptr(), target, from.as_ptr(), source, count) }
}

/// Like [`copy_bits`], for memory that may overlap: whole bytes are moved as by `memmove`, partial bytes in order.
///
/// # Safety
/// Both ranges of bits are in valid memory that nobody else accesses during the call.
pub(crate) unsafe fn copy_bits_between(to: *mut u8, target: usize, from: *const u8, source: usize, count: usize) {
    if [target, source, count].iter().all(|bits| bits.is_multiple_of(8)) {
        // SAFETY: as the caller promises.
        return unsafe { to.add(target / 8).copy_from(from.add(source / 8), count / 8) };
    }
    let mut done = 0;
    while done < count {
        let (at, next) = (target + done, source + done);
        // At most up to the end of the target's byte.
        let part = (8 - at % 8).min(count - done);
        let mask = ((1u16 << part) - 1) as u8;
        // SAFETY: bytes that contain the bits; the source's next byte is read only if they extend into it.
        unsafe {
            let mut bits = *from.add(next / 8) >> (next % 8);
            if next % 8 + part > 8 {
                bits |= *from.add(next / 8 + 1) << (8 - next % 8);
            }
            let byte = to.add(at / 8);
            *byte = *byte & !(mask << (at % 8)) | (bits & mask) << (at % 8);
        }
        done += part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_copied_and_those_around_them_stay() {
        let bit = |bytes: &[u8], at: usize| bytes[at / 8] >> (at % 8) & 1;
        let from: Vec<u8> = (0..5u8).map(|i| i.wrapping_mul(77) ^ 0x5A).collect();
        for (target, source) in (0..17).flat_map(|target| (0..17).map(move |source| (target, source))) {
            for count in 0..=40 - target.max(source) {
                let before = [0xC3u8, 0x3C, 0x99, 0x66, 0xF0];
                let mut to = before;
                copy_bits(&mut to, target, &from, source, count);
                for at in 0..40 {
                    let copied = (target..target + count).contains(&at);
                    let expected = if copied { bit(&from, at - target + source) } else { bit(&before, at) };
                    assert_eq!(bit(&to, at), expected, "bit {at} of {count} from {source} to {target}");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn bits_beyond_a_slice_are_not_copied() {
        copy_bits(&mut [0; 2], 9, &[0; 2], 0, 8);
    }
}
