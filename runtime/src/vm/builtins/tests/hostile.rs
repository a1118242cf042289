//! Every builtin, called with tensors of all dtypes and shapes and with hostile sizes.
//!
//! All data end at a guard page, and the process's memory is limited: a write past a block, an allocation beyond the
//! program's limit, or a panic ends the process, so the calls run in a child process.
use crate::memory::{Allocator, AllocatorKind, fenced::Exact, meter::Account};
use crate::value::{Any, DLTensor, DType, Device, Lender, Shape, Tensor, Tuple, byte_size};
use crate::vm::builtins::{all, find};
use std::process::Command;
use std::ptr::null_mut;
use std::sync::atomic::AtomicU8;

/// Marks the child process.
const CHILD: &str = "HAMMOCK_HOSTILE_ARGUMENTS";
/// Number of calls of each builtin; builtins with several tensors get more, because random tensors rarely match.
const CALLS: usize = 200;
const CALLS_OF_TENSORS: usize = 800;
/// Memory limits of the program and of the process.
const LIMIT: usize = 16 << 20;
const ADDRESS_SPACE: u64 = 1 << 30;

const DTYPES: [DType; 14] = [
    DType::INT4,
    DType::UINT1,
    DType::FLOAT4_E2M1FN,
    DType::FLOAT6_E3M2FN,
    DType::INT4.with_lanes(3),
    DType::int(12),
    DType::BOOL,
    DType::INT8,
    DType::INT32,
    DType::INT64,
    DType::FLOAT16,
    DType::FLOAT32,
    DType::FLOAT64,
    DType::INT8.with_lanes(4),
];

const INTEGERS: [i64; 15] =
    [0, 1, 2, 3, 4, 7, -1, -2, i64::MAX, i64::MIN, i64::MIN + 1, 1 << 20, 1 << 31, 1 << 40, 1 << 62];
const FLOATS: [f64; 8] = [0.0, 0.5, 1.0, -1.0, 1e308, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
const TEXTS: [&str; 6] = ["", "text", "{0}{0}{0}", "onnx", "both", "values"];

impl Lender for Exact {
    fn is_read_only(&self) -> bool {
        false
    }
}

/// Random arguments, and results of earlier calls.
struct Arguments {
    random: u64,
    made: Vec<Any>,
    /// Properties that most tensors of a call share: a dtype, the shape of a row, and a number of rows.
    dtype: DType,
    row: &'static [i64],
    rows: i64,
}

impl Arguments {
    fn number(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 8) as usize % below
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.number(of.len())]
    }

    fn size(&mut self) -> i64 {
        if self.number(4) == 0 { self.one(&INTEGERS) } else { self.number(5) as i64 }
    }

    fn sizes(&mut self) -> Vec<i64> {
        (0..self.number(5)).map(|_| self.size()).collect()
    }

    /// Chooses the properties for the next call.
    fn begin(&mut self) {
        self.dtype = self.one(&DTYPES);
        self.row = self.one(&[&[], &[1], &[3], &[4], &[2, 3]]);
        self.rows = 1 + self.number(3) as i64;
    }

    /// A tensor that ends at a guard page.
    fn tensor(&mut self) -> Any {
        let dtype = match self.number(8) {
            0..4 => self.dtype,
            4..6 => DType::INT64,
            6 => DType::FLOAT32,
            _ => self.one(&DTYPES),
        };
        let mut shape = match self.number(8) {
            0 => self.sizes(),
            1 => vec![],
            2..4 => vec![self.rows],
            4..6 => [&[self.rows], self.row].concat(),
            _ => [&[2, 3], self.row].concat(),
        };
        let fits = |shape: &[i64]| byte_size(dtype, shape).is_ok_and(|bytes| bytes <= 1 << 20);
        if !fits(&shape) {
            shape.push(0);
        }
        if !fits(&shape) {
            shape = vec![1 << 40, 0];
        }
        self.filled(dtype, shape)
    }

    /// A tensor of this dtype and shape.
    fn filled(&mut self, dtype: DType, mut shape: Vec<i64>) -> Any {
        let len = byte_size(dtype, &shape).unwrap();
        // Mostly small values, which are valid indices and sizes too.
        let wide = self.number(3) == 0;
        let bytes: Vec<u8> = match dtype {
            _ if wide => (0..len).map(|_| self.number(256) as u8).collect(),
            DType::FLOAT32 => (0..len / 4).flat_map(|_| (self.number(5) as f32 / 4.0).to_ne_bytes()).collect(),
            _ => {
                let width = dtype.bytes();
                (0..len).map(|at| if at % width == 0 { self.number(9) as u8 } else { 0 }).collect()
            }
        };
        let memory = Exact::new(&bytes);
        let mut described = DLTensor {
            data: memory.as_ptr(),
            device: Device::CPU,
            ndim: shape.len() as i32,
            dtype,
            shape: shape.as_mut_ptr(),
            strides: null_mut(),
            byte_offset: 0,
        };
        if self.number(8) == 0 && shape.len() == 2 && dtype.is_byte_sized() && len > 0 {
            // The same elements, transposed.
            let mut strides = [1, shape[0]];
            described.strides = strides.as_mut_ptr();
            // SAFETY: the `DLTensor` is valid as long as the memory.
            return unsafe { Tensor::borrow(&described, || Box::new(memory)) }.unwrap().into();
        }
        // SAFETY: as above.
        let tensor = unsafe { Tensor::borrow(&described, || Box::new(memory)) }.unwrap();
        if self.number(8) == 0 { tensor.constant().into() } else { tensor.into() }
    }

    /// A value of the given kind.
    fn of_kind(&mut self, kind: &str) -> Any {
        let earlier: Vec<usize> = (0..self.made.len()).filter(|i| self.made[*i].type_name() == kind).collect();
        if !earlier.is_empty() && (self.number(3) == 0 || !matches!(kind, "int" | "Tensor" | "Shape" | "str")) {
            let at = self.one(&earlier);
            return self.made[at].clone();
        }
        match kind {
            "int" => self.size().into(),
            "float" => self.one(&FLOATS).into(),
            "bool" => (self.number(2) == 0).into(),
            "str" => self.one(&TEXTS).into(),
            "dtype" => self.one(&DTYPES).into(),
            "Shape" => Shape::new(&self.sizes()).into(),
            "Tensor" => self.tensor(),
            "Tuple" => {
                let count = self.number(3);
                let fields: Vec<_> = (0..count).map(|_| self.any()).collect();
                Tuple::new(fields.into_iter()).into()
            }
            _ => Any::NONE,
        }
    }

    fn any(&mut self) -> Any {
        if !self.made.is_empty() && self.number(4) == 0 {
            let at = self.number(self.made.len());
            return self.made[at].clone();
        }
        let kind = self.one(&["int", "float", "bool", "str", "dtype", "Shape", "Tensor", "Tensor", "Tensor", "None"]);
        self.of_kind(kind)
    }

    /// Stores a result for later calls, some of which change it.
    fn keep(&mut self, value: Any) {
        let room = 200;
        match self.made.len() < room {
            true => self.made.push(value),
            false => {
                let at = self.number(room);
                self.made[at] = value;
            }
        }
    }
}

#[test]
fn hostile_arguments_are_answered_or_refused() {
    if std::env::var_os(CHILD).is_some() {
        return call_all();
    }
    let name = "vm::builtins::tests::hostile::hostile_arguments_are_answered_or_refused";
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(CHILD, "1").env("HAMMOCK_FENCE", "1");
    let done = child.output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
    let last = said.lines().rev().take(30).collect::<Vec<_>>();
    assert!(done.status.success() && said.contains("1 passed"), "{}:\n{last:#?}", done.status);
}

fn call_all() {
    let bounds = libc::rlimit { rlim_cur: ADDRESS_SPACE, rlim_max: ADDRESS_SPACE };
    // SAFETY: a plain system call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const bounds) }, 0);
    let allocator = Allocator::new(Device::CPU, AllocatorKind::Naive, LIMIT).unwrap();
    let flag = AtomicU8::new(0);
    let mut arguments =
        Arguments { random: 0x2545_F491_4F6C_DD1D, made: Vec::new(), dtype: DType::INT8, row: &[], rows: 1 };
    let mut answered = 0;
    let is_verbose = std::env::var(CHILD).is_ok_and(|level| level == "2");
    // Builtins that do not print, and only the runtime's own.
    let quiet = |name: &str| !name.contains("print") && name != "vm.builtin.invoke_debug_func";
    for round in 0..CALLS_OF_TENSORS {
        for builtin in all().filter(|builtin| quiet(builtin.name)) {
            let (kinds, has_rest) = super::kinds(builtin);
            let tensors = kinds.iter().filter(|kind| **kind == "Tensor").count();
            if round >= CALLS && tensors < 2 && (!has_rest || !builtin.signature.contains("Tensor")) {
                continue;
            }
            arguments.begin();
            let mut list: Vec<_> = kinds.into_iter().map(|kind| arguments.of_kind(kind)).collect();
            let more = if has_rest { arguments.number(6) } else { 0 };
            list.extend((0..more).map(|_| arguments.any()));
            if arguments.number(16) == 0 && !list.is_empty() {
                let at = arguments.number(list.len());
                list[at] = arguments.any();
            }
            // With HAMMOCK_HOSTILE_ARGUMENTS=2, the last line printed is the call that ends the process.
            if is_verbose {
                eprintln!("{}({list:?})", builtin.name);
            }
            // SAFETY: allocator and flag outlive the account.
            let call = unsafe { Account::new(&allocator, &flag).enter() };
            let result = builtin.call(&list);
            drop(call);
            answered += usize::from(result.is_ok());
            if let Ok(value) = result {
                arguments.keep(value);
            }
        }
    }
    answered += write_in_place(&mut arguments);
    assert!(answered > 5_000, "only {answered} calls were answered");
}

/// Calls builtins that write to an argument with tensors of every pair of dtypes, in matching shapes.
fn write_in_place(arguments: &mut Arguments) -> usize {
    let mut answered = 0;
    let mut call = |name: &str, list: &[Any]| answered += usize::from(find(name).unwrap().call(list).is_ok());
    for (dtype, other) in DTYPES.iter().flat_map(|dtype| DTYPES.iter().map(move |other| (*dtype, *other))) {
        for row in [&[][..], &[1], &[3], &[8], &[2, 3]] {
            let shape = |first: &[i64]| [first, row].concat();
            for (count, slot) in [(1, 5), (1, 0), (3, 3)] {
                let slots: Vec<i64> = (slot..slot + count).collect();
                let slots = Tensor::from_slice(&[count], &slots).unwrap().into();
                let data = arguments.filled(dtype, shape(&[2, 3]));
                let rows = arguments.filled(other, shape(&[count]));
                call("hammock.kv_pages.write", &[data, slots, rows]);
            }
            let [data, out, indices] = [dtype, other, DType::INT32].map(|dtype| arguments.filled(dtype, shape(&[4])));
            let how = [0i64.into(), true.into()];
            call("tvm.contrib.sort.sort", &[&[data.clone(), out.clone()], &how[..]].concat());
            call("tvm.contrib.sort.argsort", &[&[data.clone(), out.clone()], &how[..]].concat());
            let top = [4i64.into(), 0i64.into(), "both".into(), false.into()];
            call("tvm.contrib.sort.topk", &[&[data.clone(), out.clone(), indices], &top[..]].concat());
            call("runtime.disco.allgather", &[data, Any::NONE, out]);
        }
    }
    answered
}
