//! Costs of each rule, by the counters of the emulator, which stand in for time: the share of the bytes transferred
//! with L2 that threads asked for, bank conflicts of shared memory, launches.

use crate::{
    draw::{Dim, Draw, Values},
    run::{compiled, for_device, parse},
};
use hammock_compiler::Options;
use std::process::Command;

/// The variable with the name of a case, in the process that runs it.
const CASE: &str = "HAMMOCK_COUNTED";

/// A program: parameters as dtypes with shapes, where negative sizes are dynamic, and the call.
struct Counted {
    rule: &'static str,
    call: &'static str,
    params: &'static [(&'static str, &'static [i64])],
    /// Minimum share of the bytes transferred that threads asked for, in per mille.
    share: u32,
    /// Maximum bank conflicts for each access of shared memory, in per mille.
    conflicts: u32,
    /// Minimum share of the parameters' bytes in those transferred, in per mille, for what is read once.
    read_once: u32,
    /// Number of `mma.sync`, if it is known.
    mma_count: Option<u32>,
    /// Minimum share of `mma.sync` in the instructions, in per mille.
    mma: u32,
    /// Launches.
    launches: usize,
    /// True if tensor cores multiply tf32.
    tf32: bool,
}

const fn counted(rule: &'static str, call: &'static str, params: &'static [(&'static str, &'static [i64])]) -> Counted {
    Counted {
        rule,
        call,
        params,
        share: 950,
        conflicts: 0,
        read_once: 0,
        mma: 0,
        mma_count: None,
        launches: 1,
        tf32: false,
    }
}

/// Attention of one query: a kernel reads keys and values once, and another combines its few results. Threads store eight
/// sums each, with few conflicts.
const fn decode(params: &'static [(&'static str, &'static [i64])]) -> Counted {
    let attention = counted("online_softmax", "R.nn.attention(p0, p1, p2)", params);
    Counted { share: 900, conflicts: 300, read_once: 950, launches: 2, ..attention }
}

/// Bytes of a transaction.
const SECTOR: f64 = 32.0;
const F32: &str = "float32";
const F16: &str = "float16";

/// Three shapes for each rule.
const CASES: &[Counted] = &[
    counted("elementwise", "R.nn.relu(R.add(p0, p1))", &[(F32, &[262_144]), (F32, &[262_144])]),
    counted("elementwise", "R.nn.relu(R.add(p0, p1))", &[(F16, &[600, 512]), (F16, &[600, 512])]),
    counted("thread_per_result", "R.nn.relu(R.add(p0, p1))", &[(F32, &[33, 127]), (F32, &[33, 127])]),
    counted("transpose", "R.permute_dims(p0)", &[(F32, &[256, 128])]),
    counted("transpose", "R.permute_dims(p0)", &[(F16, &[304, 128])]),
    counted("transpose", "R.permute_dims(p0, axes=[0, 2, 3, 1])", &[(F32, &[2, 64, 16, 16])]),
    counted("transpose", "R.nn.relu(R.permute_dims(p0))", &[(F32, &[256, 128])]),
    // Consecutive threads of a tile of whole rows are in two of them.
    counted("transpose", "R.permute_dims(p0)", &[(F32, &[127, 127])]).with_share(880),
    counted("transpose", "R.permute_dims(p0)", &[(F32, &[100, 33])]).with_conflicts(500),
    // Rows begin in the middle of sectors. Each warp stores a part of a row, and both its ends are parts of sectors.
    counted("transpose", "R.permute_dims(p0)", &[(F32, &[250, 131])]).with_share(880),
    counted("transpose", "R.permute_dims(p0)", &[(F16, &[250, 131])]).with_share(770),
    counted("transpose", "R.permute_dims(p0)", &[(F32, &[-250, -131])]).with_share(880),
    counted("transpose", "R.permute_dims(p0, axes=[0, 2, 1])", &[(F32, &[8, 65, 31])])
        .with_share(890)
        .with_conflicts(500),
    counted("concat", "R.concat([p0, p1], axis=1)", &[(F32, &[300, 33]), (F32, &[300, 14])]),
    counted("concat", "R.concat([p0, p1], axis=0)", &[(F32, &[33, 31]), (F32, &[-140, 31])]),
    counted("concat", "R.concat([p0, p1], axis=1)", &[(F32, &[128, 64]), (F32, &[128, 32])]),
    counted("pad", "R.nn.pad(p0, [0, 0, 1, 1])", &[(F32, &[100, 61])]),
    counted("pad", "R.nn.pad(p0, [0, 0, 1, 1, 1, 1])", &[(F32, &[16, 32, 32])]),
    counted("pad", "R.nn.pad(p0, [0, 0, 1, 1])", &[(F32, &[-100, 61])]),
    counted("slice", "R.strided_slice(p0, axes=[1], begin=[1], end=[100])", &[(F32, &[100, 128])]),
    // Unread columns are in sectors with others: .943 at most.
    counted("slice", "R.strided_slice(p0, axes=[1], begin=[3], end=[36])", &[(F32, &[300, 37])]).with_share(925),
    counted("slice", "R.strided_slice(p0, axes=[0], begin=[1], end=[100])", &[(F32, &[128, 33])]),
    counted("warp_reduction", "R.sum(p0, axis=1)", &[(F32, &[64, 1024])]),
    // Each warp stores one element.
    counted("warp_reduction", "R.sum(p0, axis=1)", &[(F32, &[-33, 131])]).with_share(945),
    counted("warp_reduction", "R.sum(p0, axis=1)", &[(F32, &[100, 512])]),
    counted("warp_reduction", "R.max(p0, axis=1)", &[(F32, &[33, 260])]),
    counted("block_reduction", "R.sum(p0, axis=1)", &[(F32, &[8, 4096])]),
    counted("block_reduction", "R.sum(p0, axis=1)", &[(F32, &[4, 2052])]),
    counted("block_reduction", "R.sum(p0)", &[(F32, &[100, 100])]),
    counted("rows", "R.nn.softmax(p0)", &[(F32, &[16, 1024])]),
    counted("rows", "R.nn.layer_norm(p0, p1, p2, axes=[-1])", &[(F32, &[16, 128]), (F32, &[128]), (F32, &[128])]),
    counted("rows", "R.nn.rms_norm(p0, p1)", &[(F32, &[4, 2048]), (F32, &[2048])]),
    counted("GEMV", "R.matmul(p0, R.permute_dims(p1))", &[(F32, &[1, 1024]), (F32, &[64, 1024])]),
    counted("GEMV", "R.matmul(p0, R.permute_dims(p1))", &[(F32, &[1, 4096]), (F32, &[16, 4096])]),
    counted("block_reduction", "R.sum(p0)", &[(F32, &[256, 1024])]).with_launches(2),
    counted("block_reduction", "R.sum(p0)", &[(F32, &[65_539])]).with_launches(2),
    counted("block_reduction", "R.max(p0)", &[(F32, &[-65_539])]).with_launches(2),
    counted("block_reduction", "R.argmax(p0)", &[(F32, &[65_536])]).with_launches(3),
    counted("column_reduction", "R.sum(p0, axis=0)", &[(F32, &[512, 256])]),
    counted("column_reduction", "R.sum(p0, axis=0)", &[(F32, &[3000, 33])]).with_launches(2),
    counted("column_reduction", "R.sum(p0, axis=0)", &[(F32, &[-4096, 32])]).with_launches(2),
    counted("column_reduction", "R.sum(p0, axis=0)", &[(F32, &[16384, 3])]).with_launches(2),
    counted("GEMV", "R.matmul(p0, p1)", &[(F32, &[1, 256]), (F32, &[256, 512])]),
    counted("GEMV", "R.matmul(p0, p1)", &[(F32, &[1, 4096]), (F32, &[4096, 96])]).with_launches(2),
    counted("GEMV", "R.matmul(p0, p1)", &[(F32, &[1, 500]), (F32, &[500, 33])]),
    counted("contraction", "R.matmul(p0, p1)", &[(F32, &[64, 64]), (F32, &[64, 128])]),
    counted("contraction", "R.matmul(p0, p1)", &[(F32, &[256, 32]), (F32, &[32, 64])]),
    counted("contraction", "R.nn.relu(R.matmul(p0, p1))", &[(F32, &[2, 64, 32]), (F32, &[32, 64])]),
    decode(&[(F16, &[1, 1, 4, 64]), (F16, &[1, 1024, 4, 64]), (F16, &[1, 1024, 4, 64])]),
    decode(&[(F16, &[1, 1, 4, 128]), (F16, &[1, 1024, 4, 128]), (F16, &[1, 1024, 4, 128])]),
    decode(&[(F32, &[2, 1, 2, 64]), (F32, &[2, 1024, 2, 64]), (F32, &[2, 1024, 2, 64])]),
    CAUSAL,
    prefill(&[(F16, &[1, 128, 2, 64]), (F16, &[1, 128, 2, 64]), (F16, &[1, 128, 2, 64])]),
    prefill(&[(F16, &[1, 64, 2, 128]), (F16, &[1, 128, 2, 128]), (F16, &[1, 128, 2, 128])]),
    counted("tf32", "R.matmul(p0, p1)", &[(F32, &[128, 64]), (F32, &[64, 128])]).with_tf32(),
    counted("tf32", "R.matmul(p0, R.permute_dims(p1))", &[(F32, &[128, 64]), (F32, &[128, 64])])
        .with_launches(2)
        .with_tf32(),
    counted("tf32", "R.matmul(p0, p1)", &[(F32, &[-100, 40]), (F32, &[40, 72])]).with_tf32(),
];

/// Attention on tensor cores: threads store 16 bytes of a row at once, half of a transaction.
const fn prefill(params: &'static [(&'static str, &'static [i64])]) -> Counted {
    let attention = counted("online_softmax", "R.nn.attention(p0, p1, p2)", params);
    Counted { share: 850, mma: 40, ..attention }
}

/// Causal attention of 16 heads: blocks of 64 queries visit 1, 2, 3 and 4 tiles of 64 keys. A warp multiplies 16 queries by
/// 64 keys and 64 values, each in 32 `mma.sync`.
const CAUSAL: Counted = {
    const HEADS: &[i64] = &[1, 256, 16, 64];
    let params = &[(F16, HEADS), (F16, HEADS), (F16, HEADS)];
    let attention = counted("online_softmax", "R.nn.attention(p0, p1, p2, causal_mask=\"TopLeft\")", params);
    Counted { share: 850, mma_count: Some(16 * 10 * 4 * 64), ..attention }
};

impl Counted {
    const fn with_launches(self, launches: usize) -> Counted {
        Counted { launches, ..self }
    }

    const fn with_conflicts(self, conflicts: u32) -> Counted {
        Counted { conflicts, ..self }
    }

    const fn with_tf32(self) -> Counted {
        Counted { tf32: true, ..self }
    }

    const fn with_share(self, share: u32) -> Counted {
        Counted { share, ..self }
    }

    /// Returns the bytes of its parameters.
    fn bytes(&self) -> f64 {
        let bytes = |dtype: &str| if dtype == F16 { 2 } else { 4 };
        self.params.iter().map(|(dtype, shape)| (shape.iter().product::<i64>().abs() * bytes(dtype)) as f64).sum()
    }

    /// Runs it once.
    fn run(&self) {
        let mut draw = Draw::new(0);
        for (dtype, shape) in self.params {
            let mut dim = |size: i64| if size < 0 { draw.dynamic(-size) } else { Dim::known(size) };
            let dims: Vec<Dim> = shape.iter().map(|size| dim(*size)).collect();
            draw.param(dtype, &dims, Values::Between(-2, 2));
        }
        let result = draw.bind_any(self.call.to_owned());
        draw.result(result);
        let case = draw.case();
        let (source, module) = parse(&case.text).unwrap();
        compiled(&source, &module, Options { allow_tf32: self.tf32, ..for_device(2) }, &case.args).unwrap();
    }
}

/// The number that a line of counters has for a key.
fn number(line: &str, key: &str) -> f64 {
    let (_, rest) = line.split_once(&format!("\"{key}\":")).unwrap();
    rest.split([',', '}']).next().unwrap().parse().unwrap()
}

#[test]
fn rules_transfer_what_they_use() {
    const TEST: &str = "counters::rules_transfer_what_they_use";
    if let Ok(case) = std::env::var(CASE) {
        return CASES[case.parse::<usize>().unwrap()].run();
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut table, mut worse) = (String::new(), Vec::new());
    for (at, case) in CASES.iter().enumerate() {
        let log = folder.path().join(format!("{at}.json"));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", TEST]).env(CASE, at.to_string()).env("CUDA_EMULATOR_COUNTERS", &log);
        let output =
            command.env("LD_LIBRARY_PATH", hammock_cuda_emulator::library::folder().unwrap()).output().unwrap();
        assert!(output.status.success(), "{}: {}", case.call, String::from_utf8_lossy(&output.stdout));
        let lines = std::fs::read_to_string(log).unwrap();
        let all = |key: &str| lines.lines().map(|line| number(line, key)).sum::<f64>();
        let transferred = SECTOR * all("l2_transactions");
        let (share, by_warp) =
            (all("l2_bytes") / transferred, all("global_bytes") / (SECTOR * all("global_transactions")));
        let (read_once, mma) = (case.bytes() / transferred, all("mma") / all("instructions"));
        let conflicts = all("bank_conflicts");
        let conflicts = if conflicts > 0.0 { conflicts / all("shared_accesses") } else { 0.0 };
        let row = format!(
            "{:18} {:42} {:?}: share {share:.3}, by warp {by_warp:.3}, {conflicts:.2} conflicts, mma {mma:.3}, parameters \
             {read_once:.3}",
            case.rule, case.call, case.params
        );
        let launches = lines.lines().count();
        let is_below = |value: f64, minimum: u32| value * 1000.0 < f64::from(minimum);
        if is_below(share, case.share)
            || is_below(read_once, case.read_once)
            || is_below(mma, case.mma)
            || case.mma_count.is_some_and(|count| all("mma") != f64::from(count))
            || conflicts * 1000.0 > f64::from(case.conflicts)
            || launches != case.launches
            || case.tf32 && mma == 0.0
        {
            worse.push(format!("{row}, {launches} launches"));
        }
        table += &(row + "\n");
    }
    println!("{table}");
    assert!(worse.is_empty(), "{}", worse.join("\n"));
}
