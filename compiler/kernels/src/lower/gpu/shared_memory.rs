//! Shared memory of a device function: allocations move to its beginning. Those that exceed what can be declared with a
//! constant size, and those of scope `shared.dyn`, become parts of one buffer whose size the launch gives.

use crate::Reason;
use hammock_ir::{
    DType, PrimExpr,
    prim::{PrimKind, PrimType, Var},
    tir::{Buffer, BufferNode, Stmt, StmtKind},
};
use hammock_target::Gpu;
use rustc_hash::FxHashMap;

/// Alignment of parts of shared memory, in bytes.
const ALIGN: i64 = 16;

/// Shared memory of a device function.
pub struct SharedMemory {
    /// Allocations for the beginning of the function.
    pub allocations: Vec<Stmt>,
    /// Bytes of constant size.
    pub bytes: u64,
    /// Bytes that a launch gives.
    pub dynamic: PrimExpr,
}

impl SharedMemory {
    /// Takes the allocations of shared memory out of a body.
    ///
    /// # Errors
    /// When they are larger than the GPU's shared memory, or of unknown size.
    pub fn take(body: &mut Stmt, gpu: &Gpu) -> Result<SharedMemory, Reason> {
        let mut buffers = Vec::new();
        remove(body, &mut buffers);
        let is_dynamic = |buffer: &Buffer| *buffer.scope == *"shared.dyn" || buffer.constant_bytes().is_none();
        let bytes = |buffer: &Buffer| buffer.constant_bytes().unwrap_or(0).div_euclid(ALIGN) * ALIGN + ALIGN;
        let fixed: i64 = buffers.iter().filter(|buffer| !is_dynamic(buffer)).map(bytes).sum();
        let is_small = fixed <= i64::from(gpu.max_static_shared);
        let (dynamic, fixed): (Vec<Buffer>, Vec<Buffer>) =
            buffers.into_iter().partition(|buffer| is_dynamic(buffer) || !is_small);
        let total: i64 = fixed.iter().filter_map(Buffer::constant_bytes).sum();
        let mut memory = SharedMemory {
            allocations: fixed.into_iter().map(allocation).collect(),
            bytes: total.max(0) as u64,
            dynamic: PrimExpr::int64(0),
        };
        if !dynamic.is_empty() {
            memory.place(body, &dynamic);
        }
        match memory.dynamic.as_int() {
            Some(dynamic) if total + dynamic > i64::from(gpu.max_block_shared) => {
                let bytes = total + dynamic;
                let limit = gpu.max_block_shared;
                let message = format!("a block needs {bytes} bytes of shared memory, and {} has {limit}", gpu.name);
                Err(Reason::GpuLimit(message))
            }
            _ => Ok(memory),
        }
    }

    /// Places buffers one after the other in dynamic shared memory.
    fn place(&mut self, body: &mut Stmt, buffers: &[Buffer]) {
        let data = Var::new("shared_memory", PrimType::Pointer(Some(DType::UINT8), "shared.dyn".into()));
        let mut parts: FxHashMap<Var, PrimExpr> = FxHashMap::default();
        let mut end = PrimExpr::int64(0);
        for buffer in buffers {
            parts.insert(buffer.data.clone(), end.clone());
            end = match (end.as_int(), buffer.constant_bytes()) {
                (Some(end), Some(bytes)) => PrimExpr::int64((end + bytes + ALIGN - 1) / ALIGN * ALIGN),
                _ => {
                    let elements = buffer.shape.iter().fold(PrimExpr::int64(1), |n, size| n * size.clone());
                    let last =
                        end + elements * PrimExpr::int64(buffer.dtype.bytes() as i64) + PrimExpr::int64(ALIGN - 1);
                    last.floordiv(PrimExpr::int64(ALIGN)) * PrimExpr::int64(ALIGN)
                }
            };
        }
        let whole = view("shared_memory", &data, DType::UINT8);
        let mut placed = Placed { data, parts, buffers: FxHashMap::default() };
        body.map_exprs(&mut |e| placed.expr(e));
        placed.stmt(body);
        self.allocations.push(allocation(whole));
        self.allocations.extend(placed.buffers.into_values().map(|buffer| Stmt::new(StmtKind::Decl(buffer))));
        self.dynamic = end;
    }
}

/// Rewrites accesses to parts of dynamic shared memory.
struct Placed {
    data: Var,
    /// Offset of each part in bytes, by its pointer.
    parts: FxHashMap<Var, PrimExpr>,
    /// Views of the memory by element type.
    buffers: FxHashMap<DType, Buffer>,
}

impl Placed {
    /// Rewrites the stores in a statement, and removes declarations.
    fn stmt(&mut self, stmt: &mut Stmt) {
        stmt.each_child_mut(&mut |stmt| self.stmt(stmt));
        match &mut stmt.kind {
            StmtKind::Decl(buffer) if self.parts.contains_key(&buffer.data) => stmt.kind = StmtKind::Seq(Vec::new()),
            StmtKind::Store { buffer, indices, .. } => {
                if let Some((to, at)) = self.located(buffer, &indices[0]) {
                    (*buffer, *indices) = (to, vec![at]);
                }
            }
            _ => {}
        }
    }

    /// Rewrites the loads and addresses in an expression.
    fn expr(&mut self, e: &PrimExpr) -> PrimExpr {
        let e = e.map_children(&mut |child| self.expr(child));
        match e.kind() {
            PrimKind::Load(buffer, indices, mask) => match self.located(buffer, &indices[0]) {
                Some((to, at)) => PrimExpr::load_masked(&to, vec![at], mask.clone()),
                None => e,
            },
            PrimKind::Var(var) => match self.parts.get(var) {
                Some(offset) => {
                    let args = vec![self.data.expr(), offset.clone()];
                    PrimExpr::intrin("handle_add_byte_offset", args, var.ty().clone())
                }
                None => e,
            },
            _ => e,
        }
    }

    /// Returns the view and the index of an element.
    fn located(&mut self, buffer: &Buffer, index: &PrimExpr) -> Option<(Buffer, PrimExpr)> {
        let offset = self.parts.get(&buffer.data)?;
        let bytes = buffer.dtype.bytes() as i64;
        let first = match offset.as_int() {
            Some(offset) => PrimExpr::int64(offset / bytes),
            None => offset.clone().floordiv(PrimExpr::int64(bytes)),
        };
        let data = &self.data;
        let own = self.buffers.entry(buffer.dtype);
        let own = own.or_insert_with(|| view(&buffer.name, data, buffer.dtype)).clone();
        let index = match (first.as_int(), index.kind()) {
            (Some(0), _) => index.clone(),
            (_, PrimKind::Ramp(base, stride)) => PrimExpr::ramp(base + first, stride.clone(), index.dtype().lanes),
            _ if index.dtype().is_scalar() => index + first,
            _ => index + first.broadcast(index.dtype().lanes),
        };
        Some((own, index))
    }
}

/// Removes the allocations of shared memory from a body.
fn remove(stmt: &mut Stmt, found: &mut Vec<Buffer>) {
    match &stmt.kind {
        StmtKind::Alloc(buffer, _) if buffer.scope.starts_with("shared") => {
            found.push(buffer.clone());
            stmt.kind = StmtKind::Seq(Vec::new());
        }
        _ => stmt.each_child_mut(&mut |stmt| remove(stmt, found)),
    }
}

fn allocation(buffer: Buffer) -> Stmt {
    Stmt::new(StmtKind::Alloc(buffer, Default::default()))
}

/// Returns a buffer over dynamic shared memory, without a size.
fn view(name: &str, data: &Var, dtype: DType) -> Buffer {
    Buffer::from(BufferNode {
        name: name.into(),
        data: data.clone(),
        dtype,
        shape: vec![PrimExpr::int64(0)],
        strides: Vec::new(),
        elem_offset: None,
        scope: "shared.dyn".into(),
        align: 0,
        offset_factor: 0,
        axis_separators: Vec::new(),
        layout: None,
    })
}
