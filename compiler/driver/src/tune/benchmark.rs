//! Compares the speed of equivalent kernels.
//!
//! Kernels run in turn, so other load on the machine affects all of them alike, and the minimum time of each counts. Kernels
//! that are far behind after a round are dropped.

use hammock_runtime::{Any, Function};
use std::time::Duration;
#[cfg(not(test))]
use std::time::Instant;
#[cfg(test)]
use tests::Instant;

/// Minimum duration of a measurement; short calls are batched.
const SAMPLE: Duration = Duration::from_micros(200);
/// Number of rounds.
const ROUNDS: usize = 6;
/// Ratio to the fastest time above which a kernel is dropped after the first round, and after later ones.
const FAR: [f64; 2] = [1.3, 1.08];
/// Number of rounds of the last comparison, between the rule's plan and the fastest; the minimum once the time is over.
const LAST: usize = 25;
const FEWEST_LAST: usize = 5;

/// A call that takes longer is measured for the first arguments only.
const SLOW: Duration = Duration::from_millis(30);

/// Runs kernels, and stores the fastest.
pub struct Runner {
    calls: Vec<Call>,
    own: Function,
    best: Function,
    /// True if `best` is another than `own`.
    has_better: bool,
}

/// Arguments of a call, and their number in a batch.
struct Call {
    args: Vec<Any>,
    /// Calls in a measurement.
    batch: u32,
}

impl Call {
    /// `None` if a kernel cannot be called with these arguments. Also returns the time of a call.
    fn of(function: &Function, args: Vec<Any>) -> Option<(Call, Duration)> {
        let mut once = Duration::MAX;
        for _ in 0..2 {
            let start = Instant::now();
            function.call(&args).ok()?;
            once = once.min(start.elapsed().max(Duration::from_nanos(1)));
        }
        let batch = (SAMPLE.as_nanos() / once.as_nanos()).clamp(1, 10_000) as u32;
        Some((Call { args, batch }, once))
    }

    /// Seconds.
    fn time(&self, function: &Function) -> f64 {
        let start = Instant::now();
        for _ in 0..self.batch {
            if function.call(&self.args).is_err() {
                return f64::INFINITY;
            }
        }
        start.elapsed().as_secs_f64() / f64::from(self.batch)
    }
}

/// Minimum times of a kernel, one for each list of arguments.
#[derive(Clone)]
struct Times(Vec<f64>);

impl Times {
    fn keep_minimum(&mut self, other: &Times) {
        self.0.iter_mut().zip(&other.0).for_each(|(min, time)| *min = min.min(*time));
    }

    /// Their geometric mean, which counts all arguments alike.
    fn mean(&self) -> f64 {
        (self.0.iter().map(|time| time.ln()).sum::<f64>() / self.0.len() as f64).exp()
    }
}

impl Runner {
    /// A runner with the kernel that others are compared with, and lists of arguments for it. Also returns the lists that
    /// are used; `None` if the kernel cannot be called with any.
    pub fn new(own: Function, args: impl Iterator<Item = Option<Vec<Any>>>) -> Option<(Runner, Vec<usize>)> {
        let (mut calls, mut used) = (Vec::new(), Vec::new());
        for (number, args) in args.enumerate() {
            let Some((call, once)) = args.and_then(|args| Call::of(&own, args)) else { continue };
            if once < SLOW || calls.is_empty() {
                calls.push(call);
                used.push(number);
            }
        }
        (!calls.is_empty()).then(|| (Runner { calls, best: own.clone(), own, has_better: false }, used))
    }

    /// Seconds of a call, with each of the arguments.
    fn time(&self, function: &Function) -> Times {
        Times(self.calls.iter().map(|call| call.time(function)).collect())
    }

    /// No time yet.
    fn never(&self) -> Times {
        Times(vec![f64::INFINITY; self.calls.len()])
    }

    /// Compares kernels with the fastest so far. Returns the ratio of each one's time (the mean over all arguments) to the
    /// fastest, measured when it last ran, and the index of the kernel that replaced the fastest, if one is faster by
    /// `faster`. Stops after a round if `is_over` returns true.
    pub fn compare(
        &mut self,
        others: &[Function],
        faster: f64,
        is_over: &dyn Fn() -> bool,
    ) -> (Vec<f64>, Option<usize>) {
        let field: Vec<&Function> = std::iter::once(&self.best).chain(others).collect();
        let mut times = vec![self.never(); field.len()];
        let mut runs: Vec<usize> = (0..field.len()).collect();
        for round in 0..ROUNDS {
            for at in &runs {
                times[*at].keep_minimum(&self.time(field[*at]));
            }
            let best = times.iter().map(Times::mean).fold(f64::INFINITY, f64::min);
            runs.retain(|at| *at == 0 || times[*at].mean() <= best * FAR[round.min(1)]);
            if is_over() {
                break;
            }
        }
        let times: Vec<f64> = times.iter().map(Times::mean).collect();
        let ratios: Vec<f64> = times[1..].iter().map(|time| time / times[0]).collect();
        let winner = (0..others.len()).min_by(|a, b| ratios[*a].total_cmp(&ratios[*b]));
        let winner = winner.filter(|at| ratios[*at] < faster);
        if let Some(at) = winner {
            self.best = others[at].clone();
            self.has_better = true;
        }
        (ratios, winner)
    }

    /// Compares the fastest with the first kernel. Returns the seconds of a call of both; the fastest counts as no faster than
    /// the first unless it is faster by `faster`, both at its minimum and in most rounds.
    pub fn decide(&self, faster: f64, is_over: &dyn Fn() -> bool) -> [f64; 2] {
        if !self.has_better {
            return [self.time(&self.own).mean(); 2];
        }
        let (mut minimum, mut won, mut rounds) = ([self.never(), self.never()], 0, 0);
        while rounds < FEWEST_LAST || rounds < LAST && !is_over() {
            let mut both = [0.0; 2];
            // The order alternates: the second finds the data of the first in caches.
            for at in [rounds % 2, 1 - rounds % 2] {
                let times = self.time(if at == 0 { &self.own } else { &self.best });
                minimum[at].keep_minimum(&times);
                both[at] = times.mean();
            }
            won += usize::from(both[1] < both[0]);
            rounds += 1;
        }
        let times = minimum.map(|times| times.mean());
        let wins = times[1] < times[0] * faster && won * 4 > rounds * 3;
        [times[0], if wins { times[1] } else { times[0] }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    /// Time that passes in `sleep` alone, so that nothing else the machine does counts.
    pub struct Instant(Duration);

    impl Instant {
        pub fn now() -> Instant {
            Instant(NOW.get())
        }

        pub fn elapsed(&self) -> Duration {
            NOW.get() - self.0
        }
    }

    fn sleep(time: Duration) {
        NOW.set(NOW.get() + time);
    }

    fn takes(micros: u64) -> Function {
        Function::new(move |_| {
            sleep(Duration::from_micros(micros));
            Ok(().into())
        })
    }

    #[test]
    fn the_fastest_wins_by_a_margin_only() {
        let (mut runner, used) = Runner::new(takes(2000), [None, Some(Vec::new())].into_iter()).unwrap();
        assert_eq!(used, [1]);
        let (ratios, winner) = runner.compare(&[takes(1990), takes(6000)], 0.9, &|| false);
        assert!(winner.is_none() && ratios[1] > 1.5, "{ratios:?}");
        let [before, after] = runner.decide(0.9, &|| false);
        assert_eq!(before, after, "the first is the fastest");
        assert_eq!(runner.compare(&[takes(4000), takes(500), takes(1000)], 0.9, &|| false).1, Some(1));
        let [before, after] = runner.decide(0.9, &|| false);
        assert!(after < before / 2.0, "{before} {after}");
    }

    /// A race ends after the round in which the time is over; what was seen so far counts.
    #[test]
    fn no_round_begins_after_the_time() {
        let (mut runner, _) = Runner::new(takes(2000), [Some(Vec::new())].into_iter()).unwrap();
        let start = NOW.get();
        assert_eq!(runner.compare(&[takes(1000)], 0.9, &|| true).1, Some(0));
        assert_eq!(NOW.get() - start, Duration::from_micros(3000));
        let [before, after] = runner.decide(0.9, &|| true);
        assert!(after < before && NOW.get() - start == Duration::from_micros(3000 * (1 + FEWEST_LAST as u64)));
    }

    /// Faster for some arguments, slower for others: the mean decides. Arguments that take long are left out.
    #[test]
    fn all_arguments_count_alike() {
        let by = |micros: [u64; 3]| {
            Function::new(move |args| {
                let which = args[0].get::<i64>().unwrap_or(0) as usize;
                sleep(Duration::from_micros(micros[which]));
                Ok(().into())
            })
        };
        let args = || (0..3).map(|which: i64| Some(vec![Any::from(which)]));
        let (mut runner, used) = Runner::new(by([1000, 4000, 50_000]), args()).unwrap();
        assert_eq!(used, [0, 1]);
        assert_eq!(runner.compare(&[by([1200, 3500, 0])], 0.9, &|| false).1, None, "1.2 × 0.88 is no gain");
        assert_eq!(runner.compare(&[by([1200, 2000, 0])], 0.9, &|| false).1, Some(0));
    }
}
