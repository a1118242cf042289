//! Measuring: which of several kernels that compute the same is the fastest.
//!
//! They run in turn, so that what else the machine does meets all of them alike, and the least time of each counts, which
//! nothing can make too short. What is far behind after a round runs no more.

use hammock_runtime::{Any, Function};
use std::time::{Duration, Instant};

/// A measurement lasts at least this long: short calls are measured in batches.
const SAMPLE: Duration = Duration::from_micros(200);
/// Rounds of a race.
const ROUNDS: usize = 6;
/// What takes so many times as long as the fastest is out after the first round, and after others.
const FAR: [f64; 2] = [1.3, 1.08];
/// Rounds of the last comparison, of the rule's plan with the fastest.
const LAST: usize = 25;

/// Runs kernels, and knows the fastest.
pub struct Runner<'a> {
    args: &'a [Any],
    own: Function,
    best: Function,
    /// Calls in a measurement.
    batch: u32,
}

impl<'a> Runner<'a> {
    /// With a kernel that others are compared with; none if it cannot be called with these arguments.
    pub fn new(own: Function, args: &'a [Any]) -> Option<Runner<'a>> {
        own.call(args).ok()?;
        let start = Instant::now();
        own.call(args).ok()?;
        let once = start.elapsed().max(Duration::from_nanos(1));
        let batch = (SAMPLE.as_nanos() / once.as_nanos()).clamp(1, 10_000) as u32;
        Some(Runner { args, best: own.clone(), own, batch })
    }

    /// Seconds of a call.
    fn time(&self, function: &Function) -> f64 {
        let start = Instant::now();
        for _ in 0..self.batch {
            if function.call(self.args).is_err() {
                return f64::INFINITY;
            }
        }
        start.elapsed().as_secs_f64() / f64::from(self.batch)
    }

    /// Races kernels against the fastest so far: of each its time as a multiple of that one's, or of its last one if it ran
    /// no more. What is faster by a factor takes its place; then the number of that is given, too.
    pub fn race(&mut self, others: &[Function], faster: f64) -> (Vec<f64>, Option<usize>) {
        let field: Vec<&Function> = std::iter::once(&self.best).chain(others).collect();
        let mut times = vec![f64::INFINITY; field.len()];
        let mut runs: Vec<usize> = (0..field.len()).collect();
        for round in 0..ROUNDS {
            for at in &runs {
                times[*at] = times[*at].min(self.time(field[*at]));
            }
            let first = times.iter().copied().fold(f64::INFINITY, f64::min);
            runs.retain(|at| *at == 0 || times[*at] <= first * FAR[round.min(1)]);
        }
        let ratios: Vec<f64> = times[1..].iter().map(|time| time / times[0]).collect();
        let winner = (0..others.len()).min_by(|a, b| ratios[*a].total_cmp(&ratios[*b]));
        let winner = winner.filter(|at| ratios[*at] < faster);
        if let Some(at) = winner {
            self.best = others[at].clone();
        }
        (ratios, winner)
    }

    /// Compares the fastest with the first: seconds of a call of both, the second no less than the first unless it is faster
    /// by a factor, at its best and in most rounds.
    pub fn decide(&self, faster: f64) -> [f64; 2] {
        let (mut times, mut won) = ([f64::INFINITY; 2], 0);
        for round in 0..LAST {
            let mut both = [0.0; 2];
            // Who runs first changes: the second finds what the first left in caches.
            for at in [round % 2, 1 - round % 2] {
                both[at] = self.time(if at == 0 { &self.own } else { &self.best });
                times[at] = times[at].min(both[at]);
            }
            won += usize::from(both[1] < both[0]);
        }
        let wins = times[1] < times[0] * faster && won * 4 > LAST * 3;
        [times[0], if wins { times[1] } else { times[0] }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    fn takes(micros: u64) -> Function {
        Function::new(move |_| {
            sleep(Duration::from_micros(micros));
            Ok(().into())
        })
    }

    #[test]
    fn the_fastest_wins_by_a_margin_only() {
        let args: Vec<Any> = Vec::new();
        let mut runner = Runner::new(takes(2000), &args).unwrap();
        let (ratios, winner) = runner.race(&[takes(1990), takes(6000)], 0.9);
        assert!(winner.is_none() && ratios[1] > 1.5, "{ratios:?}");
        let [before, after] = runner.decide(0.9);
        assert_eq!(before, after, "the first is the fastest");
        assert_eq!(runner.race(&[takes(4000), takes(500), takes(1000)], 0.9).1, Some(1));
        let [before, after] = runner.decide(0.9);
        assert!(after < before / 2.0, "{before} {after}");
    }
}
