use super::*;

const TEXT: &str = "\
f:  # a product
    # remark
    outer: a by 4 parallel 2, copy of x#2 as [k, b padded 8] (transpose: k, b by 8, b vector), b by 8, k, a unrolled, b vector
    opaque, 2 loops parallel 5
    opaque
\"g: 1\":
    copy of é as [] for stage 1 (each:)
    rows, 8 at a time, n parallel 3:
        each: n, m by 16, m vector, reciprocal hoisted
    rows left, 1 at a time:
        planned by each
            resplit m by 16 to 8
h:
    planned
        split a by 4 by 64  # a remark
        reorder a by 64, k, a
        parallel a by 64 grain 3
        cache_read x#2 as [k, a] at a by 64
        attach x#2 at root
        pad x#2 along k to 8
    opaque
";

#[test]
fn plans_have_names_and_parts() {
    let plans = Plans::read(TEXT).unwrap();
    let parts = |name: &str| plans.of(name).map(|written| written.parts.len());
    assert_eq!([parts("f"), parts("g: 1"), parts("g"), parts("h")], [Some(3), Some(1), None, Some(2)]);
    assert!(plans.check_kernels(&["g: 1", "i", "h", "f"]).is_ok());
    let missing = plans.check_kernels(&["g: 1", "h"]).unwrap_err();
    assert_eq!(missing.message, "the module has no kernel `f`");
    assert!(Plans::read("").unwrap().of("f").is_none());
}

/// Errors in damaged texts have a valid location.
#[test]
fn damaged_texts_are_read_or_refused() {
    let mut refused = 0;
    for (at, c) in TEXT.char_indices() {
        for by in
            ["", ",", ":", "(", ")", "[", "]", "#", "\"", " ", "\n", "\t", "9999999999999999999", "-1", "é", "rows"]
        {
            let text = format!("{}{by}{}", &TEXT[..at], &TEXT[at + c.len_utf8()..]);
            if let Err(error) = Plans::read(&text) {
                refused += 1;
                assert!(text.get(error.span.range()).is_some(), "{error:?}\n{text}");
            }
        }
    }
    assert!(refused > 1000, "{refused}");
    let deep = format!("f:\n    {}{}\n", "r: copy of x as [] (".repeat(100_000), ")".repeat(100_000));
    assert!(Plans::read(&deep).unwrap_err().message.contains("deep"));
}
