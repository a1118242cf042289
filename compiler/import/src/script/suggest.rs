//! "Did you mean …?"

pub(crate) use hammock_runtime::suggest::nearest;
use hammock_runtime::suggest::nearest_dotted;

/// Names of operators in other frameworks, and here.
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

/// The dotted name that was likely meant: a similar spelling, a synonym from another framework, or the same last part
/// in another family.
pub(crate) fn nearest_path<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let wanted = name.rsplit('.').next().unwrap_or(name);
    let synonym = || {
        let (_, meant) = SYNONYMS.iter().find(|(foreign, _)| *foreign == wanted)?;
        known.iter().copied().find(|k| k == meant)
    };
    synonym().or_else(|| nearest(name, known.iter().copied())).or_else(|| nearest_dotted(name, known))
}

/// The operator that was likely meant by an unknown name.
pub fn nearest_operator(name: &str) -> Option<&'static str> {
    nearest_path(name, &hammock_ops::ops().map(|op| op.name).collect::<Vec<_>>())
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
}
