//! Functions: blocks of instructions.

use super::{Ty, Value, name::global_name};
use std::fmt::Write;

/// Maximum number of instructions of a block in an optimized function: instruction selection is quadratic in the length
/// of a block. A function with a longer one, such as the entry of a kernel with a thousand parameters, is not
/// optimized.
const MAX_BLOCK_LENGTH: usize = 10_000;

/// Maximum number of blocks of an optimized function: unrolling a loop updates the dominator tree of all blocks.
const MAX_BLOCKS: usize = 20_000;

/// Linkage of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Linkage {
    /// Visible to users of the library.
    Exported,
    /// Visible in the module.
    Internal,
    /// An entry point of device code, with LLVM's name of its calling convention.
    Entry(&'static str),
}

/// A basic block's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label(u32);

/// A function under construction; instructions go to the end of the current block.
pub struct Function {
    name: String,
    header: String,
    /// Stack slots, all at the start of the entry block, so that loops do not grow the stack.
    slots: String,
    body: String,
    next: u32,
    current: Label,
    is_open: bool,
    /// Number of instructions of the current block, and of the longest one before it.
    length: usize,
    longest: usize,
    /// Number of blocks so far.
    blocks: usize,
    /// True if it is not inlined.
    is_noinline: bool,
    param_count: usize,
    /// True if it is not optimized, regardless of its length.
    is_unoptimized: bool,
    /// Attributes that only this function has.
    attributes: String,
}

impl Function {
    /// Starts a function with typed parameters and their attributes; also returns the values of the parameters.
    pub fn new(name: &str, linkage: Linkage, ret: Ty, params: &[(Ty, &str)]) -> (Function, Vec<Value>) {
        let texts: Vec<String> = params
            .iter()
            .enumerate()
            .map(|(i, (ty, attributes))| {
                let space = if attributes.is_empty() { "" } else { " " };
                format!("{ty}{space}{attributes} %p{i}")
            })
            .collect();
        let linkage = match linkage {
            Linkage::Exported => "dso_local",
            Linkage::Internal => "internal",
            Linkage::Entry(convention) => convention,
        };
        let header = format!("define {linkage} {ret} {}({})", global_name(name), texts.join(", "));
        let values = params.iter().enumerate().map(|(i, (ty, _))| Value::named(format!("%p{i}"), *ty)).collect();
        let name = name.to_owned();
        let function = Function {
            name,
            header,
            slots: String::new(),
            body: String::new(),
            next: 1,
            current: Label(0),
            is_open: true,
            length: 0,
            longest: 0,
            blocks: 1,
            is_noinline: false,
            param_count: params.len(),
            is_unoptimized: false,
            attributes: String::new(),
        };
        (function, values)
    }

    /// Returns the name and the text of the definition.
    pub(super) fn finish(mut self) -> (String, String) {
        if self.is_open {
            self.body.push_str("  unreachable\n");
        }
        let is_long = self.longest.max(self.length) > MAX_BLOCK_LENGTH || self.blocks > MAX_BLOCKS;
        let optimized = !is_long && !self.is_unoptimized;
        let attributes = match (optimized, self.is_noinline) {
            (true, false) => "#0",
            (true, true) => "noinline #0",
            (false, _) => "noinline optnone #0",
        };
        let own = &self.attributes;
        (self.name, format!("{} {attributes}{own} {{\nb0:\n{}{}}}\n", self.header, self.slots, self.body))
    }

    /// Prevents inlining.
    pub fn forbid_inlining(&mut self) {
        self.is_noinline = true;
    }

    /// Disables optimization.
    pub fn disable_optimization(&mut self) {
        self.is_unoptimized = true;
    }

    /// Adds an attribute in LLVM's syntax.
    pub fn add_attribute(&mut self, attribute: &str) {
        self.attributes.push(' ');
        self.attributes.push_str(attribute);
    }

    /// Number of its parameters.
    pub fn param_count(&self) -> usize {
        self.param_count
    }

    fn fresh(&mut self) -> u32 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// Returns a register that is defined later: the next value of a loop-carried variable.
    pub fn forward(&mut self, ty: Ty) -> Value {
        Value::register(self.fresh(), ty)
    }

    /// Emits an instruction that defines a new register.
    pub fn assign(&mut self, ty: Ty, instruction: std::fmt::Arguments<'_>) -> Value {
        let result = self.forward(ty);
        self.assign_to(&result, instruction);
        result
    }

    /// Emits an instruction that defines a forward register.
    pub fn assign_to(&mut self, result: &Value, instruction: std::fmt::Arguments<'_>) {
        self.length += 1;
        let _ = writeln!(self.body, "  {result} = {instruction}");
    }

    /// Emits an instruction without a result.
    pub fn perform(&mut self, instruction: std::fmt::Arguments<'_>) {
        self.length += 1;
        let _ = writeln!(self.body, "  {instruction}");
    }

    // Blocks.

    /// Returns the label of a block to start later.
    pub fn label(&mut self) -> Label {
        Label(self.fresh())
    }

    /// Returns the current block.
    pub fn current(&self) -> Label {
        self.current
    }

    /// Returns true if the current block has not ended yet.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Starts a block; the one before must have ended.
    pub fn start(&mut self, label: Label) {
        debug_assert!(!self.is_open, "the block before must end in a jump");
        let _ = writeln!(self.body, "b{}:", label.0);
        (self.current, self.is_open) = (label, true);
        self.longest = self.longest.max(std::mem::take(&mut self.length));
        self.blocks += 1;
    }

    /// Ends the block with a jump, unless it has ended.
    pub fn jump(&mut self, to: Label) {
        self.end(format_args!("br label %b{}", to.0));
    }

    /// Ends the block with a conditional branch.
    pub fn branch(&mut self, condition: &Value, then: Label, otherwise: Label) {
        match condition.as_int() {
            Some(v) => self.jump(if v != 0 { then } else { otherwise }),
            None => self.end(format_args!("br i1 {condition}, label %b{}, label %b{}", then.0, otherwise.0)),
        }
    }

    /// Ends the block with a return.
    pub fn ret(&mut self, value: &Value) {
        self.end(format_args!("ret {}", value.typed()));
    }

    /// Ends the block with a return of no value.
    pub fn ret_void(&mut self) {
        self.end(format_args!("ret void"));
    }

    fn end(&mut self, instruction: std::fmt::Arguments<'_>) {
        if self.is_open {
            self.perform(instruction);
            self.is_open = false;
        }
    }

    /// Emits a phi.
    pub fn phi(&mut self, incoming: &[(&Value, Label)]) -> Value {
        let texts: Vec<String> = incoming.iter().map(|(v, from)| format!("[ {v}, %b{} ]", from.0)).collect();
        let ty = incoming[0].0.ty;
        self.assign(ty, format_args!("phi {ty} {}", texts.join(", ")))
    }

    // Arithmetic.

    /// Emits a binary instruction.
    pub fn binary(&mut self, instruction: &str, a: &Value, b: &Value) -> Value {
        debug_assert_eq!(a.ty, b.ty, "operands of {instruction}");
        match fold(instruction, a, b) {
            Some(folded) => folded,
            None => self.assign(a.ty, format_args!("{instruction} {} {a}, {b}", a.ty)),
        }
    }

    /// Emits a comparison: `icmp slt`, `fcmp olt`, ….
    pub fn compare(&mut self, instruction: &str, a: &Value, b: &Value) -> Value {
        debug_assert_eq!(a.ty, b.ty, "operands of {instruction}");
        if let (Some(x), Some(y), 1) = (a.as_int(), b.as_int(), a.ty.lanes) {
            match instruction {
                "icmp eq" => return Value::bool(x == y),
                "icmp ne" => return Value::bool(x != y),
                "icmp slt" => return Value::bool(x < y),
                _ => {}
            }
        }
        self.assign(Ty::I1.with_lanes(a.ty.lanes), format_args!("{instruction} {} {a}, {b}", a.ty))
    }

    /// Emits a conversion.
    pub fn convert(&mut self, instruction: &str, a: &Value, to: Ty) -> Value {
        match (instruction, a.as_int()) {
            _ if a.ty == to => a.clone(),
            ("sext" | "zext", Some(v)) if v >= 0 && a.ty.bits() > 1 => Value::int(v, to),
            ("sext", Some(v)) if a.ty.bits() > 1 => Value::int(v, to),
            ("trunc", Some(v)) if to.bits() > 1 => wrapped(v, to),
            _ => self.assign(to, format_args!("{instruction} {} to {to}", a.typed())),
        }
    }

    /// Emits a freeze.
    pub fn freeze(&mut self, value: &Value) -> Value {
        match (value.as_int(), value.as_float()) {
            (None, None) => self.assign(value.ty, format_args!("freeze {}", value.typed())),
            _ => value.clone(),
        }
    }

    /// `condition ? a : b`, lane by lane for a vector condition.
    pub fn select(&mut self, condition: &Value, a: &Value, b: &Value) -> Value {
        match condition.as_int() {
            Some(v) => if v != 0 { a } else { b }.clone(),
            None if a == b => a.clone(),
            None => self.assign(a.ty, format_args!("select {}, {}, {}", condition.typed(), a.typed(), b.typed())),
        }
    }

    // Vectors.

    /// Extracts one lane.
    pub fn extract(&mut self, vector: &Value, lane: usize) -> Value {
        let element = vector.ty.element();
        match (vector.as_int(), vector.as_float()) {
            (Some(v), _) => Value::int(v, element),
            (_, Some(v)) => Value::float(v, element),
            _ => self.assign(element, format_args!("extractelement {}, i64 {lane}", vector.typed())),
        }
    }

    /// Replaces one lane of a vector.
    pub fn insert(&mut self, vector: &Value, value: &Value, lane: usize) -> Value {
        self.assign(vector.ty, format_args!("insertelement {}, {}, i64 {lane}", vector.typed(), value.typed()))
    }

    /// Shuffles two vectors of one type.
    pub fn shuffle(&mut self, a: &Value, b: &Value, lanes: impl Iterator<Item = usize>) -> Value {
        let lanes = Value::vector(lanes.map(|l| l as i64), Ty::I32);
        let mask = if lanes.ty.lanes == 1 { format!("<1 x i32> <i32 {lanes}>") } else { lanes.typed().to_string() };
        self.assign(a.ty.with_lanes(lanes.ty.lanes), format_args!("shufflevector {}, {}, {mask}", a.typed(), b.typed()))
    }

    /// Broadcasts a scalar.
    pub fn splat(&mut self, value: &Value, lanes: u16) -> Value {
        let ty = value.ty.with_lanes(lanes);
        match (value.as_int(), value.as_float()) {
            _ if lanes == 1 => value.clone(),
            (Some(v), _) => Value::int(v, ty),
            (_, Some(v)) => Value::float(v, ty),
            _ => {
                let first = self.insert(&Value::poison(ty), value, 0);
                self.shuffle(&first, &Value::poison(ty), std::iter::repeat_n(0, lanes.into()))
            }
        }
    }

    // Memory and calls.

    /// Allocates a stack slot for the whole function.
    pub fn slot(&mut self, bytes: u64, align: u64) -> Value {
        let result = self.forward(Ty::PTR);
        let _ = writeln!(self.slots, "  {result} = alloca [{bytes} x i8], align {align}");
        result
    }

    /// `base + index` elements of `element`, in the base's address space; a vector of addresses for a vector index.
    pub fn address(&mut self, base: &Value, element: Ty, index: &Value) -> Value {
        if index.as_int() == Some(0) && index.ty.lanes == 1 {
            return base.clone();
        }
        let ty = base.ty.with_lanes(index.ty.lanes);
        self.assign(ty, format_args!("getelementptr inbounds {element}, {}, {}", base.typed(), index.typed()))
    }

    /// Loads a value.
    pub fn load(&mut self, ty: Ty, from: &Value, align: u64) -> Value {
        self.assign(ty, format_args!("load {ty}, {}, align {align}", from.typed()))
    }

    /// Stores a value.
    pub fn store(&mut self, value: &Value, to: &Value, align: u64) {
        self.perform(format_args!("store {}, {}, align {align}", value.typed(), to.typed()));
    }

    /// Calls a function.
    pub fn call(&mut self, callee: &Value, ret: Ty, args: &[&Value]) -> Value {
        let texts: Vec<String> = args.iter().map(|a| a.typed().to_string()).collect();
        let args = texts.join(", ");
        if ret == Ty::VOID {
            self.perform(format_args!("call void {callee}({args})"));
            return Value::poison(Ty::VOID);
        }
        self.assign(ret, format_args!("call {ret} {callee}({args})"))
    }

    /// Calls a function that returns a structure of `count` fields of a type; returns the fields.
    pub fn call_fields(&mut self, callee: &Value, (field, count): (Ty, usize), args: &[&Value]) -> Vec<Value> {
        let texts: Vec<String> = args.iter().map(|a| a.typed().to_string()).collect();
        let structure = structure(field, count);
        let whole = self.assign(field, format_args!("call {structure} {callee}({})", texts.join(", ")));
        let fields = (0..count).map(|i| self.assign(field, format_args!("extractvalue {structure} {whole}, {i}")));
        fields.collect()
    }

    /// Calls a function that returns noalias memory.
    pub fn call_allocator(&mut self, callee: &Value, bytes: &Value) -> Value {
        self.assign(Ty::PTR, format_args!("call noalias ptr {callee}({})", bytes.typed()))
    }
}

/// Returns the type of a structure of `count` fields of a type.
pub(super) fn structure(field: Ty, count: usize) -> String {
    format!("{{ {} }}", vec![field.to_string(); count].join(", "))
}

/// Folds integer arithmetic on constants, and on zero and one.
fn fold(instruction: &str, a: &Value, b: &Value) -> Option<Value> {
    let ty = a.ty;
    match (instruction, a.as_int(), b.as_int()) {
        ("add" | "or" | "xor", Some(0), _) | ("mul", _, Some(0)) | ("and", _, Some(0)) => Some(b.clone()),
        ("add" | "sub" | "or" | "xor", _, Some(0)) | ("mul", Some(0), _) | ("and", Some(0), _) => Some(a.clone()),
        ("mul", _, Some(1)) => Some(a.clone()),
        ("mul", Some(1), _) => Some(b.clone()),
        ("add", Some(x), Some(y)) => Some(wrapped(x.checked_add(y)?, ty)),
        ("sub", Some(x), Some(y)) => Some(wrapped(x.checked_sub(y)?, ty)),
        ("mul", Some(x), Some(y)) => Some(wrapped(x.checked_mul(y)?, ty)),
        _ => None,
    }
}

/// Wraps a constant to its type.
fn wrapped(value: i64, ty: Ty) -> Value {
    let unused = 64 - u32::from(ty.bits().clamp(1, 64));
    Value::int(value << unused >> unused, ty)
}
