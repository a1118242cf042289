//! Sampling of the next token with a uniform random number drawn by the caller, and transformations of the logits
//! before that. Tensors are float32 with one row: all axes but the last have size 1.
use super::memory::{check_in_place, on_device_of};
use super::order::{float, scratch, sorted};
use crate::ffi::Error;
use crate::value::{DType, Device, Tensor};
use crate::vm::{Builtin, builtin::builtin};

pub(super) const TABLE: &[Builtin] = &[
    builtin!("vm.builtin.sample_top_p_from_logits",
        sample_from_logits(logits: &Tensor, temperature: f64, top_p: f64, uniform: f64, top_k: Option<i64>) -> "int",
        "Samples a token from logits by top-p (nucleus) sampling, restricted to the `top_k` most likely tokens if that is \
         given and not 0; temperature 0 takes the most likely token."),
    builtin!("vm.builtin.sample_top_p_from_prob", sample_from_prob(prob: &Tensor, top_p: f64, uniform: f64) -> "int",
        "Samples a token from probabilities by top-p (nucleus) sampling."),
    builtin!("vm.builtin.multinomial_from_uniform",
        multinomial_from_uniform(prob: &Tensor, uniform: &Tensor) -> "Tensor",
        "Samples each row of probabilities with one uniform number per sample; returns an int64 column."),
    builtin!("vm.builtin.apply_repetition_penalty",
        repetition_penalty(logits: &Tensor, token_ids: &Tensor, penalty: f64) -> "None",
        "Applies a repetition penalty to the logits of the given tokens, in place: positive logits are divided by it, \
         others multiplied."),
    builtin!("vm.builtin.apply_presence_and_frequency_penalty",
        presence_and_frequency_penalty(
            logits: &Tensor, token_ids: &Tensor, token_freqs: &Tensor, presence_penalty: f64, frequency_penalty: f64
        ) -> "None",
        "Subtracts a presence penalty and a per-occurrence frequency penalty from the logits of the given tokens, in \
         place."),
    builtin!("vm.builtin.apply_softmax_with_temperature",
        softmax_with_temperature(logits: &Tensor, temperature: f64) -> "None",
        "Replaces logits by softmax(logits / temperature), in place."),
    builtin!("hammock.random.uniform", random_uniform(seed: i64, index: i64) -> "float",
        "Returns the pseudo-random number in [0, 1) at an index of the sequence that the seed determines."),
];

/// Temperatures below this select the most likely token.
const COLD: f64 = 1e-6;
/// Tokens with less than this fraction of `top_p` are only considered if the others do not suffice.
const UNLIKELY: f64 = 1.0 / 1024.0;

/// A host tensor with a single row.
fn row(tensor: &Tensor, dtype: DType) -> Result<Tensor, Error> {
    let leading = tensor.shape().split_last().map_or(&[][..], |(_, leading)| leading);
    if tensor.dtype() != dtype || tensor.shape().is_empty() || leading.iter().any(|size| *size != 1) {
        return Err(Error::value(format!("expected one row of {dtype}, not {tensor:?}")));
    }
    Ok(tensor.to_device(Device::CPU)?.to_contiguous()?)
}

/// Runs `change` on the elements of a row and writes them back.
fn change_row(logits: &Tensor, change: impl FnOnce(&mut [f32]) -> Result<(), Error>) -> Result<(), Error> {
    let _scratch = scratch(logits.element_count(), 8)?;
    let mut values = row(logits, DType::FLOAT32)?.as_slice::<f32>()?.to_vec();
    check_in_place(logits)?;
    change(&mut values)?;
    // Callers of functions that work in place ensure that nobody else reads the tensor during the call.
    logits.overwrite(&Tensor::from_slice(logits.shape(), &values)?)
}

fn between(name: &str, value: f64, min: f64, max: f64) -> Result<f64, Error> {
    let fits = (min..=max).contains(&value);
    if fits { Ok(value) } else { Err(Error::value(format!("{name} must be from {min} to {max}, not {value}"))) }
}

/// Draws from tokens with their probabilities, most likely first.
fn draw(tokens: &[(f64, usize)], top_p: f64, uniform: f64) -> Option<usize> {
    let mut sums = Vec::new();
    let mut sum = 0.0;
    for (prob, _) in tokens {
        sum += prob;
        sums.push(sum);
        if sum >= top_p {
            break;
        }
    }
    let chosen = sums.iter().position(|upto| uniform * sum < *upto).unwrap_or(sums.len().saturating_sub(1));
    tokens.get(chosen).map(|(_, token)| *token)
}

/// Memory per ranked token in bytes: its index, its position in the order, its rank, a sum.
const RANKED: usize = 64;

/// Tokens with their values, sorted in descending order; NaNs are dropped.
fn ranked(values: Vec<f64>) -> Vec<(f64, usize)> {
    let order = sorted(values.iter().map(|value| !float(*value))).into_iter();
    order.map(|token| (values[token], token)).filter(|(value, _)| !value.is_nan()).collect()
}

fn nothing_likely() -> Error {
    Error::value("cannot draw a token: no probability is a number")
}

fn sample_from_logits(
    logits: &Tensor,
    temperature: f64,
    top_p: f64,
    uniform: f64,
    top_k: Option<i64>,
) -> Result<i64, Error> {
    let top_k = usize::try_from(top_k.unwrap_or(0)).map_err(|_| Error::value("top_k must not be negative"))?;
    let (top_p, uniform) = (between("top_p", top_p, 0.0, 1.0)?, between("the sample", uniform, 0.0, 1.0)?);
    let temperature = between("the temperature", temperature, 0.0, f64::MAX)?;
    let logits = row(logits, DType::FLOAT32)?;
    let _scratch = scratch(logits.element_count(), RANKED)?;
    let mut tokens = ranked(logits.as_slice::<f32>()?.iter().map(|logit| f64::from(*logit)).collect());
    let (largest, likeliest) = *tokens.first().ok_or_else(nothing_likely)?;
    if temperature < COLD {
        return Ok(likeliest as i64);
    }
    if top_k > 0 {
        tokens.truncate(top_k);
    }
    // An infinite logit gets all the probability.
    let weight = |logit: f64| if logit == largest { 1.0 } else { ((logit - largest) / temperature).exp() };
    tokens.iter_mut().for_each(|(value, _)| *value = weight(*value));
    let sum: f64 = tokens.iter().map(|(weight, _)| weight).sum();
    tokens.iter_mut().for_each(|(value, _)| *value /= sum);
    draw(&tokens, top_p, uniform).map(|token| token as i64).ok_or_else(nothing_likely)
}

fn sample_from_prob(prob: &Tensor, top_p: f64, uniform: f64) -> Result<i64, Error> {
    let (top_p, uniform) = (between("top_p", top_p, 0.0, 1.0)?, between("the sample", uniform, 0.0, 1.0)?);
    let prob = row(prob, DType::FLOAT32)?;
    let _scratch = scratch(prob.element_count(), RANKED)?;
    let min_prob = |least: f64| {
        let probs = prob.as_slice::<f32>()?.iter().map(|prob| f64::from(*prob));
        Ok::<_, Error>(ranked(probs.map(|prob| if prob >= least { prob } else { f64::NAN }).collect()))
    };
    let mut tokens = min_prob(top_p * UNLIKELY)?;
    if tokens.iter().map(|(prob, _)| prob).sum::<f64>() < top_p {
        tokens = min_prob(0.0)?;
    }
    // Like TVM, although the considered tokens may sum to more than `top_p`.
    if let Some((_, likeliest)) = tokens.first().filter(|(prob, _)| uniform < prob / top_p) {
        return Ok(*likeliest as i64);
    }
    draw(&tokens, top_p, uniform).map(|token| token as i64).ok_or_else(nothing_likely)
}

fn multinomial_from_uniform(operand: &Tensor, uniform: &Tensor) -> Result<Tensor, Error> {
    let host = |tensor: &Tensor| Ok::<_, Error>(tensor.to_device(Device::CPU)?.to_contiguous()?);
    let (prob, uniform) = (host(operand)?, host(uniform)?);
    let (probs, samples) = (prob.as_slice::<f32>()?, uniform.as_slice::<f32>()?);
    let [rows, tokens] = *prob.shape() else {
        return Err(Error::value(format!("expected rows of probabilities, not {prob:?}")));
    };
    if samples.len() != rows as usize || tokens == 0 {
        return Err(Error::value(format!("{uniform:?} does not hold one number for each row of {prob:?}")));
    }
    let drawn: Vec<_> = probs.chunks_exact(tokens as usize).zip(samples).map(|(row, u)| first_above(row, *u)).collect();
    on_device_of(operand, Tensor::from_slice(&[rows, 1], &drawn)?)
}

/// The first index whose prefix sum exceeds `uniform`, otherwise the last index.
fn first_above(row: &[f32], uniform: f32) -> i64 {
    let mut sum = 0.0;
    let found = row.iter().position(|prob| {
        sum += f64::from(*prob);
        sum > f64::from(uniform)
    });
    found.unwrap_or(row.len() - 1) as i64
}

/// Token IDs as indices into a row of `count` tokens.
fn tokens(token_ids: &Tensor, count: usize) -> Result<Vec<usize>, Error> {
    let token_ids = row(token_ids, DType::INT32)?;
    let place = |token: &i32| {
        let outside = || Error::value(format!("there is no token {token} among {count}"));
        usize::try_from(*token).ok().filter(|token| *token < count).ok_or_else(outside)
    };
    token_ids.as_slice::<i32>()?.iter().map(place).collect()
}

fn repetition_penalty(logits: &Tensor, token_ids: &Tensor, penalty: f64) -> Result<(), Error> {
    change_row(logits, |logits| {
        for token in tokens(token_ids, logits.len())? {
            let logit = f64::from(logits[token]);
            logits[token] = if logit <= 0.0 { logit * penalty } else { logit / penalty } as f32;
        }
        Ok(())
    })
}

fn presence_and_frequency_penalty(
    logits: &Tensor,
    token_ids: &Tensor,
    token_freqs: &Tensor,
    presence_penalty: f64,
    frequency_penalty: f64,
) -> Result<(), Error> {
    let freqs = row(token_freqs, DType::INT32)?;
    change_row(logits, |logits| {
        let (tokens, freqs) = (tokens(token_ids, logits.len())?, freqs.as_slice::<i32>()?);
        if tokens.len() != freqs.len() {
            return Err(Error::value(format!("{} tokens have {} frequencies", tokens.len(), freqs.len())));
        }
        for (token, freq) in tokens.into_iter().zip(freqs) {
            let penalty = f64::from(*freq) * frequency_penalty + presence_penalty;
            logits[token] = (f64::from(logits[token]) - penalty) as f32;
        }
        Ok(())
    })
}

fn softmax_with_temperature(logits: &Tensor, temperature: f64) -> Result<(), Error> {
    let temperature = between("the temperature", temperature, f64::MIN_POSITIVE, f64::MAX)?;
    change_row(logits, |logits| {
        let largest = logits.iter().fold(f32::NEG_INFINITY, |largest, logit| largest.max(*logit));
        let weight = |logit: f32| (f64::from(logit - largest) / temperature).exp();
        let sum: f64 = logits.iter().map(|logit| weight(*logit)).sum();
        logits.iter_mut().for_each(|logit| *logit = (weight(*logit) / sum) as f32);
        Ok(())
    })
}

/// The output of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014) in a state
/// derived from both numbers.
fn random_uniform(seed: i64, index: i64) -> Result<f64, Error> {
    let mixed = |state: u64| {
        let state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    let bits = mixed(mixed(seed as u64).wrapping_add(index as u64));
    Ok((bits >> 11) as f64 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector<T: crate::Element>(values: &[T]) -> Tensor {
        Tensor::from_slice(&[1, values.len() as i64], values).unwrap()
    }

    /// Histogram of the tokens drawn for evenly spaced samples.
    fn histogram(tokens: usize, draw: impl Fn(f64) -> i64) -> Vec<usize> {
        let mut counts = vec![0; tokens];
        (0..1000).for_each(|i| counts[draw((f64::from(i) + 0.5) / 1000.0) as usize] += 1);
        counts
    }

    #[test]
    #[cfg_attr(miri, ignore = "draws thousands of times")]
    fn draws_follow_the_probabilities() {
        let prob = vector(&[0.1f32, 0.6, 0.0, 0.3]);
        assert_eq!(histogram(4, |u| sample_from_prob(&prob, 1.0, u).unwrap()), [100, 600, 0, 300]);
        // The two most likely ones, at 2 to 1.
        let counts = histogram(4, |u| sample_from_prob(&prob, 0.9, u).unwrap());
        assert_eq!(counts, [0, 667, 0, 333]);
        assert_eq!(histogram(4, |u| sample_from_prob(&prob, 0.5, u).unwrap()), [0, 1000, 0, 0]);
        let logits = vector(&[0.1f32.ln(), 0.6f32.ln(), f32::NEG_INFINITY, 0.3f32.ln()]);
        assert_eq!(histogram(4, |u| sample_from_logits(&logits, 1.0, 1.0, u, None).unwrap()), [100, 600, 0, 300]);
        // Half the temperature squares the probabilities: 1 : 36 : 9 of 46.
        let sharper = histogram(4, |u| sample_from_logits(&logits, 0.5, 1.0, u, None).unwrap());
        assert_eq!(sharper, [22, 783, 0, 195]);
        assert_eq!(sample_from_logits(&logits, 0.0, 1.0, 0.99, None).unwrap(), 1);
    }

    #[test]
    #[cfg_attr(miri, ignore = "draws thousands of times")]
    fn the_likeliest_tokens_alone_are_drawn_from() {
        let logits = vector(&[0.1f32.ln(), 0.6f32.ln(), f32::NEG_INFINITY, 0.3f32.ln()]);
        let draw =
            |top_p: f64, top_k| histogram(4, |u| sample_from_logits(&logits, 1.0, top_p, u, Some(top_k)).unwrap());
        assert_eq!(draw(1.0, 2), [0, 667, 0, 333]);
        assert_eq!(draw(1.0, 1), [0, 1000, 0, 0]);
        assert_eq!((draw(1.0, 0), draw(1.0, 9)), (vec![100, 600, 0, 300], vec![100, 600, 0, 300]));
        // Of the two remaining tokens, the more likely one has two thirds.
        assert_eq!(draw(0.66, 2), [0, 1000, 0, 0]);
        assert_eq!(draw(0.62, 0), [0, 667, 0, 333]);
        assert!(sample_from_logits(&logits, 1.0, 1.0, 0.5, Some(-1)).is_err());
    }

    /// Random numbers are uniform, and those of adjacent seeds and indices are independent.
    #[test]
    #[cfg_attr(miri, ignore = "draws thousands of times")]
    fn random_numbers_are_even_and_belong_to_their_seed() {
        let at = |seed, index| random_uniform(seed, index).unwrap();
        assert_eq!((at(7, 0), at(7, 1)), (at(7, 0), at(7, 1)));
        let counts = histogram_of((0..10_000).map(|i| at(7, i)));
        assert!(counts.iter().all(|count| (900..1100).contains(count)), "{counts:?}");
        let across = histogram_of((-5000..5000).map(|seed| at(seed, 3)));
        assert!(across.iter().all(|count| (900..1100).contains(count)), "{across:?}");
        for other in [(7, 1), (8, 0)] {
            let (seed, ahead) = other;
            let pairs = (0..10_000).map(|i| (at(7, i) - 0.5) * (at(seed, i + ahead) - 0.5));
            let correlation = pairs.sum::<f64>() * 12.0 / 10_000.0;
            assert!(correlation.abs() < 0.04, "{other:?}: {correlation}");
        }
    }

    fn histogram_of(numbers: impl Iterator<Item = f64>) -> [usize; 10] {
        let mut counts = [0; 10];
        numbers.for_each(|number| counts[(number * 10.0) as usize] += 1);
        counts
    }

    /// The same choices as TVM for the same random numbers.
    #[test]
    fn the_likeliest_token_is_drawn_as_tvm_draws_it() {
        let prob = vector(&[0.16528778f32, 0.10097826, 0.13344432, 0.16990027, 0.1510606, 0.13346158, 0.14586718]);
        let drawn = [0.0, 0.3, 0.5, 0.99].map(|uniform| sample_from_prob(&prob, 0.5, uniform).unwrap());
        assert_eq!(drawn, [3, 3, 0, 6]);
    }

    #[test]
    fn flat_distributions_are_drawn_from_whole() {
        let prob = vector(&[1.0f32 / 4096.0; 4096]);
        assert_eq!(sample_from_prob(&prob, 1.0, 0.5).unwrap(), 2048);
        assert_eq!(sample_from_prob(&prob, 0.25, 0.999).unwrap(), 1022);
    }

    #[test]
    fn rows_are_sampled_independently() {
        let prob = Tensor::from_slice(&[2, 3], &[0.2f32, 0.5, 0.3, 1.0, 0.0, 0.0]).unwrap();
        let uniform = Tensor::from_slice(&[2, 1], &[0.69f32, 0.999]).unwrap();
        let drawn = multinomial_from_uniform(&prob, &uniform).unwrap();
        assert_eq!((drawn.shape(), drawn.as_slice::<i64>().unwrap()), (&[2, 1][..], &[1, 0][..]));
        assert!(multinomial_from_uniform(&prob, &vector(&[0.5f32])).is_err());
    }

    #[test]
    fn penalties_work_in_place() {
        let logits = vector(&[2.0f32, -2.0, 1.0, 0.5]);
        repetition_penalty(&logits, &vector(&[0i32, 1]), 2.0).unwrap();
        assert_eq!(logits.as_slice::<f32>().unwrap(), [1.0, -4.0, 1.0, 0.5]);
        presence_and_frequency_penalty(&logits, &vector(&[2i32, 3]), &vector(&[1i32, 3]), 0.5, 0.25).unwrap();
        assert_eq!(logits.as_slice::<f32>().unwrap(), [1.0, -4.0, 0.25, -0.75]);
        let none = repetition_penalty(&logits, &vector(&[4i32]), 2.0).unwrap_err();
        assert_eq!(none.to_string(), "ValueError: there is no token 4 among 4");
        let constant = Tensor::from_shared(DType::FLOAT32, &[1], std::sync::Arc::new([0u8; 4]), 0..4).unwrap();
        assert!(softmax_with_temperature(&constant, 1.0).unwrap_err().message().contains("constant"));
    }

    #[test]
    fn softmax_is_stable() {
        let logits = vector(&[-1000.0f32, -1001.0, -1000.0]);
        softmax_with_temperature(&logits, 0.5).unwrap();
        let small = 1.0 / (2.0 + 2f64.exp().recip());
        let expected = [small, small * (-2f64).exp(), small];
        for (value, expected) in logits.as_slice::<f32>().unwrap().iter().zip(expected) {
            assert!((f64::from(*value) - expected).abs() < 1e-6, "{value} {expected}");
        }
        assert!(softmax_with_temperature(&logits, 0.0).is_err());
    }

    #[test]
    fn bad_input_is_refused() {
        let nan = vector(&[f32::NAN; 3]);
        assert_eq!(sample_from_prob(&nan, 0.9, 0.5).unwrap_err().kind(), "ValueError");
        assert!(sample_from_logits(&nan, 1.0, 0.9, 0.5, None).is_err());
        assert!(sample_from_logits(&vector::<f32>(&[]), 1.0, 0.9, 0.5, None).is_err());
        assert!(sample_from_prob(&vector(&[1.0f32]), 0.9, -0.5).is_err());
        assert!(sample_from_prob(&Tensor::scalar(1.0f32).unwrap(), 0.9, 0.5).is_err());
        assert!(sample_from_prob(&vector(&[1.0f64]), 0.9, 0.5).is_err());
    }
}
