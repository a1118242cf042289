//! cuBLASLt, as far as a program needs it for matmuls: descriptions of operations and matrices, and the choice of an
//! algorithm. What is computed, and when, is in `call`.
mod call;

use super::{Code, Driver, Handle, Result, host, table::Table, work::Work};
pub(super) use call::MatmulCall;

/// Bytes of a workspace that every matmul needs if it may have them.
const WORKSPACE_BYTES: usize = 4096;
/// First word of an algorithm.
const ALGORITHM: u64 = 0x6375_424c_4153_4c74;

/// An algorithm, which is valid for one problem and alignment of its matrices.
pub type Algorithm = [u64; 8];

/// An object of the library.
#[derive(Debug, Clone)]
enum Object {
    Library { context: Handle },
    Operation(Operation),
    Layout(Layout),
    Preference(Preference),
}

/// Description of a matmul: dtypes, transposes, epilogue.
#[derive(Debug, Clone, Copy)]
struct Operation {
    compute: u32,
    scale: u32,
    transposes: [bool; 2],
    epilogue: u32,
    bias: u64,
}

/// A batch of column-major matrices.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    dtype: u32,
    rows: u64,
    columns: u64,
    /// Elements between the beginnings of columns.
    ld: i64,
    batch: i32,
    /// Elements between the beginnings of matrices.
    offset: i64,
}

/// Limits for the choice of an algorithm.
#[derive(Debug, Clone, Copy)]
struct Preference {
    workspace: usize,
    /// Least alignments of A, B, C and D.
    alignments: [u32; 4],
}

/// All objects of the library.
#[derive(Debug, Default)]
pub(super) struct Cublas(Table<Object>);

/// The objects that describe a matmul: the operation, and the layouts of A, B, C and D.
pub type Described = (Handle, [Handle; 4]);

impl Driver {
    /// Opens the library for the current context.
    ///
    /// # Errors
    /// If there is none.
    pub fn create_library(&mut self) -> Result<Handle> {
        let context = self.current()?;
        Ok(self.add_object(Object::Library { context }))
    }

    /// Describes an operation.
    ///
    /// # Errors
    /// If it does not sum as float32 or float64.
    pub fn create_operation(&mut self, compute: u32, scale: u32) -> Result<Handle> {
        match (compute, scale) {
            (68, 0) | (70, 1) => {
                let operation = Operation { compute, scale, transposes: [false; 2], epilogue: 1, bias: 0 };
                Ok(self.add_object(Object::Operation(operation)))
            }
            _ => Err(self.unsupported(&format!("cuBLASLt with compute type {compute} and scale type {scale}"))),
        }
    }

    /// Describes matrices.
    ///
    /// # Errors
    /// If columns overlap or are empty.
    pub fn create_layout(&mut self, dtype: u32, rows: u64, columns: u64, ld: i64) -> Result<Handle> {
        if rows == 0 || columns == 0 || ld < rows as i64 || call::element_bytes(dtype).is_none() {
            return Err(Code::INVALID_VALUE);
        }
        Ok(self.add_object(Object::Layout(Layout { dtype, rows, columns, ld, batch: 1, offset: 0 })))
    }

    /// Describes what algorithms may use.
    pub fn create_preference(&mut self) -> Handle {
        self.add_object(Object::Preference(Preference { workspace: 0, alignments: [256; 4] }))
    }

    /// Destroys an object of the library.
    ///
    /// # Errors
    /// If there is none.
    pub fn destroy_object(&mut self, object: Handle) -> Result {
        self.cublas.0.remove(object).map(|_| ())
    }

    /// Sets an attribute of an object of the library.
    ///
    /// # Errors
    /// If it has no such attribute, or the value is invalid.
    pub fn set_object(&mut self, object: Handle, attribute: u32, value: &[u8]) -> Result {
        let word = |bytes: usize| {
            let mut word = [0; 8];
            word[..bytes].copy_from_slice(value.get(..bytes).filter(|_| value.len() == bytes)?);
            Some(u64::from_le_bytes(word))
        };
        let word = |bytes: usize| word(bytes).ok_or(Code::INVALID_VALUE);
        match (self.cublas.0.get_mut(object)?, attribute) {
            (Object::Operation(operation), 3 | 4) => {
                let transpose = word(4)?;
                operation.transposes[attribute as usize - 3] = transpose == 1;
                if transpose > 1 { Err(Code::INVALID_VALUE) } else { Ok(()) }
            }
            (Object::Operation(operation), 7) => {
                operation.epilogue = word(4)? as u32;
                if call::has_epilogue(operation.epilogue) { Ok(()) } else { Err(Code::INVALID_VALUE) }
            }
            (Object::Operation(operation), 8) => {
                operation.bias = word(8)?;
                Ok(())
            }
            (Object::Layout(layout), 5) => {
                layout.batch = word(4)? as i32;
                if layout.batch < 1 { Err(Code::INVALID_VALUE) } else { Ok(()) }
            }
            (Object::Layout(layout), 6) => {
                layout.offset = word(8)? as i64;
                Ok(())
            }
            (Object::Preference(preference), 1) => {
                preference.workspace = word(8)? as usize;
                Ok(())
            }
            (Object::Preference(preference), 5..=8) => {
                preference.alignments[attribute as usize - 5] = word(4)? as u32;
                Ok(())
            }
            _ => Err(self.unsupported(&format!("attribute {attribute} of cuBLASLt"))),
        }
    }

    /// Returns an algorithm and the bytes of its workspace.
    ///
    /// # Errors
    /// If the matrices do not fit together.
    pub fn find_algorithm(
        &mut self,
        library: Handle,
        described: Described,
        preference: Handle,
    ) -> Result<(Algorithm, usize)> {
        self.library_context(library)?;
        let (operation, layouts) = self.described(described)?;
        let Object::Preference(Preference { workspace, alignments }) = *self.cublas.0.get(preference)? else {
            return Err(Code::INVALID_HANDLE);
        };
        let [m, n, k] = call::extents(&operation, &layouts).ok_or(Code::INVALID_VALUE)?;
        let [a, b, c, d] = alignments.map(u64::from);
        let workspace = if workspace < WORKSPACE_BYTES { 0 } else { WORKSPACE_BYTES };
        Ok(([ALGORITHM, m ^ n << 20 ^ k << 40, a, b, c, d, workspace as u64, 0], workspace))
    }

    /// Queues a matmul with the addresses of A, B, C and D.
    ///
    /// # Errors
    /// If the algorithm is not for it, or the workspace is too small.
    pub fn queue_matmul(
        &mut self,
        (library, stream): (Handle, Handle),
        described: Described,
        addresses: [u64; 4],
        algorithm: Algorithm,
        (workspace, workspace_bytes): (u64, usize),
    ) -> Result {
        let context = self.library_context(library)?;
        let (operation, layouts) = self.described(described)?;
        let stream = self.resolve(stream)?;
        let [m, n, k] = call::extents(&operation, &layouts).ok_or(Code::INVALID_VALUE)?;
        let [magic, problem, alignments @ .., needed, _] = algorithm;
        let is_aligned = addresses.iter().zip(alignments).all(|(address, to)| address.is_multiple_of(to.max(1)));
        let is_same = magic == ALGORITHM && problem == m ^ n << 20 ^ k << 40;
        let has_workspace = needed == 0 || (workspace_bytes as u64 >= needed && workspace != 0);
        if self.streams.get(stream)?.context != context {
            self.report("cuBLASLt is used in a stream of another context".to_owned());
            return Err(Code::INVALID_VALUE);
        }
        if !is_same || !is_aligned || !has_workspace || (call::has_bias(operation.epilogue) && operation.bias == 0) {
            self.report(format!(
                "cuBLASLt: the algorithm is for this problem: {is_same}; the matrices are aligned: {is_aligned}; it has a \
                 workspace: {has_workspace}; the bias is at {:#x}",
                operation.bias
            ));
            return Err(Code::INVALID_VALUE);
        }
        let call = MatmulCall { operation: (&operation).into(), layouts, addresses, extents: [m, n, k] };
        let fill = Work::Fill { to: workspace, pattern: vec![0x5a], count: needed };
        if needed > 0 {
            self.enqueue(stream, fill)?;
        }
        self.enqueue(stream, Work::Matmul(call)).map(|_| ())
    }

    /// Checks that `alpha`, at the first address, is 1, and `beta` 0, which are all that the emulator computes.
    ///
    /// # Errors
    /// If they are others.
    pub fn check_scalars(&mut self, described: Described, [alpha, beta]: [usize; 2]) -> Result {
        let (operation, _) = self.described(described)?;
        if alpha == 0 || beta == 0 {
            return Err(Code::INVALID_VALUE);
        }
        let bytes = if operation.scale == 1 { 8 } else { 4 };
        let one = if operation.scale == 1 { 1f64.to_le_bytes().to_vec() } else { 1f32.to_le_bytes().to_vec() };
        if host::read(alpha, bytes) == one && host::read(beta, bytes) == vec![0; bytes] {
            return Ok(());
        }
        Err(self.unsupported("cuBLASLt with scaling"))
    }

    fn add_object(&mut self, object: Object) -> Handle {
        let handle = self.new_handle();
        self.cublas.0.insert(handle, object);
        handle
    }

    fn library_context(&self, library: Handle) -> Result<Handle> {
        match self.cublas.0.get(library)? {
            Object::Library { context } => Ok(*context),
            _ => Err(Code::INVALID_HANDLE),
        }
    }

    fn described(&self, (operation, layouts): Described) -> Result<(Operation, [Layout; 4])> {
        let Object::Operation(operation) = *self.cublas.0.get(operation)? else { return Err(Code::INVALID_HANDLE) };
        let layout = |handle| match *self.cublas.0.get(handle)? {
            Object::Layout(layout) => Ok(layout),
            _ => Err(Code::INVALID_HANDLE),
        };
        let [a, b, c, d] = layouts.map(layout);
        Ok((operation, [a?, b?, c?, d?]))
    }
}
