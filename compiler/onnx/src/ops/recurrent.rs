//! Recurrent networks, unrolled over time steps.

use super::{Op, Result, op, recurrent_activation::Activation};
use crate::{
    node::{self, Node},
    value::Value,
};
use hammock_ir::{DType, PrimExpr, relax::Operand};

pub const OPS: &[Op] = &[
    op("GRU", |n| recurrent(n, &Cell { gates: 3, activations: &["Sigmoid", "Tanh"], step: gru })).attributes(
        "activation_alpha activation_beta activations clip direction hidden_size layout@14 \
         linear_before_reset output_sequence@-6",
    ),
    op("LSTM", |n| recurrent(n, &Cell { gates: 4, activations: &["Sigmoid", "Tanh", "Tanh"], step: lstm })).attributes(
        "activation_alpha activation_beta activations clip direction hidden_size input_forget layout@14 \
         output_sequence@-6",
    ),
    op("RNN", |n| recurrent(n, &Cell { gates: 1, activations: &["Tanh"], step: simple })).attributes(
        "activation_alpha activation_beta activations clip direction hidden_size layout@14 output_sequence@-6",
    ),
];

/// Maximum number of unrolled steps.
const MAX_STEPS: i64 = 1024;

/// Cell of a recurrent network.
struct Cell {
    /// Number of gates.
    gates: i64,
    activations: &'static [&'static str],
    /// Computes the next state from the input's contribution to the gates and the state.
    step: fn(&mut Node, &Direction, &Operand, &State) -> node::Result<State>,
}

/// Loop-invariant operands of one direction.
struct Direction {
    /// Recurrent weights, transposed.
    recurrent: Operand,
    /// Biases of the input and of the state.
    biases: Option<(Operand, Operand)>,
    peepholes: Option<Operand>,
    hidden: i64,
    activations: Vec<Activation>,
}

/// State between steps.
#[derive(Clone)]
struct State {
    h: Operand,
    c: Option<Operand>,
}

fn recurrent(n: &mut Node, cell: &Cell) -> Result {
    let batch_first = n.attrs.flag("layout")?;
    let swapped = |n: &mut Node, x: Operand, axes: &[i64]| match batch_first {
        true => n.call_with("permute_dims", [x], &[("axes", axes.to_vec().into())]),
        false => Ok(x),
    };
    let x = n.input(0)?;
    let x = swapped(n, x, &[1, 0, 2])?;
    let sizes = n.dims(&x)?;
    let weight = n.input(1)?;
    let recurrent = n.input(2)?;
    let shape = n.dims(&recurrent)?;
    if sizes.len() != 3 || shape.len() != 3 {
        return n.error("its input and weights have to have 3 dimensions");
    }
    if let Some(lengths) = n.optional(4)? {
        let lengths = n.check_lengths(lengths, &sizes[0])?;
        n.inputs[4] = Some(Value::Operand(lengths));
    }
    let (Some(steps), Some(hidden), Some(directions)) =
        (sizes[0].as_int().filter(|steps| *steps <= MAX_STEPS), shape[2].as_int(), shape[0].as_int())
    else {
        return n.error(format!("the number of its steps has to be known, and at most {MAX_STEPS}"));
    };
    let reversed = n.attrs.str_or("direction", "forward")? == "reverse";
    let mut activations = Activation::of(n, cell.activations, directions.clamp(0, 2) as usize)?.into_iter();
    let mut outputs: Vec<(Vec<Operand>, State)> = Vec::new();
    for direction in 0..directions.clamp(0, 2) {
        let backward = reversed || direction == 1;
        let part = |n: &mut Node, x: &Operand| select_index(n, x, direction, 0);
        let input = part(n, &weight)?;
        let input = n.call("permute_dims", [input])?;
        let own = part(n, &recurrent)?;
        let recurrent = n.call("permute_dims", [own])?;
        let biases = match n.optional(3)? {
            Some(bias) => {
                let bias = part(n, &bias)?;
                let half = cell.gates * hidden;
                Some((slice(n, &bias, 0, 0, half)?, slice(n, &bias, 0, half, 2 * half)?))
            }
            None => None,
        };
        let peepholes = match n.optional(7)? {
            Some(weights) => Some(part(n, &weights)?),
            None => None,
        };
        let activations = activations.by_ref().take(cell.activations.len()).collect();
        let setting = Direction { recurrent, biases, peepholes, hidden, activations };
        let zeros = n.scalar_like(0.0, &x)?;
        let start = |n: &mut Node, at: usize| match n.optional(at)? {
            Some(initial) => {
                let initial = swapped(n, initial, &[1, 0, 2])?;
                part(n, &initial)
            }
            None => n.call("full", [Operand::Shape(vec![sizes[1].clone(), hidden.into()]), zeros.clone()]),
        };
        let mut state = State { h: start(n, 5)?, c: None };
        if cell.gates == 4 {
            state.c = Some(start(n, 6)?);
        }
        let all = n.call("matmul", [x.clone(), input])?;
        let mut step_outputs = Vec::new();
        for step in 0..steps {
            let at = if backward { steps - 1 - step } else { step };
            let gates = select_index(n, &all, at, 0)?;
            let next = (cell.step)(n, &setting, &gates, &state)?;
            let (next, y) = mask_past_length(n, next, &state, at)?;
            state = next;
            step_outputs.push(y);
        }
        if backward {
            step_outputs.reverse();
        }
        outputs.push((step_outputs, state));
    }
    let stacked = |n: &mut Node, parts: Vec<Operand>, axis: i64| {
        n.call_with("stack", [Operand::Tuple(parts)], &[("axis", axis.into())])
    };
    let mut all = Vec::new();
    for (step_outputs, _) in &outputs {
        all.push(stacked(n, step_outputs.clone(), 0)?);
    }
    let y = stacked(n, all, 1)?;
    let y = swapped(n, y, &[2, 0, 1, 3])?;
    let last = stacked(n, outputs.iter().map(|(_, state)| state.h.clone()).collect(), 0)?;
    let mut results = vec![y, swapped(n, last, &[1, 0, 2])?];
    let cells: Option<Vec<Operand>> = outputs.iter().map(|(_, state)| state.c.clone()).collect();
    if let Some(cells) = cells {
        let cells = stacked(n, cells, 0)?;
        results.push(swapped(n, cells, &[1, 0, 2])?);
    }
    Ok(results.into())
}

/// Selects one index of an axis and removes the axis.
fn select_index(n: &mut Node, x: &Operand, at: i64, axis: i64) -> node::Result<Operand> {
    let at = node::scalar(at as f64, DType::INT64)?;
    n.call_with("take", [x.clone(), at], &[("axis", axis.into())])
}

/// Slices an axis.
fn slice(n: &mut Node, x: &Operand, axis: i64, begin: i64, end: i64) -> node::Result<Operand> {
    let prims = |v: i64| Operand::Tuple(vec![Operand::int(v)]);
    n.call("strided_slice", [x.clone(), prims(axis), prims(begin), prims(end), prims(1)])
}

/// Past the end of a sequence, keeps the state and outputs zeros.
fn mask_past_length(n: &mut Node, next: State, before: &State, at: i64) -> node::Result<(State, Operand)> {
    let Some(lengths) = n.optional(4)? else { return Ok((next.clone(), next.h)) };
    let inside = n.with_scalar("greater", &lengths, at as f64)?;
    let count = crate::node::product(&n.dims(&lengths)?);
    let inside = n.reshape(inside, vec![count, PrimExpr::int64(1)])?;
    let chosen =
        |n: &mut Node, new: &Operand, old: &Operand| n.call("where", [inside.clone(), new.clone(), old.clone()]);
    let h = chosen(n, &next.h, &before.h)?;
    let c = match (&next.c, &before.c) {
        (Some(new), Some(old)) => Some(chosen(n, new, old)?),
        _ => None,
    };
    let zero = n.scalar_like(0.0, &next.h)?;
    let shown = chosen(n, &next.h, &zero)?;
    Ok((State { h, c }, shown))
}

/// `gates + h R`, plus both biases.
fn gate_sum(n: &mut Node, d: &Direction, gates: &Operand, h: &Operand) -> node::Result<Operand> {
    let own = n.call("matmul", [h.clone(), d.recurrent.clone()])?;
    let mut sum = n.call("add", [gates.clone(), own])?;
    if let Some((input, state)) = &d.biases {
        let bias = n.call("add", [input.clone(), state.clone()])?;
        sum = n.call("add", [sum, bias])?;
    }
    Ok(sum)
}

fn simple(n: &mut Node, d: &Direction, gates: &Operand, state: &State) -> node::Result<State> {
    let sum = gate_sum(n, d, gates, &state.h)?;
    Ok(State { h: d.activations[0].apply(n, sum)?, c: None })
}

fn lstm(n: &mut Node, d: &Direction, gates: &Operand, state: &State) -> node::Result<State> {
    let [f, g, h] = [0, 1, 2].map(|at| &d.activations[at]);
    let before = state.c.clone().unwrap_or_else(|| state.h.clone());
    let sum = gate_sum(n, d, gates, &state.h)?;
    let gate = |n: &mut Node, at: i64| slice(n, &sum, 1, at * d.hidden, (at + 1) * d.hidden);
    let peep = |n: &mut Node, x: Operand, at: i64, c: &Operand| match &d.peepholes {
        Some(weights) => {
            let weight = slice(n, weights, 0, at * d.hidden, (at + 1) * d.hidden)?;
            let seen = n.call("multiply", [weight, c.clone()])?;
            n.call("add", [x, seen])
        }
        None => Ok(x),
    };
    let (input, forget, cell) = (gate(n, 0)?, gate(n, 2)?, gate(n, 3)?);
    let input = peep(n, input, 0, &before)?;
    let input = f.apply(n, input)?;
    let forget = if n.attrs.flag("input_forget")? {
        let one = n.scalar_like(1.0, &input)?;
        n.call("subtract", [one, input.clone()])?
    } else {
        let forget = peep(n, forget, 2, &before)?;
        f.apply(n, forget)?
    };
    let cell = g.apply(n, cell)?;
    let retained = n.call("multiply", [forget, before])?;
    let new = n.call("multiply", [input, cell])?;
    let c = n.call("add", [retained, new])?;
    let output = gate(n, 1)?;
    let output = peep(n, output, 1, &c)?;
    let output = f.apply(n, output)?;
    let shown = h.apply(n, c.clone())?;
    Ok(State { h: n.call("multiply", [output, shown])?, c: Some(c) })
}

fn gru(n: &mut Node, d: &Direction, gates: &Operand, state: &State) -> node::Result<State> {
    let (f, g) = (&d.activations[0], &d.activations[1]);
    let parts =
        |n: &mut Node, x: &Operand, axis: i64, from: i64, to: i64| slice(n, x, axis, from * d.hidden, to * d.hidden);
    let both = parts(n, gates, 1, 0, 2)?;
    let weights = parts(n, &d.recurrent, 1, 0, 2)?;
    let own = n.call("matmul", [state.h.clone(), weights])?;
    let mut both = n.call("add", [both, own])?;
    if let Some((input, own)) = &d.biases {
        for bias in [input, own] {
            let bias = parts(n, bias, 0, 0, 2)?;
            both = n.call("add", [both, bias])?;
        }
    }
    let both = f.apply(n, both)?;
    let (update, reset) = (parts(n, &both, 1, 0, 1)?, parts(n, &both, 1, 1, 2)?);
    let mut new = parts(n, gates, 1, 2, 3)?;
    let weights = parts(n, &d.recurrent, 1, 2, 3)?;
    let (mut input_bias, mut own_bias) = (None, None);
    if let Some((input, own)) = &d.biases {
        (input_bias, own_bias) = (Some(parts(n, input, 0, 2, 3)?), Some(parts(n, own, 0, 2, 3)?));
    }
    let plus = |n: &mut Node, x: Operand, bias: Option<Operand>| match bias {
        Some(bias) => n.call("add", [x, bias]),
        None => Ok(x),
    };
    let own = if n.attrs.flag("linear_before_reset")? {
        let own = n.call("matmul", [state.h.clone(), weights])?;
        let own = plus(n, own, own_bias)?;
        n.call("multiply", [reset, own])?
    } else {
        let left = n.call("multiply", [reset, state.h.clone()])?;
        let own = n.call("matmul", [left, weights])?;
        plus(n, own, own_bias)?
    };
    new = n.call("add", [new, own])?;
    new = plus(n, new, input_bias)?;
    let new = g.apply(n, new)?;
    let one = n.scalar_like(1.0, &update)?;
    let rest = n.call("subtract", [one, update.clone()])?;
    let (new, old) = (n.call("multiply", [rest, new])?, n.call("multiply", [update, state.h.clone()])?);
    Ok(State { h: n.call("add", [new, old])?, c: None })
}
