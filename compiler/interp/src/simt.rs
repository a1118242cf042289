//! Threads of a GPU: the blocks of a launch run one after the other, the threads of a block together.
//!
//! A statement without barriers and exchanges runs to its end on each thread in turn. Others run on all threads at
//! once, so their conditions and extents must be the same for all.

mod tensor_cores;

use crate::{
    Fault, Interpreter, Value,
    races::{Actor, Races},
    stmt::Flow,
    view::View,
};
use hammock_ir::{
    PrimExpr,
    prim::{
        PrimCall, PrimCallee, PrimKind, Var,
        intrinsics::{self, Effect, LAUNCH_ARGS, THREAD_AXES, WARP_THREADS},
    },
    tir::{AttrNode, Buffer, Loop, PrimFunc, Stmt, StmtKind},
};
use rustc_hash::FxHashMap;
use std::{cell::RefCell, rc::Rc};

const BARRIER: &str = "a barrier";
const EXCHANGE: &str = "an exchange of values between threads";

/// Values of the operands of exchanges in a statement, by thread, and the current thread.
pub struct Exchanged {
    values: Vec<(PrimExpr, Vec<Value>)>,
    thread: usize,
}

/// An exchange of values within a warp.
#[derive(Clone, Copy)]
pub enum Shuffle {
    /// From the thread of this lane.
    Index,
    /// From a lower lane.
    Up,
    /// From a higher lane.
    Down,
    /// From the lane whose number differs in some bits.
    Xor,
}

impl Shuffle {
    /// Returns the exchange of an intrinsic.
    pub fn named(name: &str) -> Option<Shuffle> {
        Some(match name {
            "tvm_warp_shuffle" => Shuffle::Index,
            "tvm_warp_shuffle_up" => Shuffle::Up,
            "tvm_warp_shuffle_down" => Shuffle::Down,
            "tvm_warp_shuffle_xor" => Shuffle::Xor,
            _ => return None,
        })
    }

    /// Returns the lane that a lane reads, both within a group of `width`; its own if there is no such lane.
    fn source(self, lane: i64, by: i64, width: i64) -> i64 {
        let to = match self {
            Shuffle::Index => by,
            Shuffle::Up => lane - by,
            Shuffle::Down => lane + by,
            Shuffle::Xor => lane ^ by,
        };
        if (0..width).contains(&to) { to } else { lane }
    }
}

/// State of a thread.
struct Thread {
    vars: FxHashMap<Var, Value>,
    views: FxHashMap<Buffer, Rc<View>>,
    /// Index on each axis.
    index: [i64; 6],
    /// Number in its block.
    number: usize,
    ended: bool,
}

/// A block of threads.
struct Block {
    number: u64,
    phase: u64,
    /// Bytes of dynamic shared memory.
    dynamic: i64,
    threads: Vec<Thread>,
}

impl Interpreter {
    /// Runs a device function on all threads of a grid.
    pub fn launch_kernel(&mut self, args: &[PrimExpr]) -> Result<Value, Fault> {
        let Value::Str(name) = self.eval(&args[0])? else {
            return Err(Fault::Mismatch { expected: "the name of a device function", found: format!("{:?}", args[0]) });
        };
        let device = self.device.clone();
        let func = device.get(&name).ok_or_else(|| Fault::Callee(name.clone()))?;
        let sizes = args[1..LAUNCH_ARGS].iter().map(|e| self.int(e)).collect::<Result<Vec<i64>, _>>()?;
        let values = args[LAUNCH_ARGS..].iter().map(|e| self.eval(e)).collect::<Result<Vec<Value>, _>>()?;
        if values.len() != func.params.len() {
            return Err(Fault::ArgumentCount { expected: func.params.len(), actual: values.len() });
        }
        let host = (std::mem::take(&mut self.vars), std::mem::take(&mut self.views));
        self.vars = func.params.iter().map(|param| param.var.clone()).zip(values).collect();
        self.heap.races = Some(RefCell::new(Races::default()));
        let result = self.grid(func, &sizes);
        self.heap.races = None;
        (self.vars, self.views) = host;
        result.map(|()| Value::Void)
    }

    fn grid(&mut self, func: &PrimFunc, sizes: &[i64]) -> Result<(), Fault> {
        let (blocks, threads) = (sizes[0] * sizes[1] * sizes[2], sizes[3] * sizes[4] * sizes[5]);
        let of = |number: i64, sizes: &[i64]| {
            [number % sizes[0], number / sizes[0] % sizes[1], number / (sizes[0] * sizes[1])]
        };
        for number in 0..blocks {
            let at = of(number, &sizes[..3]);
            let thread = |number: i64| {
                let [x, y, z] = of(number, &sizes[3..6]);
                let index = [at[0], at[1], at[2], x, y, z];
                let number = number as usize;
                Thread { vars: self.vars.clone(), views: FxHashMap::default(), index, number, ended: false }
            };
            let threads = (0..threads).map(thread).collect();
            let mut block = Block { number: number as u64, phase: 0, dynamic: sizes[6], threads };
            let mark = self.heap.mark();
            self.together(&func.body, &mut block)?;
            self.heap.release(mark);
        }
        Ok(())
    }

    /// Runs a statement on all threads of a block.
    fn together(&mut self, stmt: &Stmt, block: &mut Block) -> Result<(), Fault> {
        if stmt.span != hammock_ir::Span::default() {
            self.span = stmt.span;
        }
        match &stmt.kind {
            StmtKind::Seq(stmts) => {
                let mark = self.heap.mark();
                stmts.iter().try_for_each(|stmt| self.together(stmt, block))?;
                self.heap.release(mark);
                Ok(())
            }
            StmtKind::Attr { node: AttrNode::Thread(iter), body, .. } => {
                if let Some(axis) = THREAD_AXES.iter().position(|axis| iter.thread == *axis) {
                    for thread in &mut block.threads {
                        thread.vars.insert(iter.var.clone(), Value::Int(thread.index[axis]));
                    }
                }
                self.together(body, block)
            }
            StmtKind::Alloc(buffer, _) if buffer.scope.starts_with("shared") => self.share(buffer, block),
            StmtKind::Decl(buffer) if *buffer.scope == *"shared.dyn" => {
                let elements = block.dynamic / buffer.dtype.bytes() as i64;
                self.each(block, |own, _| own.declare_as(buffer, vec![elements]).map(|()| Flow::Next))
            }
            StmtKind::Alloc(..) | StmtKind::Decl(_) => self.each(block, |own, _| own.execute(stmt)),
            _ if !is_collective(stmt) => self.each(block, |own, _| own.execute(stmt)),
            StmtKind::Attr { body, .. } => self.together(body, block),
            StmtKind::For(l) => self.loop_together(l, block),
            StmtKind::While(condition, body) => {
                while self.uniform(block, condition, BARRIER)? != Some(0) && block.threads.iter().any(|t| !t.ended) {
                    self.together(body, block)?;
                }
                Ok(())
            }
            StmtKind::If(condition, then, otherwise) => match (self.uniform(block, condition, BARRIER)?, otherwise) {
                (Some(0), Some(otherwise)) => self.together(otherwise, block),
                (Some(0) | None, _) => Ok(()),
                (Some(_), _) => self.together(then, block),
            },
            StmtKind::Evaluate(e) if e.as_intrin("tvm_storage_sync").is_some() => {
                block.phase += 1;
                Ok(())
            }
            StmtKind::Evaluate(e) if let Some(call) = e.as_intrin("ptx_ldmatrix") => {
                self.load_matrices(&call.args, e.dtype(), block)
            }
            StmtKind::Evaluate(e) if let Some(call) = e.as_intrin("ptx_mma") => {
                self.multiply_matrices(&call.args, block)
            }
            _ => self.exchange(stmt, block),
        }
    }

    /// Runs `f` on each thread that has not ended.
    fn each(
        &mut self,
        block: &mut Block,
        mut f: impl FnMut(&mut Interpreter, usize) -> Result<Flow, Fault>,
    ) -> Result<(), Fault> {
        let (number, phase) = (block.number, block.phase);
        for thread in block.threads.iter_mut().filter(|thread| !thread.ended) {
            if let Some(races) = &self.heap.races {
                races.borrow_mut().current = Actor { block: number, thread: thread.number as u64, phase };
            }
            std::mem::swap(&mut self.vars, &mut thread.vars);
            std::mem::swap(&mut self.views, &mut thread.views);
            let flow = f(self, thread.number);
            std::mem::swap(&mut self.vars, &mut thread.vars);
            std::mem::swap(&mut self.views, &mut thread.views);
            match flow? {
                Flow::Next => {}
                Flow::Return(_) => thread.ended = true,
                Flow::Break | Flow::Continue => return Err(Fault::Divergent(BARRIER)),
            }
        }
        Ok(())
    }

    /// Evaluates an integer, which must be the same on all threads; `None` if all have ended.
    fn uniform(&mut self, block: &mut Block, e: &PrimExpr, what: &'static str) -> Result<Option<i64>, Fault> {
        let mut found = None;
        self.each(block, |own, _| {
            let value = own.int(e)?;
            match found.replace(value) {
                Some(other) if other != value => Err(Fault::Divergent(what)),
                _ => Ok(Flow::Next),
            }
        })?;
        Ok(found)
    }

    fn loop_together(&mut self, l: &Loop, block: &mut Block) -> Result<(), Fault> {
        let min = self.uniform(block, &l.min, BARRIER)?;
        let extent = self.uniform(block, &l.extent, BARRIER)?;
        let step = l.step.as_ref().map_or(Ok(Some(1)), |step| self.uniform(block, step, BARRIER))?;
        let (Some(min), Some(extent), Some(step)) = (min, extent, step) else { return Ok(()) };
        let mut distance = 0;
        while if step > 0 { distance < extent } else { step < 0 && distance > extent } {
            for thread in &mut block.threads {
                thread.vars.insert(l.var.clone(), Value::Int(min.wrapping_add(distance)));
            }
            self.together(&l.body, block)?;
            distance += step;
        }
        Ok(())
    }

    /// Allocates memory that all threads of a block share.
    fn share(&mut self, buffer: &Buffer, block: &mut Block) -> Result<(), Fault> {
        let dynamic = (*buffer.scope == *"shared.dyn").then(|| block.dynamic / buffer.dtype.bytes() as i64);
        let elements = match dynamic {
            Some(elements) => elements,
            None => self.shared_elements(buffer, block)?,
        };
        let base = self.heap.allocate(elements, buffer.dtype)?;
        self.heap.share(base);
        self.each(block, |own, _| {
            own.vars.insert(buffer.data.clone(), Value::Pointer(base));
            match dynamic {
                Some(elements) => own.declare_as(buffer, vec![elements])?,
                None => own.declare(buffer)?,
            }
            Ok(Flow::Next)
        })
    }

    /// Returns the number of elements of a buffer, which is the same on all threads.
    fn shared_elements(&mut self, buffer: &Buffer, block: &mut Block) -> Result<i64, Fault> {
        let Some(first) = block.threads.first_mut() else { return Ok(0) };
        std::mem::swap(&mut self.vars, &mut first.vars);
        let elements = buffer.shape.iter().try_fold(1i64, |n, e| Ok(n.saturating_mul(self.int(e)?)));
        std::mem::swap(&mut self.vars, &mut first.vars);
        elements
    }

    /// Runs a statement that exchanges values: first, all threads compute the operands.
    fn exchange(&mut self, stmt: &Stmt, block: &mut Block) -> Result<(), Fault> {
        let mut operands = Vec::new();
        stmt.each_expr(&mut |e| {
            e.walk(&mut |e| {
                if let PrimKind::Call(PrimCall { callee: PrimCallee::Intrin(name), args, .. }) = e.kind()
                    && Shuffle::named(name).is_some()
                {
                    operands.push(args[1].clone());
                }
            });
        });
        if operands.is_empty()
            || !matches!(stmt.kind, StmtKind::Bind(..) | StmtKind::Store { .. } | StmtKind::Evaluate(_))
        {
            return Err(Fault::Divergent(EXCHANGE));
        }
        let mut values = Vec::new();
        for operand in operands {
            let mut all = vec![Value::Void; block.threads.len()];
            self.each(block, |own, number| {
                all[number] = own.eval(&operand)?;
                Ok(Flow::Next)
            })?;
            values.push((operand, all));
        }
        let mut exchanged = Some(Exchanged { values, thread: 0 });
        self.each(block, |own, number| {
            own.exchanged = exchanged.take().map(|all| Exchanged { thread: number, ..all });
            let flow = own.execute(stmt);
            exchanged = own.exchanged.take();
            flow
        })
    }

    /// Evaluates an exchange, given the values of all threads.
    pub fn shuffled(
        &mut self,
        shuffle: Shuffle,
        value: &PrimExpr,
        by: &PrimExpr,
        width: &PrimExpr,
    ) -> Result<Value, Fault> {
        let (by, width) = (self.int(by)?, self.int(width)?.clamp(1, WARP_THREADS));
        let Some(Exchanged { values, thread }) = &self.exchanged else { return Err(Fault::Divergent(EXCHANGE)) };
        let Some((_, all)) = values.iter().find(|(operand, _)| operand.same_node(value)) else {
            return Err(Fault::Divergent(EXCHANGE));
        };
        let thread = *thread as i64;
        let lane = thread % WARP_THREADS % width;
        let source = thread - lane + shuffle.source(lane, by, width);
        match all.get(source as usize) {
            Some(Value::Void) | None => Err(Fault::Divergent(EXCHANGE)),
            Some(value) => Ok(value.clone()),
        }
    }
}

/// Returns true if the threads of a block run a statement together: it synchronizes or exchanges values, or allocates
/// shared memory.
fn is_collective(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.walk(&mut |stmt| {
        found |= matches!(&stmt.kind, StmtKind::Alloc(buffer, _) if buffer.scope.starts_with("shared"));
        stmt.each_expr(&mut |e| {
            found |= e.any(&mut |e| match e.kind() {
                PrimKind::Call(PrimCall { callee: PrimCallee::Intrin(name), .. }) => {
                    intrinsics::effect(name) == Effect::Cooperates
                }
                _ => false,
            });
        });
    });
    found
}
