//! Classes of kernels: each draws programs of random shapes.

mod contraction;
mod convolution;
mod elementwise;
mod injective;
mod quantized;
mod reduction;
mod scatter;
mod sort;

use crate::{
    draw::{Case, Draw},
    emulated::emulated,
    for_each_case,
    run::{compiled, expected, first_difference, for_device, parse},
};

/// Runs the cases of a class.
fn check(class: &str, draw: fn(&mut Draw)) {
    emulated(&format!("classes::{class}"), || {
        let mut rejected = 0;
        for_each_case(|number, is_shown| {
            let mut drawn = Draw::new(number);
            draw(&mut drawn);
            let case = drawn.case();
            if is_shown {
                println!("{}", case.text);
                case.args.iter().for_each(|arg| println!("{:?} {}", arg.shape(), arg.dtype()));
            }
            let compared =
                compare(&case, (number % 4) as u8, is_shown).map_err(|why| format!("{why}\n{}", case.text))?;
            rejected += u64::from(!compared);
            Ok(())
        });
        println!("{class}: {rejected} cases are errors");
    });
}

/// Compares a case on the device with what the reference interpreter gives. Returns false if both give an error.
fn compare(case: &Case, level: u8, is_shown: bool) -> Result<bool, String> {
    let (source, module) = parse(&case.text)?;
    let wanted = expected(&source, &module, &case.args);
    match (wanted, compiled(&source, &module, for_device(level), &case.args)) {
        (Ok(wanted), Ok(found)) => first_difference(&wanted, &found, case.tolerance).map(|()| true),
        (Err(wanted), Err(found)) => {
            if is_shown {
                println!("{wanted}\n{found}");
            }
            Ok(false)
        }
        (Ok(_), Err(error)) => Err(error),
        (Err(error), Ok(_)) => Err(format!("no error, but as it is written: {error}")),
    }
}

macro_rules! classes {
    ($($name:ident = $draw:expr),* $(,)?) => {
        $(#[test]
        fn $name() {
            check(stringify!($name), $draw);
        })*
    };
}

classes! {
    elementwise = elementwise::draw,
    injective = injective::draw,
    reductions = reduction::draw,
    normalizations = reduction::draw_rows,
    scans = reduction::draw_scan,
    small_batches = contraction::draw_gemv,
    contractions = contraction::draw,
    attention = contraction::draw_attention,
    convolutions = convolution::draw,
    pooling = convolution::draw_pooling,
    scatter = scatter::draw,
    sorting = sort::draw,
    quantized = quantized::draw,
}
