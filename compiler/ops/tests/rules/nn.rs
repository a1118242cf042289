//! Neural networks.

use crate::site::{full, refused, ty};
use hammock_ir::{AttrValue, DType};

fn ints(values: &[i64]) -> AttrValue {
    values.to_vec().into()
}

#[test]
fn convolutions_of_symbolic_sizes() {
    let kernel = "16 3 3 3";
    let padded = [("padding", ints(&[1]))];
    assert_eq!(ty("nn.conv2d", &["n 3 m 28", kernel], &padded), "R.Tensor((n, 16, m, 28), dtype=\"float32\")");
    let strided = [("padding", ints(&[1])), ("strides", ints(&[2]))];
    assert_eq!(
        ty("nn.conv2d", &["n 3 m 28", kernel], &strided),
        "R.Tensor((n, 16, (m + 1) // 2, 14), dtype=\"float32\")"
    );
    assert_eq!(ty("nn.conv1d", &["n 32 m", "64 32 3"], &strided), "R.Tensor((n, 64, (m + 1) // 2), dtype=\"float32\")");
    assert_eq!(
        ty("nn.conv3d", &["n 32 m 8 8", "64 32 3 3 3"], &strided),
        "R.Tensor((n, 64, (m + 1) // 2, 4, 4), dtype=\"float32\")"
    );
    let up = [("strides", ints(&[2])), ("padding", ints(&[1])), ("output_padding", ints(&[1]))];
    assert_eq!(ty("nn.conv1d_transpose", &["n 32 m", "32 64 3"], &up), "R.Tensor((n, 64, m * 2), dtype=\"float32\")");
    assert_eq!(
        ty("nn.conv2d_transpose", &["n 32 m 8", "32 64 3 3"], &up),
        "R.Tensor((n, 64, m * 2, 16), dtype=\"float32\")"
    );
    let grouped = [&up[..], &[("groups", 4i64.into()), ("dilation", ints(&[2]))]].concat();
    assert_eq!(
        ty("nn.conv2d_transpose", &["n 32 m 8", "32 16 3 3"], &grouped),
        "R.Tensor((n, 64, m * 2 + 2, 18), dtype=\"float32\")"
    );
}

#[test]
fn convolutions_of_which_little_is_known() {
    let kernel = "16 3 3 3";
    assert_eq!(ty("nn.conv2d", &["?4", kernel], &[]), "R.Tensor(dtype=\"float32\", ndim=4)");
    assert_eq!(ty("nn.conv2d", &["?", "?"], &[]), "R.Tensor(dtype=\"float32\", ndim=4)");
    assert_eq!(ty("nn.conv2d", &["?4:?", "?"], &[]), "R.Tensor(ndim=4)");
    let blocked = [("out_layout", "NCHW16c".into())];
    assert_eq!(ty("nn.conv2d", &["?", kernel], &blocked), "R.Tensor(dtype=\"float32\", ndim=5)");
}

#[test]
fn convolutions_in_other_layouts() {
    let blocked = [("data_layout", "NCHW16c".into()), ("kernel_layout", "OIHW16i16o".into())];
    assert_eq!(
        ty("nn.conv2d", &["1 2 28 28 16", "4 2 3 3 16 16"], &blocked),
        "R.Tensor((1, 4, 26, 26, 16), dtype=\"float32\")"
    );
    assert_eq!(
        ty("nn.conv1d", &["n m 32", "3 32 64"], &[("data_layout", "NWC".into()), ("kernel_layout", "WIO".into())]),
        "R.Tensor((n, m - 2, 64), dtype=\"float32\")"
    );
    let args = ["1 32 28 28", "64 32 3 3"];
    assert_eq!(
        ty("nn.conv2d", &args, &[("out_layout", "NHWC".into())]),
        "R.Tensor((1, 26, 26, 64), dtype=\"float32\")"
    );
    let bytes = ["1 3 8 8:int8", "4 3 3 3:int8"];
    assert_eq!(
        ty("nn.conv2d", &bytes, &[("out_dtype", DType::INT32.into())]),
        "R.Tensor((1, 4, 6, 6), dtype=\"int32\")"
    );
}

#[test]
fn what_convolutions_refuse() {
    assert_eq!(
        refused("nn.conv2d", &["1 3 8 8:int8", "4 3 3 3"], &[]),
        "`R.nn.conv2d`: `data` is int8, but `weight` is float32"
    );
    assert_eq!(
        refused("nn.conv2d", &["1 32 28", "64 32 3 3"], &[]),
        "`R.nn.conv2d`: `data` must have the 4 axes of \"NCHW\", but its shape is (1, 32, 28)"
    );
    assert_eq!(
        refused("nn.conv2d", &["1 32 8 8", "63 8 3 3"], &[("groups", 4i64.into())]),
        "`R.nn.conv2d`: the 63 output channels cannot be split into 4 groups"
    );
    assert_eq!(
        refused("nn.conv2d", &["1 32 8 8", "63 8 3 3"], &[("groups", 0i64.into())]),
        "`R.nn.conv2d`: `groups` must be greater than 0, not 0"
    );
}

#[test]
fn short_attributes_are_written_out() {
    let attrs = full("nn.conv2d", &["1 3 8 8", "4 3 3 3"], &[("padding", ints(&[1, 2])), ("strides", 2i64.into())]).2;
    let text: Vec<String> = attrs.iter().map(|(n, v)| format!("{n}={}", plain(v))).collect();
    assert_eq!(
        text.join(", "),
        "strides=[2, 2], padding=[1, 2, 1, 2], dilation=[1, 1], groups=1, data_layout=NCHW, kernel_layout=OIHW, \
         out_layout=NCHW, out_dtype=None"
    );
    let attrs = full("nn.max_pool1d", &["1 3 8"], &[("pool_size", 3i64.into())]).2;
    let text: Vec<String> = attrs.iter().map(|(n, v)| format!("{n}={}", plain(v))).collect();
    assert_eq!(
        text.join(", "),
        "pool_size=[3], strides=[1], dilation=[1], padding=[0, 0], ceil_mode=false, count_include_pad=false, \
         layout=NCW, out_layout=NCW"
    );
}

/// An attribute in the notation of the tests above.
fn plain(value: &AttrValue) -> String {
    match value {
        AttrValue::Int(v) => v.to_string(),
        AttrValue::Bool(v) => v.to_string(),
        AttrValue::Str(s) => s.to_string(),
        AttrValue::List(v) => format!("[{}]", v.iter().map(plain).collect::<Vec<_>>().join(", ")),
        v if v.is_none() => "None".to_owned(),
        other => format!("{other:?}"),
    }
}

#[test]
fn poolings() {
    let attrs = [("pool_size", ints(&[3])), ("strides", ints(&[2])), ("padding", ints(&[1]))];
    assert_eq!(ty("nn.max_pool2d", &["n 32 m 32"], &attrs), "R.Tensor((n, 32, (m + 1) // 2, 16), dtype=\"float32\")");
    let ceil = [&attrs[..], &[("ceil_mode", true.into())]].concat();
    assert_eq!(ty("nn.max_pool2d", &["n 32 m 32"], &ceil), "R.Tensor((n, 32, m // 2 + 1, 17), dtype=\"float32\")");
    let blocked = [("pool_size", ints(&[3, 2])), ("layout", "NCHW16c".into())];
    assert_eq!(ty("nn.max_pool2d", &["1 2 31 32 16"], &blocked), "R.Tensor((1, 2, 29, 31, 16), dtype=\"float32\")");
    assert_eq!(ty("nn.avg_pool2d", &["?"], &[("out_layout", "NCHW4c".into())]), "R.Tensor(dtype=\"float32\", ndim=5)");
    let sized = |values: &[i64]| [("output_size", ints(values))];
    assert_eq!(ty("nn.adaptive_avg_pool2d", &["n 32 m m"], &sized(&[7])), "R.Tensor((n, 32, 7, 7), dtype=\"float32\")");
    assert_eq!(ty("nn.adaptive_avg_pool2d", &["n 32 m k"], &[]), "R.Tensor((n, 32, m, k), dtype=\"float32\")");
    assert_eq!(
        refused("nn.adaptive_avg_pool3d", &["n 32 m m m"], &sized(&[7, 8])),
        "`R.nn.adaptive_avg_pool3d`: `output_size` must be 1 or 3 numbers greater than 0, not [7, 8]"
    );
}

#[test]
fn padding_and_pixels() {
    assert_eq!(
        ty("nn.pad", &["n 32 m"], &[("pad_width", ints(&[0, 0, 1, 2, 3, 4]))]),
        "R.Tensor((n, 35, m + 7), dtype=\"float32\")"
    );
    assert_eq!(ty("nn.pad", &["?"], &[("pad_width", ints(&[0, 0, 1, 2]))]), "R.Tensor(dtype=\"float32\", ndim=2)");
    assert_eq!(
        refused("nn.pad", &["n 32 m"], &[("pad_width", ints(&[0, 0, 1, 2]))]),
        "`R.nn.pad`: `pad_width` is for 2 axes, but `data` has 3"
    );
    let factor = [("upscale_factor", 2i64.into())];
    assert_eq!(ty("nn.pixel_shuffle", &["n 32 m 8"], &factor), "R.Tensor((n, 8, m * 2, 16), dtype=\"float32\")");
    assert_eq!(
        refused("nn.pixel_shuffle", &["n 33 m 8"], &factor),
        "`R.nn.pixel_shuffle`: the 33 channels cannot be split into groups of 4"
    );
}

#[test]
fn normalizations() {
    let axes = [("axes", ints(&[-2, -1]))];
    assert_eq!(ty("nn.layer_norm", &["n 3 m", "3 m", "3 m"], &axes), "R.Tensor((n, 3, m), dtype=\"float32\")");
    assert_eq!(
        refused("nn.layer_norm", &["n 3 m", "4 m", "3 m"], &axes),
        "`R.nn.layer_norm`: `gamma` must have the shape (3, m), but it has (4, m)"
    );
    assert_eq!(
        refused("nn.layer_norm", &["n 3 m", "m", "m"], &[("axes", ints(&[-1, 2]))]),
        "`R.nn.layer_norm`: `axes` names axis 2 twice"
    );
    assert_eq!(
        ty("nn.batch_norm", &["n 3 m", "3", "3", "3", "3"], &[("axis", 1i64.into())]),
        "R.Tuple(R.Tensor((n, 3, m), dtype=\"float32\"), R.Tensor((3,), dtype=\"float32\"), R.Tensor((3,), dtype=\"float32\"))"
    );
    assert_eq!(
        refused("nn.batch_norm", &["n 3 m", "3:float16", "3", "3", "3"], &[("axis", 1i64.into())]),
        "`R.nn.batch_norm`: `data` is float32, but `gamma` is float16"
    );
    let group =
        |groups: i64| [("num_groups", groups.into()), ("channel_axis", (-3i64).into()), ("axes", ints(&[-2, -1]))];
    assert_eq!(ty("nn.group_norm", &["n 4 m m", "4", "4"], &group(2)), "R.Tensor((n, 4, m, m), dtype=\"float32\")");
    assert_eq!(
        refused("nn.group_norm", &["n 4 m m", "4", "4"], &group(3)),
        "`R.nn.group_norm`: the 4 channels cannot be split into 3 groups"
    );
    assert!(refused("nn.softmax", &["2 3"], &[("axis", 2i64.into())]).contains("`axis` is 2"));
    assert_eq!(refused("nn.gelu", &["2 3:int32"], &[]), "`R.nn.gelu`: `data` must hold floats, not int32");
    assert_eq!(ty("nn.gelu", &["?:?"], &[]), "R.Tensor");
}

#[test]
fn attention() {
    let qkv = ["n m 8 64", "n 7 8 64", "n 7 8 32"];
    assert_eq!(ty("nn.attention", &qkv, &[]), "R.Tensor((n, m, 8, 32), dtype=\"float32\")");
    assert_eq!(
        ty("nn.attention", &["n m 8 64", "n 7 2 64", "n 7 2 32"], &[]),
        "R.Tensor((n, m, 8, 32), dtype=\"float32\")"
    );
    assert_eq!(ty("nn.attention", &["?4", "?", "n 7 8 32"], &[]), "R.Tensor(dtype=\"float32\", ndim=4)");
    assert_eq!(
        refused("nn.attention", &["n m 8 64", "n 7 8 63", "n 7 8 32"], &[]),
        "`R.nn.attention`: the head size of `query` and `key` must be the same, not 64 and 63"
    );
    let with = |bias| [&qkv[..], &[bias]].concat();
    assert_eq!(ty("nn.attention_bias", &with("1 1 m 7"), &[]), "R.Tensor((n, m, 8, 32), dtype=\"float32\")");
    assert_eq!(
        refused("nn.attention_bias", &with("n 8 m 1"), &[]),
        "`R.nn.attention_bias`: `bias` of shape (n, 8, m, 1) does not broadcast to the scores' (n, 8, m, 7)"
    );
    assert_eq!(full("nn.attention", &with("1 1 m 7"), &[]).0, "nn.attention_bias");
    let (name, args, _) = full("nn.attention_bias", &with("-"), &[]);
    assert_eq!((name, args), ("nn.attention", 3));
    let sequences = ["1 m 8 64", "1 m 8 64", "1 m 8 32", "4:int32", ":int32"];
    assert_eq!(ty("nn.attention_var_len", &sequences, &[]), "R.Tensor((1, m, 8, 32), dtype=\"float32\")");
    assert_eq!(full("nn.attention_var_len", &sequences, &[]).1, 7);
}

#[test]
fn losses() {
    assert_eq!(ty("nn.cross_entropy_with_logits", &["n 4 m", "n 4 m"], &[]), "R.Tensor((), dtype=\"float32\")");
    assert_eq!(ty("nn.cross_entropy_with_logits", &["?", "n 4"], &[]), "R.Tensor((), dtype=\"float32\")");
    assert_eq!(
        refused("nn.cross_entropy_with_logits", &["n 4 m", "n 5 m"], &[]),
        "`R.nn.cross_entropy_with_logits`: `predictions` and `labels` must have one shape, not (n, 4, m) and (n, 5, m)"
    );
    let none = [("reduction", "none".into())];
    assert_eq!(ty("nn.nll_loss", &["n 4 m m", "n m m:int64", "4"], &none), "R.Tensor((n, m, m), dtype=\"float32\")");
    assert_eq!(ty("nn.nll_loss", &["4", ":int64"], &none), "R.Tensor((), dtype=\"float32\")");
    assert_eq!(ty("nn.nll_loss", &["?3", "?:int64"], &none), "R.Tensor(dtype=\"float32\", ndim=2)");
    assert_eq!(
        refused("nn.nll_loss", &["3 4", "3"], &[]),
        "`R.nn.nll_loss`: `targets` must hold integers, not float32"
    );
    assert_eq!(
        refused("nn.nll_loss", &["3 4", "2:int64"], &[]),
        "`R.nn.nll_loss`: `targets` of shape (2,) do not fit `predictions` of shape (3, 4)"
    );
    assert_eq!(
        refused("nn.nll_loss", &["3 4", "3:int64", "3"], &[]),
        "`R.nn.nll_loss`: `weights` must have one element for each of 4 classes, but its shape is (3,)"
    );
    assert_eq!(ty("nn.batch_flatten", &["n m 8"], &[]), "R.Tensor((n, m * 8), dtype=\"float32\")");
    assert_eq!(
        ty("nn.dropout", &["n 4"], &[]),
        "R.Tuple(R.Tensor((n, 4), dtype=\"float32\"), R.Tensor((n, 4), dtype=\"float32\"))"
    );
}
