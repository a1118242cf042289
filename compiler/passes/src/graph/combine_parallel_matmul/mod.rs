//! CombineParallelMatmul: combines matmuls with the same LHS into one with concatenated weights.
//!
//! `matmul(x, a)` and `matmul(x, b)` become the parts of `split(matmul(x, concat((a, b))))`. If all of them add a
//! bias, or apply the same activation, that is combined as well. Weights of different rank, or different batch
//! dimensions, are not combined. At most one of the widths may be symbolic; that part comes last.

mod plan;

use crate::{
    Context, OptionKind, Options, Pass, PassOption,
    analysis::{purity::is_pure, use_order::sort_by_use},
    rewrite::{self, Emitter, editor},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Module, Span,
    relax::{
        Binding, Block, Body, Function, OpTable, Operand, Value, Var,
        memory::{MemoryDependences, Writers},
    },
};
use hammock_ops::{Table, lookup};
use plan::{Constraints, Group, plan};
use rustc_hash::{FxHashMap, FxHashSet};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "CombineParallelMatmul",
    doc: "Combines matmuls with the same LHS into one with concatenated weights",
    options: &[
        PassOption {
            name: "known_weights",
            kind: OptionKind::Bool,
            default: "false",
            doc: "Only if all weights and biases are constants, so that concatenating them costs nothing at run time",
        },
        PassOption {
            name: "max_rows",
            kind: OptionKind::Integer,
            default: "0",
            doc: "Maximum number of rows of the LHS; 0 for no limit",
        },
    ],
    run,
};

/// Options of the default pipeline. With few rows, as in a decoder's step, one matmul takes 2 to 10 % less time than
/// three; with more rows, from 30 % less to 30 % more, since wide weights use the cache less well (measured with 256
/// to 768 columns each).
pub fn profitable() -> Options {
    Options::of(&PASS).with([("known_weights", true.into()), ("max_rows", 4.into())])
}

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let wanted = Constraints {
        known_weights: context.options.is_on("known_weights"),
        max_rows: Some(context.options.integer("max_rows")).filter(|rows| *rows != 0),
    };
    let writers = Writers::of(module, &Table);
    rewrite::relax_functions(module, |module, _, function| {
        let memory = MemoryDependences::of(function, &writers, &Table);
        let groups = plan(function, &memory, wanted);
        if groups.is_empty() {
            return Ok(());
        }
        let mut body = rewrite::take_body(function);
        Combiner::new(module, function, &memory, groups).body(&mut body);
        function.lambda.body = body;
        editor::tidy(module, function, &writers)
    })
}

/// Progress of a group.
enum Progress {
    Planned(Group),
    /// Computed: the tuple of its parts.
    Parts(Var),
    /// It cannot be computed where its first part is needed.
    Abandoned,
}

struct Combiner<'a> {
    module: &'a Module,
    function: &'a mut Function,
    memory: &'a MemoryDependences,
    /// Progress of each group.
    groups: Vec<Progress>,
    /// Group and part that replace each variable.
    members: FxHashMap<Var, (usize, usize)>,
}

impl<'a> Combiner<'a> {
    fn new(module: &'a Module, function: &'a mut Function, memory: &'a MemoryDependences, groups: Vec<Group>) -> Self {
        let mut members = FxHashMap::default();
        for (number, group) in groups.iter().enumerate() {
            members.extend(group.members.iter().enumerate().map(|(part, member)| (member.result, (number, part))));
        }
        let groups = groups.into_iter().map(Progress::Planned).collect();
        Combiner { module, function, memory, groups, members }
    }

    fn body(&mut self, body: &mut Body) {
        for block in &mut body.blocks {
            self.block(block);
        }
    }

    fn block(&mut self, block: &mut Block) {
        let movable = self.may_reorder(block);
        let mut out = Emitter { bindings: Vec::with_capacity(block.bindings.len()), dataflow: block.dataflow };
        let mut to_come: FxHashSet<Var> = block.bindings.iter().map(|binding| binding.var).collect();
        let mut out_of_order = false;
        for mut binding in block.bindings.drain(..) {
            binding.value.each_body_mut(&mut |nested| self.body(nested));
            if let Some((number, part)) = self.members.get(&binding.var).copied() {
                if let Progress::Planned(group) = &self.groups[number] {
                    let early = group.inputs().any(|input| to_come.contains(&input));
                    let group = group.clone();
                    let parts = if early && !movable { None } else { self.combine(&group, &mut out, binding.span) };
                    out_of_order |= early && parts.is_some();
                    self.groups[number] = parts.map_or(Progress::Abandoned, Progress::Parts);
                }
                if let Progress::Parts(parts) = self.groups[number] {
                    binding.value = Value::TupleGet(parts.into(), part);
                }
            }
            to_come.remove(&binding.var);
            out.push(binding);
        }
        block.bindings = if out_of_order { sort_by_use(self.function, out.bindings) } else { out.bindings };
    }

    /// Returns true if bindings may be reordered, as long as definitions come before uses.
    fn may_reorder(&self, block: &Block) -> bool {
        let pure = |binding: &Binding| is_pure(self.module, self.function, &binding.value);
        let mut bindings = block.bindings.iter();
        bindings.all(|binding| !self.memory.writes(binding.var) && (block.dataflow || pure(binding)))
    }

    /// Emits the matmul of a group with its epilogue, and splits it; `None` if that has no type.
    fn combine(&mut self, group: &Group, out: &mut Emitter, span: Span) -> Option<Var> {
        let start = out.bindings.len();
        let parts = self.emit_group(group, out, span);
        if parts.is_none() {
            out.bindings.truncate(start);
        }
        parts
    }

    fn emit_group(&mut self, group: &Group, out: &mut Emitter, span: Span) -> Option<Var> {
        let weights = group.members.iter().map(|member| member.rhs.clone()).collect();
        let weights = self.concat(weights, out, span)?;
        let out_dtype = ("out_dtype", group.out_dtype.into());
        let mut result = self.emit("matmul", vec![group.lhs.into(), weights.into()], [out_dtype], out, span)?;
        if let Some(biases) = group.members.iter().map(|member| member.bias.clone()).collect() {
            let biases = self.concat(biases, out, span)?;
            result = self.emit("add", vec![result.into(), biases.into()], [], out, span)?;
        }
        if let Some(activation) = group.activation {
            result = self.emit(activation, vec![result.into()], [], out, span)?;
        }
        let (_, others) = group.members.split_last()?;
        let mut end = 0;
        let ends = others.iter().map(|member| {
            end += member.width.as_int()?;
            Some(end)
        });
        let ends: Vec<i64> = ends.collect::<Option<_>>()?;
        let axis = self.function.ty(result).as_tensor()?.ndim()? as i64 - 1;
        self.emit(
            "split",
            vec![result.into()],
            [("indices_or_sections", ends.into()), ("axis", axis.into())],
            out,
            span,
        )
    }

    /// Concatenates tensors along their last axis.
    fn concat(&mut self, tensors: Vec<Operand>, out: &mut Emitter, span: Span) -> Option<Var> {
        let last = self.function.operand_ty(self.module, tensors.first()?).as_tensor()?.ndim()? as i64 - 1;
        self.emit("concat", vec![Operand::Tuple(tensors)], [("axis", last.into())], out, span)
    }

    fn emit<const N: usize>(
        &mut self,
        op: &str,
        args: Vec<Operand>,
        attrs: [(&'static str, AttrValue); N],
        out: &mut Emitter,
        span: Span,
    ) -> Option<Var> {
        let call = lookup(op)?.call(args, attrs);
        let ty = Table.infer(self.module, self.function, &call).ok()?;
        Some(out.bind(self.function, "lv", ty, Value::Call(call), span))
    }
}
