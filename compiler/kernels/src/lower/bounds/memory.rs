//! Checks of memory that a kernel allocates or views through other buffers, at its declaration.

use super::{Checker, check_stmt};
use crate::error::Reason;
use hammock_ir::{
    DType, PrimExpr,
    prim::PrimKind,
    tir::{Buffer, MatchBuffer, Stmt, StmtKind},
};

/// Maximum size of a buffer in bytes.
const MAX_BUFFER_BYTES: i64 = 1 << 47;

impl Checker<'_> {
    /// Adds memory of the caller.
    pub fn add_argument(&mut self, buffer: &Buffer) {
        let bytes = bytes(buffer);
        self.memory.insert(buffer.data.clone(), bytes);
    }

    /// Adds an allocation, whose size must be valid and computable.
    pub fn allocate(&mut self, buffer: &Buffer) {
        self.reject_mutable_sizes(buffer);
        self.measure(buffer);
        self.memory.insert(buffer.data.clone(), bytes(buffer));
        self.depths.insert(buffer.data.clone(), self.frames.len());
        self.scope.add_memory(buffer);
    }

    /// Adds a view of existing memory, or an allocation if its pointer is new.
    pub fn declare(&mut self, buffer: &Buffer) {
        self.reject_mutable_sizes(buffer);
        match self.memory.get(&buffer.data).cloned() {
            Some(memory) => self.reaches(buffer, &memory, &format!("buffer `{}`", buffer.name)),
            // Foreign memory: a caller that passes a bare pointer guarantees its size.
            None if self.foreign.contains(&buffer.data) => {}
            None if self.depths.contains_key(&buffer.data) => {
                self.failed.get_or_insert(Reason::NoMemory(buffer.name.clone()));
            }
            None => self.allocate(buffer),
        }
    }

    /// Checks the size of an allocation.
    fn measure(&mut self, buffer: &Buffer) {
        let (what, limit) = (allocation(buffer), PrimExpr::int64(MAX_BUFFER_BYTES));
        let open = self.non_negative(buffer);
        if is_larger(buffer, &limit) {
            self.failed.get_or_insert(Reason::Memory(what.clone()));
        }
        let need = bytes(buffer);
        if open.is_empty() && self.scope.proves_le(&need, &limit) {
            return;
        }
        let fits = in_floats(&need).le(in_floats(&limit));
        self.require(open.into_iter().chain([fits]), "MemoryError", &what);
    }

    /// Checks that a buffer fits into `memory` bytes. `what` names it in the error.
    pub fn reaches(&mut self, buffer: &Buffer, memory: &PrimExpr, what: &str) {
        let need = bytes(buffer);
        let known = need.as_int().zip(memory.as_int());
        let sizes = known.map_or_else(String::new, |(need, memory)| format!(": it has {need} bytes, of {memory}"));
        let beyond = format!("{what} reaches beyond the memory that it is declared over{sizes}");
        if is_larger(buffer, memory) {
            self.failed.get_or_insert(Reason::Memory(beyond.clone()));
        }
        let open = self.non_negative(buffer);
        if open.is_empty() && self.scope.proves_le(&need, memory) {
            return;
        }
        self.require(open, "IndexError", &beyond);
        // Compare as floats, which do not overflow, so that the numbers in the error are right.
        let (far, have) = (in_floats(&need), in_floats(memory));
        let last = far.clone().cast(DType::INT64) - PrimExpr::int64(1);
        let texts = [format!("{what} reaches to byte "), " of memory whose size is ".into(), self.line()];
        let fails = check_stmt(last, memory.clone(), &texts).at(self.span);
        self.before.push(Stmt::new(StmtKind::If(far.gt(have), Box::new(fails), None)).at(self.span));
    }

    /// Returns the conditions that a buffer's sizes, strides and offset are not negative, where that is not proved.
    fn non_negative(&self, buffer: &Buffer) -> Vec<PrimExpr> {
        let zero = PrimExpr::int64(0);
        let parts = buffer.shape.iter().chain(&buffer.strides).chain(&buffer.elem_offset);
        let open = parts.filter(|e| !self.scope.proves_le(&zero, e));
        open.map(|e| e.clone().cast(DType::INT64).ge(zero.clone())).collect()
    }

    /// Requires conditions before the current statement.
    fn require(&mut self, conditions: impl IntoIterator<Item = PrimExpr>, kind: &str, message: &str) {
        let Some(condition) = conditions.into_iter().reduce(PrimExpr::and) else { return };
        let message = format!("{message}{}", self.line());
        self.before.push(Stmt::new(StmtKind::Assert(condition, kind.into(), vec![message.into()])).at(self.span));
    }

    /// Returns the checks of a match region: it is inside of its buffer, and the view is not larger.
    pub fn match_region(&mut self, matched: &MatchBuffer) -> Vec<Stmt> {
        let (buffer, source) = (&matched.buffer, &matched.source);
        if buffer.ndim() > source.ranges.len() || buffer.dtype != source.buffer.dtype {
            self.failed.get_or_insert(Reason::Region(buffer.name.clone()));
            return Vec::new();
        }
        let mut checks = Vec::new();
        for (axis, ((min, extent), size)) in source.ranges.iter().zip(&source.buffer.shape).enumerate() {
            let texts = |what: &str| {
                let (name, of) = (&buffer.name, &source.buffer.name);
                let between = format!(" outside of dimension {axis} of buffer `{of}`, which ends at ");
                [format!("the region `{name}` {what} "), between, self.line()]
            };
            let wide = |e: &PrimExpr| e.clone().cast(DType::INT64);
            let (min, extent, size) = (wide(min), wide(extent), wide(size));
            let limit = &size + PrimExpr::int64(1);
            let end = &min + &extent;
            for (value, what) in [(&min, "begins at"), (&extent, "has a length of"), (&end, "ends at")] {
                if !self.scope.is_inside(value, &limit) {
                    checks.push(check_stmt(value.clone(), limit.clone(), &texts(what)));
                }
            }
        }
        let skip = source.ranges.len() - buffer.ndim();
        for (axis, (size, (_, extent))) in buffer.shape.iter().zip(&source.ranges[skip..]).enumerate() {
            let own = size.as_var().filter(|v| !self.scope.knows(v) && !self.depths.contains_key(*v));
            match own {
                Some(var) => {
                    self.depths.insert(var.clone(), self.frames.len());
                    self.scope.bind(var, extent);
                }
                None if self.scope.proves_le(size, extent) => {}
                None => {
                    let texts = [
                        format!("dimension {axis} of the region `{}` is ", buffer.name),
                        " long, but there are fewer elements than ".to_owned(),
                        self.line(),
                    ];
                    let limit = extent.clone().cast(DType::INT64) + PrimExpr::int64(1);
                    checks.push(check_stmt(size.clone(), limit, &texts));
                }
            }
        }
        for var in buffer.strides.iter().chain(&buffer.elem_offset).filter_map(PrimExpr::as_var) {
            self.depths.entry(var.clone()).or_insert(self.frames.len());
        }
        self.depths.insert(buffer.data.clone(), self.frames.len());
        if let Some(memory) = self.memory.get(&source.buffer.data).cloned() {
            self.memory.insert(buffer.data.clone(), memory);
        }
        checks
    }

    /// Rejects sizes that are read from mutable memory, since a size must be the same at every use.
    pub fn reject_mutable_sizes(&mut self, buffer: &Buffer) {
        let mut reads = false;
        buffer.each_expr(&mut |e| reads |= e.has_loads());
        if reads {
            self.failed.get_or_insert(Reason::BufferSize(buffer.name.clone()));
        }
    }
}

/// Returns the number of bytes that a buffer spans, from its pointer on, if its sizes are not negative.
pub fn bytes(buffer: &Buffer) -> PrimExpr {
    let wide = |e: &PrimExpr| e.clone().cast(DType::INT64);
    let one = PrimExpr::int64(1);
    let mut elements = match buffer.strides.as_slice() {
        [] => buffer.shape.iter().fold(one, |n, e| times(n, wide(e))),
        strides => {
            let steps = buffer.shape.iter().zip(strides);
            steps.fold(one.clone(), |sum, (n, s)| plus(sum, times(plus(wide(n), PrimExpr::int64(-1)), wide(s))))
        }
    };
    if let Some(offset) = &buffer.elem_offset {
        elements = plus(elements, wide(offset));
    }
    times(elements, PrimExpr::int64(buffer.dtype.bytes() as i64))
}

fn plus(a: PrimExpr, b: PrimExpr) -> PrimExpr {
    hammock_ir::arith::binary(hammock_ir::prim::BinaryOp::Add, a, b)
}

/// Multiplies, without folding constants that overflow.
fn times(a: PrimExpr, b: PrimExpr) -> PrimExpr {
    match (a.as_int(), b.as_int()) {
        (Some(x), Some(y)) if x.checked_mul(y).is_none() => a * b,
        _ => hammock_ir::arith::binary(hammock_ir::prim::BinaryOp::Mul, a, b),
    }
}

/// Computes additions and multiplications in floating point.
fn in_floats(e: &PrimExpr) -> PrimExpr {
    use hammock_ir::prim::{BinaryOp, binary};
    match e.kind() {
        PrimKind::Int(v) => PrimExpr::float(*v as f64, DType::FLOAT64),
        PrimKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b) => {
            binary(*op, in_floats(a), in_floats(b))
        }
        _ => e.clone().cast(DType::FLOAT64),
    }
}

fn allocation(buffer: &Buffer) -> String {
    format!("buffer `{}` cannot be allocated with these sizes", buffer.name)
}

/// Returns true if a buffer certainly needs more than `memory` bytes.
fn is_larger(buffer: &Buffer, memory: &PrimExpr) -> bool {
    buffer_is_constant(buffer) && memory.as_int().is_some_and(|memory| f64_bytes(buffer) > memory as f64)
}

fn buffer_is_constant(buffer: &Buffer) -> bool {
    let mut constant = true;
    buffer.each_expr(&mut |e| constant &= e.as_int().is_some());
    constant
}

/// Size in bytes of a buffer with constant dimensions.
fn f64_bytes(buffer: &Buffer) -> f64 {
    fn value(e: &PrimExpr) -> f64 {
        use hammock_ir::prim::BinaryOp;
        match e.kind() {
            PrimKind::Binary(BinaryOp::Mul, a, b) => value(a) * value(b),
            PrimKind::Binary(_, a, b) => value(a) + value(b),
            _ => e.as_int().unwrap_or(0) as f64,
        }
    }
    value(&bytes(buffer))
}
