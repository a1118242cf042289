//! Prints types.

use super::{
    literal,
    names::Entity,
    printer::{Dialect, Printer},
};
use crate::{
    CallableType, DTensorType, DType, DeviceMesh, PrimExpr, TensorShape, TensorType, Type, VDevice, module::GlobalInfo,
    prim::PrimType, relax, types::ShapeType,
};
use std::sync::Arc;

impl Printer<'_> {
    /// Appends a type.
    pub fn ty(&mut self, ty: &Type) {
        match ty {
            // Erroneous types are never printed in modules; in messages they are unknown types.
            Type::Any | Type::Error => self.relax("Any"),
            Type::Prim(dtype) => self.tir(&dtype.to_string()),
            Type::String => self.ir("StringType()"),
            Type::Shape(shape) => self.shape_type(shape),
            Type::Tensor(tensor) => self.tensor_type(tensor),
            Type::Tuple(members) if members.is_empty() => self.relax("Tuple"),
            Type::Tuple(members) => {
                self.relax("Tuple(");
                self.list(members, |p, m| p.ty(m));
                self.push(")");
            }
            Type::Callable(callable) => self.callable_type(callable),
            Type::DTensor(tensor) => self.dtensor_type(tensor),
        }
    }

    /// Appends the type of a scalar variable.
    pub fn prim_type(&mut self, ty: &PrimType) {
        match ty {
            PrimType::Scalar(dtype) => self.tir(&dtype.to_string()),
            PrimType::Pointer(None, scope) if scope == "global" => self.tir("handle"),
            PrimType::Pointer(element, scope) => {
                self.tir("handle(");
                if let Some(dtype) = element {
                    self.quote(&dtype.to_string());
                }
                if element.is_none() {
                    self.push("storage_scope=");
                    self.quote(scope);
                } else if !scope.is_empty() {
                    self.push(", ");
                    self.quote(scope);
                }
                self.push(")");
            }
        }
    }

    /// Appends a dimension. In a signature, expressions over symbolic variables are quoted, because they are evaluated
    /// before the variables exist.
    pub fn dim(&mut self, dim: &PrimExpr) {
        let text = self.capture(|p| p.expr(dim));
        let quoted = match self.frames.last().and_then(|f| f.signature.as_ref()) {
            Some(s) if !dim.as_var().is_some_and(|v| s.type_vars.contains(v)) => {
                dim.any(&mut |e| e.as_var().is_some_and(|v| s.symbols.contains(v)))
            }
            _ => false,
        };
        if quoted { self.quote(&text) } else { self.push(&text) }
    }

    /// Appends a variable of the graph.
    pub fn relax_var(&mut self, var: relax::Var) {
        match self.names.get(&Entity::Relax(var)) {
            Some(name) => self.push(&name),
            None => {
                let name = self.graph.and_then(|f| f.vars.get(var)).map(|info| info.name.clone());
                match name {
                    Some(name) => self.push(&name),
                    None => self.show(var),
                }
            }
        }
    }

    fn shape_type(&mut self, shape: &ShapeType) {
        match shape {
            ShapeType::Unknown => self.relax("Shape(ndim=-1)"),
            ShapeType::Rank(n) => self.relax(&format!("Shape(ndim={n})")),
            ShapeType::Known(dims) => {
                self.relax("Shape([");
                self.list(dims.iter(), |p, d| p.dim(d));
                self.push("])");
            }
        }
    }

    fn tensor_type(&mut self, tensor: &TensorType) {
        self.relax("Tensor(");
        self.tensor_shape(&tensor.shape);
        self.dtype_keyword(tensor.dtype);
        self.ndim_keyword(&tensor.shape);
        if let Some(vdevice) = &tensor.vdevice {
            self.comma();
            self.push("vdevice=");
            self.vdevice_name(vdevice);
        }
        if self.line.ends_with('(') {
            self.line.pop();
        } else {
            self.push(")");
        }
    }

    fn tensor_shape(&mut self, shape: &TensorShape) {
        match shape {
            TensorShape::Known(dims) => self.tuple(dims.iter(), |p, d| p.dim(d)),
            TensorShape::Var(var, _) => self.relax_var(*var),
            TensorShape::Rank(_) | TensorShape::Unknown => {}
        }
    }

    fn dtype_keyword(&mut self, dtype: Option<DType>) {
        if let Some(dtype) = dtype {
            self.comma();
            self.push("dtype=");
            self.quote(&dtype.to_string());
        }
    }

    fn ndim_keyword(&mut self, shape: &TensorShape) {
        if let TensorShape::Rank(n) = shape {
            self.comma();
            self.show(format_args!("ndim={n}"));
        }
    }

    fn callable_type(&mut self, callable: &CallableType) {
        let purity = if callable.pure { "True" } else { "False" };
        let Some(params) = &callable.params else {
            self.relax("Callable(");
            if !matches!(callable.ret, Type::Any) {
                self.push("ret=");
                self.ty(&callable.ret);
            }
            if callable.pure {
                self.comma();
                self.push("purity=True");
            }
            if self.line.ends_with('(') {
                self.line.pop();
            } else {
                self.push(")");
            }
            return;
        };
        self.relax("Callable(");
        self.tuple(params, |p, t| p.ty(t));
        self.push(", ");
        self.ty(&callable.ret);
        self.push(", ");
        self.push(purity);
        self.push(")");
    }

    /// Appends the type of a distributed tensor.
    pub fn dtensor_type(&mut self, ty: &DTensorType) {
        let tensor = &ty.tensor;
        let positional = tensor.dims().is_some() || matches!(tensor.shape, TensorShape::Var(..));
        self.relax("DTensor(");
        self.tensor_shape(&tensor.shape);
        match tensor.dtype {
            Some(dtype) if positional => {
                self.comma();
                self.quote(&dtype.to_string());
            }
            dtype => self.dtype_keyword(dtype),
        }
        let positional = positional && tensor.dtype.is_some();
        self.comma();
        self.push(if positional { "" } else { "device_mesh=" });
        self.mesh(&ty.mesh);
        self.push(if positional { ", " } else { ", placement=" });
        self.quote(&ty.placement);
        self.ndim_keyword(&tensor.shape);
        self.push(")");
    }

    /// Appends a virtual device as types and operators refer to it: `"llvm:0:global"`.
    pub fn vdevice_name(&mut self, vdevice: &Arc<VDevice>) {
        let index = self.vdevice_index(vdevice).unwrap_or(vdevice.index);
        let mut text = String::new();
        literal::push(&mut text, format_args!("{}:{index}:{}", vdevice.kind(), vdevice.scope));
        self.quote(&text);
    }

    /// The device's number among those of its kind that the module declares.
    fn vdevice_index(&self, vdevice: &Arc<VDevice>) -> Option<i64> {
        let mut index = 0;
        for info in self.module?.global_infos.get("vdevice")? {
            if let GlobalInfo::VDevice(other) = info {
                if Arc::ptr_eq(other, vdevice) {
                    return Some(index);
                }
                index += i64::from(other.kind() == vdevice.kind());
            }
        }
        None
    }

    /// Appends a device mesh: by its index among the module's, or in full.
    pub fn mesh(&mut self, mesh: &Arc<DeviceMesh>) {
        if self.dialect == Dialect::Relax
            && let Some(reference) = self.mesh_reference(mesh)
        {
            return self.quote(&reference);
        }
        self.relax("device_mesh(");
        self.tuple(&mesh.shape, |p, n| p.show(n));
        match mesh.range {
            Some((start, end)) => {
                self.push(", ");
                self.ir(&format!("Range({start}, {end})"));
            }
            None => {
                self.push(", [");
                self.list(&mesh.ids, |p, n| p.show(n));
                self.push("]");
            }
        }
        self.push(")");
    }

    fn mesh_reference(&self, mesh: &Arc<DeviceMesh>) -> Option<String> {
        for (name, infos) in &self.module?.global_infos {
            let same =
                |info: &GlobalInfo| matches!(info, GlobalInfo::DeviceMesh(m) if Arc::ptr_eq(m, mesh) || m == mesh);
            if let Some(index) = infos.iter().position(same) {
                return Some(format!("{name}[{index}]"));
            }
        }
        None
    }
}
