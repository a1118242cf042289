//! Stages as block TIR: a loop nest around a block for each, which [raises](super::raise) to the stage again.
//!
//! An epilogue is a block of its own behind the reduction, whose buffer then is in memory; stages of a row tile have its
//! number as the annotation `row_tile`.

use super::{ArgResult, Axis, Kernel, Part, Stage, arg_reduce::linear_position};
use hammock_ir::{
    Attrs, PrimExpr,
    prim::{BinaryOp, IterKind, PrimKind, Substitution, Var},
    tir::{Block, BlockAxis, Buffer, Region, Stmt, stage::SUM_PARTS},
};

/// Annotation of a block whose stage is row-tiled: the number of the tile.
const ROW_TILE: &str = "row_tile";

impl Kernel {
    /// The statements that compute the kernel, stage by stage.
    pub fn into_stmts(self) -> Vec<Stmt> {
        let (mut stmts, mut tiles) = (Vec::new(), 0);
        for part in self.parts {
            match part {
                Part::Stage(stage) => stmts.extend(stage.stmts(&Attrs::new())),
                Part::Rows(rows) => {
                    let annotations = Attrs::new().with(ROW_TILE, tiles);
                    stmts.extend(rows.stages.iter().flat_map(|stage| stage.stmts(&annotations)));
                    tiles += 1;
                }
                Part::Opaque(opaque) => stmts.push(opaque.stmt),
            }
        }
        stmts
    }
}

impl Stage {
    /// The nest of the stage, and that of its epilogue.
    fn stmts(&self, annotations: &Attrs) -> Vec<Stmt> {
        let mut own = annotations.clone();
        if let Some(part) = self.part {
            own.set(SUM_PARTS, part);
        }
        let init = |value: &PrimExpr| Stmt::store(&self.buffer, self.indices.clone(), value.clone());
        let (init, body) = match &self.arg_result {
            Some(arg) => {
                let arg_init = Stmt::store(&arg.buffer, self.indices.clone(), arg.init.clone());
                let init = self.init.as_ref().map(|value| Stmt::seq([arg_init, init(value)]));
                (init, self.arg_update(arg))
            }
            None => (self.init.as_ref().map(init), init(&self.value)),
        };
        let targets: Vec<&Buffer> =
            [&self.buffer].into_iter().chain(self.arg_result.as_ref().map(|arg| &arg.buffer)).collect();
        let writes = targets.into_iter().map(|buffer| Region::point(buffer, self.indices.clone())).collect();
        let mut stmts = vec![nest(&self.name, &self.axes, own, writes, init, body)];
        if let Some(epilogue) = &self.epilogue {
            let (axes, fresh) = fresh_axes(&self.axes);
            let indices: Vec<PrimExpr> = epilogue.indices.iter().map(|index| index.substitute(&fresh)).collect();
            let store = Stmt::store(&epilogue.buffer, indices.clone(), epilogue.value.substitute(&fresh));
            let name = format!("{}_epilogue", self.name);
            let writes = vec![Region::point(&epilogue.buffer, indices)];
            stmts.push(nest(&name, &axes, annotations.clone(), writes, None, store));
        }
        stmts
    }

    /// Selects a new element and its position, or the previous ones.
    fn arg_update(&self, arg: &ArgResult) -> Stmt {
        let PrimKind::Binary(op, old, new) = self.value.kind() else {
            return Stmt::store(&self.buffer, self.indices.clone(), self.value.clone());
        };
        let is_better = match op {
            BinaryOp::Max => new.clone().gt(old.clone()),
            _ => new.clone().lt(old.clone()),
        };
        let is_nan = |value: &PrimExpr| value.clone().ne(value.clone());
        let condition = match arg.selects_nan {
            true => is_better.or(is_nan(new).and(is_nan(old).not())),
            false => is_better,
        };
        let at: Vec<PrimExpr> = self.axes.iter().map(|axis| axis.var.expr()).collect();
        let position = linear_position(&self.axes, &at).cast(arg.buffer.dtype);
        let select = |buffer: &Buffer, value: PrimExpr| {
            let old = PrimExpr::load(buffer, self.indices.clone());
            Stmt::store(buffer, self.indices.clone(), condition.clone().select(value, old))
        };
        Stmt::seq([select(&arg.buffer, position), select(&self.buffer, new.clone())])
    }
}

/// The spatial axes with variables of their own, and the substitution of the old ones.
fn fresh_axes(axes: &[Axis]) -> (Vec<Axis>, Substitution) {
    let fresh = |axis: &Axis| Axis { var: axis.var.fresh(), ..axis.clone() };
    let spatial: Vec<&Axis> = axes.iter().filter(|axis| !axis.reduce).collect();
    let own: Vec<Axis> = spatial.iter().map(|axis| fresh(axis)).collect();
    let values = spatial.iter().zip(&own).map(|(old, new)| (old.var.clone(), new.var.expr())).collect();
    (own, values)
}

/// Loops over the axes around a block.
fn nest(name: &str, axes: &[Axis], annotations: Attrs, writes: Vec<Region>, init: Option<Stmt>, body: Stmt) -> Stmt {
    let loops: Vec<Var> = axes.iter().map(|axis| axis.var.fresh()).collect();
    let axis = |(axis, var): (&Axis, &Var)| BlockAxis {
        var: axis.var.clone(),
        dom: (PrimExpr::int(0, axis.var.dtype()), axis.extent.clone()),
        kind: if axis.reduce { IterKind::Reduce } else { IterKind::Spatial },
        binding: var.expr(),
    };
    let block = Block {
        name: name.into(),
        axes: axes.iter().zip(&loops).map(axis).collect(),
        reads: None,
        writes: Some(writes),
        annotations,
        init,
        ..Block::root(Vec::new(), body)
    };
    let around = |body, (var, axis): (&Var, &Axis)| Stmt::serial(var.clone(), axis.extent.clone(), body);
    loops.iter().zip(axes).rev().fold(Stmt::from(block), around)
}
