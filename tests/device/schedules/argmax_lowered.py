# (37, 300)

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def argmax(x: T.Buffer((T.int64(37), T.int64(300)), "float32"), x_red: T.Buffer((T.int64(37),), "int64")):
        T.func_attr({"op_pattern": 4, "target": T.target({"arch": "sm_80", "keys": ["cuda", "gpu"], "kind": "cuda", "l2_cache_size_bytes": 41943040, "max_num_threads": 1024, "max_shared_memory_per_block": 49152, "max_threads_per_block": 1024, "registers_per_block": 65536, "tag": "", "thread_warp_size": 32}), "tirx.is_scheduled": True, "tirx.noalias": True})
        x_1 = T.decl_buffer((11100,), data=x.data)
        x_red_1 = T.decl_buffer((37,), "int64", data=x_red.data)
        with T.launch_thread("blockIdx.x", 37) as blockIdx_x:
            in_thread_x_red_temp_v0_shared = T.alloc_local((1,), "int64")
            in_thread_x_red_temp_v1_shared = T.alloc_local((1,))
            red_result = T.alloc_shared((T.int64(1),), "int64", annotations={"tirx.volatile": True})
            red_result_1 = T.alloc_shared((T.int64(1),), annotations={"tirx.volatile": True})
            x_red_temp_v0_shared = T.alloc_shared((1,), "int64")
            x_red_temp_v1_shared = T.alloc_shared((1,))
            with T.launch_thread("threadIdx.x", T.int64(256)) as threadIdx_x:
                in_thread_x_red_temp_v0_shared[0] = T.int64(-1)
                in_thread_x_red_temp_v1_shared[0] = T.float32(-340282346638528859811704183484516925440.0)
                cse_v2: T.let[T.int64] = T.Cast("int64", blockIdx_x) * T.int64(300) + threadIdx_x
                v_x_red_temp_v0: T.let[T.int64] = T.if_then_else(x_1[cse_v2] < in_thread_x_red_temp_v1_shared[0] or in_thread_x_red_temp_v1_shared[0] == x_1[cse_v2] and in_thread_x_red_temp_v0_shared[0] < threadIdx_x, in_thread_x_red_temp_v0_shared[0], threadIdx_x)
                v_x_red_temp_v1: T.let[T.float32] = T.if_then_else(x_1[cse_v2] < in_thread_x_red_temp_v1_shared[0], in_thread_x_red_temp_v1_shared[0], x_1[cse_v2])
                in_thread_x_red_temp_v0_shared[0] = v_x_red_temp_v0
                in_thread_x_red_temp_v1_shared[0] = v_x_red_temp_v1
                if threadIdx_x < T.int64(44):
                    cse_v1: T.let[T.int64] = threadIdx_x + T.int64(256)
                    cse_v3: T.let[T.int64] = cse_v2 + T.int64(256)
                    v_x_red_temp_v0_1: T.let[T.int64] = T.if_then_else(x_1[cse_v3] < in_thread_x_red_temp_v1_shared[0] or in_thread_x_red_temp_v1_shared[0] == x_1[cse_v3] and in_thread_x_red_temp_v0_shared[0] < cse_v1, in_thread_x_red_temp_v0_shared[0], cse_v1)
                    v_x_red_temp_v1_1: T.let[T.float32] = T.if_then_else(x_1[cse_v3] < in_thread_x_red_temp_v1_shared[0], in_thread_x_red_temp_v1_shared[0], x_1[cse_v3])
                    in_thread_x_red_temp_v0_shared[0] = v_x_red_temp_v0_1
                    in_thread_x_red_temp_v1_shared[0] = v_x_red_temp_v1_1
                with T.attr(T.comm_reducer(lambda x0, x1, y0, y1: (T.Select(x1 > y1 or x1 == y1 and x0 < y0, x0, y0), T.Select(x1 > y1, x1, y1)), [T.int64(-1), T.float32(-340282346638528859811704183484516925440.0)]), "reduce_scope", 0):
                    red_buf_staging = T.alloc_shared((T.int64(8),), "int64")
                    red_buf_staging_1 = T.alloc_shared((T.int64(8),))
                    t0 = T.alloc_local((1,), "int64")
                    t1 = T.alloc_local((1,))
                    mask = T.alloc_local((1,), "uint32")
                    red_buf0 = T.alloc_local((1,), "int64")
                    red_buf1 = T.alloc_local((1,))
                    t0_1 = T.alloc_local((1,), "int64")
                    t1_1 = T.alloc_local((1,))
                    mask_1 = T.alloc_local((1,), "uint32")
                    red_buf0_1 = T.alloc_local((1,), "int64")
                    red_buf1_1 = T.alloc_local((1,))
                    red_buf0[0] = in_thread_x_red_temp_v0_shared[0]
                    red_buf1[0] = in_thread_x_red_temp_v1_shared[0]
                    mask[0] = T.tvm_warp_activemask()
                    t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 16, 32, 32)
                    t1[0] = T.tvm_warp_shuffle_down(mask[0], red_buf1[0], 16, 32, 32)
                    red_buf0[0] = T.Select(red_buf1[0] > t1[0] or red_buf1[0] == t1[0] and red_buf0[0] < t0[0], red_buf0[0], t0[0])
                    red_buf1[0] = T.Select(red_buf1[0] > t1[0], red_buf1[0], t1[0])
                    t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 8, 32, 32)
                    t1[0] = T.tvm_warp_shuffle_down(mask[0], red_buf1[0], 8, 32, 32)
                    red_buf0[0] = T.Select(red_buf1[0] > t1[0] or red_buf1[0] == t1[0] and red_buf0[0] < t0[0], red_buf0[0], t0[0])
                    red_buf1[0] = T.Select(red_buf1[0] > t1[0], red_buf1[0], t1[0])
                    t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 4, 32, 32)
                    t1[0] = T.tvm_warp_shuffle_down(mask[0], red_buf1[0], 4, 32, 32)
                    red_buf0[0] = T.Select(red_buf1[0] > t1[0] or red_buf1[0] == t1[0] and red_buf0[0] < t0[0], red_buf0[0], t0[0])
                    red_buf1[0] = T.Select(red_buf1[0] > t1[0], red_buf1[0], t1[0])
                    t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 2, 32, 32)
                    t1[0] = T.tvm_warp_shuffle_down(mask[0], red_buf1[0], 2, 32, 32)
                    red_buf0[0] = T.Select(red_buf1[0] > t1[0] or red_buf1[0] == t1[0] and red_buf0[0] < t0[0], red_buf0[0], t0[0])
                    red_buf1[0] = T.Select(red_buf1[0] > t1[0], red_buf1[0], t1[0])
                    t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 1, 32, 32)
                    t1[0] = T.tvm_warp_shuffle_down(mask[0], red_buf1[0], 1, 32, 32)
                    red_buf0[0] = T.Select(red_buf1[0] > t1[0] or red_buf1[0] == t1[0] and red_buf0[0] < t0[0], red_buf0[0], t0[0])
                    red_buf1[0] = T.Select(red_buf1[0] > t1[0], red_buf1[0], t1[0])
                    if threadIdx_x % T.int64(32) == T.int64(0):
                        red_buf_staging[threadIdx_x // T.int64(32)] = red_buf0[0]
                        red_buf_staging_1[threadIdx_x // T.int64(32)] = red_buf1[0]
                    T.tvm_storage_sync("shared")
                    if threadIdx_x < T.int64(8):
                        red_buf0_1[0] = red_buf_staging[threadIdx_x]
                        red_buf1_1[0] = red_buf_staging_1[threadIdx_x]
                    mask_1[0] = T.tvm_warp_activemask()
                    t0_1[0] = T.tvm_warp_shuffle_down(mask_1[0], red_buf0_1[0], 4, 32, 32)
                    t1_1[0] = T.tvm_warp_shuffle_down(mask_1[0], red_buf1_1[0], 4, 32, 32)
                    red_buf0_1[0] = T.Select(red_buf1_1[0] > t1_1[0] or red_buf1_1[0] == t1_1[0] and red_buf0_1[0] < t0_1[0], red_buf0_1[0], t0_1[0])
                    red_buf1_1[0] = T.Select(red_buf1_1[0] > t1_1[0], red_buf1_1[0], t1_1[0])
                    t0_1[0] = T.tvm_warp_shuffle_down(mask_1[0], red_buf0_1[0], 2, 32, 32)
                    t1_1[0] = T.tvm_warp_shuffle_down(mask_1[0], red_buf1_1[0], 2, 32, 32)
                    red_buf0_1[0] = T.Select(red_buf1_1[0] > t1_1[0] or red_buf1_1[0] == t1_1[0] and red_buf0_1[0] < t0_1[0], red_buf0_1[0], t0_1[0])
                    red_buf1_1[0] = T.Select(red_buf1_1[0] > t1_1[0], red_buf1_1[0], t1_1[0])
                    t0_1[0] = T.tvm_warp_shuffle_down(mask_1[0], red_buf0_1[0], 1, 32, 32)
                    t1_1[0] = T.tvm_warp_shuffle_down(mask_1[0], red_buf1_1[0], 1, 32, 32)
                    red_buf0_1[0] = T.Select(red_buf1_1[0] > t1_1[0] or red_buf1_1[0] == t1_1[0] and red_buf0_1[0] < t0_1[0], red_buf0_1[0], t0_1[0])
                    red_buf1_1[0] = T.Select(red_buf1_1[0] > t1_1[0], red_buf1_1[0], t1_1[0])
                    if threadIdx_x == T.int64(0):
                        red_result[0] = red_buf0_1[0]
                        red_result_1[0] = red_buf1_1[0]
                    T.tvm_storage_sync("shared")
                if threadIdx_x == T.int64(0):
                    x_red_temp_v0_shared[0] = red_result[0]
                    x_red_temp_v1_shared[0] = red_result_1[0]
                T.tvm_storage_sync("shared")
                if threadIdx_x < T.int64(1):
                    x_red_1[blockIdx_x] = x_red_temp_v0_shared[0]

    @R.function
    def main(x: R.Tensor((37, 300), dtype="float32")) -> R.Tensor((37,), dtype="int64"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.argmax, (x,), out_ty=R.Tensor((37,), dtype="int64"))
            R.output(y)
        return y

