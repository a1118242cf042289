//! Timing of functions by TVM's rules: repeats of several calls each.
use super::Vm;
use crate::device::{self, DeviceApi, Event, Stream};
use crate::ffi::Error;
use crate::sort::sort_by;
use crate::value::Any;
use std::fmt;
use std::thread;
use std::time::Duration;

/// Options of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evaluation {
    /// Number of calls per repeat, at min_time one.
    pub number: usize,
    /// Number of repeats, at min_time one.
    pub repeat: usize,
    /// Minimum duration of a repeat. A shorter one is repeated with more calls, as are those after it.
    pub min_repeat: Duration,
    /// Pause before each repeat except the first.
    pub cooldown: Duration,
}

impl Default for Evaluation {
    fn default() -> Evaluation {
        Evaluation { number: 10, repeat: 1, min_repeat: Duration::ZERO, cooldown: Duration::ZERO }
    }
}

/// Mean seconds per call, one figure per repeat.
#[derive(Debug, Clone, PartialEq)]
pub struct Timings(Vec<f64>);

/// Upper bound of the number of calls per repeat.
const MAX_NUMBER: f64 = 1e12;
/// Minimum growth of the number of calls after a repeat that was too short.
const GROWTH: f64 = 1.618;

impl Vm {
    /// Times a function on the program's first device, after one warm-up call.
    pub fn time(&self, function: &str, args: &[Any], how: &Evaluation) -> Result<Timings, Error> {
        self.time_calls(how, || self.call(function, args).map(drop))
    }

    /// Times a call of any kind likewise.
    pub fn time_calls(&self, how: &Evaluation, call: impl Fn() -> Result<(), Error>) -> Result<Timings, Error> {
        call()?;
        let mut timer = Timer::new(device::find(self.allocators()[0].device())?)?;
        let mut number = how.number.max(1);
        let mut seconds = Vec::new();
        for repeat in 0..how.repeat.max(1) {
            if repeat > 0 && !how.cooldown.is_zero() {
                thread::sleep(how.cooldown);
            }
            let mut time = timer.time(number, &call)?;
            while time < how.min_repeat {
                number = more(number, time, how.min_repeat);
                time = timer.time(number, &call)?;
            }
            seconds.push(time.as_secs_f64() / number as f64);
        }
        Ok(Timings(seconds))
    }
}

/// Measures the time of work on a device, by two events.
struct Timer {
    stream: Box<dyn Stream>,
    begin: Box<dyn Event>,
    end: Box<dyn Event>,
}

impl Timer {
    fn new(device: &dyn DeviceApi) -> Result<Timer, Error> {
        Ok(Timer { stream: device.create_stream()?, begin: device.create_event()?, end: device.create_event()? })
    }

    /// The time of a number of calls.
    fn time(&mut self, number: usize, call: impl Fn() -> Result<(), Error>) -> Result<Duration, Error> {
        self.stream.record(&mut *self.begin)?;
        (0..number).try_for_each(|_| call())?;
        self.stream.record(&mut *self.end)?;
        self.end.elapsed_since(&*self.begin)
    }
}

/// Number of calls that will take long enough, if `number` calls took `time`.
fn more(number: usize, time: Duration, min_time: Duration) -> usize {
    let one = time.as_secs_f64().max(1e-9) / number as f64;
    let enough = min_time.as_secs_f64() / one + 1.0;
    enough.max(number as f64 * GROWTH).min(MAX_NUMBER).ceil() as usize
}

impl Timings {
    /// Figures of the repeats.
    pub fn seconds(&self) -> &[f64] {
        &self.0
    }

    /// The mean over the repeats.
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// The median of the repeats.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sort_by(&mut sorted, |a, b| a.total_cmp(b).is_lt());
        let middle = sorted.len() / 2;
        if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
    }

    /// The standard deviation of the repeats.
    pub fn std(&self) -> f64 {
        let mean = self.mean();
        (self.0.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / self.0.len() as f64).sqrt()
    }

    /// The fastest repeat.
    pub fn min(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The slowest repeat.
    pub fn max(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }
}

impl fmt::Display for Timings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = [
            ("mean", self.mean()),
            ("median", self.median()),
            ("std", self.std()),
            ("min", self.min()),
            ("max", self.max()),
        ];
        for (i, (name, seconds)) in figures.iter().enumerate() {
            write!(f, "{}{name} {:.3} us", if i > 0 { ", " } else { "" }, seconds * 1e6)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_repeats() {
        let timings = Timings(vec![4e-6, 1e-6, 3e-6, 2e-6]);
        assert_eq!((timings.min(), timings.max()), (1e-6, 4e-6));
        assert!((timings.mean() - 2.5e-6).abs() < 1e-15 && (timings.median() - 2.5e-6).abs() < 1e-15);
        assert_eq!(timings.to_string(), "mean 2.500 us, median 2.500 us, std 1.118 us, min 1.000 us, max 4.000 us");
        assert_eq!(Timings(vec![2.0, 9.0, 1.0]).median(), 2.0);
    }

    #[test]
    fn short_repeats_get_more_calls() {
        assert_eq!(more(10, Duration::from_millis(1), Duration::from_millis(10)), 101);
        assert_eq!(more(10, Duration::from_micros(9_990), Duration::from_millis(10)), 17);
        assert!(more(10, Duration::ZERO, Duration::from_secs(1)) > 1_000_000);
    }
}
