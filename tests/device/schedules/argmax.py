# (37, 300)

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def argmax(x: T.Buffer((T.int64(37), T.int64(300)), "float32"), x_red: T.Buffer((T.int64(37),), "int64")):
        T.func_attr({"op_pattern": 4, "tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        x_red_temp_v0_shared = T.sblock_alloc_buffer((T.int64(37),), "int64", scope="shared")
        x_red_temp_v1_shared = T.sblock_alloc_buffer((T.int64(37),), scope="shared")
        for ax0_fused in T.thread_binding(T.int64(37), thread="blockIdx.x"):
            for ax0 in range(T.int64(1)):
                for ax1_fused_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                    for ax1_fused_0 in T.serial(T.int64(2), annotations={"pragma_auto_unroll_max_step": 256, "pragma_unroll_explicit": 1}):
                        with T.sblock("x_red_temp"):
                            v0 = T.axis.spatial(T.int64(37), ax0_fused + ax0)
                            v1 = T.axis.reduce(T.int64(300), ax1_fused_0 * T.int64(256) + ax1_fused_1)
                            T.where(ax1_fused_0 * T.int64(256) + ax1_fused_1 < T.int64(300))
                            T.reads(x[v0, v1])
                            T.writes(x_red_temp_v0_shared[v0], x_red_temp_v1_shared[v0])
                            with T.init():
                                x_red_temp_v0_shared[v0] = T.int64(-1)
                                x_red_temp_v1_shared[v0] = T.float32(-340282346638528859811704183484516925440.0)
                            v_x_red_temp_v0: T.let[T.int64] = T.Select(x_red_temp_v1_shared[v0] > x[v0, v1] or x_red_temp_v1_shared[v0] == x[v0, v1] and x_red_temp_v0_shared[v0] < v1, x_red_temp_v0_shared[v0], v1)
                            v_x_red_temp_v1: T.let[T.float32] = T.Select(x_red_temp_v1_shared[v0] > x[v0, v1], x_red_temp_v1_shared[v0], x[v0, v1])
                            x_red_temp_v0_shared[v0] = v_x_red_temp_v0
                            x_red_temp_v1_shared[v0] = v_x_red_temp_v1
            for ax1_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                for ax1_0 in T.serial(T.int64(1), annotations={"pragma_auto_unroll_max_step": 256, "pragma_unroll_explicit": 1}):
                    with T.sblock("x_red"):
                        v0 = T.axis.spatial(T.int64(37), ax0_fused)
                        v1 = T.axis.spatial(T.int64(1), ax1_0 * T.int64(256) + ax1_1)
                        T.where(ax1_0 * T.int64(256) + ax1_1 < T.int64(1))
                        T.reads(x_red_temp_v0_shared[v0])
                        T.writes(x_red[v0])
                        x_red[v0] = x_red_temp_v0_shared[v0]

    @R.function
    def main(x: R.Tensor((37, 300), dtype="float32")) -> R.Tensor((37,), dtype="int64"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.argmax, (x,), out_ty=R.Tensor((37,), dtype="int64"))
            R.output(y)
        return y

