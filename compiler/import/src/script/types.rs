//! Relax types, in every spelling.

use super::{
    args::{Arg, Args},
    context::Read,
    eval::{Dialect, Eval},
    path::{Path, Space},
    value::Value,
};
use hammock_diagnostics::{Diagnostic, codes, count};
use hammock_ir::{
    CallableType, DTensorType, DType, Name, PrimExpr, TensorShape, TensorType, Type, relax::Operand, types::ShapeType,
};
use std::sync::Arc;

/// Advice on dynamic sizes.
const UNKNOWN_SIZE: &str = "a size that is not known yet is a symbolic dimension, `n = TypeVar(\"n\")` above the \
     module; a shape of which nothing but its rank is known is given as `ndim=2`";

/// Names of `R` that are types.
pub(crate) const TYPES: [&str; 8] = ["Tensor", "Shape", "Tuple", "Callable", "Any", "Object", "Prim", "DTensor"];

impl<D: Dialect> Eval<'_, '_, D> {
    /// A call of a type of `R`: `R.Tensor((n, 4), dtype="float32")`.
    pub fn type_call(&mut self, name: &str, args: Args) -> Read<Value> {
        let span = args.span;
        let ty = match name {
            "Tensor" => Type::Tensor(self.tensor_type(args)?),
            "Shape" => Type::Shape(self.shape_type(args)?),
            "Tuple" => self.tuple_type(args)?,
            "Callable" => self.callable_type(args)?,
            "Prim" => return self.prim_type(args),
            "DTensor" => self.dtensor_type(args)?,
            _ => {
                args.finish(self.cx)?;
                Type::Any
            }
        };
        match ty.excess() {
            Some(excess) => Err(self.cx.error(codes::BAD_TYPE, span, format!("the type is too large: {excess}"), "")),
            None => Ok(Value::Type(ty)),
        }
    }

    /// A type: a call, a bare name, or `None` for the empty tuple.
    pub fn to_type(&mut self, arg: &Arg) -> Read<Type> {
        let found = match &arg.value {
            Value::Type(ty) => Some(ty.clone()),
            Value::None => Some(Type::void()),
            Value::Scalar(e) => Some(Type::Prim(e.dtype())),
            Value::Path(path) => bare(path),
            Value::List(_) => {
                let diagnostic = Diagnostic::error(codes::BAD_TYPE, "a list is not a type").label(arg.span, "");
                let help = "the type of a tuple is written `R.Tuple(R.Tensor((n, 4), \"float32\"), R.Shape([n]))`";
                return Err(self.cx.report(diagnostic.help(help)));
            }
            Value::Tuple(items) => {
                let item = |value: &Value| self.to_type(&Arg { value: value.clone(), span: arg.span });
                Some(Type::Tuple(items.iter().map(item).collect::<Read<_>>()?))
            }
            _ => None,
        };
        let found = found.or_else(|| self.as_prim_type(&arg.value).map(|ty| Type::Prim(ty.dtype())));
        found.ok_or_else(|| {
            if matches!(arg.value, Value::Broken) {
                return self.cx.reported_before();
            }
            let message = format!("expected a type, found {}", arg.value.describe());
            let diagnostic = Diagnostic::error(codes::BAD_TYPE, message).label(arg.span, "");
            self.cx.report(
                diagnostic.help(
                    "types are written as `R.Tensor((n, 4), dtype=\"float32\")`, `R.Shape([n])`, `R.Any`, `T.int64`",
                ),
            )
        })
    }

    /// Several types: a list or tuple of them, or one.
    pub fn to_types(&mut self, arg: &Arg) -> Read<Vec<Type>> {
        match &arg.value {
            Value::Tuple(items) | Value::List(items) => {
                items.iter().map(|value| self.to_type(&Arg { value: value.clone(), span: arg.span })).collect()
            }
            _ => Ok(vec![self.to_type(arg)?]),
        }
    }

    fn rank(&mut self, arg: Option<Arg>) -> Read<Option<usize>> {
        match arg {
            Some(arg) => Ok(usize::try_from(self.to_int(&arg)?).ok()),
            None => Ok(None),
        }
    }

    fn tensor_type(&mut self, mut args: Args) -> Read<TensorType> {
        let given = |arg: Option<Arg>| arg.filter(|arg| !matches!(arg.value, Value::None));
        let mut shape = given(args.take("shape"));
        let mut dtype = given(args.take("dtype"));
        let device = given(args.take("vdevice"));
        let ndim = args.take("ndim");
        let span = args.span;
        args.finish(self.cx)?;
        if dtype.is_none() && shape.as_ref().is_some_and(|arg| matches!(arg.value, Value::Str(_))) {
            dtype = shape.take();
        }
        let ndim = self.rank(ndim)?;
        let shape = match shape {
            Some(arg) => self.tensor_shape(&arg)?,
            None => ndim.map_or(TensorShape::Unknown, TensorShape::Rank),
        };
        if let (Some(n), Some(known)) = (ndim, shape.ndim())
            && n != known
        {
            let message = format!("the shape has {}, but `ndim` is {n}", count(known, "dimension"));
            return Err(self.cx.error(codes::BAD_TYPE, span, message, "leave `ndim` out"));
        }
        let dtype = match dtype {
            Some(arg) => Some(self.to_dtype(&arg)?).filter(|t| !t.is_void()),
            None => None,
        };
        let vdevice = device.map(|arg| self.to_vdevice(&arg)).transpose()?;
        Ok(TensorType { shape, dtype, vdevice })
    }

    fn tensor_shape(&mut self, arg: &Arg) -> Read<TensorShape> {
        if let Value::Operand(Operand::Var(var)) = &arg.value {
            return match D::shape_var(self, *var) {
                Some(ty) => Ok(TensorShape::Var(*var, ty.ndim())),
                None => Err(self.expected(arg, "a shape")),
            };
        }
        self.dims(arg).map(|dims| TensorShape::Known(dims.into()))
    }

    /// Dimensions: int64 expressions, quoted if they introduce variables.
    pub fn dims(&mut self, arg: &Arg) -> Read<Vec<PrimExpr>> {
        if let Value::Str(_) | Value::Type(_) | Value::Path(_) | Value::Int(_) | Value::Float(_) = &arg.value {
            return Err(self.expected(arg, "a shape, such as `(n, 4)`"));
        }
        let items = self.elements(arg)?;
        let dim = |value| self.dim(&Arg { value, span: arg.span });
        items.into_iter().map(dim).collect()
    }

    /// One size, as an int64.
    pub fn dim(&mut self, arg: &Arg) -> Read<PrimExpr> {
        let unknown = match &arg.value {
            Value::None => true,
            Value::Str(text) => &**text == "?",
            _ => false,
        };
        if unknown {
            let diagnostic = Diagnostic::error(codes::BAD_TYPE, "a dimension is an integer expression");
            return Err(self.cx.report(diagnostic.label(arg.span, "").help(UNKNOWN_SIZE)));
        }
        let e = self.quoted(arg, DType::INT64)?;
        if e.dtype().is_integer() && e.dtype().is_scalar() {
            return Ok(hammock_ir::arith::cast(e, DType::INT64));
        }
        Err(self.cx.error(codes::BAD_TYPE, arg.span, format!("a dimension is an integer, not a {}", e.dtype()), ""))
    }

    fn shape_type(&mut self, mut args: Args) -> Read<ShapeType> {
        let values = args.take("values").filter(|arg| !matches!(arg.value, Value::None));
        let ndim = args.take("ndim");
        args.finish(self.cx)?;
        let ndim = self.rank(ndim)?;
        match values {
            Some(arg) => self.dims(&arg).map(|dims| ShapeType::Known(dims.into())),
            None => Ok(ndim.map_or(ShapeType::Unknown, ShapeType::Rank)),
        }
    }

    fn tuple_type(&mut self, mut args: Args) -> Read<Type> {
        let mut fields = Vec::new();
        let lone = args.positional.len() == 1;
        while let Some(arg) = args.positional.pop_front() {
            match &arg.value {
                Value::Tuple(_) | Value::List(_) if lone => fields.extend(self.to_types(&arg)?),
                _ => fields.push(self.to_type(&arg)?),
            }
        }
        args.finish(self.cx)?;
        Ok(Type::Tuple(fields))
    }

    fn callable_type(&mut self, mut args: Args) -> Read<Type> {
        let params = args.take("params").filter(|arg| !matches!(arg.value, Value::None));
        let ret = args.take("ret").filter(|arg| !matches!(arg.value, Value::None));
        let purity = args.take("purity").filter(|arg| !matches!(arg.value, Value::None));
        let derive = args.take("derive_func").filter(|arg| !matches!(arg.value, Value::None));
        args.finish(self.cx)?;
        let params = params.map(|arg| self.to_types(&arg)).transpose()?;
        let ret = ret.map_or(Ok(Type::Any), |arg| self.to_type(&arg))?;
        let pure = purity.map_or(Ok(params.is_some()), |arg| self.to_bool(&arg))?;
        let derive = derive.map(|arg| self.to_str(&arg)).transpose()?;
        Ok(Type::Callable(Arc::new(CallableType { params, ret, pure, derive })))
    }

    /// `R.Prim("int64")`; the older `R.Prim(value="n")` is the type and value of the variable `n`.
    fn prim_type(&mut self, mut args: Args) -> Read<Value> {
        if let Some(value) = args.keyword("value") {
            args.finish(self.cx)?;
            return self.dim(&value).map(Value::Scalar);
        }
        let dtype = args.need(self.cx, "dtype")?;
        args.finish(self.cx)?;
        self.to_dtype(&dtype).map(|t| Value::Type(Type::Prim(t)))
    }

    fn dtensor_type(&mut self, mut args: Args) -> Read<Type> {
        let mesh = args.keyword("device_mesh");
        let placement = args.keyword("placement");
        let mut tensor = Args::new(args.callee.clone(), args.span);
        tensor.positional = args.positional.drain(..args.positional.len().min(2)).collect();
        let (mesh, placement) =
            (mesh.or_else(|| args.take("device_mesh")), placement.or_else(|| args.take("placement")));
        tensor.positional.extend(std::mem::take(&mut args.positional));
        tensor.keywords = std::mem::take(&mut args.keywords);
        let tensor = self.tensor_type(tensor)?;
        let (Some(mesh), Some(placement)) = (mesh, placement) else {
            let message = "`R.DTensor` needs a device mesh and a placement";
            return Err(self.cx.error(codes::WRONG_ARGUMENTS, args.span, message, ""));
        };
        let mesh = self.to_mesh(&mesh)?;
        let placement: Name = self.to_placement(&placement)?;
        Ok(Type::DTensor(Arc::new(DTensorType { tensor, mesh, placement })))
    }
}

/// The type that a bare name denotes.
pub(crate) fn bare(path: &Path) -> Option<Type> {
    match (path.space, &*path.name) {
        (Space::Relax, "Tensor") => Some(Type::Tensor(TensorType::with_rank(None, None))),
        (Space::Relax, "Shape") => Some(Type::Shape(ShapeType::Unknown)),
        (Space::Relax, "Tuple") => Some(Type::void()),
        (Space::Relax, "Any" | "Object") => Some(Type::Any),
        (Space::Relax, "Callable") => Some(Type::Callable(Arc::new(CallableType::opaque()))),
        (Space::Ir, "StringType") => Some(Type::String),
        _ => None,
    }
}
