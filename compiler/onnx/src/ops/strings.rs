//! Tensors of strings.

use super::{Op, Result, op};
use crate::{
    build::strings::{Argument, Outcome},
    node::{self, Node},
    value::{Outputs, Value, sequence::Element, strings::Strings},
};
use hammock_ir::{
    DType, PrimExpr,
    relax::{InferError, Operand},
};
use hammock_runtime::{Any, Shape, Str, Tuple};

pub const OPS: &[Op] = &[
    op("StringConcat", string_concat).on_strings(string_concat),
    op("StringNormalizer", string_normalizer)
        .on_strings(string_normalizer)
        .attributes("case_change_action is_case_sensitive locale stopwords"),
    op("StringSplit", string_split).on_strings(string_split).attributes("delimiter maxsplit"),
];

type Dims = Vec<Option<PrimExpr>>;

impl Node<'_, '_> {
    /// Returns an input that must be a tensor of strings.
    pub(super) fn strings(&self, at: usize) -> node::Result<Strings> {
        match self.value(at)? {
            Value::Strings(strings) => Ok(strings),
            other => self.error(format!("its input {at} is {}, not strings", other.other_kind().unwrap_or("a tensor"))),
        }
    }

    /// Calls a function that returns strings.
    fn strings_from(&mut self, name: &'static str, args: Vec<Argument>, dims: Dims) -> Result {
        let build = &mut self.importer.build;
        let outcome = build.call_strings(name, args)?;
        Ok(Value::Strings(build.strings_of(outcome, dims)).into())
    }

    /// Calls a function that returns numbers.
    fn numbers_from(&mut self, name: &'static str, args: Vec<Argument>, dtype: DType, dims: &Dims) -> Result {
        let build = &mut self.importer.build;
        let outcome = build.call_strings(name, args)?;
        Ok(build.numbers_of(outcome, dtype, dims)?.into())
    }

    /// Reshapes strings.
    fn reshape_strings(&mut self, x: Strings, shape: Vec<PrimExpr>) -> Result {
        let dims = shape.iter().cloned().map(Some).collect();
        let operand = Operand::Shape(shape.clone());
        let shape = match shape.iter().map(PrimExpr::as_int).collect::<Option<Vec<_>>>() {
            Some(sizes) => Argument::Known(Shape::new(&sizes).into(), operand),
            None => Argument::Dynamic(operand),
        };
        self.strings_from("hammock.strings.reshape", vec![x.into(), shape], dims)
    }

    /// Returns the dimensions of strings, which must be known.
    fn string_sizes(&self, x: &Strings) -> node::Result<Vec<PrimExpr>> {
        let sizes: Option<Vec<PrimExpr>> = x.dims().into_iter().collect();
        sizes.ok_or_else(|| InferError::new("the shape of its strings has to be known when the model is imported"))
    }
}

/// Dimensions of the result of broadcasting.
fn broadcast(a: &Dims, b: &Dims) -> Dims {
    let rank = a.len().max(b.len());
    let size = |of: &Dims, axis: usize| {
        (axis + of.len()).checked_sub(rank).map_or(Some(PrimExpr::int64(1)), |at| of[at].clone())
    };
    let is = |size: &Option<PrimExpr>, value: i64| size.as_ref().and_then(PrimExpr::as_int) == Some(value);
    let joined = |axis: usize| match (size(a, axis), size(b, axis)) {
        (own, other) if is(&own, 1) => other,
        (own, other) if is(&other, 1) => own,
        // Two known sizes are equal, or the runtime reports an error.
        (Some(own), Some(other)) if own.as_int().is_some() || hammock_ops::dims::equal(&own, &other) == Some(true) => {
            Some(own)
        }
        _ => None,
    };
    (0..rank).map(joined).collect()
}

fn string_concat(n: &mut Node) -> Result {
    let (a, b) = (n.strings(0)?, n.strings(1)?);
    let dims = broadcast(&a.dims(), &b.dims());
    n.strings_from("hammock.strings.concat", vec![a.into(), b.into()], dims)
}

pub(super) fn equal(n: &mut Node) -> Result {
    let (a, b) = (n.strings(0)?, n.strings(1)?);
    let dims = broadcast(&a.dims(), &b.dims());
    n.numbers_from("hammock.strings.equal", vec![a.into(), b.into()], DType::BOOL, &dims)
}

fn string_split(n: &mut Node) -> Result {
    let x = n.strings(0)?;
    let delimiter = Argument::text(n.attrs.str_or("delimiter", "")?);
    let splits = Argument::int(n.attrs.int_or("maxsplit", -1)?);
    let (dims, build) = (x.dims(), &mut n.importer.build);
    let parts = build.call_strings("hammock.strings.split", vec![x.into(), delimiter, splits])?;
    let (parts, counts) = match parts {
        Outcome::Known(value) => match value.get::<&Tuple>().map(|fields| fields.as_slice()) {
            Some([parts, counts]) => (Outcome::Known(parts.clone()), Outcome::Known(counts.clone())),
            _ => return n.error("its result is not a pair"),
        },
        Outcome::Dynamic(pair) => {
            let mut field = |at: i64| build.call("sequence_at", vec![pair.clone(), Operand::int(at)], &[]);
            (Outcome::Dynamic(field(0)?), Outcome::Dynamic(field(1)?))
        }
    };
    let counts = build.numbers_of(counts, DType::INT64, &dims)?;
    let parts = build.strings_of(parts, dims.into_iter().chain([None]).collect());
    Ok(Outputs(vec![Value::Strings(parts), Value::Operand(counts)]))
}

fn string_normalizer(n: &mut Node) -> Result {
    let x = n.strings(0)?;
    let case = n.attrs.str_or("case_change_action", "NONE")?;
    if !["NONE", "LOWER", "UPPER"].contains(&case) {
        return n.error(format!("its attribute `case_change_action` is `{case}`, not NONE, LOWER or UPPER"));
    }
    let stopwords = n.attrs.strings("stopwords")?.unwrap_or_default();
    let sensitive = n.attrs.flag("is_case_sensitive")?;
    let words: Tuple = stopwords.iter().map(|word| Any::from(Str::new(word))).collect();
    let operands = stopwords.iter().map(|word| Operand::Str(word.as_str().into())).collect();
    let words = Argument::Known(words.into(), Operand::Tuple(operands));
    let sensitive = Argument::Known(sensitive.into(), Operand::Prim(PrimExpr::bool(sensitive)));
    let mut dims = x.dims();
    dims.pop();
    dims.push(None);
    n.strings_from("hammock.strings.normalize", vec![x.into(), Argument::text(case), sensitive, words], dims)
}

/// Converts strings to numbers, or to strings.
pub(super) fn cast(n: &mut Node, to: i64) -> Result {
    let x = n.strings(0)?;
    if to == i64::from(crate::dtype::STRING) {
        return Ok(Value::Strings(x).into());
    }
    let dtype = n.dtype_from_code(to)?;
    let dims = x.dims();
    let argument = Argument::Known(dtype.into(), Operand::DType(dtype));
    n.numbers_from("hammock.strings.to_tensor", vec![x.into(), argument], dtype, &dims)
}

/// Converts numbers to strings.
pub(super) fn cast_numbers(n: &mut Node) -> Result {
    let element: Element = n.importer.build.element_of(&n.value(0)?)?;
    let x = Argument::of(n.input(0)?);
    n.strings_from("hammock.strings.of_tensor", vec![x], element.dims.known().unwrap_or_default().to_vec())
}

pub(super) fn gather(n: &mut Node) -> Result {
    let (x, axis) = (n.strings(0)?, n.attrs.int_or("axis", 0)?);
    let dims = x.dims();
    let axis = n.axis(axis, dims.len())?;
    let indices = n.importer.build.element_of(&n.value(1)?)?.dims.known().unwrap_or_default().to_vec();
    let dims = [&dims[..axis], &indices, &dims[axis + 1..]].concat();
    let indices = Argument::of(n.input(1)?);
    n.strings_from("hammock.strings.take", vec![x.into(), indices, Argument::int(axis as i64)], dims)
}

pub(super) fn concat(n: &mut Node) -> Result {
    let parts = (0..n.inputs.len()).map(|at| n.strings(at)).collect::<node::Result<Vec<_>>>()?;
    let mut dims = parts[0].dims();
    let axis = n.axis(n.attrs.int_or("axis", if n.opset < 4 { 1 } else { 0 })?, dims.len())?;
    let sizes: Option<Vec<i64>> =
        parts.iter().map(|part| part.dims().get(axis)?.as_ref().and_then(PrimExpr::as_int)).collect();
    dims[axis] = sizes.map(|sizes| PrimExpr::int64(sizes.iter().sum()));
    let args = [Argument::int(axis as i64)].into_iter().chain(parts.into_iter().map(Argument::from)).collect();
    n.strings_from("hammock.strings.join", args, dims)
}

/// Reshapes to a constant shape, in which 0 keeps a dimension and -1 is inferred.
pub(super) fn reshape(n: &mut Node) -> Result {
    let x = n.strings(0)?;
    let Some(wanted) = n.ints(1, "shape")? else { return n.error("its shape is missing") };
    let own = x.dims();
    let mut shape = Vec::new();
    for (axis, size) in wanted.iter().enumerate() {
        shape.push(match size {
            0 => own
                .get(axis)
                .cloned()
                .flatten()
                .ok_or_else(|| InferError::new("a dimension that stays is not known"))?,
            -1 => PrimExpr::int64(1),
            size => PrimExpr::int64(*size),
        });
    }
    if let Some(free) = wanted.iter().position(|size| *size == -1) {
        let all = node::product(&n.string_sizes(&x)?);
        shape[free] = hammock_ops::dims::floordiv(&all, &node::product(&shape));
    }
    n.reshape_strings(x, shape)
}

pub(super) fn flatten(n: &mut Node) -> Result {
    let x = n.strings(0)?;
    let sizes = n.string_sizes(&x)?;
    let axis = n.attrs.int_or("axis", 1)?;
    let axis = if axis == sizes.len() as i64 { sizes.len() } else { n.axis(axis, sizes.len())? };
    n.reshape_strings(x, vec![node::product(&sizes[..axis]), node::product(&sizes[axis..])])
}

pub(super) fn squeeze(n: &mut Node) -> Result {
    let x = n.strings(0)?;
    let mut sizes = n.string_sizes(&x)?;
    let axes = match n.ints_since(13, 1, "axes")? {
        Some(axes) => n.axes(&axes, sizes.len())?,
        None => (0..sizes.len()).filter(|axis| sizes[*axis].as_int() == Some(1)).collect(),
    };
    let mut axis = 0;
    sizes.retain(|_| {
        axis += 1;
        !axes.contains(&(axis - 1))
    });
    n.reshape_strings(x, sizes)
}

pub(super) fn unsqueeze(n: &mut Node) -> Result {
    let x = n.strings(0)?;
    let sizes = n.string_sizes(&x)?;
    let Some(axes) = n.ints_since(13, 1, "axes")? else { return n.error("its axes are missing") };
    let rank = sizes.len() + axes.len();
    let axes = n.axes(&axes, rank)?;
    let mut own = sizes.into_iter();
    let one = || PrimExpr::int64(1);
    let shape =
        (0..rank).map(|axis| if axes.contains(&axis) { one() } else { own.next().unwrap_or_else(one) }).collect();
    n.reshape_strings(x, shape)
}

/// Tables of strings.
impl Node<'_, '_> {
    /// Returns elements of a table of strings.
    pub(super) fn strings_at(&mut self, table: &[&str], indices: Operand) -> node::Result<Value> {
        let table = Strings::known(&[table.len() as i64], table)?;
        let dims = self.dims(&indices)?.into_iter().map(Some).collect();
        let outcome = self
            .importer
            .build
            .call_strings("hammock.strings.take", vec![table.into(), Argument::Dynamic(indices), Argument::int(0)])?;
        Ok(Value::Strings(self.importer.build.strings_of(outcome, dims)))
    }

    /// Gathers strings of the last axis of an input, which has at least two dimensions in the result.
    pub(super) fn gather_strings(&mut self, at: usize, indices: Operand) -> node::Result<Value> {
        let mut x = self.strings(at)?;
        if x.dims().len() < 2 {
            let shape = [vec![1i64.into()], self.string_sizes(&x)?].concat();
            let Outputs(reshaped) = self.reshape_strings(x, shape)?;
            match reshaped.into_iter().next() {
                Some(Value::Strings(matrix)) => x = matrix,
                _ => return self.error("its strings have no shape"),
            }
        }
        let mut dims = x.dims();
        let axis = dims.len() - 1;
        dims[axis] = self.dims(&indices)?.pop();
        let args = vec![x.into(), Argument::Dynamic(indices), Argument::int(axis as i64)];
        let outcome = self.importer.build.call_strings("hammock.strings.take", args)?;
        Ok(Value::Strings(self.importer.build.strings_of(outcome, dims)))
    }

    /// Returns the index of each string of an input in a table of distinct strings; -1 for others.
    pub(super) fn find_strings(&mut self, at: usize, table: &[&str]) -> node::Result<Operand> {
        let (x, table) = (self.strings(at)?, Strings::known(&[table.len() as i64], table)?);
        let dims = x.dims();
        let build = &mut self.importer.build;
        let outcome = build.call_strings("hammock.strings.find", vec![x.into(), table.into()])?;
        build.numbers_of(outcome, DType::INT64, &dims)
    }
}
