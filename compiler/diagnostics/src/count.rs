//! Counted nouns in messages.

/// A number of things: `1 dimension`, `2 dimensions`, `2 indices`.
pub fn count(n: usize, noun: &str) -> String {
    match (n, noun) {
        (1, _) => format!("1 {noun}"),
        (_, "index") => format!("{n} indices"),
        _ => format!("{n} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        assert_eq!([0, 1, 2].map(|n| count(n, "index")), ["0 indices", "1 index", "2 indices"]);
        assert_eq!([0, 1, 2].map(|n| count(n, "dimension")), ["0 dimensions", "1 dimension", "2 dimensions"]);
    }
}
