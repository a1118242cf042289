//! The tokens of modules, graphs and types.

use super::token::{Sink, Walker};
use crate::{
    DTensorType, Module, TensorShape, TensorType, Type,
    module::{Function, GlobalInfo},
    relax::{self, Binding, Body, Callee, Lambda, Operand, Value},
    types::ShapeType,
};

impl<'a, S: Sink<'a>> Walker<'_, S> {
    pub fn module(&mut self, module: &'a Module) {
        self.part("attributes", |w| w.attrs(&module.attrs));
        let mut infos: Vec<_> = module.global_infos.iter().collect();
        infos.sort_by(|a, b| a.0.cmp(b.0));
        self.int(infos.len() as i64);
        for (name, list) in infos {
            self.text(name);
            self.part(name, |w| w.list(list, |w, info| w.global_info(info)));
        }
        let mut functions: Vec<_> = module.functions.iter().collect();
        functions.sort_by(|a, b| a.0.cmp(b.0));
        self.int(functions.len() as i64);
        for (name, function) in functions {
            self.text(name);
            self.part(name, |w| w.function(function));
        }
    }

    pub fn function(&mut self, function: &'a Function) {
        self.forget();
        match function {
            Function::Relax(f) => self.lambda(f, &f.lambda),
            Function::Tir(f) => self.prim_func(f),
            Function::Extern(f) => {
                self.kind("extern");
                self.text(&f.symbol);
                self.option(f.ty.as_ref(), |w, t| w.ty(t));
            }
        }
    }

    fn global_info(&mut self, info: &'a GlobalInfo) {
        match info {
            GlobalInfo::VDevice(device) => self.vdevice(device),
            GlobalInfo::DeviceMesh(mesh) => {
                self.kind("mesh");
                self.list(&mesh.shape, |w, v| w.int(*v));
                self.list(&mesh.ids, |w, v| w.int(*v));
            }
            GlobalInfo::Dummy => self.kind("dummy"),
        }
    }

    fn lambda(&mut self, f: &'a relax::Function, lambda: &'a Lambda) {
        self.kind(if lambda.pure { "function" } else { "impure function" });
        self.part("params", |w| w.list(&lambda.params, |w, p| w.definition(f, *p)));
        self.part("result type", |w| w.ty(&lambda.ret_ty));
        self.part("attributes", |w| w.attrs(&lambda.attrs));
        self.part("body", |w| w.body(f, &lambda.body));
    }

    fn definition(&mut self, f: &'a relax::Function, var: relax::Var) {
        self.graph_var(var);
        if let Some(info) = f.vars.get(var) {
            self.kind(if info.dataflow { "dataflow variable" } else { "variable" });
            self.part("type", |w| w.ty(&info.ty));
            self.option(info.scalar.as_ref(), |w, v| w.scalar(v));
        }
    }

    fn body(&mut self, f: &'a relax::Function, body: &'a Body) {
        self.list(&body.blocks, |w, block| {
            w.kind(if block.dataflow { "dataflow" } else { "block" });
            w.list(&block.bindings, |w, b| w.binding(f, b));
        });
        self.part("result", |w| w.operand(&body.result));
    }

    fn binding(&mut self, f: &'a relax::Function, binding: &'a Binding) {
        let recursive = matches!(binding.value, Value::Function(_));
        if recursive {
            self.graph_var(binding.var);
        }
        self.part("value", |w| w.value(f, &binding.value));
        self.definition(f, binding.var);
    }

    fn value(&mut self, f: &'a relax::Function, value: &'a Value) {
        match value {
            Value::Operand(operand) => self.operand(operand),
            Value::TupleGet(tuple, index) => {
                self.kind("get");
                self.operand(tuple);
                self.int(*index as i64);
            }
            Value::If { cond, then, otherwise } => {
                self.kind("if");
                self.part("condition", |w| w.operand(cond));
                self.part("then", |w| w.body(f, then));
                self.part("else", |w| w.body(f, otherwise));
            }
            Value::Function(lambda) => self.lambda(f, lambda),
            Value::MatchCast(operand, ty) => {
                self.kind("match_cast");
                self.operand(operand);
                self.ty(ty);
            }
            Value::Call(call) => {
                self.kind("call");
                match &call.callee {
                    Callee::Op(op) => self.text(op),
                    Callee::Global(name) => {
                        self.kind("global");
                        self.text(name);
                    }
                    Callee::Extern(symbol) => {
                        self.kind("extern");
                        self.text(symbol);
                    }
                    Callee::Var(var) => self.graph_var(*var),
                }
                self.part("args", |w| w.list(&call.args, |w, a| w.operand(a)));
                self.part("attributes", |w| w.attrs(&call.attrs));
                self.part("ty_args", |w| w.list(&call.ty_args, |w, t| w.ty(t)));
            }
        }
    }

    fn operand(&mut self, operand: &'a Operand) {
        match operand {
            Operand::Var(var) => {
                self.kind("variable");
                self.graph_var(*var);
            }
            Operand::Const(constant) => {
                self.tensor(&constant.tensor);
                if let Some(ty) = &constant.distributed {
                    self.distributed(ty);
                }
                if let Some(device) = &constant.vdevice {
                    self.part("vdevice", |w| w.vdevice(device));
                }
            }
            Operand::Prim(e) => self.expr(e),
            Operand::Shape(dims) => {
                self.kind("shape");
                self.list(dims, |w, d| w.expr(d));
            }
            Operand::Str(text) => {
                self.kind("string");
                self.text(text);
            }
            Operand::DType(dtype) => {
                self.kind("dtype");
                self.dtype(*dtype);
            }
            Operand::Global(name) => {
                self.kind("global");
                self.text(name);
            }
            Operand::Extern(symbol) => {
                self.kind("extern");
                self.text(symbol);
            }
            Operand::Tuple(members) => {
                self.kind("tuple");
                self.list(members, |w, m| w.operand(m));
            }
            Operand::Opaque(value) => self.attr(value),
        }
    }

    pub fn ty(&mut self, ty: &'a Type) {
        match ty {
            Type::Any => self.kind("Any"),
            Type::Error => self.kind("error"),
            Type::Prim(dtype) => {
                self.kind("scalar");
                self.dtype(*dtype);
            }
            Type::String => self.kind("string"),
            Type::Shape(shape) => {
                self.kind("shape");
                match shape {
                    ShapeType::Unknown => self.kind("nothing"),
                    ShapeType::Rank(n) => self.int(*n as i64),
                    ShapeType::Known(dims) => {
                        self.kind("dims");
                        self.list(dims, |w, d| w.expr(d));
                    }
                }
            }
            Type::Tensor(tensor) => self.tensor_type(tensor),
            Type::Tuple(members) => {
                self.kind("tuple");
                self.list(members, |w, t| w.ty(t));
            }
            Type::Callable(callable) => {
                self.kind(if callable.pure { "function" } else { "impure function" });
                self.option(callable.params.as_ref(), |w, p| w.list(p, |w, t| w.ty(t)));
                self.ty(&callable.ret);
                self.option(callable.derive.as_ref(), |w, n| w.text(n));
            }
            Type::DTensor(tensor) => self.distributed(tensor),
        }
    }

    fn distributed(&mut self, tensor: &'a DTensorType) {
        self.kind("distributed");
        self.tensor_type(&tensor.tensor);
        self.list(&tensor.mesh.shape, |w, v| w.int(*v));
        self.list(&tensor.mesh.ids, |w, v| w.int(*v));
        self.text(&tensor.placement);
    }

    fn tensor_type(&mut self, tensor: &'a TensorType) {
        self.kind("tensor");
        match &tensor.shape {
            TensorShape::Unknown => self.kind("nothing"),
            TensorShape::Rank(n) => self.int(*n as i64),
            TensorShape::Known(dims) => self.part("shape", |w| w.list(dims, |w, d| w.expr(d))),
            TensorShape::Var(var, _) => self.graph_var(*var),
        }
        self.part("dtype", |w| w.option(tensor.dtype.as_ref(), |w, t| w.dtype(*t)));
        match &tensor.vdevice {
            Some(device) => self.part("vdevice", |w| w.vdevice(device)),
            None => self.kind("nothing"),
        }
    }
}
