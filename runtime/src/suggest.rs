//! "Did you mean …?" suggestions for mistyped names.

/// The candidate closest to a mistyped name, if it is close enough. Names of one or two letters resemble too many
/// others: they only match the same letters in another case, or three letters of which one is missing.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let len = name.chars().count();
    let limit = if len == 2 { 1 } else { len / 3 };
    let edits = |c: &str| match c.eq_ignore_ascii_case(name) {
        true => 0,
        false if len == 2 && c.chars().count() <= 2 => limit + 1,
        false => distance(name, c, limit),
    };
    candidates
        .into_iter()
        .filter(|c| *c != name)
        .map(|c| (edits(c), c))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, c)| (*d, c.len()))
        .map(|(_, c)| c)
}

/// Suggestion for a dotted name: one with a similar spelling, or with the same last component in another namespace.
pub fn nearest_dotted<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let last = |path: &'a str| path.rsplit('.').next().unwrap_or(path);
    let wanted = name.rsplit('.').next().unwrap_or(name);
    let in_family = |member: &str| known.iter().copied().find(|k| last(k) == member && *k != name);
    nearest(name, known.iter().copied())
        .or_else(|| in_family(wanted))
        .or_else(|| in_family(nearest(wanted, known.iter().map(|k| last(k)))?))
}

/// Suggestion for a dtype: one with a similar spelling, or Hammock's name for another framework's dtype.
pub fn nearest_dtype(text: &str) -> Option<&'static str> {
    const NAMES: [&str; 14] = [
        "float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
        "uint64", "bool", "handle",
    ];
    const FOREIGN: [(&str, &str); 10] = [
        ("half", "float16"),
        ("float", "float32"),
        ("double", "float64"),
        ("long", "int64"),
        ("int", "int32"),
        ("short", "int16"),
        ("char", "int8"),
        ("byte", "uint8"),
        ("boolean", "bool"),
        ("bf16", "bfloat16"),
    ];
    let name = text.trim_start_matches("torch.").trim_start_matches("np.");
    let foreign = FOREIGN.iter().find(|(foreign, _)| *foreign == name).map(|(_, meant)| *meant);
    let same = NAMES.iter().copied().find(|n| *n == name);
    foreign.or(same).or_else(|| nearest(name, NAMES))
}

/// Edit distance: insertions, deletions, substitutions and adjacent transpositions (optimal string alignment). Results
/// above `limit` are not exact.
fn distance(a: &str, b: &str, limit: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > limit {
        return limit + 1;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, cb) in b.iter().enumerate() {
            let mut cost = (previous[j] + usize::from(ca != cb)).min(previous[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *ca == b[j - 1] && a[i - 1] == *cb {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut previous, row);
    }
    previous[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let names = ["add", "matmul", "nn.conv2d", "nn.conv1d", "permute_dims"];
        assert_eq!(nearest("matmull", names), Some("matmul"));
        assert_eq!(nearest("nn.covn2d", names), Some("nn.conv2d"));
        assert_eq!(nearest("permute_dim", names), Some("permute_dims"));
        assert_eq!(nearest("softmax", names), None);
        assert_eq!(nearest("", names), None);
        assert_eq!(nearest("r", ["I", "R"]), Some("R"));
        assert_eq!(nearest("vk", ["vi", "vj"]), None);
        assert_eq!(nearest("ad", ["add", "or"]), Some("add"));
        assert_eq!(distance("ca", "ac", 2), 1);
    }
}
