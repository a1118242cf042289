//! Declared types of the model's outputs, checked against the computed ones.

use crate::{
    dtype,
    graph::Importer,
    listing::brief,
    node::shown_size,
    schema::{DimensionValue, ValueInfoProto, type_proto},
    value::Value,
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{PrimExpr, TensorShape, TensorType, relax::InferError};
use hammock_ops::dims;
use hammock_tools::ElementType;

impl<'m> Importer<'m> {
    /// Returns the value of a model output after checking it against the declared type. Dynamic dimensions are checked
    /// at run time, unless they are declared as 1.
    pub(crate) fn checked_output(&mut self, output: &'m ValueInfoProto) -> Value {
        let value = self.output(&output.name);
        let declared = match output.r#type.as_ref().and_then(|ty| ty.value.as_ref()) {
            _ if matches!(value, Value::Broken) => return value,
            Some(type_proto::Value::Tensor(declared)) if declared.elem_type == dtype::STRING => {
                if matches!(value, Value::Strings(_)) {
                    return value;
                }
                return self.report_declared(output, "it declares strings, its graph computes none");
            }
            Some(type_proto::Value::Tensor(declared)) => declared,
            // `ZipMap` returns its maps as keys and a matrix of values.
            Some(type_proto::Value::Sequence(sequence)) if holds_maps(sequence) => return value,
            // A sequence that a loop returns may have been optional before its first iteration.
            Some(type_proto::Value::Sequence(_))
                if !matches!(value, Value::Sequence(_) | Value::Optional(_) | Value::Maps(_)) =>
            {
                return self.report_declared(output, "it declares a sequence, its graph computes none");
            }
            _ => return value,
        };
        let sizes: Option<Vec<Option<i64>>> = declared.shape.as_ref().map(|shape| {
            let size = |dim: &crate::schema::Dimension| match dim.value {
                // Exporters write unknown dimensions as 0 or -1.
                Some(DimensionValue::DimValue(size)) if size > 0 => Some(size),
                _ => None,
            };
            shape.dim.iter().map(size).collect()
        });
        match self.check_declared(value, i64::from(declared.elem_type), sizes.as_deref()) {
            Ok(value) => value,
            Err(error) => self.report_declared(output, &error.message),
        }
    }

    fn report_declared(&mut self, output: &ValueInfoProto, why: &str) -> Value {
        let message = format!("the output `{}` is not what the model declares: {why}", brief(&output.name));
        let help = "correct the declaration, or run `onnx.shape_inference` on a model without it";
        self.report(Diagnostic::error(codes::BAD_ONNX, message).help(help));
        Value::Broken
    }

    /// Checks a value against its declared type; inserts run-time checks of dynamic dimensions.
    fn check_declared(
        &mut self,
        value: Value,
        element: i64,
        sizes: Option<&[Option<i64>]>,
    ) -> Result<Value, InferError> {
        if let Some(kind) = value.other_kind() {
            return Err(InferError::new(format!("it declares a tensor of numbers, its graph computes {kind}")));
        }
        let operand = self.build.operand(&value)?;
        let ty = self.build.tensor(&operand)?;
        if let (Some(held), true) = (ty.dtype, element != 0) {
            let same = match value.narrow() {
                Some(own) => i64::from(own.number) == element,
                None => ElementType::of(element).is_some_and(|declared| !declared.is_narrow() && declared.held == held),
            };
            if !same {
                let computed = value.narrow().map_or_else(|| held.to_string(), |own| dtype::name(own.number.into()));
                let declared = dtype::name(element);
                return Err(InferError::new(format!(
                    "it declares elements of {declared}, its graph computes {computed}"
                )));
            }
        }
        let (Some(own), Some(sizes)) = (ty.shape.dims().map(<[_]>::to_vec), sizes) else { return Ok(value) };
        let shown = |size: &Option<i64>| size.map_or_else(|| "?".to_owned(), |size| size.to_string());
        let differs = |(own, size): (&PrimExpr, &Option<i64>)| {
            size.is_some_and(|size| dims::equal(own, &PrimExpr::int64(size)) == Some(false))
        };
        if own.len() != sizes.len() || own.iter().zip(sizes).any(differs) {
            let declared: Vec<String> = sizes.iter().map(shown).collect();
            let computed: Vec<String> = own.iter().map(shown_size).collect();
            let (declared, computed) = (declared.join(", "), computed.join(", "));
            return Err(InferError::new(format!(
                "it declares the shape ({declared}), its graph computes ({computed})"
            )));
        }
        // Converters of classifiers declare vectors of labels as [1].
        let declared = |size: &Option<i64>| size.filter(|size| *size != 1);
        let wanted: Vec<PrimExpr> = own
            .iter()
            .zip(sizes)
            .map(|(own, size)| declared(size).map_or_else(|| own.clone(), PrimExpr::int64))
            .collect();
        if dims::all_equal(&own, &wanted) {
            return Ok(value);
        }
        let ty = TensorType { shape: TensorShape::Known(wanted.into()), ..ty };
        let checked = self.build.match_cast(operand, ty.into())?;
        Ok(match value.narrow() {
            Some(element) => Value::Narrow(checked, element),
            None => Value::Operand(checked),
        })
    }
}

fn holds_maps(sequence: &type_proto::Element) -> bool {
    let element = sequence.elem_type.as_ref().and_then(|ty| ty.value.as_ref());
    matches!(element, Some(type_proto::Value::Map(_)))
}
