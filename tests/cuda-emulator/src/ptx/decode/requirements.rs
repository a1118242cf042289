//! Targets and versions of the PTX ISA that instructions need: an assembler rejects them in modules for less.

/// Root, parts of the name that must all be there, target, version.
type Row = (&'static str, &'static [&'static str], u32, (u32, u32));

/// An instruction needs what every row that fits asks for.
const TABLE: &[Row] = &[
    ("abs", &["bf16"], 80, (7, 0)),
    ("abs", &["bf16x2"], 80, (7, 0)),
    ("activemask", &[], 30, (6, 2)),
    ("add", &["bf16"], 90, (7, 8)),
    ("add", &["bf16x2"], 90, (7, 8)),
    ("atom", &["bf16"], 90, (7, 8)),
    ("atom", &["bf16x2"], 90, (7, 8)),
    ("atom", &["f16"], 70, (6, 3)),
    ("atom", &["cas", "b16"], 70, (6, 3)),
    ("cp", &["async"], 80, (7, 0)),
    ("cvt", &["bf16"], 80, (7, 0)),
    ("cvt", &["bf16x2"], 80, (7, 0)),
    ("cvt", &["e4m3x2"], 89, (8, 1)),
    ("cvt", &["e5m2x2"], 89, (8, 1)),
    ("cvt", &["f16x2"], 80, (7, 0)),
    ("cvt", &["relu"], 80, (7, 0)),
    ("cvt", &["tf32"], 80, (7, 0)),
    ("elect", &[], 90, (8, 0)),
    ("ex2", &["bf16"], 90, (7, 8)),
    ("ex2", &["bf16x2"], 90, (7, 8)),
    ("ex2", &["f16"], 75, (7, 0)),
    ("ex2", &["f16x2"], 75, (7, 0)),
    ("fence", &[], 70, (6, 0)),
    ("fence", &["acquire"], 90, (8, 6)),
    ("fence", &["release"], 90, (8, 6)),
    ("fma", &["bf16"], 80, (7, 0)),
    ("fma", &["bf16x2"], 80, (7, 0)),
    ("fma", &["relu"], 80, (7, 0)),
    ("ld", &["L1::no_allocate"], 70, (7, 4)),
    ("ld", &["L2::128B"], 75, (7, 4)),
    ("ld", &["L2::256B"], 80, (7, 4)),
    ("ldmatrix", &[], 75, (6, 5)),
    ("match", &[], 70, (6, 0)),
    ("max", &["NaN"], 80, (7, 0)),
    ("max", &["bf16"], 80, (7, 0)),
    ("max", &["bf16x2"], 80, (7, 0)),
    ("max", &["f16"], 80, (7, 0)),
    ("max", &["f16x2"], 80, (7, 0)),
    ("max", &["xorsign"], 86, (7, 2)),
    ("mbarrier", &[], 80, (7, 0)),
    ("mbarrier", &["parity"], 80, (7, 1)),
    ("mbarrier", &["try_wait"], 90, (7, 8)),
    ("min", &["NaN"], 80, (7, 0)),
    ("min", &["bf16"], 80, (7, 0)),
    ("min", &["bf16x2"], 80, (7, 0)),
    ("min", &["f16"], 80, (7, 0)),
    ("min", &["f16x2"], 80, (7, 0)),
    ("min", &["xorsign"], 86, (7, 2)),
    ("mma", &[], 70, (6, 4)),
    ("mma", &["bf16"], 80, (7, 0)),
    ("mma", &["f64"], 80, (7, 0)),
    ("mma", &["m16n8k16"], 80, (7, 0)),
    ("mma", &["m16n8k16", "f64"], 90, (7, 8)),
    ("mma", &["m16n8k32"], 80, (7, 0)),
    ("mma", &["m16n8k4", "f64"], 90, (7, 8)),
    ("mma", &["m16n8k64"], 80, (7, 0)),
    ("mma", &["m16n8k8"], 75, (6, 5)),
    ("mma", &["m16n8k8", "f64"], 90, (7, 8)),
    ("mma", &["m8n8k16"], 75, (6, 5)),
    ("mma", &["tf32"], 80, (7, 0)),
    ("movmatrix", &[], 75, (7, 8)),
    ("mul", &["bf16"], 90, (7, 8)),
    ("mul", &["bf16x2"], 90, (7, 8)),
    ("nanosleep", &[], 70, (6, 3)),
    ("neg", &["bf16"], 80, (7, 0)),
    ("neg", &["bf16x2"], 80, (7, 0)),
    ("red", &["bf16"], 90, (7, 8)),
    ("red", &["bf16x2"], 90, (7, 8)),
    ("red", &["f16"], 70, (6, 3)),
    ("redux", &[], 80, (7, 0)),
    ("set", &["bf16"], 90, (7, 8)),
    ("set", &["bf16x2"], 90, (7, 8)),
    ("setp", &["bf16"], 90, (7, 8)),
    ("setp", &["bf16x2"], 90, (7, 8)),
    ("stmatrix", &[], 90, (7, 8)),
    ("sub", &["bf16"], 90, (7, 8)),
    ("sub", &["bf16x2"], 90, (7, 8)),
    ("tanh", &[], 75, (7, 0)),
    ("tanh", &["bf16"], 90, (7, 8)),
    ("tanh", &["bf16x2"], 90, (7, 8)),
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
    // A target of 80 converts `bf16` from and to `f32` only.
    if parts[0] == "cvt" && parts.contains(&"bf16") && !parts.contains(&"f32") {
        need(parts, 90, (7, 8), target, version)?;
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
        assert!(!of("add.rn.bf16", 80, (8, 0)) && of("fma.rn.bf16", 80, (8, 0)) && of("add.rn.f16", 75, (8, 0)));
        assert!(
            of("cvt.rn.bf16.f32", 80, (8, 0)) && !of("cvt.rn.bf16.s32", 80, (8, 0)) && of("cvt.f32.bf16", 80, (8, 0))
        );
        assert!(of("max.f32", 75, (8, 0)) && !of("max.NaN.f32", 75, (8, 0)));
    }

    #[test]
    fn versions() {
        assert!(!of("mbarrier.try_wait.shared.b64", 90, (7, 7)) && of("mbarrier.try_wait.shared.b64", 90, (7, 8)));
    }
}
