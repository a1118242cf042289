//! Generator of random kernels and their arguments.

use super::rng::Rng;
use half::f16;
use hammock_ir::{
    Attrs, DType, PrimExpr, Tensor,
    prim::Var,
    tir::{Block, Buffer, Param, PrimFunc, Stmt},
};

/// A kernel, named by its number.
pub struct Case {
    pub number: u64,
    pub func: PrimFunc,
    pub args: Vec<Value>,
}

pub enum Value {
    Tensor(Tensor),
    Int(i64),
}

/// Allowed errors of a kernel.
#[derive(Clone, Copy, PartialEq)]
pub struct Manners {
    /// Indices may be out of bounds.
    pub wild: bool,
    /// Divisors may be zero, and shift counts invalid.
    pub traps: bool,
}

/// True if kernels may access out of bounds.
const WILD: bool = true;

pub const INTEGERS: [DType; 8] =
    [DType::INT8, DType::INT16, DType::INT32, DType::INT64, DType::UINT8, DType::UINT16, DType::UINT32, DType::UINT64];
pub const FLOATS: [DType; 3] = [DType::FLOAT16, DType::FLOAT32, DType::FLOAT64];

/// An integer in scope, with its minimum and maximum.
#[derive(Clone)]
pub struct Int {
    pub expr: PrimExpr,
    pub low: i64,
    pub high: i64,
}

/// A buffer in scope, with its actual sizes.
#[derive(Clone)]
pub struct Memory {
    pub buffer: Buffer,
    pub shape: Vec<i64>,
    pub writable: bool,
    /// Id of its memory: buffers with the same id may overlap.
    pub memory: usize,
    /// True if its elements are small enough to be indices.
    pub indexes: bool,
}

pub struct Generator {
    pub rng: Rng,
    pub manners: Manners,
    pub memories: Vec<Memory>,
    pub ints: Vec<Int>,
    /// Nesting depth of loops, blocks and branches.
    pub depth: usize,
    /// True inside of a loop that allows `break` and `continue`.
    pub in_loop: bool,
    pub names: usize,
}

pub fn case(number: u64) -> Case {
    let mut rng = Rng::new(number);
    let manners = Manners { wild: WILD && rng.chance(50), traps: rng.chance(40) };
    let mut g = Generator { rng, manners, memories: vec![], ints: vec![], depth: 0, in_loop: false, names: 0 };
    let (params, args) = g.params();
    let body = g.stmts(4);
    let attrs = Attrs::new().with("global_symbol", &*format!("k{number}")).with("tirx.noalias", true);
    let s_tir = g.rng.chance(50);
    let body = if s_tir { Block::root(vec![], body).into() } else { body };
    let func = PrimFunc { params, ret_ty: None, body, attrs, s_tir, span: Default::default() };
    Case { number, func, args }
}

impl Generator {
    pub fn name(&mut self, letter: &str) -> String {
        self.names += 1;
        format!("{letter}{}", self.names)
    }

    fn params(&mut self) -> (Vec<Param>, Vec<Value>) {
        let (n, m, s) = (Var::int64("n"), Var::int64("m"), Var::int64("s"));
        let sizes = [self.rng.between(0, 8).max(self.rng.between(0, 8)), self.rng.between(1, 6)];
        let scalar = self.rng.between(-2, 9);
        self.ints.push(Int { expr: n.expr(), low: sizes[0], high: sizes[0] });
        self.ints.push(Int { expr: m.expr(), low: sizes[1], high: sizes[1] });
        self.ints.push(Int { expr: s.expr(), low: scalar, high: scalar });
        let first = Buffer::new("A", vec![n.expr(), m.expr()], self.element());
        let mut declared = vec![(first, sizes.to_vec(), false)];
        let index = Buffer::new("I", vec![n.expr() + 1i64], *self.rng.pick(&[DType::INT32, DType::INT64]));
        declared.push((index, vec![sizes[0] + 1], true));
        for _ in 0..self.rng.between(1, 3) {
            let (shape, actual) = self.shape(&n, &m, sizes);
            let buffer = Buffer::new(self.name("P"), shape, self.element());
            declared.push((buffer, actual, false));
        }
        let (mut params, mut args) = (Vec::new(), Vec::new());
        for (buffer, shape, indexes) in declared {
            params.push(Param::buffer(buffer.clone()));
            args.push(Value::Tensor(self.tensor(buffer.dtype, &shape, indexes)));
            let writable = !indexes && buffer.name != "A";
            self.memories.push(Memory { buffer, shape, writable, memory: self.memories.len(), indexes });
        }
        params.push(Param::scalar(s));
        args.push(Value::Int(scalar));
        (params, args)
    }

    /// Picks the dtype of a buffer.
    pub fn element(&mut self) -> DType {
        match self.rng.below(10) {
            0..=4 => *self.rng.pick(&INTEGERS),
            5 => DType::BOOL,
            _ => *self.rng.pick(&FLOATS),
        }
    }

    fn shape(&mut self, n: &Var, m: &Var, sizes: [i64; 2]) -> (Vec<PrimExpr>, Vec<i64>) {
        let dims = (0..self.rng.between(1, 3)).map(|_| match self.rng.below(6) {
            0 => (n.expr(), sizes[0]),
            1 => (m.expr(), sizes[1]),
            2 => (n.expr() + 2i64, sizes[0] + 2),
            3 => (m.expr() * 2i64, sizes[1] * 2),
            _ => {
                let size = self.rng.between(1, 9);
                (PrimExpr::int64(size), size)
            }
        });
        dims.unzip()
    }

    fn tensor(&mut self, dtype: DType, shape: &[i64], indexes: bool) -> Tensor {
        let count = shape.iter().product::<i64>();
        let bytes: Vec<u8> = (0..count).flat_map(|_| self.bytes(dtype, indexes)).collect();
        Tensor::from_bytes(dtype, shape, &bytes).unwrap()
    }

    fn bytes(&mut self, dtype: DType, indexes: bool) -> Vec<u8> {
        let rng = &mut self.rng;
        if dtype.is_bool() {
            return vec![rng.below(2) as u8];
        }
        if dtype.is_floating() {
            let value = match rng.below(12) {
                0 => f64::NAN,
                1 => f64::INFINITY,
                2 => -0.0,
                3 => 1e30,
                4 => -3e9,
                _ => rng.between(-40, 40) as f64 / 4.0,
            };
            return match dtype.bits {
                16 => f16::from_f64(value).to_le_bytes().to_vec(),
                32 => (value as f32).to_le_bytes().to_vec(),
                _ => value.to_le_bytes().to_vec(),
            };
        }
        let value = match rng.below(10) {
            0 if !indexes => i64::MIN >> (64 - dtype.bits),
            1 if !indexes => -1,
            2 if !indexes => rng.next() as i64,
            3 => 0,
            _ if indexes => rng.between(-2, 9),
            _ => rng.between(-6, 12),
        };
        value.to_le_bytes()[..dtype.bytes()].to_vec()
    }

    /// Runs `f` one level deeper, and drops its declarations.
    pub fn inside<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let (memories, ints) = (self.memories.len(), self.ints.len());
        self.depth += 1;
        let made = f(self);
        self.depth -= 1;
        self.memories.truncate(memories);
        self.ints.truncate(ints);
        made
    }

    /// Generates a sequence of statements.
    pub fn stmts(&mut self, max_count: i64) -> Stmt {
        let count = self.rng.between(1, max_count);
        self.inside(|g| {
            let mut stmts = Vec::new();
            for _ in 0..count {
                g.stmt(&mut stmts);
            }
            Stmt::seq(stmts)
        })
    }
}
