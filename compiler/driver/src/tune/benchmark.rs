//! Measuring: which of several kernels that compute the same is the fastest.
//!
//! They run in turn, so that what else the machine does meets all of them alike, and the least time of each counts, which
//! nothing can make too short. What is far behind after a round runs no more.

use hammock_runtime::{Any, Function};
use std::time::Duration;
#[cfg(not(test))]
use std::time::Instant;
#[cfg(test)]
use tests::Instant;

/// A measurement lasts at least this long: short calls are measured in batches.
const SAMPLE: Duration = Duration::from_micros(200);
/// Rounds of a race.
const ROUNDS: usize = 6;
/// What takes so many times as long as the fastest is out after the first round, and after others.
const FAR: [f64; 2] = [1.3, 1.08];
/// Rounds of the last comparison, of the rule's plan with the fastest; the fewest if the time is over.
const LAST: usize = 25;
const FEWEST_LAST: usize = 5;

/// A call that takes longer is measured for the first arguments only.
const SLOW: Duration = Duration::from_millis(30);

/// Runs kernels, and knows the fastest.
pub struct Runner {
    calls: Vec<Call>,
    own: Function,
    best: Function,
    /// True if `best` is another than `own`.
    has_better: bool,
}

/// What kernels are called with.
struct Call {
    args: Vec<Any>,
    /// Calls in a measurement.
    batch: u32,
}

impl Call {
    /// None if a kernel cannot be called so. Says how long it takes.
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

/// The least times of a kernel, one for each of several arguments.
#[derive(Clone)]
struct Times(Vec<f64>);

impl Times {
    fn least(&mut self, other: &Times) {
        self.0.iter_mut().zip(&other.0).for_each(|(least, time)| *least = least.min(*time));
    }

    /// Their geometric mean, which counts all arguments alike.
    fn mean(&self) -> f64 {
        (self.0.iter().map(|time| time.ln()).sum::<f64>() / self.0.len() as f64).exp()
    }
}

impl Runner {
    /// With a kernel that others are compared with, and several arguments for it. Says which of them it is called with; none
    /// if it cannot be called with any.
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

    /// Races kernels against the fastest so far: of each its time (the mean over all arguments) as a multiple of that
    /// one's, or of its last one if it ran no more. What is faster by a factor takes its place; then the number of that is
    /// given, too. Ends after a round when the time is over.
    pub fn race(&mut self, others: &[Function], faster: f64, is_over: &dyn Fn() -> bool) -> (Vec<f64>, Option<usize>) {
        let field: Vec<&Function> = std::iter::once(&self.best).chain(others).collect();
        let mut least = vec![self.never(); field.len()];
        let mut runs: Vec<usize> = (0..field.len()).collect();
        for round in 0..ROUNDS {
            for at in &runs {
                least[*at].least(&self.time(field[*at]));
            }
            let first = least.iter().map(Times::mean).fold(f64::INFINITY, f64::min);
            runs.retain(|at| *at == 0 || least[*at].mean() <= first * FAR[round.min(1)]);
            if is_over() {
                break;
            }
        }
        let times: Vec<f64> = least.iter().map(Times::mean).collect();
        let ratios: Vec<f64> = times[1..].iter().map(|time| time / times[0]).collect();
        let winner = (0..others.len()).min_by(|a, b| ratios[*a].total_cmp(&ratios[*b]));
        let winner = winner.filter(|at| ratios[*at] < faster);
        if let Some(at) = winner {
            self.best = others[at].clone();
            self.has_better = true;
        }
        (ratios, winner)
    }

    /// Compares the fastest with the first: seconds of a call of both, the second no less than the first unless it is faster
    /// by a factor, at its best and in most rounds.
    pub fn decide(&self, faster: f64, is_over: &dyn Fn() -> bool) -> [f64; 2] {
        if !self.has_better {
            return [self.time(&self.own).mean(); 2];
        }
        let (mut least, mut won, mut rounds) = ([self.never(), self.never()], 0, 0);
        while rounds < FEWEST_LAST || rounds < LAST && !is_over() {
            let mut both = [0.0; 2];
            // Who runs first changes: the second finds what the first left in caches.
            for at in [rounds % 2, 1 - rounds % 2] {
                let times = self.time(if at == 0 { &self.own } else { &self.best });
                least[at].least(&times);
                both[at] = times.mean();
            }
            won += usize::from(both[1] < both[0]);
            rounds += 1;
        }
        let times = least.map(|times| times.mean());
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
        let (ratios, winner) = runner.race(&[takes(1990), takes(6000)], 0.9, &|| false);
        assert!(winner.is_none() && ratios[1] > 1.5, "{ratios:?}");
        let [before, after] = runner.decide(0.9, &|| false);
        assert_eq!(before, after, "the first is the fastest");
        assert_eq!(runner.race(&[takes(4000), takes(500), takes(1000)], 0.9, &|| false).1, Some(1));
        let [before, after] = runner.decide(0.9, &|| false);
        assert!(after < before / 2.0, "{before} {after}");
    }

    /// A race ends after the round in which the time is over; what was seen so far counts.
    #[test]
    fn no_round_begins_after_the_time() {
        let (mut runner, _) = Runner::new(takes(2000), [Some(Vec::new())].into_iter()).unwrap();
        let start = NOW.get();
        assert_eq!(runner.race(&[takes(1000)], 0.9, &|| true).1, Some(0));
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
        assert_eq!(runner.race(&[by([1200, 3500, 0])], 0.9, &|| false).1, None, "1.2 × 0.88 is no gain");
        assert_eq!(runner.race(&[by([1200, 2000, 0])], 0.9, &|| false).1, Some(0));
    }
}
