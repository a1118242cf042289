//! Kernels that are scheduled already, as TVM 0.27 prints them: by its rules for GPUs, whose blocks reduce across
//! threads, and lowered, with barriers and shuffles. The first line of a file has the shapes of the arguments of `main`.

use crate::{
    emulated::emulated,
    rng::Rng,
    run::{compiled, first_difference, for_device, parse},
};
use hammock_compiler::Options;
use hammock_runtime::Tensor;

/// Threads add up in another order.
const TOLERANCE: f64 = 1e-4;

#[test]
fn scheduled_kernels_match_the_cpu() {
    emulated("schedules::scheduled_kernels_match_the_cpu", || {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/device/schedules");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = |path: &str| std::fs::read_to_string(path).unwrap();
            let path = path.display().to_string();
            // Without threads, shuffles have no meaning: the reference is the kernel before it was lowered.
            compare(&text(&path), &text(&path.replace("_lowered", ""))).unwrap_or_else(|why| panic!("{path}: {why}"));
            count += 1;
        }
        assert!(count >= 10, "only {count} files were found");
    });
}

/// Compares a scheduled module with what another computes on the CPU, where its loops over threads are serial.
fn compare(text: &str, reference: &str) -> Result<(), String> {
    let mut rng = Rng::new(0);
    let shapes = text.lines().next().unwrap_or_default().trim_start_matches("# ").split("; ");
    let args: Vec<Tensor> = shapes.map(|shape| argument(shape, &mut rng)).collect();
    let (source, module) = parse(reference)?;
    let wanted = compiled(&source, &module, Options::default(), &args)?;
    let (source, module) = parse(text)?;
    let found = compiled(&source, &module, for_device(2), &args)?;
    first_difference(&wanted, &found, TOLERANCE)
}

/// A tensor of a shape such as `(3, 4)`.
fn argument(shape: &str, rng: &mut Rng) -> Tensor {
    let sizes = shape.trim_matches(['(', ')']).split(',').map(str::trim).filter(|size| !size.is_empty());
    let sizes: Vec<i64> = sizes.map(|size| size.parse().unwrap()).collect();
    let values: Vec<f32> = (0..sizes.iter().product()).map(|_| rng.between(-32, 32) as f32 / 16.0).collect();
    Tensor::from_slice(&sizes, &values).unwrap()
}
