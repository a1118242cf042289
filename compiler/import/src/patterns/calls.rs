//! Calls in patterns: operators, functions of `tvm.relax.dpl`, and constraints.

use super::{
    error::{Read, wrong},
    reader::Reader,
    values::{attribute, dtype, elements, index, integer, sizes, text},
};
use crate::script::nearest_operator;
use hammock_diagnostics::{Diagnostic, Span, count};
use hammock_ir::{
    AttrValue, Name,
    relax::{
        Callee,
        pattern::{CallPattern, CalleePattern, NodeId, PatternNode, Relation, TensorPattern},
    },
};
use hammock_ops::{Op, OperandKind, ParamKind, lookup};
use hammock_runtime::suggest::nearest;
use hammock_syntax::ast::{Arg, Call, Expr, ExprKind, Star};

/// The functions that create patterns.
const FUNCTIONS: [&str; 11] = [
    "is_call_dps_packed",
    "is_call_packed",
    "is_call_tir",
    "is_const",
    "is_gv",
    "is_op",
    "is_shape",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "wildcard",
];

/// The methods that constrain patterns.
const METHODS: [&str; 7] = ["has_attr", "has_dtype", "has_shape", "has_ty", "only_used_by", "same_shape_as", "used_by"];

impl Reader {
    /// Reads a call as a pattern.
    ///
    /// # Errors
    /// The first error in it.
    pub fn call(&mut self, call: &Call, e: &Expr) -> Read<NodeId> {
        if let Some(operator) = operator_path(&call.func) {
            return self.operator(&operator, call.func.span, &call.args, e.span);
        }
        match &call.func.kind {
            ExprKind::Name(function) => self.function(function, call, e.span),
            ExprKind::Attribute(attribute) => {
                let inner = self.pattern(&attribute.value)?;
                self.method(inner, &attribute.name.name, attribute.name.span, call, e.span)
            }
            ExprKind::Call(made) => match &made.func.kind {
                ExprKind::Name(name) if &**name == "is_op" => {
                    let arg = one(made)?;
                    let full = text(arg)?;
                    let name = full.strip_prefix("relax.").unwrap_or(full);
                    self.operator(name, arg.span, &call.args, e.span)
                }
                ExprKind::Name(name) if &**name == "is_gv" => {
                    let name = self.optional_text(&made.args)?.unwrap_or_else(|| "".into());
                    let (args, open, _) = self.args(&call.args)?;
                    let callee = CalleePattern::Global(name);
                    self.add(PatternNode::Call(CallPattern { callee, args, open, attrs: Vec::new() }), e.span)
                }
                _ => Err(not_called(call.func.span)),
            },
            _ => Err(not_called(call.func.span)),
        }
    }

    /// A call of an operator: its operands, and constraints on its attributes.
    fn operator(&mut self, name: &str, name_span: Span, args: &[Arg], span: Span) -> Read<NodeId> {
        let Some(op) = lookup(name) else {
            let error = wrong(name_span, format!("there is no operator `R.{name}`"));
            return Err(match nearest_operator(name) {
                Some(near) => error.help(format!("did you mean `R.{near}`?")),
                None => error.help("`hammock ops` lists the operators"),
            });
        };
        let (operands, open, keywords) = self.args(args)?;
        let given = keywords.iter().map(|(name, value)| attribute_of(op, name, value)).collect::<Read<Vec<_>>>()?;
        check_count(op, operands.len(), open, span)?;
        let (callee, attrs) = (CalleePattern::Op(op.name), completed(op, &given));
        self.add(PatternNode::Call(CallPattern { callee, args: operands, open, attrs }), span)
    }

    /// Positional operands, whether more may follow, and named arguments.
    #[allow(clippy::type_complexity)]
    fn args<'e>(&mut self, args: &'e [Arg]) -> Read<(Vec<NodeId>, bool, Vec<(&'e str, &'e Expr)>)> {
        let (mut operands, mut open, mut keywords) = (Vec::new(), false, Vec::new());
        for arg in args {
            match (&arg.name, &arg.value.kind) {
                _ if arg.star != Star::None => return Err(wrong(arg.span(), "patterns take no `*`")),
                (Some(name), ExprKind::Bool(on)) if name.as_str() == "varg_default_wildcard" => open = *on,
                (Some(name), _) => keywords.push((name.as_str(), &arg.value)),
                (None, ExprKind::Ellipsis) => open = true,
                (None, _) if open => return Err(wrong(arg.value.span, "operands cannot follow `...`")),
                (None, _) => operands.push(self.pattern(&arg.value)?),
            }
        }
        Ok((operands, open, keywords))
    }

    fn function(&mut self, function: &str, call: &Call, span: Span) -> Read<NodeId> {
        let args = &call.args;
        let node = match function {
            "wildcard" => nothing(call).map(|()| PatternNode::Any)?,
            "is_const" => nothing(call).map(|()| PatternNode::Constant)?,
            "is_var" => PatternNode::Parameter(self.optional_text(args)?),
            "is_gv" => PatternNode::Global(self.optional_text(args)?.unwrap_or_else(|| "".into())),
            "is_shape" => PatternNode::Shape(sizes(one(call)?)?),
            "is_op" => return Err(wrong(span, "the operator is not called").help("write `is_op(\"relax.add\")(x, y)`")),
            "is_tuple" => return self.tuple(call, span),
            "is_tuple_get_item" => match args.as_slice() {
                [tuple] => PatternNode::Member(self.pattern(&tuple.value)?, None),
                [tuple, at] => PatternNode::Member(self.pattern(&tuple.value)?, Some(index(&at.value)?)),
                _ => return Err(wrong(span, "`is_tuple_get_item` takes a tuple and a number")),
            },
            "is_call_tir" => return self.destination("call_tir", args, span),
            "is_call_dps_packed" => return self.destination("call_dps_packed", args, span),
            "is_call_packed" => return self.packed(args, span),
            _ => return Err(no_function(function, call.func.span)),
        };
        self.add(node, span)
    }

    fn tuple(&mut self, call: &Call, span: Span) -> Read<NodeId> {
        let (members, unordered) = match call.args.as_slice() {
            [members] => (&members.value, false),
            [members, unordered] => match &unordered.value.kind {
                ExprKind::Bool(on) => (&members.value, *on),
                _ => return Err(wrong(unordered.span(), "`unordered` is `True` or `False`")),
            },
            _ => return Err(wrong(span, "`is_tuple` takes a list of patterns")),
        };
        let list = elements(members).ok_or_else(|| wrong(members.span, "expected a list of patterns"))?;
        let members = self.patterns(list)?;
        self.add(PatternNode::Tuple { members, ordered: !unordered }, span)
    }

    /// A destination-passing call of a kernel or external function.
    fn destination(&mut self, op: &'static str, args: &[Arg], span: Span) -> Read<NodeId> {
        let Some((name, rest)) = args.split_first() else { return Err(wrong(span, "the function's name is missing")) };
        let called = Name::from(text(&name.value)?);
        let function = if op == "call_tir" { PatternNode::Global(called) } else { PatternNode::Extern(Some(called)) };
        let mut operands = vec![self.add(function, name.value.span)?];
        match rest {
            [] => operands.push(self.add(PatternNode::Any, span)?),
            rest => rest.iter().try_for_each(|arg| self.pattern(&arg.value).map(|node| operands.push(node)))?,
        }
        let callee = CalleePattern::Op(op);
        self.add(PatternNode::Call(CallPattern { callee, args: operands, open: false, attrs: Vec::new() }), span)
    }

    fn packed(&mut self, args: &[Arg], span: Span) -> Read<NodeId> {
        let Some((name, rest)) = args.split_first() else { return Err(wrong(span, "the function's name is missing")) };
        let callee = CalleePattern::Extern(text(&name.value)?.into());
        let (args, open) = match rest {
            [] => (Vec::new(), true),
            [list] => match elements(&list.value) {
                Some(list) => (self.patterns(list)?, false),
                None => return Err(wrong(list.value.span, "expected a list of patterns")),
            },
            _ => return Err(wrong(span, "`is_call_packed` takes a name and a list of patterns")),
        };
        self.add(PatternNode::Call(CallPattern { callee, args, open, attrs: Vec::new() }), span)
    }

    fn method(&mut self, inner: NodeId, method: &str, name_span: Span, call: &Call, span: Span) -> Read<NodeId> {
        let node = match method {
            "has_dtype" => tensor(inner, TensorPattern { dtype: Some(dtype(one(call)?)?), ..Default::default() }),
            "has_shape" => tensor(inner, TensorPattern { sizes: Some(sizes(one(call)?)?), ..Default::default() }),
            "has_ty" => tensor(inner, tensor_type(one(call)?)?),
            "has_attr" => self.with_attributes(inner, one(call)?, span)?,
            "same_shape_as" => return self.same_shape(inner, call, span),
            "used_by" => self.used_by(inner, call, false)?,
            "only_used_by" => self.used_by(inner, call, true)?,
            _ => {
                let error = wrong(name_span, format!("patterns have no `{method}`"));
                return Err(match nearest(method, METHODS) {
                    Some(near) => error.did_you_mean(name_span, near),
                    None => error.help(format!("they have {}", METHODS.join(", "))),
                });
            }
        };
        self.add(node, span)
    }

    fn same_shape(&mut self, inner: NodeId, call: &Call, span: Span) -> Read<NodeId> {
        let others = call.args.iter().map(|arg| self.pattern(&arg.value)).collect::<Read<Vec<NodeId>>>()?;
        if others.is_empty() {
            return Err(wrong(call.func.span, "`same_shape_as` takes patterns, none is given"));
        }
        others
            .into_iter()
            .try_fold(inner, |inner, other| self.add(PatternNode::Related(inner, Relation::SameShape, other), span))
    }

    fn used_by(&mut self, inner: NodeId, call: &Call, only: bool) -> Read<PatternNode> {
        let (user, operand) = match call.args.as_slice() {
            [user] => (user, None),
            // TVM writes -1 for any operand.
            [user, number] if integer(&number.value) == Some(-1) => (user, None),
            [user, number] => (user, Some(index(&number.value)?)),
            _ => {
                return Err(wrong(call.func.span, "this takes the pattern of a call, and perhaps an operand's number"));
            }
        };
        let other = self.pattern(&user.value)?;
        if !self.is_call(other) {
            return Err(wrong(user.value.span, "only a call uses values").help("write a pattern such as `R.add(_, _)`"));
        }
        Ok(PatternNode::Related(inner, Relation::UsedBy { operand, only }, other))
    }

    /// The same call, with attributes.
    fn with_attributes(&mut self, inner: NodeId, given: &Expr, span: Span) -> Read<PatternNode> {
        let ExprKind::Dict(entries) = &given.kind else {
            return Err(wrong(given.span, "expected attributes, such as `{\"axis\": 1}`"));
        };
        let PatternNode::Call(call) = &self.nodes[inner] else { return Err(no_attributes(span)) };
        let CalleePattern::Op(op) = call.callee else { return Err(no_attributes(span)) };
        let (mut call, op) = (call.clone(), lookup(op).ok_or_else(|| no_attributes(span))?);
        let given = entries.iter().map(|(name, value)| attribute_of(op, text(name)?, value));
        call.attrs.extend(completed(op, &given.collect::<Read<Vec<_>>>()?));
        Ok(PatternNode::Call(call))
    }

    fn optional_text(&self, args: &[Arg]) -> Read<Option<Name>> {
        match args {
            [] => Ok(None),
            [name] => Ok(Some(text(&name.value)?.into()).filter(|name: &Name| !name.is_empty())),
            [_, more, ..] => Err(wrong(more.value.span, "there is one name at most")),
        }
    }
}

/// The operator that `R.nn.relu` or `relax.nn.relu` names.
fn operator_path(e: &Expr) -> Option<String> {
    match &e.kind {
        ExprKind::Attribute(attribute) => match &attribute.value.kind {
            ExprKind::Name(base) if matches!(&**base, "R" | "relax") => Some(attribute.name.name.to_string()),
            _ => {
                let rest = operator_path(&attribute.value)?;
                // `relax.op.nn.relu`, the name of TVM's function.
                Some(if rest == "op" {
                    attribute.name.name.to_string()
                } else {
                    format!("{rest}.{}", attribute.name.name)
                })
            }
        },
        _ => None,
    }
}

/// The only argument.
fn one(call: &Call) -> Read<&Expr> {
    match call.args.as_slice() {
        [arg] => Ok(&arg.value),
        args => Err(wrong(call.func.span, format!("this takes one argument, {} given", given(args.len())))),
    }
}

fn nothing(call: &Call) -> Read<()> {
    match call.args.first() {
        None => Ok(()),
        Some(arg) => Err(wrong(arg.span(), "this takes no argument")),
    }
}

fn given(n: usize) -> String {
    if n == 1 { "1 is".to_owned() } else { format!("{n} are") }
}

fn tensor(inner: NodeId, wanted: TensorPattern) -> PatternNode {
    PatternNode::Tensor(inner, wanted)
}

/// `R.Tensor((1, _), "float32")`, `R.Tensor(ndim=2)`.
fn tensor_type(e: &Expr) -> Read<TensorPattern> {
    let ExprKind::Call(call) = &e.kind else { return Err(no_type(e.span)) };
    if operator_path(&call.func).as_deref() != Some("Tensor") {
        return Err(no_type(e.span));
    }
    let mut wanted = TensorPattern::default();
    for arg in &call.args {
        match (arg.name.as_ref().map(|name| name.as_str()), &arg.value.kind) {
            (None | Some("dtype"), ExprKind::Str(_)) => wanted.dtype = Some(dtype(&arg.value)?),
            (None | Some("shape"), _) => wanted.sizes = Some(sizes(&arg.value)?),
            (Some("ndim"), _) => wanted.rank = Some(index(&arg.value)?),
            _ => return Err(wrong(arg.span(), "`R.Tensor` takes a shape, a dtype and `ndim`")),
        }
    }
    Ok(wanted)
}

fn no_type(span: Span) -> Diagnostic {
    wrong(span, "expected the type of a tensor, such as `R.Tensor((1, _), \"float32\")`")
}

fn no_attributes(span: Span) -> Diagnostic {
    wrong(span, "only a call of an operator has attributes").help("write `R.nn.conv2d(x, w).has_attr({\"groups\": 1})`")
}

fn not_called(span: Span) -> Diagnostic {
    wrong(span, "this cannot be called").help("operators are called as `R.nn.relu(x)`")
}

fn no_function(name: &str, span: Span) -> Diagnostic {
    let error = wrong(span, format!("there is no `{name}` in patterns"));
    match (nearest(name, FUNCTIONS), nearest_operator(name)) {
        (Some(near), _) => error.did_you_mean(span, near),
        (None, Some(near)) => error.did_you_mean(span, format!("R.{near}")),
        (None, None) => error.help(format!("there are {}, and operators such as `R.add`", FUNCTIONS.join(", "))),
    }
}

/// Checks the number of operands of an operator's call.
fn check_count(op: &Op, operands: usize, open: bool, span: Span) -> Read<()> {
    let variadic = op.operands().any(|p| p.kind == ParamKind::Operand(OperandKind::Variadic));
    let required = op.operands().filter(|p| {
        p.default.is_none()
            && !matches!(p.kind, ParamKind::Operand(OperandKind::OptionalTensor | OperandKind::Variadic))
    });
    let (min, max) = (required.count(), op.operands().count());
    let message = |takes: String| wrong(span, format!("`R.{}` takes {takes}, the pattern has {operands}", op.name));
    if operands > max && !variadic {
        let error = message(count(max, "operand"));
        return Err(error.help(format!("attributes are named: {}", names(op))));
    }
    if operands < min && !open {
        let names: Vec<&str> = op.operands().map(|p| p.name).collect();
        let error = message(count(min, "operand"));
        return Err(error.help(format!("they are {}; `_` is any, `...` any that follow", names.join(", "))));
    }
    Ok(())
}

fn names(op: &Op) -> String {
    let names: Vec<String> = op.attrs().iter().map(|p| format!("`{}=`", p.name)).collect();
    if names.is_empty() { "there are none".to_owned() } else { names.join(", ") }
}

/// The value of an attribute that an operator has.
fn attribute_of(op: &Op, name: &str, value: &Expr) -> Read<(&'static str, AttrValue)> {
    for param in &op.params {
        match param.kind {
            ParamKind::Attr(kind) if param.name == name => return Ok((param.name, attribute(kind, name, value)?)),
            ParamKind::Operand(_) if param.name == name => {
                return Err(wrong(value.span, format!("`{name}` is an operand: give it by its position")));
            }
            _ => {}
        }
    }
    let error = wrong(value.span, format!("`R.{}` has no attribute `{name}`", op.name));
    Err(match nearest(name, op.attrs().iter().map(|p| p.name)) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help(format!("its attributes: {}", names(op))),
    })
}

/// Attributes in full form, as in calls: `padding=1` is four numbers.
fn completed(op: &Op, given: &[(&'static str, AttrValue)]) -> Vec<(Name, AttrValue)> {
    let call = op.call(Vec::new(), given.to_vec());
    let full = |name: &str| match call.callee {
        Callee::Op(callee) if callee == op.name => call.attrs.get(name).cloned(),
        _ => None,
    };
    given.iter().map(|(name, value)| (Name::from(*name), full(name).unwrap_or_else(|| value.clone()))).collect()
}
