//! Which products are joined.

use crate::analysis::compile_time::CompileTime;
use hammock_ir::{
    DType, PrimExpr, TensorType,
    relax::{Binding, Call, Function, Graph, Operand, Place, Value, Var, memory::MemoryDependences},
};
use hammock_ops::dims;
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashSet};

/// Operators that may follow all products of a group.
const ACTIVATIONS: [&str; 4] = ["nn.relu", "nn.gelu", "nn.gelu_tanh", "nn.silu"];

/// How many bindings are looked at to see whether one product's weights depend on another's result.
const SEARCH: usize = 1000;

/// Products that are computed as one.
#[derive(Clone)]
pub struct Group {
    /// What all of them multiply.
    pub lhs: Var,
    /// The products, in the order in which their weights are joined.
    pub members: Vec<Member>,
    /// The dtype of the products.
    pub out_dtype: DType,
    /// What is applied to each.
    pub activation: Option<&'static str>,
}

/// One product, and what follows it.
#[derive(Clone)]
pub struct Member {
    /// The variable of the last one of its values, which becomes a part of the joined result.
    pub result: Var,
    /// The weights.
    pub rhs: Operand,
    /// What is added.
    pub bias: Option<Operand>,
    /// How many columns the weights have.
    pub width: PrimExpr,
}

impl Group {
    /// The variables from which the joined product is computed.
    pub fn inputs(&self) -> impl Iterator<Item = Var> {
        let operands = self.members.iter().flat_map(|member| std::iter::once(&member.rhs).chain(&member.bias));
        std::iter::once(self.lhs).chain(operands.filter_map(Operand::as_var))
    }
}

/// A product, and the bias and activation that may follow it.
struct Product {
    result: Var,
    rhs: Operand,
    ty: TensorType,
    weights: TensorType,
    bias: Option<(Operand, TensorType, Var)>,
    activation: Option<(&'static str, Var)>,
}

/// Which products may be joined, as the pass's options say.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub known_weights: bool,
    pub max_rows: Option<i64>,
}

/// The groups of products of a function that are to be joined.
pub fn plan(function: &Function, memory: &MemoryDependences, wanted: Wanted) -> Vec<Group> {
    let graph = Graph::of(function);
    let known = wanted.known_weights.then(|| CompileTime::of(function, false));
    let planner = Planner { function, graph, memory, known, max_rows: wanted.max_rows };
    let mut products: IndexMap<(Var, usize, usize), Vec<Product>, FxBuildHasher> = IndexMap::default();
    function.lambda.body.walk(&mut |binding| {
        if let Some((lhs, product)) = planner.product(binding)
            && let Some(Place { body, block, .. }) = planner.place(product.result)
        {
            products.entry((lhs, body, block)).or_default().push(product);
        }
    });
    products.into_iter().flat_map(|((lhs, ..), products)| planner.groups(lhs, products)).collect()
}

struct Planner<'f> {
    function: &'f Function,
    graph: Graph<'f>,
    memory: &'f MemoryDependences,
    known: Option<CompileTime>,
    max_rows: Option<i64>,
}

impl Planner<'_> {
    fn place(&self, var: Var) -> Option<Place> {
        Some(self.graph.def(var)?.place)
    }

    fn tensor(&self, operand: &Operand) -> Option<TensorType> {
        match operand {
            Operand::Var(v) => self.function.ty(*v).as_tensor().cloned(),
            Operand::Const(constant) => constant.ty().as_tensor().cloned(),
            _ => None,
        }
    }

    /// Returns true if the operand's value stays what it is, and is known when that is asked for.
    fn takes_part(&self, operand: &Operand) -> bool {
        let stays = operand.as_var().is_none_or(|v| !self.memory.is_written(v));
        stays && self.known.as_ref().is_none_or(|known| known.knows(operand))
    }

    /// Returns true if what is multiplied has no more rows than products may have.
    fn has_few_rows(&self, lhs: Var) -> bool {
        let Some(most) = self.max_rows else { return true };
        let rows = self.function.ty(lhs).as_tensor().and_then(TensorType::dims).and_then(<[PrimExpr]>::split_last);
        let rows = rows.and_then(|(_, rows)| dims::product(rows).as_int());
        rows.is_some_and(|rows| rows <= most)
    }

    fn product(&self, binding: &Binding) -> Option<(Var, Product)> {
        let [lhs, rhs] = binding.value.as_op("matmul")?.operands()?;
        let (lhs, weights) = (lhs.as_var()?, self.tensor(rhs)?);
        if weights.dims()?.len() < 2 || !self.takes_part(rhs) || self.memory.is_written(lhs) || !self.has_few_rows(lhs)
        {
            return None;
        }
        let (result, ty) = (binding.var, self.function.ty(binding.var).as_tensor()?.clone());
        let bias = self.bias(result, &ty, &weights);
        let last = bias.as_ref().map_or(result, |(_, _, sum)| *sum);
        let activation = self.activation(last);
        Some((lhs, Product { result, rhs: rhs.clone(), ty, weights, bias, activation }))
    }

    /// The value that alone uses a variable, in the same block.
    fn follower(&self, var: Var) -> Option<(&Call, Var)> {
        let def = self.graph.def(self.graph.only_user(var)?)?;
        let (own, place) = (self.place(var)?, def.place);
        match &def.binding.value {
            Value::Call(call) if (own.body, own.block) == (place.body, place.block) => Some((call, def.binding.var)),
            _ => None,
        }
    }

    /// The bias that is added to a product, with one element for each of its columns. TVM's pass looks for it behind
    /// the product only; both orders give the same sum.
    fn bias(&self, product: Var, ty: &TensorType, weights: &TensorType) -> Option<(Operand, TensorType, Var)> {
        let (add, sum) = self.follower(product).filter(|(call, _)| call.is_op("add"))?;
        let bias = match add.operands()? {
            [bias, behind] if self.known.is_some() && behind.as_var() == Some(product) => bias,
            [_, bias] => bias,
        };
        let bias_ty = self.tensor(bias)?;
        let width = dims::equal(bias_ty.dims()?.last()?, weights.dims()?.last()?) == Some(true);
        let fits = bias_ty.ndim()? <= ty.ndim()? && bias_ty.dtype == ty.dtype && self.takes_part(bias);
        (width && fits).then(|| (bias.clone(), bias_ty, sum))
    }

    fn activation(&self, var: Var) -> Option<(&'static str, Var)> {
        let (call, result) = self.follower(var)?;
        ACTIVATIONS.into_iter().find(|name| call.is_op(name)).map(|name| (name, result))
    }

    /// The groups among products of one tensor.
    fn groups(&self, lhs: Var, mut products: Vec<Product>) -> Vec<Group> {
        if products.len() < 2 {
            return Vec::new();
        }
        // A bias or an activation is joined where all products have one, not where products would be left over for it.
        let rank = |p: &Product| p.bias.as_ref().and_then(|(_, ty, _)| ty.ndim());
        if !products.iter().all(|p| rank(p).is_some() && rank(p) == rank(&products[0])) {
            products.iter_mut().filter(|p| p.bias.is_some()).for_each(|p| (p.bias, p.activation) = (None, None));
        }
        let activation = |p: &Product| p.activation.map(|(name, _)| name);
        if !products.iter().all(|p| activation(p) == activation(&products[0])) {
            products.iter_mut().for_each(|p| p.activation = None);
        }
        let mut by_rank: IndexMap<usize, Vec<Product>, FxBuildHasher> = IndexMap::default();
        for product in products {
            by_rank.entry(product.weights.ndim().unwrap_or_default()).or_default().push(product);
        }
        by_rank.into_values().filter_map(|products| self.group(lhs, products)).collect()
    }

    fn group(&self, lhs: Var, products: Vec<Product>) -> Option<Group> {
        let first = products.first()?;
        let (out_dtype, activation) = (first.ty.dtype?, first.activation.map(|(name, _)| name));
        if !products.iter().all(|product| joins(first, product)) {
            return None;
        }
        let member = |product: Product| {
            let width = product.weights.dims()?.last()?.clone();
            let sum = product.bias.as_ref().map_or(product.result, |(_, _, sum)| *sum);
            let result = product.activation.map_or(sum, |(_, result)| result);
            Some(Member { result, rhs: product.rhs, bias: product.bias.map(|(bias, ..)| bias), width })
        };
        let mut members: Vec<Member> = products.into_iter().map(member).collect::<Option<_>>()?;
        // Parts begin at known positions when only the last one's width is symbolic.
        members.sort_by_key(|member| member.width.as_int().is_none());
        if let Some(symbolic) = members.iter().position(|member| member.width.as_int().is_none()) {
            members.truncate(symbolic + 1);
        }
        let results: FxHashSet<Var> = members.iter().map(|member| member.result).collect();
        let begin = results.iter().filter_map(|v| self.place(*v)).min()?;
        let group = Group { lhs, members, out_dtype, activation };
        let independent = group.inputs().all(|input| !self.depends_on(input, &results, begin));
        (group.members.len() > 1 && independent).then_some(group)
    }

    /// Returns true if a variable may be computed from one of those, none of which is defined before `begin`.
    fn depends_on(&self, var: Var, results: &FxHashSet<Var>, begin: Place) -> bool {
        let (mut todo, mut seen) = (vec![var], FxHashSet::default());
        while let Some(var) = todo.pop() {
            let Some(def) = self.graph.def(var).filter(|def| def.place >= begin) else { continue };
            if results.contains(&var) || seen.len() == SEARCH {
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

/// Returns true if the weights, and the biases, of two products can be joined along their last axis.
fn joins(a: &Product, b: &Product) -> bool {
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
