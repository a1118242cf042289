//! Outlining: extracts bindings into a new function.

use super::{Binding, Block, Body, Call, Callee, Function, Lambda, Operand, Renumbering, Value, Var};
use crate::{Attrs, Module, Name, PrimExpr, Span, Type, prim, types::ShapeType};
use rustc_hash::{FxHashMap, FxHashSet};

/// An outlined function.
pub struct Outlined {
    /// The function: one dataflow block with the bindings. It returns the output, or a tuple of several.
    pub function: Function,
    /// Arguments of the call.
    pub args: Vec<Argument>,
}

/// An argument of an outlined function, in terms of the function that the bindings were in.
pub enum Argument {
    /// An operand.
    Operand(Operand),
    /// A field of a tuple that the bindings use only by its fields.
    Field(Var, usize),
}

/// Options of outlining.
#[derive(Clone, Copy, Default)]
pub struct Outlining {
    /// True if constants become parameters.
    pub lift_constants: bool,
    /// True if scalars and shapes other than plain numbers become parameters.
    pub lift_sizes: bool,
}

impl Function {
    /// Outlines bindings, in their order. The parameters are the operands that the bindings use and do not define, in
    /// order of first use, and one shape of the symbolic variables that no parameter's type defines. Scalars and shapes
    /// of plain numbers stay in the bindings.
    pub fn outline(&self, module: &Module, bindings: Vec<Binding>, outputs: &[Var], how: Outlining) -> Outlined {
        let result = match outputs {
            [output] => Operand::Var(*output),
            _ => Operand::Tuple(outputs.iter().map(|v| Operand::Var(*v)).collect()),
        };
        let body = Body { blocks: vec![Block { dataflow: true, bindings }], result };
        let lambda =
            Lambda { params: Vec::new(), ret_ty: Type::Any, pure: true, attrs: Attrs::new(), body, span: Span::NONE };
        let (mut function, numbers) = Function::around(self, lambda);
        for info in function.vars.values_mut() {
            info.dataflow = false;
        }
        let mut body = std::mem::replace(&mut function.lambda.body, Body::of(Operand::Tuple(Vec::new())));
        for binding in body.bindings() {
            let output = outputs.iter().any(|output| numbers.new_var(*output) == Some(binding.var));
            function.vars[binding.var].dataflow = !output;
        }
        let mut closer = Parameterizer::new(&body, how);
        closer.body(&mut function, &numbers, &mut body);
        let ret_ty = function.operand_ty(module, &body.result);
        let (params, mut args) = (closer.params, closer.args);
        (function.lambda.params, function.lambda.ret_ty, function.lambda.body) = (params, ret_ty, body);
        let undefined = function.undefined_dims();
        if !undefined.is_empty() {
            let dims: Vec<PrimExpr> = undefined.iter().map(prim::Var::expr).collect();
            args.push(Argument::Operand(Operand::Shape(dims.clone())));
            let shape = function.new_var("tir_vars", Type::Shape(ShapeType::Known(dims.into())), false, Span::NONE);
            function.lambda.params.push(shape);
        }
        function.renew_dims();
        Outlined { function, args }
    }
}

fn resolve(aliases: &FxHashMap<Var, Operand>, operand: &mut Operand) {
    if let Operand::Var(v) = operand
        && let Some(value) = aliases.get(v)
    {
        *operand = value.clone();
    }
}

/// Returns true if a scalar or shape is of plain numbers.
fn is_plain(operand: &Operand) -> bool {
    let mut plain = true;
    operand.each_expr(&mut |e| plain &= e.as_int().is_some() || e.as_float().is_some());
    plain
}

/// Adds parameters for the free operands of bindings.
struct Parameterizer {
    how: Outlining,
    /// Variables that are bound inside, or are parameters.
    known: FxHashSet<Var>,
    /// Tuples from outside that are used as a whole.
    whole: FxHashSet<Var>,
    params: Vec<Var>,
    args: Vec<Argument>,
    /// Parameters for fields of tuples, and for constants.
    fields: FxHashMap<(Var, usize), Var>,
    constants: Vec<(crate::Tensor, Var)>,
    /// Number of parameters without a name of their own.
    without_name: usize,
}

impl Parameterizer {
    fn new(body: &Body, how: Outlining) -> Self {
        let mut known = FxHashSet::default();
        let mut whole = FxHashSet::default();
        for binding in body.bindings() {
            known.insert(binding.var);
            match &binding.value {
                Value::TupleGet(..) => {}
                value => value.each_operand(&mut |o| {
                    o.each_var(&mut |v| {
                        whole.insert(v);
                    });
                }),
            }
        }
        let (params, args, fields, constants) = Default::default();
        Parameterizer { how, known, whole, params, args, fields, constants, without_name: 0 }
    }

    fn body(&mut self, function: &mut Function, numbers: &Renumbering, body: &mut Body) {
        let mut aliases: FxHashMap<Var, Operand> = FxHashMap::default();
        for block in &mut body.blocks {
            block.bindings.retain_mut(|binding| {
                if let Value::TupleGet(Operand::Var(tuple), index) = binding.value
                    && !self.known.contains(&tuple)
                    && !self.whole.contains(&tuple)
                {
                    aliases.insert(binding.var, self.field(function, numbers, tuple, index).into());
                    return false;
                }
                if let Value::Call(Call { callee: Callee::Var(v), .. }) = &binding.value {
                    self.var(*v, numbers);
                }
                binding.value.each_operand_mut(&mut |o| {
                    o.map(&mut |o| resolve(&aliases, o));
                    self.operand(function, numbers, o);
                });
                true
            });
        }
        body.result.map(&mut |o| resolve(&aliases, o));
    }

    fn operand(&mut self, function: &mut Function, numbers: &Renumbering, operand: &mut Operand) {
        match operand {
            Operand::Var(v) => self.var(*v, numbers),
            Operand::Tuple(fields) => fields.iter_mut().for_each(|o| self.operand(function, numbers, o)),
            Operand::Const(constant) if self.how.lift_constants => {
                let same = self.constants.iter().find(|(tensor, _)| tensor.ptr_eq(&constant.tensor));
                let param = match same {
                    Some((_, param)) => *param,
                    None => {
                        let param = self.unnamed(function, constant.ty());
                        self.constants.push((constant.tensor.clone(), param));
                        self.args.push(Argument::Operand(operand.clone()));
                        param
                    }
                };
                *operand = param.into();
            }
            Operand::Prim(_) | Operand::Shape(_) if self.how.lift_sizes && !is_plain(operand) => {
                let ty = match operand {
                    Operand::Prim(e) => Type::Prim(e.dtype()),
                    Operand::Shape(dims) => Type::shape(dims.iter().cloned()),
                    _ => Type::Any,
                };
                let param = self.unnamed(function, ty);
                self.args.push(Argument::Operand(std::mem::replace(operand, param.into())));
            }
            _ => {}
        }
    }

    /// A parameter for an unnamed operand.
    fn unnamed(&mut self, function: &mut Function, ty: Type) -> Var {
        let param = function.new_var(format!("param_{}", self.without_name), ty, false, Span::NONE);
        self.without_name += 1;
        self.params.push(param);
        param
    }

    fn var(&mut self, var: Var, numbers: &Renumbering) {
        if self.known.insert(var)
            && let Some(original) = numbers.original(var)
        {
            self.params.push(var);
            self.args.push(Argument::Operand(original.into()));
        }
    }

    fn field(&mut self, function: &mut Function, numbers: &Renumbering, tuple: Var, index: usize) -> Var {
        if let Some(param) = self.fields.get(&(tuple, index)) {
            return *param;
        }
        let name = Name::from(format!("{}_{index}", function.vars[tuple].name));
        let ty = function.ty(tuple).as_tuple().and_then(|fields| fields.get(index)).cloned().unwrap_or(Type::Any);
        let param = function.new_var(name, ty, false, Span::NONE);
        self.fields.insert((tuple, index), param);
        self.params.push(param);
        if let Some(original) = numbers.original(tuple) {
            self.args.push(Argument::Field(original, index));
        }
        param
    }
}
