//! Use-def chains: definitions and users of variables.
//!
//! A [`Graph`] is built from a function in one walk and answers in constant time; it describes the function at that
//! time. Memory dependences are in [`memory`](super::memory). Passes that only need definitions use [`Definitions`],
//! which is also a small pattern matcher. "The result of `matmul` whose second operand is the result of `permute_dims`
//! of a constant" is
//!
//! ```ignore
//! let [x, transposed] = graph.op(result, "matmul")?.operands()?;
//! let [w] = graph.op(transposed, "permute_dims")?.operands()?;
//! let w = graph.constant(w)?;
//! ```

use super::{Binding, Body, Call, Constant, Function, Operand, Value, Var};
use cranelift_entity::{EntityRef, SecondaryMap};

/// Definitions and uses of a function's variables, those of nested bodies included.
pub struct Graph<'f> {
    defs: SecondaryMap<Var, Option<Def<'f>>>,
    /// Start of each variable's users in `users`, followed by the end of the last one's.
    starts: Vec<usize>,
    users: Vec<Var>,
    results: SecondaryMap<Var, usize>,
}

/// The definition of a variable.
#[derive(Clone, Copy, Debug)]
pub struct Def<'f> {
    /// The binding.
    pub binding: &'f Binding,
    /// Position of the binding.
    pub position: Position,
}

/// The position of a binding in a function. Positions in one body are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The body, numbered in the order in which bodies begin; the function's own is 0.
    pub body: usize,
    /// The block of the body.
    pub block: usize,
    /// The binding of the block.
    pub index: usize,
}

impl<'f> Graph<'f> {
    /// The chains of a function.
    pub fn of(function: &'f Function) -> Self {
        let mut walk = Walk::new(function);
        walk.body(&function.lambda.body);
        let Walk { defs, uses, results, .. } = walk;
        let (starts, users) = by_used(function.vars.len(), &uses);
        Graph { defs, starts, users, results }
    }

    /// The definition of a variable; none for a parameter.
    pub fn def(&self, var: Var) -> Option<Def<'f>> {
        self.defs[var]
    }

    /// The variables whose bindings use this one as an operand, as callee or in a type: in order, once for each use.
    pub fn users(&self, var: Var) -> &[Var] {
        match self.starts.get(var.index()..var.index() + 2) {
            Some(bounds) => &self.users[bounds[0]..bounds[1]],
            None => &[],
        }
    }

    /// Number of uses of a variable by results of bodies.
    pub fn results(&self, var: Var) -> usize {
        self.results[var]
    }

    /// Number of uses of a variable, by bindings and by results.
    pub fn use_count(&self, var: Var) -> usize {
        self.users(var).len() + self.results(var)
    }

    /// The variable whose binding is the only user; `None` if there are others or results that use it.
    pub fn only_user(&self, var: Var) -> Option<Var> {
        match self.users(var) {
            [user] if self.results(var) == 0 => Some(*user),
            _ => None,
        }
    }
}

impl Definitions for Graph<'_> {
    fn value(&self, var: Var) -> Option<&Value> {
        Some(&self.defs[var]?.binding.value)
    }
}

/// Values of variables, and patterns over them. Aliases are resolved: after `y = x`, `y` is `x`.
pub trait Definitions {
    /// The value that a variable is bound to; `None` for a parameter, or if the value must not be inspected.
    fn value(&self, var: Var) -> Option<&Value>;

    /// The operand that this one aliases; itself if it is no alias.
    fn source<'a>(&'a self, operand: &'a Operand) -> &'a Operand {
        let mut source = operand;
        while let Operand::Var(var) = source
            && let Some(Value::Operand(other)) = self.value(*var)
        {
            source = other;
        }
        source
    }

    /// The value of an operand that is a variable.
    fn definition<'a>(&'a self, operand: &'a Operand) -> Option<&'a Value> {
        self.value(self.source(operand).as_var()?)
    }

    /// The call that defines the operand.
    fn call<'a>(&'a self, operand: &'a Operand) -> Option<&'a Call> {
        match self.definition(operand)? {
            Value::Call(call) => Some(call),
            _ => None,
        }
    }

    /// The call that defines the operand, if it is of that operator.
    fn op<'a>(&'a self, operand: &'a Operand, name: &str) -> Option<&'a Call> {
        self.call(operand).filter(|call| call.is_op(name))
    }

    /// The operand's constant, if it is one.
    fn constant<'a>(&'a self, operand: &'a Operand) -> Option<&'a Constant> {
        match self.source(operand) {
            Operand::Const(constant) => Some(constant),
            _ => None,
        }
    }

    /// The members of a tuple literal.
    fn members<'a>(&'a self, operand: &'a Operand) -> Option<&'a [Operand]> {
        match self.source(operand) {
            Operand::Tuple(members) => Some(members),
            _ => None,
        }
    }

    /// The tuple that the operand is a member of, and its index.
    fn member_of<'a>(&'a self, operand: &'a Operand) -> Option<(&'a Operand, usize)> {
        match self.definition(operand)? {
            Value::TupleGet(tuple, index) => Some((tuple, *index)),
            _ => None,
        }
    }
}

impl Value {
    /// The call, if it is of that operator.
    pub fn as_op(&self, name: &str) -> Option<&Call> {
        match self {
            Value::Call(call) if call.is_op(name) => Some(call),
            _ => None,
        }
    }
}

impl Call {
    /// The operands, when there are `N`.
    pub fn operands<const N: usize>(&self) -> Option<&[Operand; N]> {
        self.args.as_slice().try_into().ok()
    }
}

struct Walk<'f> {
    function: &'f Function,
    defs: SecondaryMap<Var, Option<Def<'f>>>,
    /// Used variables, each with the variable whose binding uses it.
    uses: Vec<(Var, Var)>,
    results: SecondaryMap<Var, usize>,
    bodies: usize,
}

impl<'f> Walk<'f> {
    fn new(function: &'f Function) -> Self {
        let (defs, results) = (SecondaryMap::new(), SecondaryMap::new());
        Walk { function, defs, uses: Vec::new(), results, bodies: 0 }
    }

    fn body(&mut self, body: &'f Body) {
        let number = self.bodies;
        self.bodies += 1;
        for (block, bindings) in body.blocks.iter().map(|b| &b.bindings).enumerate() {
            for (index, binding) in bindings.iter().enumerate() {
                self.defs[binding.var] = Some(Def { binding, position: Position { body: number, block, index } });
                binding.value.each_var(&mut |used| self.uses.push((used, binding.var)));
                self.function.ty(binding.var).each_var(&mut |used| self.uses.push((used, binding.var)));
                binding.value.each_body(&mut |nested| self.body(nested));
            }
        }
        body.result.each_var(&mut |used| self.results[used] += 1);
    }
}

/// Users grouped by used variable, and the start of each group, by counting sort.
fn by_used(count: usize, uses: &[(Var, Var)]) -> (Vec<usize>, Vec<Var>) {
    let mut starts = vec![0; count + 1];
    for (used, _) in uses {
        starts[used.index() + 1] += 1;
    }
    for i in 0..count {
        starts[i + 1] += starts[i];
    }
    let mut next = starts.clone();
    let mut users = vec![Var::new(0); uses.len()];
    for (used, user) in uses {
        users[next[used.index()]] = *user;
        next[used.index()] += 1;
    }
    (starts, users)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attrs, DType, Span, TensorShape, TensorType, Type, relax::Block};

    fn op(name: &'static str, args: &[Var]) -> Value {
        Value::Call(Call::op(name, args.iter().map(|v| Operand::Var(*v)).collect(), Attrs::new()))
    }

    /// A function `def f(x, s)` to which bindings are added.
    struct Sketch(Function);

    impl Sketch {
        fn new() -> (Self, Var, Var) {
            let mut f = Function::empty();
            let x = f.new_var("x", Type::tensor([4], DType::FLOAT32), false, Span::NONE);
            let s = f.new_var("s", Type::Shape(crate::types::ShapeType::Rank(1)), false, Span::NONE);
            f.lambda.params = vec![x, s];
            f.lambda.body.blocks.push(Block::default());
            (Sketch(f), x, s)
        }

        fn bind(&mut self, name: &str, ty: Type, value: Value) -> Var {
            let var = self.0.new_var(name, ty, false, Span::NONE);
            self.0.lambda.body.blocks[0].bindings.push(Binding { var, value, span: Span::NONE });
            var
        }
    }

    fn tensor() -> Type {
        Type::tensor([4], DType::FLOAT32)
    }

    #[test]
    fn definitions_and_uses() {
        let (mut f, x, s) = Sketch::new();
        let of_s = TensorType { shape: TensorShape::Var(s, Some(1)), ..TensorType::new([4], DType::FLOAT32) };
        let a = f.bind("a", of_s.into(), op("exp", &[x]));
        let b = f.bind("b", tensor(), op("add", &[a, a]));
        f.0.lambda.body.result = Operand::Tuple(vec![b.into(), b.into()]);
        let graph = Graph::of(&f.0);
        assert!(graph.def(x).is_none());
        assert_eq!(graph.def(b).unwrap().position, Position { body: 0, block: 0, index: 1 });
        assert_eq!(graph.users(x), [a]);
        assert_eq!(graph.users(s), [a], "a use in a type");
        assert_eq!(graph.users(a), [b, b]);
        assert_eq!((graph.users(b).len(), graph.results(b), graph.use_count(b)), (0, 2, 2));
        assert_eq!(graph.only_user(x), Some(a));
        assert_eq!(graph.only_user(a), None);
    }

    #[test]
    fn nested_bodies_use_outer_variables() {
        let (mut f, x, s) = Sketch::new();
        let inner = f.0.new_var("inner", tensor(), false, Span::NONE);
        let bindings = vec![Binding { var: inner, value: op("exp", &[x]), span: Span::NONE }];
        let then = Body { blocks: vec![Block { dataflow: false, bindings }], result: inner.into() };
        let value = Value::If { cond: s.into(), then, otherwise: Body::of(x.into()) };
        let y = f.bind("y", tensor(), value);
        f.0.lambda.body.result = y.into();
        let graph = Graph::of(&f.0);
        assert_eq!(graph.users(x), [inner]);
        assert_eq!((graph.results(x), graph.results(inner)), (1, 1));
        assert_eq!(graph.users(s), [y]);
        assert_eq!(graph.def(inner).unwrap().position.body, 1);
    }

    #[test]
    fn patterns_look_through_aliases() {
        let (mut f, x, _) = Sketch::new();
        let t = f.bind("t", tensor(), op("permute_dims", &[x]));
        let u = f.bind("u", tensor(), Value::Operand(t.into()));
        let y = f.bind("y", tensor(), op("matmul", &[x, u]));
        let graph = Graph::of(&f.0);
        let matched = || {
            let product = Operand::Var(y);
            let [_, transposed] = graph.op(&product, "matmul")?.operands()?;
            let [w] = graph.op(transposed, "permute_dims")?.operands()?;
            w.as_var()
        };
        assert_eq!(matched(), Some(x));
        assert!(graph.op(&Operand::Var(t), "matmul").is_none());
        assert!(graph.constant(&Operand::Var(x)).is_none());
    }
}
