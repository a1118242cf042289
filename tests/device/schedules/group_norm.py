# (2, 4, 50); (4,); (4,)

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def group_norm(x: T.Buffer((T.int64(2), T.int64(4), T.int64(50)), "float32"), g: T.Buffer((T.int64(4),), "float32"), b: T.Buffer((T.int64(4),), "float32"), T_reshape: T.Buffer((T.int64(2), T.int64(4), T.int64(50)), "float32")):
        T.func_attr({"op_pattern": 4, "tirx.is_scheduled": True, "tirx.noalias": True})
        # with T.sblock("root"):
        x_red_temp_v0_shared = T.sblock_alloc_buffer((T.int64(2), T.int64(2)), scope="shared")
        x_red_temp_v1_shared = T.sblock_alloc_buffer((T.int64(2), T.int64(2)), scope="shared")
        for ax0_ax1_fused in T.thread_binding(T.int64(2), thread="blockIdx.x"):
            for ax0, ax1 in T.grid(T.int64(1), T.int64(2)):
                for ax2_ax3_fused_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                    for ax2_ax3_fused_0 in T.serial(T.int64(1), annotations={"pragma_auto_unroll_max_step": 256, "pragma_unroll_explicit": 1}):
                        with T.sblock("x_red_temp"):
                            v0 = T.axis.spatial(T.int64(2), ax0_ax1_fused + ax0)
                            v1 = T.axis.spatial(T.int64(2), ax1)
                            v2 = T.axis.reduce(T.int64(2), (ax2_ax3_fused_0 * T.int64(256) + ax2_ax3_fused_1) // T.int64(50))
                            v3 = T.axis.reduce(T.int64(50), (ax2_ax3_fused_0 * T.int64(256) + ax2_ax3_fused_1) % T.int64(50))
                            T.where(ax2_ax3_fused_0 * T.int64(256) + ax2_ax3_fused_1 < T.int64(100))
                            T.reads(x[v0, v1 * T.int64(2) + v2, v3])
                            T.writes(x_red_temp_v0_shared[v0, v1], x_red_temp_v1_shared[v0, v1])
                            with T.init():
                                x_red_temp_v0_shared[v0, v1] = T.float32(0.0)
                                x_red_temp_v1_shared[v0, v1] = T.float32(0.0)
                            v_x_red_temp_v0: T.let[T.float32] = x_red_temp_v0_shared[v0, v1] + x[v0, v1 * T.int64(2) + v2, v3]
                            v_x_red_temp_v1: T.let[T.float32] = x_red_temp_v1_shared[v0, v1] + x[v0, v1 * T.int64(2) + v2, v3] * x[v0, v1 * T.int64(2) + v2, v3]
                            x_red_temp_v0_shared[v0, v1] = v_x_red_temp_v0
                            x_red_temp_v1_shared[v0, v1] = v_x_red_temp_v1
            for ax2 in range(T.int64(4)):
                for ax3_1 in T.thread_binding(T.int64(256), thread="threadIdx.x"):
                    for ax3_0 in T.serial(T.int64(1), annotations={"pragma_auto_unroll_max_step": 256, "pragma_unroll_explicit": 1}):
                        with T.sblock("T_reshape_3"):
                            v0 = T.axis.spatial(T.int64(1), T.int64(0))
                            v1, v2 = T.axis.remap("SS", [ax0_ax1_fused, ax2])
                            v3 = T.axis.spatial(T.int64(50), ax3_0 * T.int64(256) + ax3_1)
                            T.where(ax3_0 * T.int64(256) + ax3_1 < T.int64(50))
                            T.reads(x[v1, v2, v3], x_red_temp_v0_shared[v1, v2 // T.int64(2)], x_red_temp_v1_shared[v1, v2 // T.int64(2)], g[v2], b[v2])
                            T.writes(T_reshape[v1, v2, v3])
                            T_reshape[v1, v2, v3] = (x[v1, v2, v3] - x_red_temp_v0_shared[v1, v2 // T.int64(2)] / T.float32(100.0)) * T.rsqrt(x_red_temp_v1_shared[v1, v2 // T.int64(2)] / T.float32(100.0) - x_red_temp_v0_shared[v1, v2 // T.int64(2)] / T.float32(100.0) * (x_red_temp_v0_shared[v1, v2 // T.int64(2)] / T.float32(100.0)) + T.float32(1.0000000000000001e-05)) * g[v2] + b[v2]

    @R.function
    def main(x: R.Tensor((2, 4, 50), dtype="float32"), g: R.Tensor((4,), dtype="float32"), b: R.Tensor((4,), dtype="float32")) -> R.Tensor((2, 4, 50), dtype="float32"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.group_norm, (x, g, b), out_ty=R.Tensor((2, 4, 50), dtype="float32"))
            R.output(y)
        return y

