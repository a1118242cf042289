//! Choice of the matmuls that are combined.

use crate::analysis::compile_time::CompileTime;
use hammock_ir::{
    DType, PrimExpr, TensorType,
    relax::{Binding, Call, Function, Graph, Operand, Position, Value, Var, memory::MemoryDependences},
};
use hammock_ops::dims;
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashSet};

/// Activations that may follow all matmuls of a group.
const ACTIVATIONS: [&str; 4] = ["nn.relu", "nn.gelu", "nn.gelu_tanh", "nn.silu"];

/// Maximum number of bindings visited to check that a matmul's weights do not depend on another's result.
const MAX_VISITED: usize = 1000;

/// Matmuls that are combined.
#[derive(Clone)]
pub struct Group {
    /// Their common LHS.
    pub lhs: Var,
    /// The matmuls, in the order of their concatenated weights.
    pub members: Vec<Member>,
    /// Dtype of the results.
    pub out_dtype: DType,
    /// Activation applied to each.
    pub activation: Option<&'static str>,
}

/// A matmul and its epilogue.
#[derive(Clone)]
pub struct Member {
    /// Variable of its last value, which becomes a part of the combined result.
    pub result: Var,
    /// Weights.
    pub rhs: Operand,
    /// Bias.
    pub bias: Option<Operand>,
    /// Number of columns of the weights.
    pub width: PrimExpr,
}

impl Group {
    /// Returns the variables from which the combined matmul is computed.
    pub fn inputs(&self) -> impl Iterator<Item = Var> {
        let operands = self.members.iter().flat_map(|member| std::iter::once(&member.rhs).chain(&member.bias));
        std::iter::once(self.lhs).chain(operands.filter_map(Operand::as_var))
    }
}

/// A matmul, with its optional bias and activation.
struct Matmul {
    result: Var,
    rhs: Operand,
    ty: TensorType,
    weights: TensorType,
    bias: Option<(Operand, TensorType, Var)>,
    activation: Option<(&'static str, Var)>,
}

/// Constraints from the pass's options.
#[derive(Clone, Copy)]
pub struct Constraints {
    pub known_weights: bool,
    pub max_rows: Option<i64>,
}

/// Returns the groups of a function's matmuls to combine.
pub fn plan(function: &Function, memory: &MemoryDependences, constraints: Constraints) -> Vec<Group> {
    let graph = Graph::of(function);
    let known = constraints.known_weights.then(|| CompileTime::of(function, false));
    let planner = Planner { function, graph, memory, known, max_rows: constraints.max_rows };
    let mut matmuls: IndexMap<(Var, usize, usize), Vec<Matmul>, FxBuildHasher> = IndexMap::default();
    function.lambda.body.walk(&mut |binding| {
        if let Some((lhs, matmul)) = planner.matmul(binding)
            && let Some(Position { body, block, .. }) = planner.position(matmul.result)
        {
            matmuls.entry((lhs, body, block)).or_default().push(matmul);
        }
    });
    matmuls.into_iter().flat_map(|((lhs, ..), matmuls)| planner.groups(lhs, matmuls)).collect()
}

struct Planner<'f> {
    function: &'f Function,
    graph: Graph<'f>,
    memory: &'f MemoryDependences,
    known: Option<CompileTime>,
    max_rows: Option<i64>,
}

impl Planner<'_> {
    fn position(&self, var: Var) -> Option<Position> {
        Some(self.graph.def(var)?.position)
    }

    fn tensor(&self, operand: &Operand) -> Option<TensorType> {
        match operand {
            Operand::Var(v) => self.function.ty(*v).as_tensor().cloned(),
            Operand::Const(constant) => constant.ty().as_tensor().cloned(),
            _ => None,
        }
    }

    /// Returns true if the operand is never overwritten, and is known at compile time if that is required.
    fn is_candidate(&self, operand: &Operand) -> bool {
        let stays = operand.as_var().is_none_or(|v| !self.memory.is_written(v));
        stays && self.known.as_ref().is_none_or(|known| known.knows(operand))
    }

    /// Returns true if the LHS has at most the maximum number of rows.
    fn has_few_rows(&self, lhs: Var) -> bool {
        let Some(most) = self.max_rows else { return true };
        let rows = self.function.ty(lhs).as_tensor().and_then(TensorType::dims).and_then(<[PrimExpr]>::split_last);
        let rows = rows.and_then(|(_, rows)| dims::product(rows).as_int());
        rows.is_some_and(|rows| rows <= most)
    }

    fn matmul(&self, binding: &Binding) -> Option<(Var, Matmul)> {
        let [lhs, rhs] = binding.value.as_op("matmul")?.operands()?;
        let (lhs, weights) = (lhs.as_var()?, self.tensor(rhs)?);
        if weights.dims()?.len() < 2
            || !self.is_candidate(rhs)
            || self.memory.is_written(lhs)
            || !self.has_few_rows(lhs)
        {
            return None;
        }
        let (result, ty) = (binding.var, self.function.ty(binding.var).as_tensor()?.clone());
        let bias = self.bias(result, &ty, &weights);
        let last = bias.as_ref().map_or(result, |(_, _, sum)| *sum);
        let activation = self.activation(last);
        Some((lhs, Matmul { result, rhs: rhs.clone(), ty, weights, bias, activation }))
    }

    /// Returns the only user of a variable, if it is in the same block.
    fn only_user(&self, var: Var) -> Option<(&Call, Var)> {
        let def = self.graph.def(self.graph.only_user(var)?)?;
        let (own, position) = (self.position(var)?, def.position);
        match &def.binding.value {
            Value::Call(call) if (own.body, own.block) == (position.body, position.block) => {
                Some((call, def.binding.var))
            }
            _ => None,
        }
    }

    /// Returns the bias added to a matmul, one element per column. TVM's pass expects it as the RHS of the addition;
    /// with known weights, either side is accepted.
    fn bias(&self, matmul: Var, ty: &TensorType, weights: &TensorType) -> Option<(Operand, TensorType, Var)> {
        let (add, sum) = self.only_user(matmul).filter(|(call, _)| call.is_op("add"))?;
        let bias = match add.operands()? {
            [bias, behind] if self.known.is_some() && behind.as_var() == Some(matmul) => bias,
            [_, bias] => bias,
        };
        let bias_ty = self.tensor(bias)?;
        let width = dims::equal(bias_ty.dims()?.last()?, weights.dims()?.last()?) == Some(true);
        let fits = bias_ty.ndim()? <= ty.ndim()? && bias_ty.dtype == ty.dtype && self.is_candidate(bias);
        (width && fits).then(|| (bias.clone(), bias_ty, sum))
    }

    fn activation(&self, var: Var) -> Option<(&'static str, Var)> {
        let (call, result) = self.only_user(var)?;
        ACTIVATIONS.into_iter().find(|name| call.is_op(name)).map(|name| (name, result))
    }

    /// Groups the matmuls of one LHS.
    fn groups(&self, lhs: Var, mut matmuls: Vec<Matmul>) -> Vec<Group> {
        if matmuls.len() < 2 {
            return Vec::new();
        }
        // A bias or an activation is combined only if all matmuls have one: none is left out for it.
        let rank = |p: &Matmul| p.bias.as_ref().and_then(|(_, ty, _)| ty.ndim());
        if !matmuls.iter().all(|p| rank(p).is_some() && rank(p) == rank(&matmuls[0])) {
            matmuls.iter_mut().filter(|p| p.bias.is_some()).for_each(|p| (p.bias, p.activation) = (None, None));
        }
        let activation = |p: &Matmul| p.activation.map(|(name, _)| name);
        if !matmuls.iter().all(|p| activation(p) == activation(&matmuls[0])) {
            matmuls.iter_mut().for_each(|p| p.activation = None);
        }
        let mut by_rank: IndexMap<usize, Vec<Matmul>, FxBuildHasher> = IndexMap::default();
        for matmul in matmuls {
            by_rank.entry(matmul.weights.ndim().unwrap_or_default()).or_default().push(matmul);
        }
        by_rank.into_values().filter_map(|matmuls| self.group(lhs, matmuls)).collect()
    }

    fn group(&self, lhs: Var, matmuls: Vec<Matmul>) -> Option<Group> {
        let first = matmuls.first()?;
        let (out_dtype, activation) = (first.ty.dtype?, first.activation.map(|(name, _)| name));
        if !matmuls.iter().all(|matmul| are_compatible(first, matmul)) {
            return None;
        }
        let member = |matmul: Matmul| {
            let width = matmul.weights.dims()?.last()?.clone();
            let sum = matmul.bias.as_ref().map_or(matmul.result, |(_, _, sum)| *sum);
            let result = matmul.activation.map_or(sum, |(_, result)| result);
            Some(Member { result, rhs: matmul.rhs, bias: matmul.bias.map(|(bias, ..)| bias), width })
        };
        let mut members: Vec<Member> = matmuls.into_iter().map(member).collect::<Option<_>>()?;
        // Offsets of the parts are known if only the last width is symbolic.
        members.sort_by_key(|member| member.width.as_int().is_none());
        if let Some(symbolic) = members.iter().position(|member| member.width.as_int().is_none()) {
            members.truncate(symbolic + 1);
        }
        let results: FxHashSet<Var> = members.iter().map(|member| member.result).collect();
        let begin = results.iter().filter_map(|v| self.position(*v)).min()?;
        let group = Group { lhs, members, out_dtype, activation };
        let independent = group.inputs().all(|input| !self.depends_on(input, &results, begin));
        (group.members.len() > 1 && independent).then_some(group)
    }

    /// Returns true if a variable may depend on one of `results`, none of which is defined before `begin`.
    fn depends_on(&self, var: Var, results: &FxHashSet<Var>, begin: Position) -> bool {
        let (mut todo, mut seen) = (vec![var], FxHashSet::default());
        while let Some(var) = todo.pop() {
            let Some(def) = self.graph.def(var).filter(|def| def.position >= begin) else { continue };
            if results.contains(&var) || seen.len() == MAX_VISITED {
                return true;
            }
            if seen.insert(var) {
                def.binding.value.each_var(&mut |used| todo.push(used));
                def.binding.value.each_body(&mut |nested| nested.each_use(&mut |used| todo.push(used)));
            }
        }
        false
    }
}

/// Returns true if the weights and the biases of two matmuls can be concatenated along their last axis.
fn are_compatible(a: &Matmul, b: &Matmul) -> bool {
    let alike = |a: &TensorType, b: &TensorType, rest: usize| {
        let leading = |t: &TensorType| t.dims().map(|dims| dims[..dims.len().saturating_sub(rest)].to_vec());
        let same = leading(a).zip(leading(b)).is_some_and(|(a, b)| dims::all_equal(&a, &b));
        same && a.dtype == b.dtype
    };
    let biases = match (&a.bias, &b.bias) {
        (Some((_, a, _)), Some((_, b, _))) => alike(a, b, 1),
        (a, b) => a.is_none() && b.is_none(),
    };
    biases && alike(&a.weights, &b.weights, 1) && a.ty.dtype == b.ty.dtype
}
