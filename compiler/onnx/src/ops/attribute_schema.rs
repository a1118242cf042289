//! Attributes of ONNX operators by version.
//!
//! Nodes are checked against this table before they are imported. Otherwise an attribute that the operator does not
//! have in the model's version would be ignored, or have the meaning of a later version.

use super::Op;
use hammock_ir::relax::InferError;
use hammock_runtime::suggest::nearest;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Newest supported version of the file format.
pub const MAX_IR_VERSION: i64 = 14;

/// Newest supported versions of ONNX's domains, whose operators [`ATTRIBUTES`] covers.
pub const MAX_OPSETS: &[(&str, i64)] = &[("", 28), ("ai.onnx.ml", 5), ("ai.onnx.preview", 1)];

/// Domain, operator, and names of its attributes. `name@13` exists since version 13, `name@-12` up to version 12,
/// `name@9-12` between them. Operators of these domains that are not listed have no attributes.
const ATTRIBUTES: &[(&str, &str, &str)] = &[
    ("", "Abs", "consumed_inputs@-5"),
    ("", "Add", "axis@-6 broadcast@-6 consumed_inputs@-5"),
    ("", "AffineGrid", "align_corners"),
    ("", "And", "axis@-6 broadcast@-6"),
    ("", "ArgMax", "axis keepdims select_last_index@12"),
    ("", "ArgMin", "axis keepdims select_last_index@12"),
    (
        "",
        "Attention",
        "is_causal kv_num_heads left_window_size@25 q_num_heads qk_matmul_output_mode \
         right_window_size@25 scale softcap softmax_precision",
    ),
    ("", "AveragePool", "auto_pad ceil_mode@10 count_include_pad dilations@19 kernel_shape pads strides"),
    ("", "BatchNormalization", "consumed_inputs@-5 epsilon is_test@-6 momentum spatial@-8 training_mode@14"),
    ("", "BitCast", "to"),
    ("", "BitShift", "direction"),
    ("", "BlackmanWindow", "output_datatype periodic"),
    ("", "Cast", "round_mode@24 saturate@19 to"),
    ("", "CastLike", "round_mode@24 saturate@19"),
    ("", "CausalConvWithState", "activation"),
    ("", "Ceil", "consumed_inputs@-5"),
    ("", "Celu", "alpha"),
    ("", "CenterCropPad", "axes"),
    ("", "Clip", "consumed_inputs@-5 max@-10 min@-10"),
    ("", "Col2Im", "dilations pads strides"),
    ("", "Compress", "axis"),
    ("", "Concat", "axis"),
    (
        "",
        "Constant",
        "sparse_value@11 value value_float@12 value_floats@12 value_int@12 value_ints@12 value_string@12 \
         value_strings@12",
    ),
    ("", "ConstantOfShape", "value"),
    ("", "Conv", "auto_pad dilations group kernel_shape pads strides"),
    ("", "ConvInteger", "auto_pad dilations group kernel_shape pads strides"),
    ("", "ConvTranspose", "auto_pad dilations group kernel_shape output_padding output_shape pads strides"),
    ("", "CumProd", "exclusive reverse"),
    ("", "CumSum", "exclusive reverse"),
    ("", "DFT", "axis@-19 inverse onesided"),
    ("", "DeformConv", "dilations group kernel_shape offset_group pads strides"),
    ("", "DepthToSpace", "blocksize mode@11"),
    ("", "DequantizeLinear", "axis@13 block_size@21 output_dtype@23"),
    ("", "Div", "axis@-6 broadcast@-6 consumed_inputs@-5"),
    ("", "Dropout", "consumed_inputs@-5 is_test@-6 ratio@-11 seed@12"),
    ("", "Einsum", "equation"),
    ("", "Elu", "alpha consumed_inputs@-5"),
    ("", "Equal", "axis@-6 broadcast@-6"),
    ("", "Exp", "consumed_inputs@-5"),
    ("", "EyeLike", "dtype k"),
    ("", "Flatten", "axis"),
    ("", "Floor", "consumed_inputs@-5"),
    (
        "",
        "GRU",
        "activation_alpha activation_beta activations clip direction hidden_size layout@14 \
         linear_before_reset output_sequence@-6",
    ),
    ("", "Gather", "axis"),
    ("", "GatherElements", "axis"),
    ("", "GatherND", "batch_dims@12"),
    ("", "Gelu", "approximate"),
    ("", "Gemm", "alpha beta broadcast@-6 transA transB"),
    ("", "GlobalLpPool", "p"),
    ("", "Greater", "axis@-6 broadcast@-6"),
    ("", "GridSample", "align_corners mode padding_mode"),
    ("", "GroupNormalization", "epsilon num_groups stash_type@21"),
    ("", "HammingWindow", "output_datatype periodic"),
    ("", "HannWindow", "output_datatype periodic"),
    ("", "HardSigmoid", "alpha beta consumed_inputs@-5"),
    ("", "Hardmax", "axis"),
    ("", "If", "else_branch then_branch"),
    ("", "InstanceNormalization", "consumed_inputs@-5 epsilon"),
    ("", "IsInf", "detect_negative detect_positive"),
    ("", "LRN", "alpha beta bias size"),
    (
        "",
        "LSTM",
        "activation_alpha activation_beta activations clip direction hidden_size input_forget layout@14 output_sequence@-6",
    ),
    ("", "LayerNormalization", "axis epsilon stash_type"),
    ("", "LeakyRelu", "alpha consumed_inputs@-5"),
    ("", "Less", "axis@-6 broadcast@-6"),
    ("", "LinearAttention", "chunk_size kv_num_heads q_num_heads scale update_rule"),
    ("", "Log", "consumed_inputs@-5"),
    ("", "LogSoftmax", "axis"),
    ("", "Loop", "body"),
    ("", "LpNormalization", "axis p"),
    ("", "LpPool", "auto_pad ceil_mode@18 dilations@18 kernel_shape p pads strides"),
    ("", "Max", "consumed_inputs@-5"),
    ("", "MaxPool", "auto_pad ceil_mode@10 dilations@10 kernel_shape pads storage_order@8 strides"),
    ("", "MaxUnpool", "kernel_shape pads strides"),
    ("", "Mean", "consumed_inputs@-5"),
    ("", "MeanVarianceNormalization", "axes"),
    ("", "Min", "consumed_inputs@-5"),
    ("", "Mod", "fmod"),
    ("", "Mul", "axis@-6 broadcast@-6 consumed_inputs@-5"),
    ("", "Neg", "consumed_inputs@-5"),
    ("", "NegativeLogLikelihoodLoss", "ignore_index reduction"),
    ("", "NonMaxSuppression", "center_point_box"),
    ("", "OneHot", "axis"),
    ("", "Or", "axis@-6 broadcast@-6"),
    ("", "PRelu", "consumed_inputs@-5"),
    ("", "Pad", "mode paddings@-1 pads@2-10 value@-10"),
    ("", "Pow", "axis@-6 broadcast@-6"),
    ("", "QLinearConv", "auto_pad dilations group kernel_shape pads strides"),
    ("", "QuantizeLinear", "axis@13 block_size@21 output_dtype@21 precision@23 saturate@19"),
    ("", "RMSNormalization", "axis epsilon stash_type"),
    ("", "RNN", "activation_alpha activation_beta activations clip direction hidden_size layout@14 output_sequence@-6"),
    ("", "Range", "stash_type@27"),
    ("", "Reciprocal", "consumed_inputs@-5"),
    ("", "ReduceL1", "axes@-17 keepdims noop_with_empty_axes@18"),
    ("", "ReduceL2", "axes@-17 keepdims noop_with_empty_axes@18"),
    ("", "ReduceLogSum", "axes@-17 keepdims noop_with_empty_axes@18"),
    ("", "ReduceLogSumExp", "axes@-17 keepdims noop_with_empty_axes@18"),
    ("", "ReduceMax", "axes@-17 keepdims noop_with_empty_axes@18"),
    ("", "ReduceMean", "axes@-17 keepdims noop_with_empty_axes@18"),
    ("", "ReduceMin", "axes@-17 keepdims noop_with_empty_axes@18"),
    ("", "ReduceProd", "axes@-17 keepdims noop_with_empty_axes@18"),
    ("", "ReduceSum", "axes@-12 keepdims noop_with_empty_axes@13"),
    ("", "ReduceSumSquare", "axes@-17 keepdims noop_with_empty_axes@18"),
    ("", "Relu", "consumed_inputs@-5"),
    ("", "Reshape", "allowzero@14 consumed_inputs@-4 shape@-4"),
    (
        "",
        "Resize",
        "antialias@18 axes@18 coordinate_transformation_mode@11 cubic_coeff_a@11 exclude_outside@11 \
         extrapolation_value@11 keep_aspect_ratio_policy@18 mode nearest_mode@11",
    ),
    ("", "ReverseSequence", "batch_axis time_axis"),
    ("", "RoiAlign", "coordinate_transformation_mode@16 mode output_height output_width sampling_ratio spatial_scale"),
    ("", "RotaryEmbedding", "interleaved num_heads rotary_embedding_dim"),
    ("", "STFT", "onesided"),
    (
        "",
        "Scan",
        "body directions@-8 num_scan_inputs scan_input_axes@9 scan_input_directions@9 scan_output_axes@9 \
         scan_output_directions@9",
    ),
    ("", "Scatter", "axis"),
    ("", "ScatterElements", "axis reduction@16"),
    ("", "ScatterND", "reduction@16"),
    ("", "Selu", "alpha consumed_inputs@-5 gamma"),
    ("", "Shape", "end@15 start@15"),
    ("", "Shrink", "bias lambd"),
    ("", "Sigmoid", "consumed_inputs@-5"),
    ("", "Slice", "axes@-9 ends@-9 starts@-9"),
    ("", "Softmax", "axis"),
    ("", "SoftmaxCrossEntropyLoss", "ignore_index reduction"),
    ("", "SpaceToDepth", "blocksize mode@28"),
    ("", "Split", "axis num_outputs@18 split@-12"),
    ("", "Sqrt", "consumed_inputs@-5"),
    ("", "Squeeze", "axes@-12"),
    ("", "Sub", "axis@-6 broadcast@-6 consumed_inputs@-5"),
    ("", "Sum", "consumed_inputs@-5"),
    ("", "SwiGLU", "alpha"),
    ("", "Swish", "alpha"),
    ("", "Tanh", "consumed_inputs@-5"),
    ("", "TensorScatter", "axis mode"),
    (
        "",
        "TfIdfVectorizer",
        "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes pool_int64s \
         pool_strings weights",
    ),
    ("", "ThresholdedRelu", "alpha"),
    ("", "TopK", "axis k@-9 largest@11 sorted@11"),
    ("", "Transpose", "perm"),
    ("", "Trilu", "upper"),
    ("", "Unique", "axis sorted"),
    ("", "Unsqueeze", "axes@-12"),
    ("", "Upsample", "height_scale@-6 mode scales@7-8 width_scale@-6"),
    ("", "Xor", "axis@-6 broadcast@-6"),
    ("ai.onnx.ml", "Binarizer", "threshold"),
    ("ai.onnx.preview", "FlexAttention", "prob_mod scale score_mod softmax_precision"),
];

/// An attribute of an operator, and the versions that have it.
struct Attribute {
    name: &'static str,
    since: i64,
    until: i64,
}

impl Attribute {
    fn parse(text: &'static str) -> Attribute {
        let (name, versions) = text.split_once('@').unwrap_or((text, ""));
        let (since, until) = versions.split_once('-').unwrap_or((versions, ""));
        Attribute { name, since: since.parse().unwrap_or(1), until: until.parse().unwrap_or(i64::MAX) }
    }
}

type Table = FxHashMap<(&'static str, &'static str), Vec<Attribute>>;

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let row = |(domain, name, attributes): &(&'static str, &'static str, &'static str)| {
        ((*domain, *name), attributes.split_whitespace().map(Attribute::parse).collect())
    };
    ATTRIBUTES.iter().map(row).collect()
});

/// Checks that an operator has these attributes in a version.
///
/// # Errors
/// If an attribute does not exist.
pub fn check_attributes<'n>(op: &Op, version: i64, names: impl IntoIterator<Item = &'n str>) -> Result<(), InferError> {
    let known = TABLE.get(&(op.domain, op.name)).map_or(&[][..], Vec::as_slice);
    let is_listed = MAX_OPSETS.iter().any(|(domain, _)| *domain == op.domain) || !known.is_empty();
    names.into_iter().filter(|_| is_listed).try_for_each(|name| check_attribute(op, version, known, name))
}

fn check_attribute(op: &Op, version: i64, known: &[Attribute], name: &str) -> Result<(), InferError> {
    let has = |attribute: &&Attribute| (attribute.since..=attribute.until).contains(&version);
    let of_name = || known.iter().filter(|attribute| attribute.name == name);
    if of_name().any(|attribute| has(&attribute)) {
        return Ok(());
    }
    let shown = crate::listing::brief(name);
    match (of_name().find(|a| a.since > version), of_name().find(|a| a.until < version)) {
        (Some(later), _) => {
            let since = later.since;
            let message =
                format!("its attribute `{shown}` came in version {since}, but the model uses version {version}");
            Err(InferError::new(message).help("leave the attribute out, or import a newer version of the operators"))
        }
        (_, Some(earlier)) => {
            let until = earlier.until;
            let message =
                format!("it has no attribute `{shown}` after version {until}, and the model uses version {version}");
            Err(InferError::new(message).help("leave the attribute out; what it said may be an input now"))
        }
        (None, None) => {
            let names: Vec<&str> = known.iter().filter(has).map(|attribute| attribute.name).collect();
            let error = InferError::new(format!("`{}` has no attribute `{shown}`", op.name));
            Err(error.help(match (nearest(name, names.iter().copied()), names.as_slice()) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, []) => format!("in version {version} it has none"),
                (None, names) => format!("in version {version} it has {}", names.join(", ")),
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops;

    fn message(name: &str, version: i64, attribute: &str) -> Option<String> {
        let op = ops::find("", name).unwrap();
        check_attributes(op, version, [attribute]).err().map(|error| error.message)
    }

    #[test]
    fn attributes_belong_to_versions() {
        assert_eq!(message("Clip", 10, "min"), None);
        assert_eq!(message("MaxPool", 28, "strides"), None);
        let later = message("MaxPool", 9, "ceil_mode").unwrap();
        assert_eq!(later, "its attribute `ceil_mode` came in version 10, but the model uses version 9");
        let earlier = message("Clip", 13, "min").unwrap();
        assert_eq!(earlier, "it has no attribute `min` after version 10, and the model uses version 13");
        assert_eq!(message("MaxPool", 13, "stride").unwrap(), "`MaxPool` has no attribute `stride`");
        assert_eq!(message("Add", 6, "axis"), None);
        assert_eq!(message("Abs", 13, "axis").unwrap(), "`Abs` has no attribute `axis`");
    }

    /// Each row names a supported operator, has well-formed versions, and is unique.
    #[test]
    fn the_table_is_well_formed() {
        assert_eq!(TABLE.len(), ATTRIBUTES.len());
        for (domain, name, attributes) in ATTRIBUTES {
            assert!(ops::find(domain, name).is_some(), "{domain} {name}");
            for text in attributes.split_whitespace() {
                let Attribute { since, until, .. } = Attribute::parse(text);
                let versions = text.split_once('@').map_or("", |(_, versions)| versions);
                let well_formed = versions.split('-').all(|v| v.is_empty() || v.parse::<i64>().is_ok());
                assert!(well_formed && since <= until && text.matches('-').count() <= 1, "{name}: {text}");
            }
        }
    }
}
