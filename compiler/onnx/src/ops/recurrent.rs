//! Recurrent networks, as loops over time steps.

use super::{Op, Result, op, recurrent_activation::Activation};
use crate::{
    looping::{Iteration, Output, counted_loop, from_end, import_loop},
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
    /// Recurrent weights, transposed. Those of a reset gate that is applied before them are separate.
    recurrent: Vec<Operand>,
    /// Bias inside the reset gate's product.
    reset_bias: Option<Operand>,
    /// Peephole weights of the input, output and forget gates.
    peepholes: Vec<Operand>,
    hidden: i64,
    activations: Vec<Activation>,
}

/// State between steps.
#[derive(Clone)]
struct State {
    h: Operand,
    c: Option<Operand>,
}

impl State {
    fn of(values: &[Value], n: &mut Node) -> node::Result<State> {
        let operands = values.iter().map(|value| n.importer.build.operand(value)).collect::<node::Result<Vec<_>>>()?;
        let mut operands = operands.into_iter();
        let Some(h) = operands.next() else { return n.error("it has no state") };
        Ok(State { h, c: operands.next() })
    }

    fn values(self) -> Vec<Value> {
        [self.h].into_iter().chain(self.c).map(Value::Operand).collect()
    }
}

fn recurrent<'m>(n: &mut Node<'_, 'm>, cell: &Cell) -> Result {
    let batch_first = n.attrs.flag("layout")?;
    let swapped = |n: &mut Node, x: Operand, axes: &[i64]| match batch_first {
        true => n.call_with("permute_dims", [x], &[("axes", axes.to_vec().into())]),
        false => Ok(x),
    };
    let x = n.input(0)?;
    let x = swapped(n, x, &[1, 0, 2])?;
    let sizes = n.dims(&x)?;
    let weight = n.input(2)?;
    let shape = n.dims(&weight)?;
    if sizes.len() != 3 || shape.len() != 3 {
        return n.error("its input and weights have to have 3 dimensions");
    }
    if let Some(lengths) = n.optional(4)? {
        let lengths = n.check_lengths(lengths, &sizes[0])?;
        n.inputs[4] = Some(Value::Operand(lengths));
    }
    let (Some(hidden), Some(directions)) = (shape[2].as_int(), shape[0].as_int()) else {
        return n.error("the sizes of its recurrent weights have to be known");
    };
    let reversed = n.attrs.str_or("direction", "forward")? == "reverse";
    let mut activations = Activation::of(n, cell.activations, directions.clamp(0, 2) as usize)?.into_iter();
    let (mut outputs, mut states) = (Vec::new(), Vec::new());
    for number in 0..directions.clamp(0, 2) {
        let activations = activations.by_ref().take(cell.activations.len()).collect();
        let layer = Layer { cell, hidden, number, activations };
        let gates = layer.input_gates(n, &x)?;
        // Constants are folded wherever they are used; what is computed before the loop is passed to it.
        let is_constant = [2, 3, 7].iter().all(|at| match n.given(*at) {
            Some(value) => matches!(value, Value::Known(_) | Value::Operand(Operand::Const(_))),
            None => true,
        });
        let prepared = if is_constant { None } else { Some(layer.loop_invariants(n)?) };
        let start = |n: &mut Node, at: usize| match n.optional(at)? {
            Some(initial) => {
                let initial = swapped(n, initial, &[1, 0, 2])?;
                let initial = select_index(n, &initial, number)?;
                n.assert_dims(initial, &[(0, sizes[1].clone()), (1, hidden.into())])
            }
            None => {
                let zero = n.scalar_like(0.0, &x)?;
                n.call("full", [Operand::Shape(vec![sizes[1].clone(), hidden.into()]), zero])
            }
        };
        let mut initial = State { h: start(n, 5)?, c: None };
        if cell.gates == 4 {
            initial.c = Some(start(n, 6)?);
        }
        let backward = reversed || number == 1;
        let mut step = |n: &mut Node<'_, 'm>, position: &Operand, state: &[Value]| {
            let before = State::of(state, n)?;
            let at = if backward { from_end(n, &sizes[0], position)? } else { position.clone() };
            let gates = n.call_with("take", [gates.clone(), at.clone()], &[("axis", 0i64.into())])?;
            let in_loop = if is_constant { Some(layer.loop_invariants(n)?) } else { None };
            let Some(direction) = prepared.as_ref().or(in_loop.as_ref()) else { return n.error("it has no weights") };
            let next = (cell.step)(n, direction, &gates, &before)?;
            let (next, y) = mask_past_length(n, next, &before, &at)?;
            let y = Output { value: Value::Operand(y), axis: 0, reversed: backward };
            Ok(Iteration { condition: None, state: next.values(), outputs: vec![y] })
        };
        let mut form = |n: &mut Node<'_, 'm>| counted_loop(n, None, &sizes[0]);
        let results = import_loop(n, Some(&sizes[0]), &initial.values(), &mut form, &mut step)?;
        states.push(State::of(&results.state, n)?);
        outputs.extend(results.outputs.iter().map(|y| n.importer.build.operand(y)).collect::<node::Result<Vec<_>>>()?);
    }
    let stacked = |n: &mut Node, parts: Vec<Operand>, axis: usize| match parts.as_slice() {
        [one] => {
            let mut shape = n.dims(one)?;
            shape.insert(axis, 1i64.into());
            n.reshape(one.clone(), shape)
        }
        _ => n.call_with("stack", [Operand::Tuple(parts)], &[("axis", (axis as i64).into())]),
    };
    let y = stacked(n, outputs, 1)?;
    let y = swapped(n, y, &[2, 0, 1, 3])?;
    let last = stacked(n, states.iter().map(|state| state.h.clone()).collect(), 0)?;
    let mut results = vec![y, swapped(n, last, &[1, 0, 2])?];
    let cells: Option<Vec<Operand>> = states.into_iter().map(|state| state.c).collect();
    if let Some(cells) = cells {
        let cells = stacked(n, cells, 0)?;
        results.push(swapped(n, cells, &[1, 0, 2])?);
    }
    Ok(results.into())
}

/// One direction of a layer.
struct Layer<'c> {
    cell: &'c Cell,
    hidden: i64,
    /// Number of the direction.
    number: i64,
    activations: Vec<Activation>,
}

impl Layer<'_> {
    /// Returns the direction's part of an optional input.
    fn part(&self, n: &mut Node, at: usize) -> node::Result<Option<Operand>> {
        match n.optional(at)? {
            Some(all) => select_index(n, &all, self.number).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the direction's transposed weights.
    fn weight(&self, n: &mut Node, at: usize) -> node::Result<Operand> {
        let all = n.input(at)?;
        let own = select_index(n, &all, self.number)?;
        n.call("permute_dims", [own])
    }

    /// True if the reset gate scales the product of the state and its weights, instead of the state.
    fn is_linear_before_reset(&self, n: &Node) -> node::Result<bool> {
        Ok(self.cell.gates == 3 && n.attrs.flag("linear_before_reset")?)
    }

    /// Returns the input's contribution to the gates of all steps, with the biases.
    fn input_gates(&self, n: &mut Node, x: &Operand) -> node::Result<Operand> {
        let weights = self.weight(n, 1)?;
        let gates = n.call("matmul", [x.clone(), weights])?;
        let Some(bias) = self.part(n, 3)? else { return Ok(gates) };
        let half = self.cell.gates * self.hidden;
        let (input, mut own) = (slice(n, &bias, 0, 0, half)?, slice(n, &bias, 0, half, 2 * half)?);
        if self.is_linear_before_reset(n)? {
            let zero = n.scalar_like(0.0, &own)?;
            let zeros = n.call("full", [Operand::Shape(vec![self.hidden.into()]), zero])?;
            let others = slice(n, &own, 0, 0, 2 * self.hidden)?;
            own = n.call_with("concat", [Operand::Tuple(vec![others, zeros])], &[("axis", 0i64.into())])?;
        }
        let bias = n.call("add", [input, own])?;
        n.call("add", [gates, bias])
    }

    /// Returns what all steps use.
    fn loop_invariants(&self, n: &mut Node) -> node::Result<Direction> {
        let hidden = self.hidden;
        let mut recurrent = vec![self.weight(n, 2)?];
        let mut reset_bias = None;
        if self.is_linear_before_reset(n)? {
            if let Some(bias) = self.part(n, 3)? {
                reset_bias = Some(slice(n, &bias, 0, 5 * hidden, 6 * hidden)?);
            }
        } else if self.cell.gates == 3 {
            let all = recurrent.remove(0);
            recurrent = vec![slice(n, &all, 1, 0, 2 * hidden)?, slice(n, &all, 1, 2 * hidden, 3 * hidden)?];
        }
        let mut peepholes = Vec::new();
        if let Some(weights) = self.part(n, 7)? {
            for at in 0..3 {
                peepholes.push(slice(n, &weights, 0, at * hidden, (at + 1) * hidden)?);
            }
        }
        Ok(Direction { recurrent, reset_bias, peepholes, hidden, activations: self.activations.clone() })
    }
}

/// Selects one index of the first axis and removes the axis.
fn select_index(n: &mut Node, x: &Operand, at: i64) -> node::Result<Operand> {
    let at = node::scalar(at as f64, DType::INT64)?;
    n.call_with("take", [x.clone(), at], &[("axis", 0i64.into())])
}

/// Slices an axis.
fn slice(n: &mut Node, x: &Operand, axis: i64, begin: i64, end: i64) -> node::Result<Operand> {
    let prims = |v: i64| Operand::Tuple(vec![Operand::int(v)]);
    n.call("strided_slice", [x.clone(), prims(axis), prims(begin), prims(end), prims(1)])
}

/// Past the end of a sequence, keeps the state and outputs zeros.
fn mask_past_length(n: &mut Node, next: State, before: &State, at: &Operand) -> node::Result<(State, Operand)> {
    let Some(lengths) = n.optional(4)? else { return Ok((next.clone(), next.h)) };
    let inside = n.call("greater", [lengths.clone(), at.clone()])?;
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

/// `gates + h R`
fn gate_sum(n: &mut Node, d: &Direction, gates: &Operand, h: &Operand) -> node::Result<Operand> {
    let own = n.call("matmul", [h.clone(), d.recurrent[0].clone()])?;
    n.call("add", [gates.clone(), own])
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
    let peep = |n: &mut Node, x: Operand, at: usize, c: &Operand| match d.peepholes.get(at) {
        Some(weight) => {
            let seen = n.call("multiply", [weight.clone(), c.clone()])?;
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
    let parts = |n: &mut Node, x: &Operand, from: i64, to: i64| slice(n, x, 1, from * d.hidden, to * d.hidden);
    let all = n.call("matmul", [state.h.clone(), d.recurrent[0].clone()])?;
    let linear_before_reset = d.recurrent.len() == 1;
    let own = if linear_before_reset { parts(n, &all, 0, 2)? } else { all.clone() };
    let both = parts(n, gates, 0, 2)?;
    let both = n.call("add", [both, own])?;
    let both = f.apply(n, both)?;
    let (update, reset) = (parts(n, &both, 0, 1)?, parts(n, &both, 1, 2)?);
    let own = match d.recurrent.get(1) {
        Some(weights) => {
            let left = n.call("multiply", [reset, state.h.clone()])?;
            n.call("matmul", [left, weights.clone()])?
        }
        None => {
            let mut own = parts(n, &all, 2, 3)?;
            if let Some(bias) = &d.reset_bias {
                own = n.call("add", [own, bias.clone()])?;
            }
            n.call("multiply", [reset, own])?
        }
    };
    let new = parts(n, gates, 2, 3)?;
    let new = n.call("add", [new, own])?;
    let new = g.apply(n, new)?;
    let one = n.scalar_like(1.0, &update)?;
    let rest = n.call("subtract", [one, update.clone()])?;
    let (new, old) = (n.call("multiply", [rest, new])?, n.call("multiply", [update, state.h.clone()])?);
    Ok(State { h: n.call("add", [new, old])?, c: None })
}
