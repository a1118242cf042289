//! Targets and versions of the PTX ISA that instructions need: an assembler rejects them in modules for less.
//!
//! Arithmetic knows the targets that its types and modifiers need; this table has the other instructions.

/// Root, parts of the name that must all be there, target, version.
type Row = (&'static str, &'static [&'static str], u32, (u32, u32));

/// An instruction needs what every row that fits asks for.
const TABLE: &[Row] = &[
    ("activemask", &[], 30, (6, 2)),
    ("atom", &["bf16"], 90, (7, 8)),
    ("atom", &["bf16x2"], 90, (7, 8)),
    ("atom", &["f16"], 70, (6, 3)),
    ("atom", &["cas", "b16"], 70, (6, 3)),
    ("cp", &["async"], 80, (7, 0)),
    ("elect", &[], 90, (8, 0)),
    ("fence", &[], 70, (6, 0)),
    ("fence", &["acquire"], 70, (8, 6)),
    ("fence", &["release"], 70, (8, 6)),
    ("ld", &["L1::no_allocate"], 70, (7, 4)),
    ("ld", &["L2::128B"], 75, (7, 4)),
    ("ld", &["L2::256B"], 80, (7, 4)),
    ("ldmatrix", &[], 75, (6, 5)),
    ("match", &[], 70, (6, 0)),
    ("mbarrier", &[], 80, (7, 0)),
    ("mbarrier", &["parity"], 80, (7, 1)),
    ("mbarrier", &["try_wait"], 90, (7, 8)),
    ("movmatrix", &[], 75, (7, 8)),
    ("nanosleep", &[], 70, (6, 3)),
    ("red", &["bf16"], 90, (7, 8)),
    ("red", &["bf16x2"], 90, (7, 8)),
    ("red", &["f16"], 70, (6, 3)),
    ("redux", &[], 80, (7, 0)),
    ("stmatrix", &[], 90, (7, 8)),
];

/// Checks that a module's target and version have the instruction with these parts of its name.
///
/// # Errors
/// Names what it needs.
pub(super) fn check(parts: &[&str], target: u32, version: (u32, u32)) -> Result<(), String> {
    let fits = |row: &&Row| row.0 == parts[0] && row.1.iter().all(|part| parts[1..].contains(part));
    for &(_, _, needed_target, needed_version) in TABLE.iter().filter(fits) {
        need(parts, needed_target, needed_version, target, version)?;
    }
    Ok(())
}

fn need(
    parts: &[&str],
    needed_target: u32,
    needed_version: (u32, u32),
    target: u32,
    version: (u32, u32),
) -> Result<(), String> {
    if target < needed_target {
        return Err(format!("`{}` needs sm_{needed_target}, and the module is for sm_{target}", parts.join(".")));
    }
    if version < needed_version {
        let (major, minor) = needed_version;
        return Err(format!(
            "`{}` needs PTX ISA {major}.{minor}, and the module has {}.{}",
            parts.join("."),
            version.0,
            version.1
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    fn of(name: &str, target: u32, version: (u32, u32)) -> bool {
        check(&name.split('.').collect::<Vec<_>>(), target, version).is_ok()
    }

    #[test]
    fn targets() {
        assert!(!of("cp.async.commit_group", 75, (8, 0)) && of("cp.async.commit_group", 80, (8, 0)));
        assert!(!of("red.global.add.noftz.bf16x2", 80, (8, 0)) && of("red.global.add.noftz.f16x2", 80, (8, 0)));
    }

    #[test]
    fn versions() {
        assert!(of("fence.acq_rel.gpu", 80, (8, 0)) && !of("fence.acquire.gpu", 80, (8, 0)));
        assert!(!of("mbarrier.try_wait.shared.b64", 90, (7, 7)) && of("mbarrier.try_wait.shared.b64", 90, (7, 8)));
    }
}
