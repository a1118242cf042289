//! Online softmax on tensor cores: a warp for each 16 rows, with scores and sums in registers.
//!
//! Keys and values take turns: while the tile of one is multiplied, that of the other is on its way to shared memory. After
//! the barrier before a matmul, all threads see its operand, and none uses that of the matmul before.

use super::{
    super::{
        barrier, bound_loop, guarded,
        stage::{call, load_matrices, multiply, scaled},
    },
    copies::SharedOperand,
    fragments::Fragments,
};
use crate::schedule::{
    ScheduleContext,
    gpu::{
        online::fragments::{Product, product},
        tensor_cores::{MMA_TILE, matrix_row, mma_depth},
    },
};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Substitution, Var},
    tir::{Buffer, ForKind, Stmt, StmtKind},
};
use hammock_loopnest::{Stage, row_tiling::OnlineTile};

/// Elements of the rows of both operands that an `ldmatrix` of four matrices loads.
const LOADED: i64 = 16;

/// A matmul, and its operands in shared memory.
struct SharedProduct<'a> {
    stage: &'a Stage,
    product: Product<'a>,
    /// Operand of rows; `None` if it is in registers.
    rows: Option<SharedOperand>,
    columns: SharedOperand,
}

/// Returns the code of the threads of a block: a number of tiles of elements, and other stages after them.
pub fn block(
    tile: &OnlineTile,
    row_count: i64,
    (number, count): (Var, PrimExpr),
    after: &[(Option<usize>, Stage)],
    choice: ScheduleContext,
) -> Stmt {
    let is_register = |buffer: &Buffer| tile.buffers.contains(buffer);
    let products: Vec<Option<SharedProduct>> = tile
        .body
        .iter()
        .map(|(_, stage)| Some(SharedProduct::new(stage, product(stage, &is_register, choice)?)))
        .collect();
    let mut fragments = Fragments::new(&tile.buffers, row_count);
    let mut buffers = tile.buffers.clone();
    // Sums with an epilogue exist in registers only.
    for product in products.iter().flatten().filter(|product| !is_register(&product.stage.buffer)) {
        fragments.add(&product.stage.buffer, product.columns());
        buffers.push(product.stage.buffer.clone());
    }
    let own: Vec<&SharedProduct> = products.iter().flatten().collect();
    let code = Code { fragments, number, count, own };
    let stages = |stages: &[(Option<usize>, Stage)]| {
        stages.iter().map(|(_, stage)| code.fragments.stage(stage)).collect::<Vec<_>>()
    };
    let mut turn = 0..;
    let body = tile.body.iter().zip(&products).map(|((_, stage), product)| match product {
        Some(product) => code.product(product, turn.next().unwrap_or_default()),
        None => code.fragments.stage(stage),
    });
    let body = Stmt::new(StmtKind::Seq(body.collect()));
    let operands = code.own.iter().flat_map(|product| product.rows.iter().chain([&product.columns]));
    let mut stmts: Vec<Stmt> = operands.map(SharedOperand::allocation).collect();
    stmts.extend(code.fragments.allocations(&buffers));
    stmts.extend(stages(&tile.before));
    stmts.push(code.start());
    stmts.push(Stmt::serial(code.number.clone(), code.count.clone(), body));
    stmts.extend(stages(after));
    let thread = code.fragments.thread().clone();
    bound_loop("threadIdx.x", thread, PrimExpr::int64(code.fragments.threads()), Stmt::new(StmtKind::Seq(stmts)))
}

struct Code<'a> {
    fragments: Fragments,
    /// Number of a tile of elements.
    number: Var,
    /// Number of tiles.
    count: PrimExpr,
    /// The matmuls of a tile.
    own: Vec<&'a SharedProduct<'a>>,
}

impl Code<'_> {
    /// Returns the copies before the first matmul: of its rows, and of its first columns.
    fn start(&self) -> Stmt {
        let first: Substitution = [(self.number.clone(), PrimExpr::int64(0))].into_iter().collect();
        let copies = self.own.iter().flat_map(|product| &product.rows).chain([&self.own[0].columns]);
        let copies = Stmt::seq(copies.map(|operand| self.copy(operand, &first)));
        let copies = guarded(PrimExpr::int64(0).lt(self.count.clone()), copies);
        Stmt::new(StmtKind::Seq(vec![copies, call("ptx_commit_group", Vec::new())]))
    }

    fn copy(&self, operand: &SharedOperand, values: &Substitution) -> Stmt {
        operand.copy(self.fragments.thread(), self.fragments.threads(), values)
    }

    /// Returns the code of a matmul, when its operands are copied, and the start of the copy of the next columns.
    fn product(&self, own: &SharedProduct, turn: usize) -> Stmt {
        let next = match self.own.get(turn + 1) {
            Some(next) => self.copy(&next.columns, &Substitution::default()),
            None => {
                let following = self.number.expr() + PrimExpr::int64(1);
                let values = [(self.number.clone(), following.clone())].into_iter().collect();
                guarded(following.lt(self.count.clone()), self.copy(&self.own[0].columns, &values))
            }
        };
        let stmts = vec![
            call("ptx_wait_group", vec![PrimExpr::int32(0)]),
            barrier(),
            next,
            call("ptx_commit_group", Vec::new()),
            own.code(&self.fragments),
        ];
        Stmt::new(StmtKind::Seq(stmts))
    }
}

impl<'a> SharedProduct<'a> {
    fn new(stage: &'a Stage, product: Product<'a>) -> Self {
        let [m, n, k] = product.axes;
        let rows = (!product.has_rows_in_registers).then(|| SharedOperand::new(stage, product.rows, None, [m, k]));
        let axes = if product.is_along_columns { [k, n] } else { [n, k] };
        let columns = SharedOperand::new(stage, product.columns, product.inside, axes);
        SharedProduct { stage, product, rows, columns }
    }

    /// Returns the number of columns of the results.
    fn columns(&self) -> Option<i64> {
        self.stage.axes[self.product.axes[1]].extent.as_int()
    }

    /// Returns the code that multiplies the operands, adds the initial values, and applies the epilogue.
    fn code(&self, fragments: &Fragments) -> Stmt {
        let stage = self.stage;
        let [m, n, k] = self.product.axes;
        let zero = PrimExpr::constant(0.0, stage.buffer.dtype);
        let start = fragments.elements(stage, &[m, n], stage.init.as_ref().unwrap_or(&zero), &stage.buffer);
        let Some(sums) = fragments.of(&stage.buffer) else { return Stmt::nop() };
        let extent = |axis: usize| stage.axes[axis].extent.as_int().unwrap_or(0);
        let dtype = self.product.columns.dtype();
        let (depth, loaded) = (mma_depth(dtype), matrix_row(dtype));
        let local = |name: &str, size: i64| Buffer::scoped(name, vec![PrimExpr::int64(size)], dtype, "local");
        let step = Var::int64(stage.axes[k].var.name().clone());
        let (a, b) = (local("row_fragments", loaded), local("column_fragments", extent(n) / LOADED * loaded));
        let tile = Var::int64("tile");
        let columns = self.load_columns(fragments, &b, (&step, &tile));
        let column = Var::int64("column_tile");
        let product = multiply(
            (&a, PrimExpr::int64(0)),
            (&b, scaled(column.expr(), loaded / 2)),
            (sums, scaled(column.expr(), 4)),
        );
        let unrolled =
            |var: Var, count: i64, body: Stmt| Stmt::for_kind(var, PrimExpr::int64(count), ForKind::Unrolled, body);
        let alloc = |buffer: &Buffer| Stmt::new(StmtKind::Alloc(buffer.clone(), Default::default()));
        let body = vec![
            alloc(&a),
            alloc(&b),
            self.load_rows(fragments, &a, &step),
            unrolled(tile, extent(n) / LOADED, columns),
            unrolled(column, extent(n) / MMA_TILE[1], product),
        ];
        let update = unrolled(step, extent(k) / depth, Stmt::new(StmtKind::Seq(body)));
        let epilogue =
            stage.epilogue.iter().map(|epilogue| fragments.elements(stage, &[m, n], &epilogue.value, &epilogue.buffer));
        Stmt::new(StmtKind::Seq([start, update].into_iter().chain(epilogue).collect()))
    }

    /// Returns the load of the operand of rows at a step of the reduction.
    fn load_rows(&self, fragments: &Fragments, to: &Buffer, step: &Var) -> Stmt {
        let first = scaled(step.expr(), LOADED);
        let Some(shared) = &self.rows else { return self.convert_rows(fragments, to, step) };
        let (row, column) = halves(&fragments.lane(), true);
        let element = PrimExpr::load(&shared.buffer, vec![fragments.warp_row() + row, first + column]);
        load_matrices(to, PrimExpr::int64(0), element, false)
    }

    /// Returns the conversion of an operand of rows in registers.
    fn convert_rows(&self, fragments: &Fragments, to: &Buffer, step: &Var) -> Stmt {
        let PrimKind::Load(buffer, ..) = self.product.rows.kind() else { return Stmt::nop() };
        let Some(own) = fragments.of(buffer) else { return Stmt::nop() };
        let (index, count) = (Var::int64("element"), matrix_row(to.dtype));
        let value = PrimExpr::load(own, vec![scaled(step.expr(), count) + index.expr()]).cast(to.dtype);
        Stmt::for_kind(
            index.clone(),
            PrimExpr::int64(count),
            ForKind::Unrolled,
            Stmt::store(to, vec![index.expr()], value),
        )
    }

    /// Returns the load of a tile of the operand of columns at a step of the reduction.
    fn load_columns(&self, fragments: &Fragments, to: &Buffer, (step, tile): (&Var, &Var)) -> Stmt {
        let is_along = self.product.is_along_columns;
        let (row, column) = halves(&fragments.lane(), is_along);
        let (step, first) = (scaled(step.expr(), LOADED), scaled(tile.expr(), LOADED));
        let at = if is_along { [step + row, first + column] } else { [first + row, step + column] };
        let element = PrimExpr::load(&self.columns.buffer, at.into());
        load_matrices(to, scaled(tile.expr(), matrix_row(to.dtype)), element, is_along)
    }
}

/// Returns the row of 8 elements whose address a lane gives, in a tile of 16 x 16 elements. `is_tall`: true if the first
/// two of the four matrices of an `ldmatrix` are one above the other, otherwise in adjacent columns.
fn halves(lane: &PrimExpr, is_tall: bool) -> (PrimExpr, PrimExpr) {
    let c = PrimExpr::int64;
    let part = |of: i64, count: i64, by: i64| scaled(lane.clone().floordiv(c(of)).floormod(c(count)), by);
    match is_tall {
        true => (lane.clone().floormod(c(16)), part(16, 2, 8)),
        false => (lane.clone().floormod(c(8)) + part(16, 2, 8), part(8, 2, 8)),
    }
}
