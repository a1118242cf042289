//! Pattern matching.

use super::{CallPattern, CalleePattern, NodeId, Pattern, PatternNode, Relation};
use crate::{
    AttrValue, Module, Name, PrimExpr, Type,
    arith::Analyzer,
    relax::{Call, Callee, Function, Graph, Operand, Position, Value, Var},
};
use rustc_hash::FxHashMap;

/// Maximum number of nodes tried at one value.
const MAX_STEPS: usize = 100_000;

/// The operators whose operands are tried in both orders.
const COMMUTATIVE: [&str; 2] = ["add", "multiply"];

/// The error of a pattern with too many possible matches at one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyMatches;

/// The subject that a node is matched against.
#[derive(Clone, Copy)]
enum Subject<'a> {
    /// A variable that is no alias.
    Var(Var),
    /// An operand that is no variable.
    Operand(&'a Operand),
}

impl Subject<'_> {
    /// Returns true if both are identical, not just equal.
    fn is(self, other: Subject) -> bool {
        match (self, other) {
            (Subject::Var(a), Subject::Var(b)) => a == b,
            (Subject::Operand(Operand::Const(a)), Subject::Operand(Operand::Const(b))) => a.tensor.ptr_eq(&b.tensor),
            (Subject::Operand(a), Subject::Operand(b)) => std::ptr::eq(a, b),
            _ => false,
        }
    }
}

impl Pattern {
    /// Matches the pattern at `root` and returns the variables of the matched calls and tuple members, `root` last.
    ///
    /// # Errors
    /// When there are too many possible matches to try.
    pub fn find(
        &self,
        module: &Module,
        function: &Function,
        graph: &Graph,
        root: Var,
    ) -> Result<Option<Vec<Var>>, TooManyMatches> {
        let Some(def) = graph.def(root) else { return Ok(None) };
        let (known, found, open, position) = (FxHashMap::default(), Vec::new(), Vec::new(), def.position);
        let mut matcher = Matcher { pattern: self, module, function, graph, position, known, found, open, steps: 0 };
        let fits = matcher.node(self.root, Subject::Var(root)) && matcher.match_users();
        if matcher.steps > MAX_STEPS {
            return Err(TooManyMatches);
        }
        Ok(fits.then(|| matcher.variables()))
    }
}

struct Matcher<'a> {
    pattern: &'a Pattern,
    module: &'a Module,
    function: &'a Function,
    graph: &'a Graph<'a>,
    /// Position of the root.
    position: Position,
    /// Subjects matched by nodes.
    known: FxHashMap<NodeId, Subject<'a>>,
    /// These nodes, in the order in which they were found.
    found: Vec<NodeId>,
    /// Relations to nodes that are not matched yet.
    open: Vec<(Subject<'a>, Relation, NodeId)>,
    steps: usize,
}

/// A checkpoint for backtracking.
#[derive(Clone, Copy)]
struct Checkpoint {
    found: usize,
    open: usize,
}

impl<'a> Matcher<'a> {
    fn variables(&self) -> Vec<Var> {
        let mut variables = Vec::new();
        for node in &self.found {
            if let PatternNode::Call(_) | PatternNode::Member(..) = self.pattern.nodes[*node]
                && let Subject::Var(var) = self.known[node]
                && !variables.contains(&var)
            {
                variables.push(var);
            }
        }
        variables
    }

    /// Returns true if a node matches a subject; otherwise the attempt is rolled back.
    fn node(&mut self, node: NodeId, subject: Subject<'a>) -> bool {
        if let Some(known) = self.known.get(&node) {
            return known.is(subject);
        }
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return false;
        }
        let checkpoint = self.checkpoint();
        let fits = self.matches_node(node, subject) && self.satisfies_relations(node, subject);
        if fits {
            self.known.insert(node, subject);
            self.found.push(node);
        } else {
            self.roll_back(checkpoint);
        }
        fits
    }

    fn operand(&mut self, node: NodeId, operand: &'a Operand) -> bool {
        self.node(node, self.subject(operand))
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint { found: self.found.len(), open: self.open.len() }
    }

    fn roll_back(&mut self, checkpoint: Checkpoint) {
        for node in self.found.drain(checkpoint.found..) {
            self.known.remove(&node);
        }
        self.open.truncate(checkpoint.open);
    }

    fn matches_node(&mut self, node: NodeId, subject: Subject<'a>) -> bool {
        let pattern = self.pattern;
        match &pattern.nodes[node] {
            PatternNode::Any => true,
            PatternNode::Constant => matches!(subject, Subject::Operand(Operand::Const(_))),
            PatternNode::Parameter(name) => match subject {
                Subject::Var(var) => {
                    let called = || &self.function.vars[var].name;
                    self.graph.def(var).is_none() && name.as_ref().is_none_or(|name| called() == name)
                }
                Subject::Operand(_) => false,
            },
            PatternNode::Number(number) => match subject {
                Subject::Operand(Operand::Prim(e)) => {
                    e.as_float().or_else(|| e.as_int().map(|v| v as f64)) == Some(*number)
                }
                _ => false,
            },
            PatternNode::Shape(sizes) => match subject {
                Subject::Operand(Operand::Shape(dims)) => {
                    let same =
                        |(dim, size): (&PrimExpr, &Option<i64>)| size.is_none_or(|size| dim.as_int() == Some(size));
                    dims.len() == sizes.len() && dims.iter().zip(sizes).all(same)
                }
                _ => false,
            },
            PatternNode::Global(part) => {
                matches!(subject, Subject::Operand(Operand::Global(name)) if name.contains(&**part))
            }
            PatternNode::Extern(wanted) => match subject {
                Subject::Operand(Operand::Extern(name)) => wanted.as_ref().is_none_or(|wanted| wanted == name),
                _ => false,
            },
            PatternNode::Call(wanted) => match self.value(subject) {
                Some(Value::Call(call)) => self.call(wanted, call),
                _ => false,
            },
            PatternNode::Member(tuple, index) => match self.value(subject) {
                Some(Value::TupleGet(of, at)) => index.is_none_or(|index| index == *at) && self.operand(*tuple, of),
                _ => false,
            },
            PatternNode::Tuple { members, ordered } => match subject {
                Subject::Operand(Operand::Tuple(fields)) if fields.len() == members.len() => {
                    if *ordered {
                        members.iter().zip(fields).all(|(member, field)| self.operand(*member, field))
                    } else {
                        self.matches_in_any_order(members, fields, &mut vec![false; fields.len()])
                    }
                }
                _ => false,
            },
            PatternNode::Either(first, second) => self.node(*first, subject) || self.node(*second, subject),
            PatternNode::Both(first, second) => self.node(*first, subject) && self.node(*second, subject),
            PatternNode::Not(refused) => !self.node(*refused, subject),
            PatternNode::Tensor(inner, wanted) => wanted.accepts(&self.ty(subject)) && self.node(*inner, subject),
            PatternNode::Related(inner, relation, other) => {
                self.node(*inner, subject)
                    && match self.known.get(other) {
                        Some(known) => self.relates(subject, *relation, *known),
                        None => {
                            self.open.push((subject, *relation, *other));
                            true
                        }
                    }
            }
        }
    }

    /// Returns true if the relations to a node hold if it matches the subject.
    fn satisfies_relations(&self, node: NodeId, subject: Subject) -> bool {
        self.open.iter().all(|(first, relation, other)| *other != node || self.relates(*first, *relation, subject))
    }

    fn relates(&self, first: Subject, relation: Relation, second: Subject) -> bool {
        match relation {
            Relation::SameShape => {
                let (a, b) = (self.ty(first), self.ty(second));
                let dims = |ty: &Type| ty.as_tensor()?.dims().map(<[PrimExpr]>::to_vec);
                let analyzer = Analyzer::for_shapes();
                dims(&a)
                    .zip(dims(&b))
                    .is_some_and(|(a, b)| a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| analyzer.prove_eq(a, b)))
            }
            Relation::UsedBy { operand, only } => {
                let (Subject::Var(var), Subject::Var(user), Some(Value::Call(call))) =
                    (first, second, self.value(second))
                else {
                    return false;
                };
                let uses = |arg: &Operand| {
                    let mut found = false;
                    arg.walk(&mut |part| found |= self.subject(part).is(first));
                    found
                };
                let used = match operand {
                    Some(number) => call.args.get(number).is_some_and(uses),
                    None => call.args.iter().any(uses),
                };
                used && (!only || self.graph.only_user(var) == Some(user))
            }
        }
    }

    /// Returns true if the required users of matched values exist; they become part of the match.
    fn match_users(&mut self) -> bool {
        let mut at = 0;
        while let Some((first, relation, other)) = self.open.get(at).copied() {
            at += 1;
            let (Relation::UsedBy { .. }, Subject::Var(var), false) =
                (relation, first, self.known.contains_key(&other))
            else {
                continue;
            };
            let graph = self.graph;
            if !graph.users(var).iter().any(|user| self.node(other, Subject::Var(*user))) {
                return false;
            }
        }
        true
    }

    fn call(&mut self, wanted: &'a CallPattern, call: &'a Call) -> bool {
        let same = match (&wanted.callee, &call.callee) {
            (CalleePattern::Op(wanted), Callee::Op(name)) => wanted == name,
            (CalleePattern::Global(part), Callee::Global(name)) => name.contains(&**part),
            (CalleePattern::Extern(wanted), Callee::Extern(name)) => wanted == name,
            _ => false,
        };
        let (count, most) = (wanted.args.len(), call.args.len());
        let enough = if wanted.open { count <= most } else { count == most };
        let attr = |(name, value): &(Name, AttrValue)| call.attrs.get(name).is_some_and(|given| equal(given, value));
        if !same || !enough || !wanted.attrs.iter().all(attr) {
            return false;
        }
        let checkpoint = self.checkpoint();
        if wanted.args.iter().zip(&call.args).all(|(node, arg)| self.operand(*node, arg)) {
            return true;
        }
        self.roll_back(checkpoint);
        COMMUTATIVE.iter().any(|op| call.is_op(op))
            && wanted.args.iter().zip(call.args.iter().rev()).all(|(node, arg)| self.operand(*node, arg))
    }

    /// Returns true if the members match the remaining fields, in some order.
    fn matches_in_any_order(&mut self, members: &'a [NodeId], fields: &'a [Operand], taken: &mut [bool]) -> bool {
        let Some((first, rest)) = members.split_first() else { return true };
        for at in 0..fields.len() {
            let checkpoint = self.checkpoint();
            if !taken[at] && self.operand(*first, &fields[at]) {
                taken[at] = true;
                if self.matches_in_any_order(rest, fields, taken) {
                    return true;
                }
                taken[at] = false;
                self.roll_back(checkpoint);
            }
        }
        false
    }

    /// The operand, with aliases resolved.
    fn subject<'o>(&self, mut operand: &'o Operand) -> Subject<'o>
    where
        'a: 'o,
    {
        loop {
            let Operand::Var(var) = operand else { return Subject::Operand(operand) };
            match self.graph.def(*var).map(|def| &def.binding.value) {
                Some(Value::Operand(other)) => operand = other,
                _ => return Subject::Var(*var),
            }
        }
    }

    /// The value of a variable, when it is bound in the root's block.
    fn value(&self, subject: Subject) -> Option<&'a Value> {
        let Subject::Var(var) = subject else { return None };
        let def = self.graph.def(var)?;
        let here = (def.position.body, def.position.block) == (self.position.body, self.position.block);
        here.then_some(&def.binding.value)
    }

    fn ty(&self, subject: Subject) -> Type {
        match subject {
            Subject::Var(var) => self.function.ty(var).clone(),
            Subject::Operand(operand) => self.function.operand_ty(self.module, operand),
        }
    }
}

/// Returns true if two plain attributes, or lists of such, are the same.
fn equal(a: &AttrValue, b: &AttrValue) -> bool {
    match (a, b) {
        (AttrValue::Str(a), AttrValue::Str(b)) => a == b,
        (AttrValue::DType(a), AttrValue::DType(b)) => a == b,
        (AttrValue::Bool(a), AttrValue::Bool(b)) => a == b,
        _ if a.is_none() || b.is_none() => a.is_none() && b.is_none(),
        _ => match (a.as_list(), b.as_list()) {
            (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
            (None, None) => a.as_float().is_some() && a.as_float() == b.as_float(),
            _ => false,
        },
    }
}
