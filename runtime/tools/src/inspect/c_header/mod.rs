//! C headers with a typed function for each function of a model: [`c_header`].

mod names;

use hammock_runtime::{
    image::signature::{Dims, Param, Role, Signature, Size, ValueType},
    value::DType,
};
use names::{comment, identifier, is_name, literal, size_in_c, unique};
use std::collections::HashSet;
use std::fmt::Write;

/// Code that every header has; `@` is the prefix of its names, `%` that of its macros.
const COMMON: &str = include_str!("common.h.in");

/// A header for C and C++ with a typed function for each signature. All names begin with `name`.
pub fn c_header(name: &str, signatures: &[Signature]) -> String {
    let prefix = identifier(name);
    let macros = prefix.to_uppercase();
    let mut text = COMMON.replace('@', &prefix).replace('%', &macros);
    let mut taken = HashSet::new();
    for signature in signatures {
        let function = unique(format!("{prefix}_{}", identifier(&signature.function)), &mut taken);
        Function::new(&prefix, function, signature).write(&mut text);
    }
    let _ = write!(text, "\n#endif /* {macros}_H */\n");
    text
}

/// A function of the header.
struct Function<'a> {
    /// Prefix of the names in the header.
    prefix: &'a str,
    /// Its name in C.
    name: String,
    signature: &'a Signature,
    /// Symbolic sizes of the inputs: their names in the model and in C.
    sizes: Vec<(String, String)>,
    inputs: Vec<Value<'a>>,
    results: Vec<Value<'a>>,
}

/// An input or a result.
struct Value<'a> {
    /// Its name in C.
    name: String,
    param: &'a Param,
    form: Form,
}

/// How a value is passed.
enum Form {
    /// By a pointer to its elements, and its sizes as expressions in C, empty for results.
    Array { dtype: DType, element: &'static str, rank: usize, sizes: Vec<String> },
    /// As a number.
    Number { ty: &'static str, make: &'static str, read: &'static str },
    /// As a value of any type.
    Any,
}

impl<'a> Function<'a> {
    fn new(prefix: &'a str, name: String, signature: &'a Signature) -> Function<'a> {
        // Names that the functions themselves use.
        let mut taken: HashSet<String> = ["vm", "results", "args", "result", "status"].map(String::from).into();
        let inputs: Vec<&Param> = signature.params.iter().filter(|param| param.role != Role::Bound).collect();
        let mut sizes: Vec<(String, String)> = Vec::new();
        for size in inputs.iter().filter_map(|param| tensor_sizes(&param.ty)).flatten() {
            if let Size::Symbol(symbol) = size
                && is_name(symbol)
                && !sizes.iter().any(|(known, _)| known == symbol)
            {
                sizes.push((symbol.clone(), unique(identifier(symbol), &mut taken)));
            }
        }
        let inputs = inputs.into_iter().map(|param| {
            let name = unique(identifier(&param.name), &mut taken);
            Value { name, param, form: input_form(&param.ty, &sizes) }
        });
        let inputs = inputs.collect();
        let mut taken = HashSet::from(["owners".to_owned()]);
        let results = signature.results.iter().map(|param| {
            let name = match identifier(&param.name) {
                name if name.starts_with(|c: char| c.is_ascii_digit() || c == '_') => format!("result_{}", param.name),
                name => name,
            };
            let name = unique(name, &mut taken);
            taken.insert(format!("{name}_shape"));
            Value { name, param, form: result_form(&param.ty) }
        });
        let results = results.collect();
        Function { prefix, name, signature, sizes, inputs, results }
    }

    fn write(&self, text: &mut String) {
        self.write_constants(text);
        self.write_results(text);
        self.write_call(text);
    }

    /// Ranks and static sizes.
    fn write_constants(&self, text: &mut String) {
        let _ = write!(text, "\n/* ---- {} ---- */\n\nenum {{\n", comment(&self.signature.function));
        let macros = self.name.to_uppercase();
        for Value { name, param, form } in self.inputs.iter().chain(&self.results) {
            let (Form::Array { rank, .. }, Some(sizes)) = (form, tensor_sizes(&param.ty)) else { continue };
            let name = name.to_uppercase();
            let _ = writeln!(text, "    {macros}_{name}_RANK = {rank},");
            for (axis, size) in sizes.iter().enumerate() {
                if let Size::Static(size) = size
                    && i32::try_from(*size).is_ok()
                {
                    let _ = writeln!(text, "    {macros}_{name}_SIZE_{axis} = {size},");
                }
            }
        }
        let (inputs, results) = (self.inputs.len(), self.results.len());
        let _ = writeln!(text, "    {macros}_INPUTS = {inputs},\n    {macros}_RESULTS = {results}\n}};");
    }

    /// The struct of the results, and the function that frees it.
    fn write_results(&self, text: &mut String) {
        let Function { name, results, .. } = self;
        let _ = writeln!(text, "\n/* Results of {name}(), which {name}_free() frees. */");
        let _ = writeln!(text, "typedef struct {name}_results {{");
        for Value { name, param, form } in results {
            let ty = comment(&param.ty.to_string());
            let _ = match form {
                Form::Array { element, rank, .. } => {
                    writeln!(
                        text,
                        "    const {element} *{name}; /* {ty} */\n    int64_t {name}_shape[{}];",
                        rank.max(&1)
                    )
                }
                Form::Number { ty: number, .. } => writeln!(text, "    {number} {name}; /* {ty} */"),
                Form::Any => writeln!(text, "    hammock_any {name}; /* {ty} */"),
            };
        }
        let count = results.len().max(1);
        let _ = write!(
            text,
            "    hammock_any owners[{count}]; /* of the memory of the results */\n}} {name}_results;\n\n\
             static inline void {name}_free({name}_results *results) {{\n    \
             for (size_t i = 0; i < {count}; i++) hammock_any_free(&results->owners[i]);\n    \
             memset(results, 0, sizeof *results);\n}}\n"
        );
    }

    /// The function that calls the model's.
    fn write_call(&self, text: &mut String) {
        let Function { prefix, name, signature, sizes, inputs, results } = self;
        let _ = writeln!(
            text,
            "\n/* Calls `{}`. Returns 0, or stores an error and returns -1.",
            comment(&signature.function)
        );
        for Value { name, param, .. } in inputs {
            let optional = if param.role == Role::Default { "; null: its default value" } else { "" };
            let _ = writeln!(text, " * {name}: {}{optional}", comment(&param.ty.to_string()));
        }
        let sizes = sizes.iter().map(|(_, size)| format!("int64_t {size}, "));
        let arguments = inputs.iter().map(|Value { name, form, .. }| match form {
            Form::Array { element, .. } => format!("const {element} *{name}, "),
            Form::Number { ty, .. } => format!("{ty} {name}, "),
            Form::Any => format!("const hammock_any *{name}, "),
        });
        let arguments: String = sizes.chain(arguments).collect();
        let count = inputs.len().max(1);
        let _ = write!(
            text,
            " */\nstatic inline int {name}(const hammock_vm *vm, {arguments}{name}_results *results) {{\n    \
             hammock_any args[{count}], result;\n    int status;\n"
        );
        for (at, Value { form, .. }) in inputs.iter().enumerate() {
            if let Form::Array { rank, sizes, .. } = form
                && *rank > 0
            {
                let _ = writeln!(text, "    int64_t shape_{at}[{rank}] = {{{}}};", sizes.join(", "));
            }
        }
        text.push_str("    memset(args, 0, sizeof args);\n    memset(&result, 0, sizeof result);\n");
        text.push_str("    memset(results, 0, sizeof *results);\n");
        let steps = inputs.iter().enumerate().map(|(at, input)| input.pass(prefix, at));
        let call = format!("hammock_vm_call(vm, {}, args, {}, &result)", literal(&signature.function), inputs.len());
        let taken = results.iter().enumerate().map(|(at, result)| result.take(prefix, at, results.len()));
        let steps: Vec<String> = steps.chain([call]).chain(taken).collect();
        let _ = write!(
            text,
            "    status = {};\n    for (size_t i = 0; i < {count}; i++) hammock_any_free(&args[i]);\n    \
             hammock_any_free(&result);\n    if (status) {name}_free(results);\n    return status ? -1 : 0;\n}}\n",
            steps.join(" ||\n             ")
        );
    }
}

impl Value<'_> {
    /// An expression that makes argument number `at` of the value; it is true if that fails.
    fn pass(&self, prefix: &str, at: usize) -> String {
        let name = &self.name;
        match &self.form {
            Form::Array { dtype, rank, .. } => {
                let shape = if *rank == 0 { "NULL".to_owned() } else { format!("shape_{at}") };
                let optional = i32::from(self.param.role == Role::Default);
                format!("{prefix}_borrow_({}, {shape}, {rank}, {name}, {optional}, &args[{at}])", dtype_of(*dtype))
            }
            Form::Number { make, .. } => format!("((args[{at}] = {make}({name})), 0)"),
            Form::Any => format!("hammock_any_copy({name}, &args[{at}])"),
        }
    }

    /// An expression that stores result number `at` of `count`; it is true if that fails.
    fn take(&self, prefix: &str, at: usize, count: usize) -> String {
        let name = &self.name;
        let field = format!("{prefix}_field_(&result, {at}, {count})");
        match &self.form {
            Form::Array { dtype, rank, .. } => format!(
                "{prefix}_take_({field}, {}, {rank}, &results->owners[{at}], (const void **)&results->{name}, \
                 results->{name}_shape)",
                dtype_of(*dtype)
            ),
            Form::Number { read, .. } => format!("{read}({field}, &results->{name})"),
            Form::Any => format!(
                "hammock_any_copy({field}, &results->owners[{at}]) || ((results->{name} = results->owners[{at}]), 0)"
            ),
        }
    }
}

/// Sizes of a tensor, if they are known.
fn tensor_sizes(ty: &ValueType) -> Option<&[Size]> {
    if let ValueType::Tensor { .. } = ty { ty.sizes() } else { None }
}

fn input_form(ty: &ValueType, names: &[(String, String)]) -> Form {
    match ty {
        ValueType::Tensor { dtype: Some(dtype), shape: Dims::Known(sizes) } => {
            let sizes: Option<Vec<String>> = sizes.iter().map(|size| size_in_c(size, names)).collect();
            match (element_type(*dtype), sizes) {
                (Some(element), Some(sizes)) => Form::Array { dtype: *dtype, element, rank: sizes.len(), sizes },
                _ => Form::Any,
            }
        }
        ValueType::Scalar(dtype) => number(*dtype),
        _ => Form::Any,
    }
}

fn result_form(ty: &ValueType) -> Form {
    match ty {
        ValueType::Tensor { dtype: Some(dtype), shape: Dims::Known(_) | Dims::Rank(_) } => {
            let rank = match ty {
                ValueType::Tensor { shape: Dims::Rank(rank), .. } => *rank,
                _ => tensor_sizes(ty).map_or(0, <[Size]>::len),
            };
            let form = |element| Form::Array { dtype: *dtype, element, rank, sizes: Vec::new() };
            element_type(*dtype).map_or(Form::Any, form)
        }
        ValueType::Scalar(dtype) => number(*dtype),
        _ => Form::Any,
    }
}

/// A number as C passes it.
fn number(dtype: DType) -> Form {
    match dtype {
        _ if dtype.is_integer() => Form::Number { ty: "int64_t", make: "hammock_int", read: "hammock_as_int" },
        _ if dtype.is_floating() => Form::Number { ty: "double", make: "hammock_float", read: "hammock_as_float" },
        _ => Form::Any,
    }
}

/// The type of a tensor's elements in C. 16-bit floating-point numbers are their bits.
fn element_type(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::FLOAT32 => "float",
        DType::FLOAT64 => "double",
        DType::INT8 => "int8_t",
        DType::INT16 => "int16_t",
        DType::INT32 => "int32_t",
        DType::INT64 => "int64_t",
        DType::UINT8 | DType::BOOL => "uint8_t",
        DType::UINT16 | DType::FLOAT16 | DType::BFLOAT16 => "uint16_t",
        DType::UINT32 => "uint32_t",
        DType::UINT64 => "uint64_t",
        _ => return None,
    })
}

fn dtype_of(DType { code, bits, .. }: DType) -> String {
    format!("hammock_dtype_of({code}, {bits})")
}
