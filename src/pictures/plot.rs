//! Ticks of axes and SVG text, for all plots.

/// Evenly spaced ticks from 0 up to `end`, about `count` of them, at 1, 2 or 5 times a power of ten.
pub fn linear_ticks(end: f64, count: usize) -> Vec<f64> {
    let raw = end / count.max(1) as f64;
    if raw.is_nan() || raw <= 0.0 {
        return vec![0.0];
    }
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power).find(|step| *step >= raw).unwrap_or(raw);
    let step = step.max(1.0);
    (0..).map(|tick| f64::from(tick) * step).take_while(|tick| *tick <= end).collect()
}

/// The powers of ten from `low` to `high`, with 2 and 5 times these where they are few.
pub fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().floor() as i32);
    let times: &[f64] = if last - first > 3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let ticks = (first..=last).flat_map(|power| times.iter().map(move |times| times * 10f64.powi(power)));
    ticks.filter(|tick| (low..=high).contains(tick)).collect()
}

/// A number of bytes with a binary unit: `320 B`, `1.5 MiB`.
pub fn bytes_text(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|(shift, _)| bytes >> shift > 0) {
        Some((shift, unit)) => format!("{} {unit}", rounded(bytes as f64 / (1u64 << shift) as f64)),
        None => format!("{bytes} B"),
    }
}

fn rounded(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The beginning and the end of a name that is longer than `width` characters.
pub fn shortened(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    let (before, after) = (width / 2, (width - width / 2).saturating_sub(1));
    name.chars().take(before).chain(['…']).chain(name.chars().skip(length - after)).collect()
}

/// Text as XML has it.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(linear_ticks(100.0, 5), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(linear_ticks(3.0, 10), [0.0, 1.0, 2.0, 3.0], "no tick between whole steps");
        assert_eq!(linear_ticks(0.0, 10), [0.0]);
        assert_eq!(log_ticks(0.3, 12000.0), [1.0, 10.0, 100.0, 1000.0, 10000.0]);
        assert_eq!(log_ticks(30.0, 220.0), [50.0, 100.0, 200.0]);
    }

    #[test]
    fn sizes_and_names_are_short() {
        assert_eq!(
            [0, 1023, 1024, 1536, 3 << 20, 5 << 30].map(bytes_text),
            ["0 B", "1023 B", "1 KiB", "1.5 KiB", "3 MiB", "5 GiB"]
        );
        assert_eq!([shortened("matmul", 6), shortened("fused_matmul_relu", 9)], ["matmul", "fuse…relu"]);
    }
}
