# (37, 300)

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def softmax(x: T.Buffer((T.int64(37), T.int64(300)), "float32"), T_softmax_norm: T.Buffer((T.int64(37), T.int64(300)), "float32")):
        T.func_attr({"op_pattern": 4, "target": T.target({"arch": "sm_80", "keys": ["cuda", "gpu"], "kind": "cuda", "l2_cache_size_bytes": 41943040, "max_num_threads": 1024, "max_shared_memory_per_block": 49152, "max_threads_per_block": 1024, "registers_per_block": 65536, "tag": "", "thread_warp_size": 32}), "tirx.is_scheduled": True, "tirx.noalias": True})
        x_1 = T.decl_buffer((11100,), data=x.data)
        T_softmax_norm_1 = T.decl_buffer((11100,), data=T_softmax_norm.data)
        with T.launch_thread("blockIdx.x", 37) as blockIdx_x:
            in_thread_T_softmax_maxelem_shared = T.alloc_local((1,))
            red_result = T.alloc_shared((1,), annotations={"tirx.volatile": True})
            T_softmax_maxelem_shared = T.alloc_shared((1,))
            in_thread_T_softmax_expsum_shared = T.alloc_local((1,))
            red_result_1 = T.alloc_shared((1,), annotations={"tirx.volatile": True})
            T_softmax_expsum_shared = T.alloc_shared((1,))
            with T.launch_thread("threadIdx.x", 256) as threadIdx_x:
                in_thread_T_softmax_maxelem_shared[0] = T.float32(-340282346638528859811704183484516925440.0)
                cse_v1: T.let[T.int32] = blockIdx_x * 300 + threadIdx_x
                in_thread_T_softmax_maxelem_shared[0] = T.max(in_thread_T_softmax_maxelem_shared[0], x_1[cse_v1])
                cse_v2: T.let[T.int32] = cse_v1 + 256
                if threadIdx_x < 44:
                    in_thread_T_softmax_maxelem_shared[0] = T.max(in_thread_T_softmax_maxelem_shared[0], x_1[cse_v2])
                with T.attr(T.comm_reducer(lambda x0, y0: T.max(x0, y0), [T.float32(-340282346638528859811704183484516925440.0)]), "reduce_scope", 0):
                    red_buf_staging = T.alloc_shared((8,))
                    t0 = T.alloc_local((1,))
                    mask = T.alloc_local((1,), "uint32")
                    red_buf0 = T.alloc_local((1,))
                    t0_1 = T.alloc_local((1,))
                    mask_1 = T.alloc_local((1,), "uint32")
                    red_buf0_1 = T.alloc_local((1,))
                    red_buf0[0] = in_thread_T_softmax_maxelem_shared[0]
                    mask[0] = T.tvm_warp_activemask()
                    t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 16, 32, 32)
                    red_buf0[0] = T.max(red_buf0[0], t0[0])
                    t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 8, 32, 32)
                    red_buf0[0] = T.max(red_buf0[0], t0[0])
                    t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 4, 32, 32)
                    red_buf0[0] = T.max(red_buf0[0], t0[0])
                    t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 2, 32, 32)
                    red_buf0[0] = T.max(red_buf0[0], t0[0])
                    t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 1, 32, 32)
                    red_buf0[0] = T.max(red_buf0[0], t0[0])
                    if threadIdx_x % 32 == 0:
                        red_buf_staging[threadIdx_x // 32] = red_buf0[0]
                    T.tvm_storage_sync("shared")
                    if threadIdx_x < 8:
                        red_buf0_1[0] = red_buf_staging[threadIdx_x]
                    mask_1[0] = T.tvm_warp_activemask()
                    t0_1[0] = T.tvm_warp_shuffle_down(mask_1[0], red_buf0_1[0], 4, 32, 32)
                    red_buf0_1[0] = T.max(red_buf0_1[0], t0_1[0])
                    t0_1[0] = T.tvm_warp_shuffle_down(mask_1[0], red_buf0_1[0], 2, 32, 32)
                    red_buf0_1[0] = T.max(red_buf0_1[0], t0_1[0])
                    t0_1[0] = T.tvm_warp_shuffle_down(mask_1[0], red_buf0_1[0], 1, 32, 32)
                    red_buf0_1[0] = T.max(red_buf0_1[0], t0_1[0])
                    if threadIdx_x == 0:
                        red_result[0] = red_buf0_1[0]
                    T.tvm_storage_sync("shared")
                if threadIdx_x == 0:
                    T_softmax_maxelem_shared[0] = red_result[0]
                in_thread_T_softmax_expsum_shared[0] = T.float32(0.0)
                T.tvm_storage_sync("shared")
                in_thread_T_softmax_expsum_shared[0] = in_thread_T_softmax_expsum_shared[0] + T.exp(x_1[cse_v1] - T_softmax_maxelem_shared[0])
                if threadIdx_x < 44:
                    in_thread_T_softmax_expsum_shared[0] = in_thread_T_softmax_expsum_shared[0] + T.exp(x_1[cse_v2] - T_softmax_maxelem_shared[0])
                with T.attr(T.comm_reducer(lambda x0, y0: x0 + y0, [T.float32(0.0)]), "reduce_scope", 0):
                    red_buf_staging = T.alloc_shared((8,))
                    t0 = T.alloc_local((1,))
                    mask = T.alloc_local((1,), "uint32")
                    red_buf0 = T.alloc_local((1,))
                    t0_1 = T.alloc_local((1,))
                    mask_1 = T.alloc_local((1,), "uint32")
                    red_buf0_1 = T.alloc_local((1,))
                    red_buf0[0] = in_thread_T_softmax_expsum_shared[0]
                    mask[0] = T.tvm_warp_activemask()
                    t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 16, 32, 32)
                    red_buf0[0] = red_buf0[0] + t0[0]
                    t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 8, 32, 32)
                    red_buf0[0] = red_buf0[0] + t0[0]
                    t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 4, 32, 32)
                    red_buf0[0] = red_buf0[0] + t0[0]
                    t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 2, 32, 32)
                    red_buf0[0] = red_buf0[0] + t0[0]
                    t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 1, 32, 32)
                    red_buf0[0] = red_buf0[0] + t0[0]
                    if threadIdx_x % 32 == 0:
                        red_buf_staging[threadIdx_x // 32] = red_buf0[0]
                    T.tvm_storage_sync("shared")
                    if threadIdx_x < 8:
                        red_buf0_1[0] = red_buf_staging[threadIdx_x]
                    mask_1[0] = T.tvm_warp_activemask()
                    t0_1[0] = T.tvm_warp_shuffle_down(mask_1[0], red_buf0_1[0], 4, 32, 32)
                    red_buf0_1[0] = red_buf0_1[0] + t0_1[0]
                    t0_1[0] = T.tvm_warp_shuffle_down(mask_1[0], red_buf0_1[0], 2, 32, 32)
                    red_buf0_1[0] = red_buf0_1[0] + t0_1[0]
                    t0_1[0] = T.tvm_warp_shuffle_down(mask_1[0], red_buf0_1[0], 1, 32, 32)
                    red_buf0_1[0] = red_buf0_1[0] + t0_1[0]
                    if threadIdx_x == 0:
                        red_result_1[0] = red_buf0_1[0]
                    T.tvm_storage_sync("shared")
                if threadIdx_x == 0:
                    T_softmax_expsum_shared[0] = red_result_1[0]
                T.tvm_storage_sync("shared")
                T_softmax_norm_1[cse_v1] = T.exp(x_1[cse_v1] - T_softmax_maxelem_shared[0]) / T_softmax_expsum_shared[0]
                if threadIdx_x < 44:
                    T_softmax_norm_1[cse_v2] = T.exp(x_1[cse_v2] - T_softmax_maxelem_shared[0]) / T_softmax_expsum_shared[0]

    @R.function
    def main(x: R.Tensor((37, 300), dtype="float32")) -> R.Tensor((37, 300), dtype="float32"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.softmax, (x,), out_ty=R.Tensor((37, 300), dtype="float32"))
            R.output(y)
        return y

