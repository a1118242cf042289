metadata = tvm.ir.load_json("""{
  \"root_index\": 20,
  \"nodes\": [
    {
      \"type\": \"ffi.String\",
      \"data\": \"ir.GenericConst\"
    },
    {
      \"type\": \"None\"
    },
    {
      \"type\": \"ir.PrimType\",
      \"data\": {
        \"span\": 1,
        \"dtype\": \"int64\"
      }
    },
    {
      \"type\": \"int\",
      \"data\": 8
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 3
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        4
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 5,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 6,
        \"values\": 5
      }
    },
    {
      \"type\": \"ir.PrimType\",
      \"data\": {
        \"span\": 1,
        \"dtype\": \"float32\"
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 7,
        \"dtype\": 8,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAIAAAAAAAAACAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 9,
        \"value\": 10
      }
    },
    {
      \"type\": \"ir.IntImm\",
      \"data\": {
        \"span\": 1,
        \"ty\": 2,
        \"value\": 3
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        12
      ]
    },
    {
      \"type\": \"relax.ShapeType\",
      \"data\": {
        \"span\": 1,
        \"values\": 13,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"relax.expr.ShapeExpr\",
      \"data\": {
        \"span\": 1,
        \"ty\": 14,
        \"values\": 13
      }
    },
    {
      \"type\": \"relax.TensorType\",
      \"data\": {
        \"span\": 1,
        \"shape\": 15,
        \"dtype\": 8,
        \"vdevice\": 1,
        \"ndim\": 1
      }
    },
    {
      \"type\": \"ffi.Tensor\",
      \"data\": \"P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQAIAAAAAAAAACAAAAAAAAAAAACAPwAAgD8AAIA\\/AACAPwAAgD8AAIA\\/AACAPwAAgD8=\"
    },
    {
      \"type\": \"ir.GenericConst\",
      \"data\": {
        \"span\": 1,
        \"ty\": 16,
        \"value\": 17
      }
    },
    {
      \"type\": \"ffi.Array\",
      \"data\": [
        11,
        18
      ]
    },
    {
      \"type\": \"ffi.Map\",
      \"data\": [
        0,
        19
      ]
    }
  ],
  \"metadata\": {
    \"tvm_version\": \"0.27.0.post1\"
  }
}""")
# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

s34 = TypeVar("s34")
@I.ir_module
class Module:
    @R.function
    def main(images: R.Tensor((s34, 1, 16, 16), dtype="float32"), p_features_0_weight: R.Tensor((8, 1, 3, 3), dtype="float32"), p_features_0_bias: R.Tensor((8,), dtype="float32"), p_features_1_weight: R.Tensor((8,), dtype="float32"), p_features_1_bias: R.Tensor((8,), dtype="float32"), p_features_4_weight: R.Tensor((16, 8, 3, 3), dtype="float32"), p_features_4_bias: R.Tensor((16,), dtype="float32"), p_scores_weight: R.Tensor((10, 64), dtype="float32"), p_scores_bias: R.Tensor((10,), dtype="float32")) -> R.Tuple(R.Tensor((s34, 10), dtype="float32")):
        R.func_attr({"num_input": 1, "tir_var_lower_bound": {"s34": 0}})
        with R.dataflow():
            lv: R.Tensor((s34, 8, 16, 16), dtype="float32") = R.nn.conv2d(images, p_features_0_weight, strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="float32")
            lv1: R.Tensor((1, 8, 1, 1), dtype="float32") = R.reshape(p_features_0_bias, R.shape([1, 8, 1, 1]))
            lv2: R.Tensor((s34, 8, 16, 16), dtype="float32") = R.add(lv, lv1)
            lv3: R.Tuple(R.Tensor((s34, 8, 16, 16), dtype="float32"), R.Tensor((8,), dtype="float32"), R.Tensor((8,), dtype="float32")) = R.nn.batch_norm(lv2, p_features_1_weight, p_features_1_bias, metadata["ir.GenericConst"][0], metadata["ir.GenericConst"][1], axis=1, epsilon=1.0000000000000001e-05, center=True, scale=True, momentum=0.10000000000000001, training=False)
            lv4: R.Tensor((s34, 8, 16, 16), dtype="float32") = lv3[0]
            lv5: R.Tensor((s34, 8, 16, 16), dtype="float32") = R.nn.relu(lv4)
            lv6: R.Tensor((s34, 8, 8, 8), dtype="float32") = R.nn.max_pool2d(lv5, pool_size=[2, 2], strides=[2, 2], dilation=[1, 1], padding=[0, 0, 0, 0], ceil_mode=False, count_include_pad=False, layout="NCHW", out_layout="NCHW")
            lv7: R.Tensor((s34, 8, 8, 8), dtype="float32") = R.zeros_like(lv6, dtype=None)
            lv8: R.Tuple(R.Tensor((s34, 8, 8, 8), dtype="float32"), R.Tensor((s34, 8, 8, 8), dtype="float32")) = lv6, lv7
            lv9: R.Tensor((s34, 8, 8, 8), dtype="float32") = lv8[0]
            lv10: R.Tensor((s34, 16, 8, 8), dtype="float32") = R.nn.conv2d(lv9, p_features_4_weight, strides=[1, 1], padding=[1, 1, 1, 1], dilation=[1, 1], groups=1, data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW", out_dtype="float32")
            lv11: R.Tensor((1, 16, 1, 1), dtype="float32") = R.reshape(p_features_4_bias, R.shape([1, 16, 1, 1]))
            lv12: R.Tensor((s34, 16, 8, 8), dtype="float32") = R.add(lv10, lv11)
            lv13: R.Tensor((s34, 16, 8, 8), dtype="float32") = R.sigmoid(lv12)
            lv14: R.Tensor((s34, 16, 8, 8), dtype="float32") = R.multiply(lv12, lv13)
            lv15: R.Tensor((s34, 16, 2, 2), dtype="float32") = R.nn.adaptive_avg_pool2d(lv14, output_size=[2, 2], layout="NCHW", out_layout="NCHW")
            lv16: R.Tensor((s34, 64), dtype="float32") = R.reshape(lv15, R.shape([s34, 64]))
            lv17: R.Tensor((64, 10), dtype="float32") = R.permute_dims(p_scores_weight, axes=[1, 0])
            lv18: R.Tensor((s34, 10), dtype="float32") = R.matmul(lv16, lv17, out_dtype="float32")
            lv19: R.Tensor((s34, 10), dtype="float32") = R.add(p_scores_bias, lv18)
            gv: R.Tuple(R.Tensor((s34, 10), dtype="float32")) = (lv19,)
            R.output(gv)
        return gv