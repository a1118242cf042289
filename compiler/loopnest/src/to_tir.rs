//! Stages as block TIR: a loop nest around a block for each, which [raises](crate::raise) to the stage again.
//!
//! An epilogue is a block of its own behind the reduction, whose buffer then is in memory. Annotations have what blocks
//! cannot express: the number of a row tile (`row_tile`), and that nothing reads the value of an arg-reduction
//! (`unread_value`).

use crate::{ArgResult, Axis, Kernel, Part, Stage, linear_position};
use hammock_ir::{
    Attrs, PrimExpr,
    prim::{BinaryOp, IterKind, PrimKind, Substitution, Var},
    tir::{Block, BlockAxis, Buffer, SUM_PARTS, Stmt, StmtKind},
};

/// Annotation of a block whose stage is row-tiled: the number of the tile.
const ROW_TILE: &str = "row_tile";

/// Annotation of an arg-reduction whose minimum or maximum need not be stored.
const UNREAD_VALUE: &str = "unread_value";

impl Kernel {
    /// The statements that compute the kernel, stage by stage. Views of `known` buffers are declared first.
    pub fn into_stmts(self, known: &[Buffer]) -> Vec<Stmt> {
        let mut stmts: Vec<Stmt> = self.views(known).into_iter().map(|view| Stmt::new(StmtKind::Decl(view))).collect();
        let mut tiles = 0;
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

    /// Buffers of stages over the memory of another buffer, as transforms create them.
    fn views(&self, known: &[Buffer]) -> Vec<Buffer> {
        let stages = self.parts.iter().flat_map(Part::stages);
        let mut used: Vec<Buffer> = Vec::new();
        for stage in stages {
            used.extend(stage.targets().chain([&stage.buffer]).cloned());
            for value in stage.values() {
                value.walk(&mut |e| {
                    if let PrimKind::Load(buffer, ..) = e.kind() {
                        used.push(buffer.clone());
                    }
                });
            }
        }
        let mut views: Vec<Buffer> = Vec::new();
        for buffer in used {
            let is_view = !known.contains(&buffer) && known.iter().any(|other| other.data == buffer.data);
            if is_view && !views.contains(&buffer) {
                views.push(buffer);
            }
        }
        views
    }
}

impl Stage {
    /// The nest of the stage, and that of its epilogue.
    fn stmts(&self, annotations: &Attrs) -> Vec<Stmt> {
        let mut own = annotations.clone();
        if let Some(part) = self.part {
            own.set(SUM_PARTS, part);
        }
        if self.arg_result.as_ref().is_some_and(|arg| !arg.stores_value) {
            own.set(UNREAD_VALUE, true);
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
        let mut stmts = vec![nest(&self.name, &self.axes, own, init, body)];
        if let Some(epilogue) = &self.epilogue {
            let (axes, fresh) = fresh_axes(&self.axes);
            let indices: Vec<PrimExpr> = epilogue.indices.iter().map(|index| index.substitute(&fresh)).collect();
            let store = Stmt::store(&epilogue.buffer, indices, epilogue.value.substitute(&fresh));
            let name = format!("{}_epilogue", self.name);
            stmts.push(nest(&name, &axes, annotations.clone(), None, store));
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
    let spatial: Vec<&Axis> = axes.iter().filter(|axis| !axis.reduce).collect();
    let own: Vec<Axis> = spatial.iter().map(|axis| axis.fresh()).collect();
    let values = spatial.iter().zip(&own).map(|(old, new)| (old.var.clone(), new.var.expr())).collect();
    (own, values)
}

/// Loops over the axes around a block.
fn nest(name: &str, axes: &[Axis], annotations: Attrs, init: Option<Stmt>, body: Stmt) -> Stmt {
    let loops: Vec<Var> = axes.iter().map(|axis| loop_var(&axis.var)).collect();
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
        writes: None,
        annotations,
        init,
        ..Block::root(Vec::new(), body)
    };
    let around = |body, (var, axis): (&Var, &Axis)| Stmt::serial(var.clone(), axis.extent.clone(), body);
    loops.iter().zip(axes).rev().fold(Stmt::from(block), around)
}

/// The variable of a loop around an axis: `i` for `vi` or `v_i`.
fn loop_var(axis: &Var) -> Var {
    let name = axis.name();
    let short = name.strip_prefix('v').map(|rest| rest.trim_start_matches('_')).unwrap_or_default();
    let is_name = short.starts_with(|c: char| c.is_ascii_alphabetic());
    Var::new(if is_name { short.to_owned() } else { name.to_string() }, axis.dtype())
}
