//! Random programs after random passes.

#[path = "../../compiler/driver/tests/random_programs/draw.rs"]
mod draw;
#[path = "../../compiler/driver/tests/random_programs/generate.rs"]
mod generate;

#[allow(dead_code, reason = "other tests run passes one by one")]
#[path = "../../compiler/driver/tests/random_programs/passes.rs"]
mod passes;

use crate::{
    emulated::emulated,
    for_each_case,
    rng::Rng,
    run::{compiled, expected, first_difference, for_device, parse},
};
use hammock_passes::Pipeline;
use hammock_runtime::Tensor;
use passes::Run;

/// Reassociated sums of numbers around one differ by that much of the largest.
const TOLERANCE: f64 = 2e-4;

#[test]
fn random_programs_match_the_reference() {
    emulated("programs::random_programs_match_the_reference", || {
        for_each_case(|number, is_shown| {
            let program = generate::program(number);
            if is_shown {
                println!("{}", program.text);
            }
            let mut ran = Pipeline::default();
            compare(&program, number, &mut ran).map_err(|why| format!("after {ran}: {why}"))
        });
    });
}

/// Compares what a program computes without optimizations with what it does on the device after random passes.
fn compare(program: &generate::Program, seed: u64, ran: &mut Pipeline) -> Result<(), String> {
    let args = || program.args().iter().map(|arg| arg.get::<Tensor>().unwrap()).collect::<Vec<_>>();
    let (source, module) = parse(&program.text)?;
    let mut rng = Rng::new(seed.wrapping_add(0x0dec));
    let (mut steps, level) = passes::drawn(&mut rng);
    // Its default is to bind kernels to CPUs.
    steps.retain(|step| step.pass.name != "tirx.BindTarget");
    let wanted = expected(&source, &module, &args())?;
    let options = for_device(level);
    let mut run = Run { options: &options, source: &source, module, ran };
    steps.into_iter().try_for_each(|step| run.drawn(step, &mut rng))?;
    let found = compiled(&source, &run.module, for_device(level), &args())?;
    first_difference(&wanted, &found, TOLERANCE)
}
