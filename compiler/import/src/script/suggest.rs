//! "Did you mean …?"

/// The candidate nearest to a mistyped name, when one is near enough to be meant. Names of one or two letters resemble
/// too many others: they are only taken for the same letters in another case, or two for three of which one is missing.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
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

/// What operators are called elsewhere, and here.
const SYNONYMS: [(&str, &str); 34] = [
    ("absolute", "abs"),
    ("adaptive_avg_pool", "nn.adaptive_avg_pool2d"),
    ("as_type", "astype"),
    ("broadcast", "broadcast_to"),
    ("cast", "astype"),
    ("cat", "concat"),
    ("clamp", "clip"),
    ("concatenate", "concat"),
    ("conv", "nn.conv2d"),
    ("div", "divide"),
    ("dot", "matmul"),
    ("embedding", "take"),
    ("eq", "equal"),
    ("expand", "broadcast_to"),
    ("fully_connected", "nn.dense"),
    ("ge", "greater_equal"),
    ("gt", "greater"),
    ("index_select", "take"),
    ("le", "less_equal"),
    ("lt", "less"),
    ("masked_fill", "where"),
    ("mm", "matmul"),
    ("bmm", "matmul"),
    ("mul", "multiply"),
    ("ne", "not_equal"),
    ("neg", "negative"),
    ("permute", "permute_dims"),
    ("pow", "power"),
    ("sub", "subtract"),
    ("swapaxes", "permute_dims"),
    ("transpose", "permute_dims"),
    ("to", "astype"),
    ("unsqueeze", "expand_dims"),
    ("view", "reshape"),
];

/// The dotted name that was meant: one spelt almost alike, of the same meaning elsewhere, or of the same last part in
/// another family.
pub(crate) fn nearest_path<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let last = |path: &'a str| path.rsplit('.').next().unwrap_or(path);
    let wanted = name.rsplit('.').next().unwrap_or(name);
    let synonym = || {
        let (_, meant) = SYNONYMS.iter().find(|(foreign, _)| *foreign == wanted)?;
        known.iter().copied().find(|k| k == meant)
    };
    let in_family = |member: &str| known.iter().copied().find(|k| last(k) == member && *k != name);
    nearest(name, known.iter().copied())
        .or_else(synonym)
        .or_else(|| in_family(wanted))
        .or_else(|| in_family(nearest(wanted, known.iter().map(|k| last(k)))?))
}

/// Edits that turn `a` into `b`: insertions, deletions, replacements, swapped neighbours (optimal string alignment).
/// Anything above `limit` is only known to be above.
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
    fn other_spellings_of_operators_are_found() {
        let names = ["add", "nn.relu", "concat", "permute_dims", "image.resize2d"];
        for (wrong, right) in [
            ("relu", "nn.relu"),
            ("rleu", "nn.relu"),
            ("nn.functional.relu", "nn.relu"),
            ("transpose", "permute_dims"),
            ("cat", "concat"),
            ("resize2d", "image.resize2d"),
        ] {
            assert_eq!(nearest_path(wrong, &names), Some(right), "{wrong}");
        }
        assert_eq!(nearest_path("quantum", &names), None);
    }

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
