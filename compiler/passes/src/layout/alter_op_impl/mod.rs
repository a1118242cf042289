//! AlterOpImpl: replaces the kernels of operators by custom ones, possibly with other tensor layouts.
//!
//! A kernel belongs to the operator named by its attribute `operator_name`. `op_impl_map` names a kernel for each
//! operator, in the module or in the text file `file`; `op_buffer_transforms` has the layouts of its buffers,
//! arguments and then results, as index maps: `layout_transform` converts the arguments, and the results back. If the
//! layout is padded, a kernel `remove_pad` removes the padding. The new kernel is a private function of the module;
//! unused kernels remain for DeadCodeElimination.

mod replacement;

use crate::{
    Context, OptionKind, Pass, PassOption,
    rewrite::{self, Emitter},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    AttrValue, DType, Function as Global, Module, Name, Span, TensorShape, TensorType, Type,
    prim::{IndexMap, PrimExpr, Substitution, Var},
    relax::{Binding, Call, CallTir, Function, Operand, Value},
};
use hammock_ops::{layout_inverse, layout_shape, lookup};
use replacement::Replacement;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "AlterOpImpl",
    doc: "Replaces the kernels of operators by custom ones, possibly with other tensor layouts",
    options: &[
        PassOption {
            name: "op_impl_map",
            kind: OptionKind::Names,
            default: "{}",
            doc: "Replacement kernel of each operator (`operator_name` of kernels)",
        },
        PassOption {
            name: "op_buffer_transforms",
            kind: OptionKind::IndexMaps,
            default: "{}",
            doc: "Layouts of the replacement's buffers, by operator; `null` keeps a layout",
        },
        PassOption {
            name: "file",
            kind: OptionKind::Text,
            default: "\"\"",
            doc: "Text file with the replacements; if empty, the module has them",
        },
    ],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let mut altered =
        Replacer { replacements: replacement::all(module, context)?, without_padding: FxHashMap::default() };
    rewrite::relax_functions(module, |module, _, function| {
        rewrite::bindings(function, &mut |function, binding, out| match operator(module, &binding.value) {
            Some(name) if altered.replacements.contains_key(&name) => {
                let mut site = Site { span: binding.span, module, function, out };
                let value = altered.replace(&name, &binding.value, &mut site)?;
                out.push(Binding { value, ..binding });
                Ok(())
            }
            _ => {
                out.push(binding);
                Ok(())
            }
        })
    })
}

/// Returns the operator whose kernel a value calls.
fn operator(module: &Module, value: &Value) -> Option<Name> {
    module.tir(CallTir::of_value(value)?.kernel()?)?.attrs.get(replacement::OPERATOR)?.as_str().map(Name::from)
}

/// Replacements, and kernels added to the module so far.
struct Replacer {
    replacements: FxHashMap<Name, Replacement>,
    /// Kernels that remove padding, by rank and dtype.
    without_padding: FxHashMap<(usize, DType), Name>,
}

/// Position of a replaced call.
struct Site<'a> {
    module: &'a mut Module,
    function: &'a mut Function,
    out: &'a mut Emitter,
    span: Span,
}

impl Replacer {
    /// Returns the replacement of a call of an operator's kernel.
    fn replace(&mut self, operator: &str, value: &Value, site: &mut Site) -> Result<Value, Diagnostic> {
        let (Some(call), Some(replacement)) = (CallTir::of_value(value), self.replacements.get_mut(operator)) else {
            return Ok(value.clone());
        };
        let (out_ty, results) = (call.out_ty, call.outputs());
        let args = site.arguments(call);
        replacement.takes(args.len() + results.len(), site.span)?;
        let mut maps = replacement.maps.clone();
        maps.resize(args.len() + results.len(), None);
        let wanted = maps.split_off(args.len());
        let args = args.into_iter().zip(&maps).map(|(arg, map)| site.convert(arg, map.as_deref()));
        let args = args.collect::<Result<Vec<Operand>, _>>()?;
        let types = results.iter().zip(&wanted).map(|(ty, map)| site.converted_type(ty, map.as_deref()));
        let types = types.collect::<Result<Vec<Type>, _>>()?;
        let given = args.iter().map(|arg| site.function.operand_ty(site.module, arg));
        replacement.fits(&given.chain(types.iter().cloned()).collect::<Vec<_>>(), site.span)?;
        let is_tuple = matches!(out_ty, Type::Tuple(_));
        let ty = if is_tuple { Type::Tuple(types.clone()) } else { types[0].clone() };
        let value = Value::Call(Call::tir(replacement.name(site.module), args, ty.clone()));
        if wanted.iter().all(Option::is_none) {
            return Ok(value);
        }
        let whole = site.bind(ty, value);
        if !is_tuple {
            return self.back(whole, out_ty, wanted[0].as_deref(), site);
        }
        let mut members = Vec::with_capacity(results.len());
        for (i, ((result, ty), map)) in results.iter().zip(types).zip(&wanted).enumerate() {
            let member = site.bind(ty, Value::TupleGet(whole.clone(), i));
            let member = self.back(member, result, map.as_deref(), site)?;
            members.push(site.bind(result.clone(), member));
        }
        Ok(Value::Operand(Operand::Tuple(members)))
    }

    /// Converts a result back to the program's layout.
    fn back(
        &mut self,
        result: Operand,
        ty: &Type,
        map: Option<&IndexMap>,
        site: &mut Site,
    ) -> Result<Value, Diagnostic> {
        let Some(map) = map else { return Ok(Value::Operand(result)) };
        let (tensor, shape) = site.tensor(ty)?;
        let (inverse, is_full) = layout_inverse(map, shape).ok_or_else(|| {
            wrong("the layout of a result has no inverse: it must split, join or reorder axes", site.span)
        })?;
        let back = layout_transform(result, &inverse)?;
        if is_full {
            return Ok(Value::Call(back));
        }
        let padded = site.out.call(site.module, site.function, "lv", back, site.span)?;
        let dtype = tensor.dtype.ok_or_else(|| wrong("the kernel's result has no known dtype", site.span))?;
        let add = || site.module.add_unique("remove_pad", Global::Tir(replacement::remove_pad(shape.len(), dtype)));
        let name = self.without_padding.entry((shape.len(), dtype)).or_insert_with(add);
        Ok(Value::Call(Call::tir(name.clone(), vec![padded.into()], ty.clone())))
    }
}

impl Site<'_> {
    fn bind(&mut self, ty: Type, value: Value) -> Operand {
        match value {
            Value::Operand(operand) => operand,
            value => self.out.bind(self.function, "lv", ty, value, self.span).into(),
        }
    }

    /// Returns the arguments of a `call_tir`.
    fn arguments(&mut self, call: CallTir) -> Vec<Operand> {
        if let Some(inputs) = call.inputs() {
            return inputs.to_vec();
        }
        let Type::Tuple(types) = self.function.operand_ty(self.module, call.args) else {
            return vec![call.args.clone()];
        };
        let get = |(i, ty)| self.bind(ty, Value::TupleGet(call.args.clone(), i));
        types.into_iter().enumerate().map(get).collect()
    }

    /// Converts an argument to the layout of an index map. Scalar constants are the same in every layout.
    fn convert(&mut self, arg: Operand, map: Option<&IndexMap>) -> Result<Operand, Diagnostic> {
        let is_number = matches!(&arg, Operand::Const(constant) if constant.tensor.shape().is_empty());
        let Some(map) = map.filter(|_| !is_number) else { return Ok(arg) };
        let call = layout_transform(arg, map)?;
        Ok(self.out.call(self.module, self.function, "lv", call, self.span)?.into())
    }

    /// Returns the type of a result in another layout.
    fn converted_type(&self, ty: &Type, map: Option<&IndexMap>) -> Result<Type, Diagnostic> {
        let Some(map) = map else { return Ok(ty.clone()) };
        let (tensor, shape) = self.tensor(ty)?;
        let (takes, rank) = (map.params.len(), shape.len());
        if takes != rank {
            return Err(wrong(
                &format!("an index map takes {takes} indices, but the result has rank {rank}"),
                self.span,
            ));
        }
        let shape = layout_shape(map, shape)
            .ok_or_else(|| wrong("nothing says how large the layout of a result is", self.span))?;
        Ok(TensorType { shape: TensorShape::Known(shape.into()), ..tensor.clone() }.into())
    }

    /// Returns a result's type and shape.
    fn tensor<'t>(&self, ty: &'t Type) -> Result<(&'t TensorType, &'t [PrimExpr]), Diagnostic> {
        let known = ty.as_tensor().and_then(|tensor| Some((tensor, tensor.dims()?)));
        known.ok_or_else(|| wrong("the kernel's result has no known shape", self.span))
    }
}

fn wrong(why: &str, span: Span) -> Diagnostic {
    let message = format!("pass `AlterOpImpl` cannot replace a kernel: {why}");
    Diagnostic::error(codes::NOT_LOWERABLE, message).label(span, "called here")
}

/// Returns a call of `R.layout_transform` with an index map.
fn layout_transform(tensor: Operand, map: &IndexMap) -> Result<Call, Diagnostic> {
    let op = lookup("layout_transform").ok_or_else(|| wrong("there is no `layout_transform`", Span::NONE))?;
    let params: Vec<_> = map.params.iter().map(Var::fresh).collect();
    let values: Substitution = map.params.iter().cloned().zip(params.iter().map(Var::expr)).collect();
    let results = map.results.iter().map(|result| result.substitute(&values)).collect();
    let map = IndexMap { params, results, inverse: map.inverse.clone() };
    Ok(op.call(vec![tensor], [("index_map", AttrValue::IndexMap(Arc::new(map)))]))
}
