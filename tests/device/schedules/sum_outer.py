# (300, 37)

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def sum(x: T.Buffer((T.int64(300), n), "float32"), x_red: T.Buffer((n,), "float32")):
        T.func_attr({"op_pattern": 3, "tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        x_red_rf_local = T.sblock_alloc_buffer((T.int64(16), n), scope="local")
        for ax0_fused_0 in T.thread_binding(n, thread="blockIdx.x"):
            for ax0_fused_1 in T.thread_binding(T.int64(1), thread="threadIdx.x"):
                for ax1_fused_1 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                    with T.sblock("x_red_rf_init"):
                        vax1_fused_1 = T.axis.spatial(T.int64(16), ax1_fused_1)
                        v0 = T.axis.spatial(n, ax0_fused_0 + ax0_fused_1)
                        T.reads()
                        T.writes(x_red_rf_local[vax1_fused_1, v0])
                        x_red_rf_local[vax1_fused_1, v0] = T.float32(0.0)
                    for ax1_fused_0, u in T.grid(T.int64(19), 1):
                        with T.sblock("x_red_rf_update"):
                            vax1_fused_1 = T.axis.spatial(T.int64(16), ax1_fused_1)
                            v0 = T.axis.spatial(n, ax0_fused_0 + ax0_fused_1)
                            vax1_fused_0 = T.axis.reduce(T.int64(19), ax1_fused_0)
                            T.where(ax1_fused_0 * T.int64(16) + ax1_fused_1 < T.int64(300))
                            T.reads(x_red_rf_local[vax1_fused_1, v0], x[vax1_fused_0 * T.int64(16) + vax1_fused_1, v0])
                            T.writes(x_red_rf_local[vax1_fused_1, v0])
                            x_red_rf_local[vax1_fused_1, v0] = x_red_rf_local[vax1_fused_1, v0] + x[vax1_fused_0 * T.int64(16) + vax1_fused_1, v0]
            for ax1_fused in T.thread_binding(T.int64(1), thread="threadIdx.x"):
                for ax0 in T.thread_binding(T.int64(16), thread="threadIdx.y"):
                    with T.sblock("x_red"):
                        vax1_fused_1, v0 = T.axis.remap("RS", [ax0, ax0_fused_0])
                        T.reads(x_red_rf_local[vax1_fused_1, v0])
                        T.writes(x_red[v0])
                        with T.init():
                            x_red[v0] = T.float32(0.0)
                        x_red[v0] = x_red[v0] + x_red_rf_local[vax1_fused_1, v0]

    @R.function
    def main(x: R.Tensor((300, n), dtype="float32")) -> R.Tensor((n,), dtype="float32"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.sum, (x,), out_ty=R.Tensor((n,), dtype="float32"))
            R.output(y)
        return y

