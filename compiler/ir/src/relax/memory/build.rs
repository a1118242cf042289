//! Finds the regions behind the variables of a function, in one walk.

use super::{ANY, EXTERNAL, MemoryDependences, Region, Writers, each, sorted};
use crate::{
    Type,
    relax::{Body, Call, CallTir, Callee, Function, Lambda, OpTable, Operand, ResultMemory, Value, Var},
};
use std::rc::Rc;

/// Maximum number of regions per variable; beyond it, the variable may point to any memory.
const MAX_REGIONS: usize = 64;

/// Maximum number of nested tuple members that are distinguished.
const MAX_MEMBERS: usize = 4096;
const MAX_DEPTH: usize = 64;

/// Points-to set of a variable.
#[derive(Clone, Debug, Default)]
pub enum PointsTo {
    /// No memory: scalars, shapes, constants.
    #[default]
    Nothing,
    /// Any of these regions.
    AnyOf(Rc<[Region]>),
    /// One set for each member; their total number and nesting depth.
    Tuple(Rc<[PointsTo]>, usize, usize),
}

impl PointsTo {
    fn tuple(fields: Vec<PointsTo>) -> Self {
        let size = |held: &PointsTo| match held {
            PointsTo::Tuple(_, count, depth) => (*count, *depth),
            _ => (1, 0),
        };
        let count = fields.iter().map(|field| size(field).0).sum();
        let depth = fields.iter().map(|field| size(field).1 + 1).max().unwrap_or(0);
        match count <= MAX_MEMBERS && depth <= MAX_DEPTH {
            true => PointsTo::Tuple(fields.into(), count, depth),
            false => any_of(&fields, None),
        }
    }
}

impl MemoryDependences {
    /// The dependences of a function in whose module nothing writes.
    pub fn empty() -> Self {
        MemoryDependences {
            held: Default::default(),
            positions: Default::default(),
            writes: Default::default(),
            writers: Vec::new(),
            lambdas: Vec::new(),
            escaped: Default::default(),
            returned: Default::default(),
            regions: EXTERNAL + 1,
        }
    }

    /// The dependences of a function, with regions even if nothing writes.
    pub fn with_regions(function: &Function, writers: &Writers, table: &dyn OpTable) -> Self {
        let mut walk = Walk { function, writers, table, found: Self::empty(), position: 0 };
        for param in &function.lambda.params {
            walk.found.held[*param] = of_type(function.ty(*param), &mut || EXTERNAL);
        }
        walk.body(&function.lambda.body);
        walk.returns(&function.lambda.body.result);
        let Walk { mut found, .. } = walk;
        found.finish();
        found
    }

    /// Adds a variable that a pass binds at the position of `at`.
    pub fn adopt(&mut self, function: &Function, table: &dyn OpTable, var: Var, value: &Value, at: Var) {
        if !self.is_empty() {
            self.held[var] = self.value(function, table, var, value);
            self.positions[var] = self.positions[at];
        }
    }

    /// Points-to set of an operand.
    pub fn operand(&self, operand: &Operand) -> PointsTo {
        match operand {
            Operand::Var(var) => self.held[*var].clone(),
            Operand::Tuple(fields) => PointsTo::tuple(fields.iter().map(|field| self.operand(field)).collect()),
            _ => PointsTo::Nothing,
        }
    }

    fn finish(&mut self) {
        for (position, regions) in &mut self.writers {
            for region in regions.iter_mut() {
                *region = if self.escaped.contains(region) { EXTERNAL } else { *region };
            }
            *regions = sorted(std::mem::take(regions));
            for region in regions.iter() {
                self.writes.entry(*region).or_default().push(*position);
            }
        }
        if self.returned.iter().any(|region| self.escaped.contains(region)) {
            self.returned.insert(EXTERNAL);
        }
    }

    fn fresh(&mut self) -> Region {
        self.regions += 1;
        self.regions - 1
    }

    fn value(&mut self, function: &Function, table: &dyn OpTable, var: Var, value: &Value) -> PointsTo {
        let ty = function.ty(var);
        match value {
            Value::Operand(operand) | Value::MatchCast(operand, _) => self.operand(operand),
            Value::TupleGet(tuple, index) => member(self.operand(tuple), *index),
            Value::If { then, otherwise, .. } => {
                let results = [self.operand(&then.result), self.operand(&otherwise.result)];
                any_of(&results, None)
            }
            Value::Function(_) => {
                let mut captured = Vec::new();
                value.each_body(&mut |body| body.each_use(&mut |used| captured.push(self.held[used].clone())));
                any_of(&captured, None)
            }
            Value::Call(call) => self.call(table, ty, call),
        }
    }

    fn call(&mut self, table: &dyn OpTable, ty: &Type, call: &Call) -> PointsTo {
        let memory = match call.callee {
            Callee::Op(name) => table.result_memory(name),
            _ => ResultMemory::Unknown,
        };
        match memory {
            ResultMemory::View => call.args.first().map_or(PointsTo::Nothing, |arg| self.operand(arg)),
            ResultMemory::Own | ResultMemory::OwnOrOperand => of_type(ty, &mut || self.fresh()),
            ResultMemory::Unknown => match CallTir::or_inplace(call) {
                Some(tir) => {
                    let args = self.operand(tir.args);
                    let places: Vec<_> = tir.in_place().zip(tir.outputs()).collect();
                    let mut results = places.into_iter().map(|(place, ty)| match place {
                        Some(index) => member(args.clone(), index),
                        None => of_type(ty, &mut || self.fresh()),
                    });
                    match tir.out_ty {
                        Type::Tuple(_) => PointsTo::tuple(results.collect()),
                        _ => results.next().unwrap_or_default(),
                    }
                }
                None => self.unknown(ty, call),
            },
        }
    }

    /// A result that may alias, or contain, any operand; for unknown functions, also memory that they captured.
    fn unknown(&mut self, ty: &Type, call: &Call) -> PointsTo {
        let holds_memory = match ty {
            Type::Prim(_) | Type::String | Type::Shape(_) => false,
            Type::Tuple(fields) => !fields.is_empty(),
            _ => true,
        };
        if !holds_memory {
            return PointsTo::Nothing;
        }
        let mut parts: Vec<PointsTo> = call.args.iter().map(|arg| self.operand(arg)).collect();
        let is_function = |operand: &Operand| matches!(operand, Operand::Global(_) | Operand::Extern(_));
        let calls_function = match &call.callee {
            Callee::Op(name) => name.contains("closure") || call.args.first().is_some_and(is_function),
            Callee::Var(closure) => {
                parts.push(self.held[*closure].clone());
                true
            }
            Callee::Global(_) | Callee::Extern(_) => true,
        };
        match any_of(&parts, calls_function.then_some(EXTERNAL)) {
            PointsTo::Nothing => of_type(ty, &mut || self.fresh()),
            held => held,
        }
    }
}

struct Walk<'a> {
    function: &'a Function,
    writers: &'a Writers,
    table: &'a dyn OpTable,
    found: MemoryDependences,
    position: u32,
}

impl Walk<'_> {
    fn body(&mut self, body: &Body) {
        for binding in body.bindings() {
            self.position += 1;
            let begin = self.position;
            self.nested(&binding.value);
            let held = self.found.value(self.function, self.table, binding.var, &binding.value);
            self.found.held[binding.var] = held;
            self.found.positions[binding.var] = (begin, self.position);
            self.writes(begin, &binding.value);
        }
    }

    fn nested(&mut self, value: &Value) {
        match value {
            Value::If { then, otherwise, .. } => [then, otherwise].into_iter().for_each(|body| self.body(body)),
            Value::Function(lambda) => self.lambda(lambda),
            _ => {}
        }
    }

    fn lambda(&mut self, lambda: &Lambda) {
        for param in &lambda.params {
            self.found.held[*param] = of_type(self.function.ty(*param), &mut || ANY);
            self.found.positions[*param] = (self.position, self.position);
        }
        let first = self.position + 1;
        self.body(&lambda.body);
        if self.position >= first {
            self.found.lambdas.push((first, self.position));
        }
        self.returns(&lambda.body.result);
    }

    fn returns(&mut self, result: &Operand) {
        let held = self.found.operand(result);
        each(&held, &mut |region| _ = self.found.returned.insert(region));
    }

    fn writes(&mut self, position: u32, value: &Value) {
        let mut written = Vec::new();
        let found = &self.found;
        self.writers.each_operand_written(value, self.table, &mut |operand, index| {
            let held = found.operand(operand);
            each(&index.map_or(held.clone(), |index| member(held, index)), &mut |region| written.push(region));
        });
        if written.is_empty() {
            return;
        }
        if may_keep(value) {
            self.found.escaped.extend(written.iter().copied().filter(|region| *region > EXTERNAL));
        }
        let at = self.found.writers.partition_point(|(other, _)| *other < position);
        self.found.writers.insert(at, (position, written));
    }
}

/// Returns true if the callee may capture memory that it may write to.
fn may_keep(value: &Value) -> bool {
    match value {
        Value::Call(call) => CallTir::of_kernel(call).is_none() && !matches!(call.callee, Callee::Global(_)),
        _ => false,
    }
}

/// Memory of a value of a type, one region per tensor.
fn of_type(ty: &Type, region: &mut dyn FnMut() -> Region) -> PointsTo {
    match ty {
        Type::Tuple(fields) => PointsTo::tuple(fields.iter().map(|field| of_type(field, region)).collect()),
        Type::Prim(_) | Type::String | Type::Shape(_) => PointsTo::Nothing,
        _ => PointsTo::AnyOf(Rc::new([region()])),
    }
}

fn member(held: PointsTo, index: usize) -> PointsTo {
    match held {
        PointsTo::Tuple(fields, ..) => fields.get(index).cloned().unwrap_or(PointsTo::AnyOf(Rc::new([ANY]))),
        held => held,
    }
}

/// Union of points-to sets and one more region.
fn any_of(parts: &[PointsTo], more: Option<Region>) -> PointsTo {
    let mut regions: Vec<Region> = more.into_iter().collect();
    parts.iter().for_each(|held| each(held, &mut |region| regions.push(region)));
    let regions = sorted(regions);
    match regions.len() {
        0 => PointsTo::Nothing,
        _ if regions.contains(&ANY) => PointsTo::AnyOf(Rc::new([ANY])),
        1..=MAX_REGIONS => PointsTo::AnyOf(regions.into()),
        _ => PointsTo::AnyOf(Rc::new([ANY])),
    }
}
