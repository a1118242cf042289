//! Sorting in little code: the standard library's sorts take 3 to 8 KB for each type, this one 0.2 KB.
//!
//! It is several times slower on large inputs, so operators use the standard library's.

/// Sorts by heapsort: O(n log n) comparisons, not stable.
pub(crate) fn sort_by<T>(items: &mut [T], is_less: impl Fn(&T, &T) -> bool) {
    for root in (0..items.len() / 2).rev() {
        sift_down(items, root, &is_less);
    }
    for end in (1..items.len()).rev() {
        items.swap(0, end);
        sift_down(&mut items[..end], 0, &is_less);
    }
}

/// Sorts in ascending order, as [`sort_by`] does.
pub(crate) fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::lt);
}

/// Restores the heap order below `node`, the only item that may be less than its children.
fn sift_down<T>(items: &mut [T], mut node: usize, is_less: &impl Fn(&T, &T) -> bool) {
    loop {
        let mut child = 2 * node + 1;
        if child >= items.len() {
            return;
        }
        if child + 1 < items.len() && is_less(&items[child], &items[child + 1]) {
            child += 1;
        }
        if !is_less(&items[node], &items[child]) {
            return;
        }
        items.swap(node, child);
        node = child;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_order_is_sorted() {
        let mut random = fastrand::Rng::with_seed(7);
        for len in 0..100 {
            let mut items: Vec<u8> = (0..len).map(|_| random.u8(..20)).collect();
            let mut expected = items.clone();
            expected.sort_unstable();
            sort(&mut items);
            assert_eq!(items, expected);
            expected.reverse();
            sort_by(&mut items, |a, b| a > b);
            assert_eq!(items, expected);
        }
    }
}
