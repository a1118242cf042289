# (37, 300)

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def sum(x: T.Buffer((n, T.int64(300)), "float32"), x_red: T.Buffer((n,), "float32")):
        T.func_attr({"op_pattern": 3, "tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        x_red_rf_local = T.sblock_alloc_buffer((T.int64(256), n), scope="local")
        for ax0_fused in T.thread_binding(n, thread="blockIdx.x"):
            for ax1_fused_1 in T.thread_binding(T.int64(256), thread="threadIdx.x", annotations={"pragma_auto_unroll_max_step": 256, "pragma_unroll_explicit": 1}):
                with T.sblock("x_red_rf_init"):
                    vax1_fused_1, v0 = T.axis.remap("SS", [ax1_fused_1, ax0_fused])
                    T.reads()
                    T.writes(x_red_rf_local[vax1_fused_1, v0])
                    x_red_rf_local[vax1_fused_1, v0] = T.float32(0.0)
                for ax1_fused_0, u in T.grid(T.int64(2), 1):
                    with T.sblock("x_red_rf_update"):
                        vax1_fused_1, v0, vax1_fused_0 = T.axis.remap("SSR", [ax1_fused_1, ax0_fused, ax1_fused_0])
                        T.where(ax1_fused_0 * T.int64(256) + ax1_fused_1 < T.int64(300))
                        T.reads(x_red_rf_local[vax1_fused_1, v0], x[v0, vax1_fused_0 * T.int64(256) + vax1_fused_1])
                        T.writes(x_red_rf_local[vax1_fused_1, v0])
                        x_red_rf_local[vax1_fused_1, v0] = x_red_rf_local[vax1_fused_1, v0] + x[v0, vax1_fused_0 * T.int64(256) + vax1_fused_1]
            for ax1_fused in range(T.int64(1)):
                for ax0 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                    with T.sblock("x_red"):
                        vax1_fused_1, v0 = T.axis.remap("RS", [ax0, ax0_fused])
                        T.reads(x_red_rf_local[vax1_fused_1, v0])
                        T.writes(x_red[v0])
                        with T.init():
                            x_red[v0] = T.float32(0.0)
                        x_red[v0] = x_red[v0] + x_red_rf_local[vax1_fused_1, v0]

    @R.function
    def main(x: R.Tensor((n, 300), dtype="float32")) -> R.Tensor((n,), dtype="float32"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.sum, (x,), out_ty=R.Tensor((n,), dtype="float32"))
            R.output(y)
        return y

