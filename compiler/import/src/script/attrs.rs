//! Values as attributes: of functions, loops, blocks and operators.

use super::{
    args::{Arg, Args},
    context::{Read, Reported},
    eval::{Dialect, Eval},
    scope::ClosedScope,
    types,
    value::Value,
};
use hammock_diagnostics::{Span, codes};
use hammock_ir::{
    AttrValue, Attrs, DType, PrimExpr, Type,
    prim::{self, IndexMap, Reducer},
    relax::Operand,
};
use std::sync::Arc;

impl<D: Dialect> Eval<'_, '_, D> {
    /// A value as an attribute; plain numbers stay plain.
    pub fn to_attr(&mut self, arg: &Arg) -> Read<AttrValue> {
        let span = arg.span;
        Ok(match &arg.value {
            Value::None => AttrValue::None,
            Value::Bool(v) => AttrValue::Bool(*v),
            Value::Int(_) => AttrValue::Int(self.to_int(arg)?),
            Value::Float(v) => AttrValue::Float(*v),
            Value::Str(text) => AttrValue::Str(text.clone()),
            Value::Tuple(items) | Value::List(items) => AttrValue::List(self.attr_items(items, span)?),
            Value::Dict(pairs) => AttrValue::Dict(self.attr_pairs(pairs, span)?),
            Value::Scalar(e) => AttrValue::Expr(e.clone()),
            Value::Type(ty) => AttrValue::Type(ty.clone()),
            Value::Global(name) => AttrValue::Global(name.clone()),
            Value::Buffer(buffer) => AttrValue::Buffer(buffer.clone()),
            Value::IterVar(axis) => AttrValue::IterVar(axis.clone()),
            Value::Attr(value) => value.clone(),
            Value::Operand(operand) => match self.operand_attr(operand) {
                Some(value) => value,
                None => return Err(self.expected(arg, "an attribute value")),
            },
            other => {
                let bare = match other {
                    Value::Path(path) => types::bare(path),
                    _ => None,
                };
                match bare.or_else(|| self.as_prim_type(other).map(|ty| Type::Prim(ty.dtype()))) {
                    Some(ty) => AttrValue::Type(ty),
                    None => return Err(self.expected(arg, "an attribute value")),
                }
            }
        })
    }

    fn operand_attr(&mut self, operand: &Operand) -> Option<AttrValue> {
        match operand {
            Operand::Const(c) => Some(AttrValue::Tensor(c.tensor.clone())),
            Operand::Prim(e) => Some(AttrValue::Expr(e.clone())),
            Operand::Str(text) => Some(AttrValue::Str(text.clone())),
            Operand::DType(t) => Some(AttrValue::DType(*t)),
            Operand::Shape(dims) => Some(AttrValue::List(dims.iter().cloned().map(AttrValue::Expr).collect())),
            Operand::Global(name) => Some(AttrValue::Global(name.clone())),
            Operand::Opaque(value) => Some((**value).clone()),
            Operand::Tuple(items) => {
                items.iter().map(|o| self.operand_attr(o)).collect::<Option<_>>().map(AttrValue::List)
            }
            Operand::Var(_) | Operand::Extern(_) => None,
        }
    }

    fn attr_items(&mut self, items: &[Value], span: Span) -> Read<Vec<AttrValue>> {
        items.iter().map(|value| self.to_attr(&Arg { value: value.clone(), span })).collect()
    }

    fn attr_pairs(&mut self, pairs: &[(Value, Value)], span: Span) -> Read<Vec<(AttrValue, AttrValue)>> {
        let mut attr = |value: &Value| self.to_attr(&Arg { value: value.clone(), span });
        pairs.iter().map(|(k, v)| Ok((attr(k)?, attr(v)?))).collect()
    }

    /// A dictionary with string keys as attributes.
    pub fn to_attrs(&mut self, arg: &Arg) -> Read<Attrs> {
        let pairs = match &arg.value {
            Value::Dict(pairs) => pairs.clone(),
            Value::None => Vec::new(),
            _ => return Err(self.expected(arg, "a dictionary")),
        };
        let mut attrs = Attrs::new();
        for (key, value) in pairs {
            let key = self.to_str(&Arg { value: key, span: arg.span })?;
            attrs.set(key, self.to_attr(&Arg { value, span: arg.span })?);
        }
        Ok(attrs)
    }

    /// The entries of a dictionary, as in devices and targets.
    pub fn to_dict(&mut self, arg: &Arg) -> Read<Vec<(AttrValue, AttrValue)>> {
        match self.to_attr(arg)? {
            AttrValue::Dict(pairs) | AttrValue::Target(pairs) => Ok(pairs),
            _ => Err(self.expected(arg, "a dictionary")),
        }
    }

    /// `T.index_map(lambda i, j: (j, i), inverse_index_map=…)`
    pub fn index_map(&mut self, mut args: Args) -> Read<Value> {
        let mapping = args.need(self.cx, "mapping")?;
        let inverse = args.keyword("inverse_index_map");
        let dtype = args.keyword("index_dtype");
        args.finish(self.cx)?;
        let dtype = dtype.map_or(Ok(DType::INT64), |arg| self.to_dtype(&arg))?;
        let mut map = self.to_index_map(&mapping, dtype)?;
        if let Some(inverse) = inverse.filter(|arg| !matches!(arg.value, Value::None)) {
            map.inverse = Some(Arc::new(self.to_index_map(&inverse, dtype)?));
        }
        Ok(Value::Attr(AttrValue::IndexMap(Arc::new(map))))
    }

    /// An index map, or a lambda that becomes one over indices of that dtype.
    pub fn to_index_map(&mut self, arg: &Arg, dtype: DType) -> Read<IndexMap> {
        match &arg.value {
            Value::Attr(AttrValue::IndexMap(map)) => Ok((**map).clone()),
            Value::Lambda(_) => {
                let (params, results) = self.open_lambda(arg, |_| dtype)?;
                Ok(IndexMap { params, results, inverse: None })
            }
            _ => Err(self.expected(arg, "an index map")),
        }
    }

    /// `T.comm_reducer(lambda x, y: x + y, [T.float32(0)])`
    pub fn reducer(&mut self, mut args: Args) -> Read<Value> {
        let combiner = args.need(self.cx, "combiner")?;
        let identity = args.need(self.cx, "identity")?;
        args.finish(self.cx)?;
        let identity = self.to_scalars(&identity)?;
        let dtypes: Vec<DType> = identity.iter().map(PrimExpr::dtype).collect();
        let n = dtypes.len();
        let (mut lhs, result) = self.open_lambda(&combiner, |i| dtypes[i % n.max(1)])?;
        if n == 0 || lhs.len() != 2 * n || result.len() != n {
            let message = "a reducer over n values takes 2·n parameters and gives n results";
            return Err(self.cx.error(codes::WRONG_VALUE, combiner.span, message, format!("n is {n} here")));
        }
        let rhs = lhs.split_off(n);
        Ok(Value::Attr(AttrValue::Reducer(Arc::new(Reducer { lhs, rhs, result, identity }))))
    }

    /// The parameters of a lambda as new variables, and its results.
    fn open_lambda(&mut self, arg: &Arg, dtype: impl Fn(usize) -> DType) -> Read<(Vec<prim::Var>, Vec<PrimExpr>)> {
        let Value::Lambda(lambda) = &arg.value else { return Err(self.expected(arg, "a lambda")) };
        if lambda.params.is_empty() {
            return Err(self.lambda_without_parameters(arg));
        }
        let name = |(i, p): (usize, &hammock_syntax::ast::Ident)| prim::Var::new(p.name.clone(), dtype(i));
        let params: Vec<prim::Var> = lambda.params.iter().enumerate().map(name).collect();
        self.scope.push();
        for param in &params {
            self.scope.define(param.name().clone(), Value::Scalar(param.expr()));
        }
        let body = self.arg(&lambda.body);
        let results = match &body.value {
            Value::Tuple(_) | Value::List(_) => self.to_scalars(&body),
            _ => self.to_scalar(&body).map(|e| vec![e]),
        };
        self.scope.pop(ClosedScope::Function);
        Ok((params, results?))
    }

    fn lambda_without_parameters(&mut self, arg: &Arg) -> Reported {
        self.cx.error(codes::WRONG_VALUE, arg.span, "the lambda needs parameters", "")
    }
}
