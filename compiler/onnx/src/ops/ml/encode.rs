//! Encoders of categories.

use super::{
    super::{Op, Result},
    op,
    table::{Keys, Table},
};
use crate::{
    node::{self, Node, product},
    value::Value,
};
use hammock_ir::{DType, PrimExpr, Type, relax::Operand};

pub const OPS: &[Op] = &[
    op("CategoryMapper", map_categories)
        .on_strings(map_categories)
        .attributes("cats_int64s cats_strings default_int64 default_string"),
    op("LabelEncoder", encode_labels).on_strings(encode_labels).attributes(
        "classes_strings@-1 default_float default_int64 default_string default_tensor@4 keys_floats@2 keys_int64s@2 \
         keys_strings@2 keys_tensor@4 values_floats@2 values_int64s@2 values_strings@2 values_tensor@4",
    ),
    op("OneHotEncoder", encode_one_hot).on_strings(encode_one_hot).attributes("cats_int64s cats_strings zeros"),
];

/// One where an element is the category, zero elsewhere, along a new last axis.
fn encode_one_hot(n: &mut Node) -> Result {
    let (x, categories) = if is_strings(n) {
        let categories = n.attrs.strings("cats_strings")?.unwrap_or_default();
        let count = categories.len() as i64;
        (Keys::Strings(categories).positions(n)?, (1..=count).collect())
    } else {
        let x = n.input(0)?;
        (n.cast(x, DType::INT64)?, n.attrs.ints_or_empty("cats_int64s")?)
    };
    if categories.is_empty() {
        return n.error("it has no categories of the type of its input");
    }
    let mut dims = n.dims(&x)?;
    let count = product(&dims);
    dims.push(1i64.into());
    let x = n.reshape(x, dims)?;
    let categories = n.int64_vector(categories)?;
    let is_category = n.call("equal", [x, categories])?;
    let y = n.cast(is_category, DType::FLOAT32)?;
    if n.attrs.has("zeros") && !n.attrs.flag("zeros")? {
        expect_found(n, &y, count)?;
    }
    Ok(y.into())
}

/// Checks at run time that each element is one of the categories.
fn expect_found(n: &mut Node, encoded: &Operand, count: PrimExpr) -> node::Result<()> {
    let counts = n.cast(encoded.clone(), DType::INT64)?;
    let found = n.call("sum", [counts])?;
    let found = n.reshape(found, vec![1i64.into()])?;
    let found = n.symbolic_dims(found)?;
    n.importer.build.match_cast(Operand::Shape(found), Type::shape([count]))?;
    Ok(())
}

fn is_strings(n: &Node) -> bool {
    matches!(n.given(0), Some(Value::Strings(_)))
}

/// Maps each element that is a key to its value, others to a default. In version 1, strings are mapped to their indices in
/// a list, and back.
fn encode_labels(n: &mut Node) -> Result {
    if n.opset >= 2 {
        let (keys, values) = (Keys::of(n, "keys")?, Keys::of(n, "values")?);
        return Table { keys, values }.look_up(n);
    }
    let strings = n.attrs.strings("classes_strings")?.unwrap_or_default();
    let integers = (0..strings.len() as i64).collect();
    by_type(n, strings, integers)
}

fn map_categories(n: &mut Node) -> Result {
    let (strings, integers) = (n.attrs.strings("cats_strings")?, n.attrs.ints_or_empty("cats_int64s")?);
    by_type(n, strings.unwrap_or_default(), integers)
}

/// Maps strings to integers, or integers to strings.
fn by_type(n: &mut Node, strings: Vec<String>, integers: Vec<i64>) -> Result {
    let (strings, integers) = (Keys::Strings(strings), Keys::integers(&integers)?);
    let table = match is_strings(n) {
        true => Table { keys: strings, values: integers },
        false => Table { keys: integers, values: strings },
    };
    table.look_up(n)
}
