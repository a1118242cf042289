# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

metadata = tvm.ir.load_json("""{
  \"root_index\": 1, \"nodes\": [{\"type\": \"None\"}, {\"type\": \"ffi.Map\", \"data\": []}]
}""")
n = TypeVar("n")
@I.ir_module
class Module:
    I.module_attrs({"caption": "caf\xC3\xA9", "level": -1, "scale": 1e-05, "tags": ["a", None, True]})
    I.module_global_infos({"vdevice": [I.vdevice({"keys": ["cpu"], "kind": "llvm"}, 0, "global")]})
    @T.prim_func(private=True, s_tir=True)
    def relu(var_x: T.handle, y: T.Buffer((T.int64(4), "n * T.int64(2)"), "float32")):
        T.func_attr({"op_pattern": 0, "tirx.noalias": True})
        n = T.int64()
        x = T.match_buffer(var_x, (T.int64(4), n * T.int64(2)))
        # with T.sblock("root"):
        for i, j in T.grid(T.int64(4), n * T.int64(2)):
            with T.sblock("relu"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                T.reads(x[v_i, v_j])
                T.writes(y[v_i, v_j])
                y[v_i, v_j] = T.max(x[v_i, v_j], T.float32(0.0))

    library = R.ExternFunc("library.matmul")
    @R.function(pure=False)
    def main(x: R.Tensor((4, "n * 2"), dtype="float32"), w: R.Tensor(dtype="float32", ndim=2)) -> R.Tuple(R.Tensor, R.Shape([n, 4])):
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            lv: R.Tensor((n * 2, 4), dtype="float32") = R.permute_dims(x, axes=None)
            lv1 = R.call_tir(cls.relu, (lv,), out_ty=R.Tensor((4, n * 2), dtype="float32"))
            lv2: R.Tensor((4, n * 2), dtype="float32") = R.add(lv1, metadata["ir.GenericConst"][0])
            lv3 = R.layout_transform(lv2, index_map=T.index_map(lambda a, b: (a, b // 3, b % 3)))
            R.output(lv2, lv3)
        R.print(lv2, format=R.str("done {}"))
        if cond:
            gv: R.Tensor = lv2
        else:
            gv: R.Tensor = lv3
        return (gv, R.shape([n, 4]))

# Metadata omitted. Use show_meta=True in script() method to show it.
