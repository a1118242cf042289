//! Matmul of int8 activations by packed weights, whose groups of elements are summed in int32.

use super::PackedWeights;
use hammock_ir::{
    Attrs, DType, PrimExpr, Span,
    prim::{IterKind, Var},
    tir::{Block, BlockAxis, Buffer, Param, PrimFunc, Region, Stmt},
};

impl PackedWeights {
    /// Dtype of the packed matrix of [`Self::matmul_kernel`].
    pub fn unsigned_dtype(&self) -> DType {
        if self.bits == 8 { DType::UINT8 } else { self.packed_dtype() }
    }

    /// Returns the kernel that multiplies int8 activations by the matrix. Its inputs are the activations (rows, K), their
    /// scales (rows, K / `group`), the packed matrix, its scales, and the zero points if they have a dtype. Signed
    /// integers of 8 bits are stored as unsigned ones, plus 128.
    pub fn matmul_kernel(&self, rows: Option<i64>, group: i64) -> PrimFunc {
        let rows = rows.map_or_else(|| Var::int64("rows").expr(), PrimExpr::int64);
        let [terms, columns] = self.shape;
        let matrix = |name: &str, [rows, columns]: [i64; 2], dtype| {
            Buffer::new(name, vec![PrimExpr::int64(rows), PrimExpr::int64(columns)], dtype)
        };
        let of_rows =
            |name: &str, columns: i64, dtype| Buffer::new(name, vec![rows.clone(), PrimExpr::int64(columns)], dtype);
        let data = of_rows("data", terms, DType::INT8);
        let data_scales = of_rows("data_scales", terms / group, DType::FLOAT32);
        let numbers = matrix("numbers", self.packed_shape(), self.unsigned_dtype());
        let scales = matrix("scales", self.parameter_shape(), self.scale_dtype);
        let zeros = self.zero_dtype.map(|dtype| matrix("zeros", self.parameter_shape(), dtype));
        let matmul = of_rows("matmul", columns, DType::FLOAT32);
        let extents = [rows.clone(), PrimExpr::int64(terms), PrimExpr::int64(columns)];
        let [i, k, j] = ["i", "k", "j"].map(Var::int64);
        let axes: Vec<BlockAxis> = [(&i, &extents[0], false), (&j, &extents[2], false), (&k, &extents[1], true)]
            .map(|(var, extent, reduce)| BlockAxis {
                var: Var::int64(format!("v_{}", var.name())),
                dom: (PrimExpr::int64(0), extent.clone()),
                kind: if reduce { IterKind::Reduce } else { IterKind::Spatial },
                binding: var.expr(),
            })
            .into();
        let [row, column, term] = [0, 1, 2].map(|axis: usize| axes[axis].var.expr());
        let at_group = vec![self.group_of(&term), column.clone()];
        let loads = [
            (&data, vec![row.clone(), term.clone()]),
            (&data_scales, vec![row.clone(), term.clone().floordiv(group)]),
            (&numbers, vec![self.element_of(&term), column.clone()]),
            (&scales, at_group.clone()),
        ];
        let [x, x_scale, element, scale] = loads.clone().map(|(buffer, at)| PrimExpr::load(buffer, at));
        let byte = if self.bits == 8 { element } else { self.bits_of(element, &term).cast(DType::UINT8) };
        let number = byte.cast(DType::INT32);
        let zero = zeros.as_ref().map(|zeros| PrimExpr::load(zeros, at_group.clone()).cast(DType::INT32));
        let zero = zero.or_else(|| self.is_signed.then(|| PrimExpr::int32(self.offset())));
        let number = match zero {
            Some(zero) => number - zero,
            None => number,
        };
        let exact = (x.cast(DType::INT32) * number).cast(DType::FLOAT32);
        let result = vec![row, column];
        let value = PrimExpr::load(&matmul, result.clone()) + exact * (x_scale * scale.cast(DType::FLOAT32));
        let mut reads: Vec<Region> = loads.into_iter().map(|(buffer, at)| Region::point(buffer, at)).collect();
        reads.extend(zeros.as_ref().map(|zeros| Region::point(zeros, at_group)));
        let block = Block {
            name: "matmul".into(),
            axes,
            reads: Some(reads),
            writes: Some(vec![Region::point(&matmul, result.clone())]),
            init: Some(Stmt::store(&matmul, result.clone(), PrimExpr::constant(0.0, DType::FLOAT32))),
            ..Block::root(Vec::new(), Stmt::store(&matmul, result, value))
        };
        let loops = [(i, extents[0].clone()), (j, extents[2].clone()), (k, extents[1].clone())];
        let nest =
            loops.into_iter().rev().fold(Stmt::from(block), |body, (var, extent)| Stmt::serial(var, extent, body));
        let buffers = [Some(data), Some(data_scales), Some(numbers), Some(scales), zeros, Some(matmul)];
        PrimFunc {
            params: buffers.into_iter().flatten().map(Param::buffer).collect(),
            ret_ty: None,
            body: Block::root(Vec::new(), nest).into(),
            attrs: Attrs::new().with("tirx.noalias", true),
            s_tir: true,
            span: Span::NONE,
        }
    }
}
