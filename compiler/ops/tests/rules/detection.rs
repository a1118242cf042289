//! Images, regions, boxes, quantization, decision trees.

use crate::site::{full, refused, ty};
use hammock_ir::{AttrValue, DType};

fn ints(values: &[i64]) -> AttrValue {
    values.to_vec().into()
}

#[test]
fn images() {
    assert_eq!(ty("image.resize2d", &["n 3 m 8", "[16 17]"], &[]), "R.Tensor((n, 3, 16, 17), dtype=\"float32\")");
    let blocked = [("layout", "NCHW16c".into()), ("out_dtype", DType::FLOAT16.into())];
    assert_eq!(ty("image.resize2d", &["n 3 m 8 16", "[m]"], &blocked), "R.Tensor((n, 3, m, m, 16), dtype=\"float16\")");
    assert_eq!(ty("image.resize3d", &["?", "[4 5 6]"], &[]), "R.Tensor(dtype=\"float32\", ndim=5)");
    assert_eq!(
        refused("image.resize2d", &["n 3 m 8", "[1 2 3]"], &[]),
        "`R.image.resize2d`: `size` must have 2 dimensions, but it has 3"
    );
    assert!(refused("image.resize2d", &["n 3 m 8", "[2]"], &[("method", "magic".into())]).contains("\"magic\""));
    let roi = full("image.resize2d", &["n 3 m 8", "[2]"], &[]).2.remove(0).1;
    assert_eq!(
        format!("{roi:?}"),
        "List([Expr(0.0:float32), Expr(0.0:float32), Expr(0.0:float32), Expr(0.0:float32)])".replace("0.0:", "0:")
    );
    assert_eq!(ty("image.grid_sample", &["n 3 m 8", "n 2 5 6"], &[]), "R.Tensor((n, 3, 5, 6), dtype=\"float32\")");
    assert_eq!(
        ty("image.grid_sample", &["n 3 m 8 8", "n 3 4 5 6"], &[("layout", "NCDHW".into())]),
        "R.Tensor((n, 3, 4, 5, 6), dtype=\"float32\")"
    );
    assert_eq!(ty("image.affine_grid", &["n 2 3", "[m 5]"], &[]), "R.Tensor((n, 2, m, 5), dtype=\"float32\")");
    assert_eq!(
        refused("image.affine_grid", &["n 2 4", "[4 5]"], &[]),
        "`R.image.affine_grid`: maps of 2 axes are 2 by 3, not 2 by 4"
    );
}

#[test]
fn regions_and_boxes() {
    let attrs = [("pooled_size", ints(&[7])), ("spatial_scale", AttrValue::Float(0.5))];
    assert_eq!(ty("vision.roi_align", &["n 3 m 8", "k 5"], &attrs), "R.Tensor((k, 3, 7, 7), dtype=\"float32\")");
    assert_eq!(ty("vision.roi_pool", &["?4", "k 5"], &attrs), "R.Tensor(dtype=\"float32\", ndim=4)");
    assert!(refused("vision.roi_align", &["n 3 m 8", "k 4"], &attrs).ends_with("it has 4"));
    assert_eq!(
        ty("vision.get_valid_counts", &["n m 6"], &[]),
        "R.Tuple(R.Tensor((n,), dtype=\"int32\"), R.Tensor((n, m, 6), dtype=\"float32\"), R.Tensor((n, m), dtype=\"int32\"))"
    );
    let args = ["n m 6", "n:int32", "n m:int32"];
    assert_eq!(
        ty("vision.non_max_suppression", &args, &[]),
        "R.Tuple(R.Tensor((n, m), dtype=\"int32\"), R.Tensor((n, 1), dtype=\"int32\"))"
    );
    assert_eq!(
        ty("vision.non_max_suppression", &args, &[("soft_nms_sigma", AttrValue::Float(0.5))]),
        "R.Tuple(R.Tensor((n, m, 6), dtype=\"float32\"), R.Tensor((n, m), dtype=\"int32\"), R.Tensor((n, 1), dtype=\"int32\"))"
    );
    assert_eq!(
        ty("vision.non_max_suppression", &args, &[("return_indices", false.into())]),
        "R.Tensor((n, m, 6), dtype=\"float32\")"
    );
    assert_eq!(
        refused("vision.non_max_suppression", &["n m 5", "n:int32", "n m:int32"], &[]),
        "`R.vision.non_max_suppression`: `coord_start` must leave four of a box's 5 elements for its corners"
    );
    let args = ["2 30 4", "2 5 30", ":int64", "", ""];
    assert_eq!(
        ty("vision.all_class_non_max_suppression", &args, &[]),
        "R.Tuple(R.Tensor(dtype=\"int64\", ndim=2), R.Tensor((1,), dtype=\"int64\"))"
    );
    assert_eq!(
        ty("vision.all_class_non_max_suppression", &args, &[("output_format", "tensorflow".into())]),
        "R.Tuple(R.Tensor((2, 150, 2), dtype=\"int64\"), R.Tensor((2, 150), dtype=\"float32\"), R.Tensor((2,), dtype=\"int64\"))"
    );
    assert_eq!(
        ty("vision.multibox_transform_loc", &["2 3 8", "2 32", "1 8 4"], &[]),
        "R.Tuple(R.Tensor((2, 8, 4), dtype=\"float32\"), R.Tensor((2, 3, 8), dtype=\"float32\"))"
    );
    assert!(refused("vision.multibox_transform_loc", &["2 3 8", "2 33", "1 8 4"], &[]).contains("`loc_pred`"));
}

#[test]
fn quantization() {
    let axis = [("axis", 1i64.into())];
    assert_eq!(ty("quantize", &["n 3", "3", "3:int8"], &axis), "R.Tensor((n, 3), dtype=\"int8\")");
    assert_eq!(ty("quantize", &["n 3", "", ":int8"], &[]), "R.Tensor((n, 3), dtype=\"int8\")");
    assert_eq!(ty("dequantize", &["n 3:int8", "3:float16", "3:int8"], &axis), "R.Tensor((n, 3), dtype=\"float32\")");
    assert_eq!(
        refused("quantize", &["n 3", "2", "2:int8"], &axis),
        "`R.quantize`: `scale` must have 1 element or 3, one along axis 1, but its shape is (2,)"
    );
    assert_eq!(refused("quantize", &["n 3:int32", "3", "3:int8"], &axis), "`R.quantize`: `data` must not hold int32");
    assert_eq!(
        refused("quantize", &["n 3", "3", "3:int8"], &[("out_dtype", DType::INT64.into())]),
        "`R.quantize`: `out_dtype` must not be int64"
    );
}

#[test]
fn gradients() {
    assert_eq!(
        refused("grad.nll_loss_backward", &["", "n 4", "n:int64", "4"], &[("reduction", "none".into())]),
        "`R.grad.nll_loss_backward`: `output_grad` must have 1 dimension, but it has 0"
    );
    assert_eq!(ty("grad.nll_loss_backward", &["", "n 4", "n:int64", "4"], &[]), "R.Tensor((n, 4), dtype=\"float32\")");
    let attrs = [("pool_size", ints(&[2])), ("strides", ints(&[2]))];
    assert_eq!(
        ty("grad.max_pool2d_backward", &["n 3 4 4", "n 3 8 8"], &attrs),
        "R.Tensor((n, 3, 8, 8), dtype=\"float32\")"
    );
    assert_eq!(
        refused("grad.avg_pool2d_backward", &["n 3 5 4", "n 3 8 8"], &attrs),
        "`R.grad.avg_pool2d_backward`: `output_grad` must have the pooling's shape (n, 3, 4, 4), not (n, 3, 5, 4)"
    );
    assert_eq!(
        ty("grad.take_backward", &["n 3", "m 3", "n:int32"], &[("axis", 0i64.into())]),
        "R.Tensor((m, 3), dtype=\"float32\")"
    );
    assert_eq!(ty("grad.no_grad", &["n 3"], &[]), "R.Tensor((n, 3), dtype=\"float32\")");
}

#[test]
fn tree_ensembles() {
    let depth = ("depth", AttrValue::Int(3));
    let args = ["n 5", "9 4:int32", "k:int64", "m 2"];
    assert_eq!(ty("ml.tree_ensemble", &args, std::slice::from_ref(&depth)), "R.Tensor((n, 2), dtype=\"float32\")");
    let wide = ["n 5:float64", "9 4:int64", "3:int32", "m 2:float64", "m 2:int64"];
    let targets = [depth.clone(), ("num_targets", AttrValue::Int(7))];
    assert_eq!(ty("ml.tree_ensemble", &wide, &targets), "R.Tensor((n, 7), dtype=\"float64\")");
    for (args, attrs, message) in [
        (["n 5", "9 4:int64", "k:int64", "m 2"], vec![depth.clone()], "`data` of float32 must hold int32, not int64"),
        (["n 5", "9 3:int32", "k:int64", "m 2"], vec![depth.clone()], "`nodes` must have 4 columns, not 3"),
        (["n 5", "9 4:int32", "k", "m 2"], vec![depth.clone()], "`roots` must hold integers, not float32"),
        (
            ["n 5", "9 4:int32", "k:int64", "m 2"],
            targets.to_vec(),
            "`weights` must have 7 columns, one for each target",
        ),
        (args, vec![("depth", AttrValue::Int(-1))], "`depth` must not be negative"),
    ] {
        let refused = refused("ml.tree_ensemble", &args, &attrs);
        assert!(refused.contains(message), "{refused}");
    }
    assert!(refused("ml.tree_ensemble", &wide, &[depth]).contains("`num_targets` is required"));
}
