//! Splits a kernel into host and device code: each device region becomes a function, and a launch of it.

use super::{axes::ThreadAxes, barriers, region::region_body, shared_memory::SharedMemory};
use crate::{DeviceFunc, Reason};
use hammock_ir::{
    Attrs, DType, Name, PrimExpr,
    prim::{PrimKind, Var, check, intrinsics::LAUNCH_KERNEL},
    tir::{Buffer, Param, PrimFunc, Stmt, StmtKind},
};
use hammock_target::Gpu;
use rustc_hash::FxHashSet;

/// Splits a flat function. Returns the host function, and the device functions.
///
/// # Errors
/// When a limit of the GPU is exceeded, or a region allocates global memory.
pub fn split(func: &PrimFunc, gpu: &Gpu) -> Result<(PrimFunc, Vec<DeviceFunc>), Reason> {
    let name = func.global_symbol().unwrap_or("main");
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name: String = name.chars().map(|c| if is_word(c) { c } else { '_' }).collect();
    let mut splitter = Splitter {
        name,
        gpu,
        params: func.params.iter().map(|param| param.var.clone()).collect(),
        noalias: func.is_noalias(),
        workspaces: Vec::new(),
        private: Vec::new(),
        device: Vec::new(),
        checked: false,
    };
    let mut body = func.body.clone();
    splitter.stmt(&mut body)?;
    Ok((PrimFunc { body, ..func.clone() }, splitter.device))
}

struct Splitter<'a> {
    name: String,
    gpu: &'a Gpu,
    /// Parameters of the host function, in order.
    params: Vec<Var>,
    /// True if parameters do not alias.
    noalias: bool,
    /// Pointers to memory that the host function allocates.
    workspaces: Vec<Var>,
    /// Buffers that are allocated around regions, and belong to threads or blocks.
    private: Vec<Buffer>,
    device: Vec<DeviceFunc>,
    /// True if a launch before may record an error.
    checked: bool,
}

impl Splitter<'_> {
    fn stmt(&mut self, stmt: &mut Stmt) -> Result<(), Reason> {
        if let Some(body) = region_body(stmt) {
            let launch = self.region(body.clone())?;
            *stmt = launch.at(stmt.span);
            return Ok(());
        }
        if matches!(stmt.kind, StmtKind::For(_) | StmtKind::While(..)) {
            self.checked |= has_region_checks(stmt);
        }
        if let StmtKind::Alloc(buffer, _) = &stmt.kind {
            if *buffer.scope == *"global" {
                self.workspaces.push(buffer.data.clone());
            } else {
                self.private.push(buffer.clone());
                *stmt = Stmt::nop();
            }
            return Ok(());
        }
        let private = &self.private;
        if matches!(&stmt.kind, StmtKind::Decl(buffer) if private.iter().any(|own| own.data == buffer.data)) {
            *stmt = Stmt::nop();
            return Ok(());
        }
        let mut result = Ok(());
        stmt.each_child_mut(&mut |stmt| {
            if result.is_ok() {
                result = self.stmt(stmt);
            }
        });
        result
    }

    /// Makes a device function of a region; returns its launch. A region without effects, such as loops over nothing, has
    /// none.
    fn region(&mut self, mut body: Stmt) -> Result<Stmt, Reason> {
        if !has_effects(&body) {
            return Ok(Stmt::nop());
        }
        let axes = ThreadAxes::extract(&mut body)?;
        let (body, shared_bytes, dynamic_bytes) = self.with_memory(body, &axes)?;
        let mut uses = Uses { defined: axes.vars().cloned().collect(), ..Uses::default() };
        uses.stmt(&body);
        let views: Vec<Buffer> = uses.external_buffers();
        views.iter().for_each(|buffer| buffer.each_expr(&mut |size| uses.expr(size)));
        let extents = axes.extents();
        extents.iter().for_each(|extent| uses.expr(extent));
        let args = self.arguments(&uses);
        let declarations = views.into_iter().map(|buffer| Stmt::new(StmtKind::Decl(buffer)));
        let launched = axes.launch(Stmt::seq([body]));
        let body = Stmt::new(StmtKind::Seq(declarations.chain([launched]).collect()));
        let checks = has_checks(&body);
        let func = self.function(&args, body);
        let name = self.next_name();
        let follows_checks = self.checked;
        self.checked |= checks;
        let max_threads = axes.max_threads(self.gpu)?;
        self.device.push(DeviceFunc { name: name.clone(), func, max_threads, shared_bytes, follows_checks });
        let extents = extents.map(|extent| extent.cast(DType::INT64));
        let first = [PrimExpr::str(name)].into_iter().chain(extents).chain([dynamic_bytes]);
        let call = PrimExpr::intrin(LAUNCH_KERNEL, first.chain(args.iter().map(Var::expr)).collect(), DType::VOID);
        Ok(Stmt::new(StmtKind::Evaluate(call)))
    }

    /// Adds the memory of threads and blocks to a region, and barriers. Returns its static and its dynamic shared memory
    /// in bytes.
    fn with_memory(&self, body: Stmt, axes: &ThreadAxes) -> Result<(Stmt, u64, PrimExpr), Reason> {
        let mut uses = Uses::default();
        uses.stmt(&body);
        let used = |buffer: &&Buffer| uses.buffers.iter().any(|used| used.data == buffer.data);
        let private = self.private.iter().filter(used).map(|b| Stmt::new(StmtKind::Alloc(b.clone(), Attrs::new())));
        let mut body = Stmt::new(StmtKind::Seq(private.chain([body]).collect()));
        barriers::insert(&mut body, axes.thread_vars());
        let shared = SharedMemory::take(&mut body, self.gpu)?;
        let mut body = Stmt::new(StmtKind::Seq(shared.allocations.into_iter().chain([body]).collect()));
        tidy(&mut body);
        reject_allocations(&body)?;
        Ok((body, shared.bytes, shared.dynamic))
    }

    /// Returns the name of the next device function.
    fn next_name(&self) -> Name {
        match self.device.len() {
            0 => format!("{}_kernel", self.name),
            number => format!("{}_kernel_{number}", self.name),
        }
        .into()
    }

    /// Returns the next device function, with these parameters.
    fn function(&self, args: &[Var], body: Stmt) -> PrimFunc {
        let mut attrs = Attrs::new().with("global_symbol", self.next_name().as_str());
        if self.noalias && args.iter().filter(|arg| arg.dtype().is_handle()).all(|arg| self.is_distinct(arg)) {
            attrs.set("tirx.noalias", true);
        }
        let params = args.iter().map(|var| Param::scalar(var.clone())).collect();
        PrimFunc { params, ret_ty: None, body, attrs, s_tir: false, span: Default::default() }
    }

    /// Returns true if a pointer is a parameter, or a workspace.
    fn is_distinct(&self, pointer: &Var) -> bool {
        self.params.contains(pointer) || self.workspaces.contains(pointer)
    }

    /// Returns the variables that a function needs, in the order of parameters: pointers, sizes, other scalars.
    fn arguments(&self, uses: &Uses) -> Vec<Var> {
        let mut args = uses.free.to_vec();
        let position = |var: &Var| self.params.iter().position(|param| param == var).unwrap_or(usize::MAX);
        let group = |var: &Var| (!var.dtype().is_handle(), var.is_data() || var.dtype() != DType::INT64);
        args.sort_by_key(|var| (group(var), position(var)));
        args
    }
}

/// Returns true if a device region in a statement has checks.
fn has_region_checks(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.walk(&mut |stmt| found |= region_body(stmt).is_some_and(has_checks));
    found
}

/// Returns true if a statement may fail.
fn has_checks(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.walk(&mut |stmt| {
        found |= matches!(stmt.kind, StmtKind::Assert(..));
        stmt.each_expr(&mut |e| found |= e.any(&mut check::is_check));
    });
    found
}

/// Returns true if a statement stores, calls or checks anything. Loops without iterations do not.
fn has_effects(stmt: &Stmt) -> bool {
    if matches!(&stmt.kind, StmtKind::For(l) if l.extent.as_int().is_some_and(|extent| extent <= 0)) {
        return false;
    }
    let mut found = matches!(stmt.kind, StmtKind::Store { .. } | StmtKind::Evaluate(_) | StmtKind::Assert(..));
    stmt.each_expr(&mut |e| found |= e.any(&mut check::is_check));
    stmt.each_child(&mut |child| found |= has_effects(child));
    found
}

/// Removes empty statements.
fn tidy(stmt: &mut Stmt) {
    stmt.each_child_mut(&mut tidy);
    if let StmtKind::Seq(stmts) = &mut stmt.kind {
        stmts.retain(|stmt| !stmt.is_nop());
    }
}

/// Rejects allocations that threads cannot make: of global memory, or of local memory of unknown size.
fn reject_allocations(body: &Stmt) -> Result<(), Reason> {
    let mut found = Ok(());
    body.walk(&mut |stmt| {
        let StmtKind::Alloc(buffer, _) = &stmt.kind else { return };
        let name = &buffer.name;
        if *buffer.scope == *"global" {
            found = Err(Reason::Memory(format!(
                "threads allocate buffer `{name}` in global memory; allocate it outside of the loops over threads, or in \
                 scope `local` or `shared`"
            )));
        } else if !buffer.scope.starts_with("shared") && buffer.constant_bytes().is_none() {
            let scope = &buffer.scope;
            found = Err(Reason::Memory(format!("buffer `{name}` in scope `{scope}` has no constant size")));
        }
    });
    found
}

/// Variables and buffers that a statement uses.
#[derive(Default)]
struct Uses {
    /// Variables that it does not define, in the order of their first use.
    free: Vec<Var>,
    known: FxHashSet<Var>,
    defined: FxHashSet<Var>,
    /// Buffers that it accesses, allocates or declares.
    buffers: FxHashSet<Buffer>,
    /// Buffers that it accessed first, in this order.
    order: Vec<Buffer>,
}

impl Uses {
    fn stmt(&mut self, stmt: &Stmt) {
        stmt.each_expr(&mut |e| self.expr(e));
        match &stmt.kind {
            StmtKind::For(l) => drop(self.defined.insert(l.var.clone())),
            StmtKind::Bind(var, _) => drop(self.defined.insert(var.clone())),
            StmtKind::Alloc(buffer, _) => {
                self.defined.insert(buffer.data.clone());
                self.buffers.insert(buffer.clone());
            }
            StmtKind::Decl(buffer) => {
                self.buffers.insert(buffer.clone());
                self.variable(&buffer.data);
            }
            StmtKind::Store { buffer, .. } => self.buffer(buffer),
            StmtKind::Attr { node: hammock_ir::tir::AttrNode::Thread(iter), .. } => {
                self.defined.insert(iter.var.clone());
            }
            _ => {}
        }
        stmt.each_child(&mut |stmt| self.stmt(stmt));
    }

    fn expr(&mut self, e: &PrimExpr) {
        match e.kind() {
            PrimKind::Var(var) => self.variable(var),
            PrimKind::Load(buffer, ..) => self.buffer(buffer),
            PrimKind::Let(var, ..) => drop(self.defined.insert(var.clone())),
            _ => {}
        }
        e.each_child(&mut |child| self.expr(child));
    }

    fn buffer(&mut self, buffer: &Buffer) {
        self.variable(&buffer.data);
        if self.buffers.insert(buffer.clone()) {
            self.order.push(buffer.clone());
        }
    }

    fn variable(&mut self, var: &Var) {
        if !self.defined.contains(var) && self.known.insert(var.clone()) {
            self.free.push(var.clone());
        }
    }

    /// Returns the buffers that it uses but does not declare, in the order of their first use.
    fn external_buffers(&self) -> Vec<Buffer> {
        self.order.iter().filter(|buffer| !self.defined.contains(&buffer.data)).cloned().collect()
    }
}
