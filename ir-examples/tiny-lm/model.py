# Writes text, byte by byte: a decoder of three layers with rotary embedding, grouped-query attention over the last 64
# bytes, RMSNorm and SwiGLU, trained by train.py on "Alice's Adventures in Wonderland".
#
#     hammock run model.py --params weights.safetensors --func generate --arg 'prompt="Alice was"' --arg count=80
#         --arg temperature=0.7 --arg top_k=40 --arg top_p=0.95 --arg seed=7
#
# Temperature 0 takes the likeliest byte; top-k of 0 and top-p of 1 have no effect. `prefill` creates KV caches from the
# prompt, `decode` continues with one or more bytes; both return the logits for the byte after
# each. Weights of one kind are stacked in one tensor for all layers.

from typing import TypeVar
from tvm.script import ir as I, relax as R, tirx as T

n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function(pure=False)
    def generate(prompt: I.StringType(), count: R.Prim(value="count"), temperature: T.float64, top_k: T.int64, top_p: T.float64, seed: T.int64, embedding: R.Tensor((256, 128), "float32"), attention_norm: R.Tensor((3, 128), "float32"), wq: R.Tensor((3, 128, 128), "float32"), wk: R.Tensor((3, 128, 64), "float32"), wv: R.Tensor((3, 128, 64), "float32"), wo: R.Tensor((3, 128, 128), "float32"), mlp_norm: R.Tensor((3, 128), "float32"), gate: R.Tensor((3, 128, 256), "float32"), up: R.Tensor((3, 128, 256), "float32"), down: R.Tensor((3, 256, 128), "float32"), norm: R.Tensor((128,), "float32")):
        cls = Module
        R.call_packed("hammock.text.print", prompt, ty_args=(R.Tuple,))
        bytes = R.call_packed("hammock.text.bytes", prompt, ty_args=(R.Tensor(dtype="int64", ndim=1),))
        tokens = R.match_cast(bytes, R.Tensor((n,), "int64"))
        R.assert_op(R.prim_value(n > 0), format="the prompt must not be empty")
        begun = cls.prefill(tokens, embedding, attention_norm, wq, wk, wv, wo, mlp_norm, gate, up, down, norm)
        nothing = R.prim_value(count <= 0)
        if nothing:
            R.call_packed("hammock.text.print", R.str("\n"), ty_args=(R.Tuple,))
            result = R.tuple()
        else:
            last = R.strided_slice(begun[0], axes=[0], begin=[n - 1], end=[n])
            result = cls.write(R.match_cast(last, R.Tensor((1, 256), "float32")), begun[1], n, count, temperature, top_k, top_p, seed, embedding, attention_norm, wq, wk, wv, wo, mlp_norm, gate, up, down, norm)
        return result

    # Generates `left` bytes, the first at position `place`. The logits after the last are unused: computing them outside
    # of the branch results in fewer kernels.
    @R.function(private=True, pure=False)
    def write(logits: R.Tensor((1, 256), "float32"), caches: R.Tuple(R.Object, R.Object, R.Object, R.Object, R.Object, R.Object), place: R.Prim(value="place"), left: R.Prim(value="left"), temperature: T.float64, top_k: T.int64, top_p: T.float64, seed: T.int64, embedding: R.Tensor((256, 128), "float32"), attention_norm: R.Tensor((3, 128), "float32"), wq: R.Tensor((3, 128, 128), "float32"), wk: R.Tensor((3, 128, 64), "float32"), wv: R.Tensor((3, 128, 64), "float32"), wo: R.Tensor((3, 128, 128), "float32"), mlp_norm: R.Tensor((3, 128), "float32"), gate: R.Tensor((3, 128, 256), "float32"), up: R.Tensor((3, 128, 256), "float32"), down: R.Tensor((3, 256, 128), "float32"), norm: R.Tensor((128,), "float32")) -> R.Tuple():
        cls = Module
        uniform = R.call_packed("hammock.random.uniform", seed, place, ty_args=(T.float64,))
        token = R.call_packed("vm.builtin.sample_top_p_from_logits", logits, temperature, top_p, uniform, top_k, ty_args=(T.int64,))
        R.call_packed("hammock.text.print_byte", token, ty_args=(R.Tuple,))
        next = cls.decode(R.shape_to_tensor(R.shape([token])), place, caches, embedding, attention_norm, wq, wk, wv, wo, mlp_norm, gate, up, down, norm)
        done = R.prim_value(left <= 1)
        if done:
            R.call_packed("hammock.text.print", R.str("\n"), ty_args=(R.Tuple,))
            result = R.tuple()
        else:
            result = cls.write(next, caches, place + 1, left - 1, temperature, top_k, top_p, seed, embedding, attention_norm, wq, wk, wv, wo, mlp_norm, gate, up, down, norm)
        return result

    @R.function(pure=False)
    def prefill(tokens: R.Tensor((n,), "int64"), embedding: R.Tensor((256, 128), "float32"), attention_norm: R.Tensor((3, 128), "float32"), wq: R.Tensor((3, 128, 128), "float32"), wk: R.Tensor((3, 128, 64), "float32"), wv: R.Tensor((3, 128, 64), "float32"), wo: R.Tensor((3, 128, 128), "float32"), mlp_norm: R.Tensor((3, 128), "float32"), gate: R.Tensor((3, 128, 256), "float32"), up: R.Tensor((3, 128, 256), "float32"), down: R.Tensor((3, 256, 128), "float32"), norm: R.Tensor((128,), "float32")) -> R.Tuple(R.Tensor((n, 256), "float32"), R.Tuple(R.Object, R.Object, R.Object, R.Object, R.Object, R.Object)):
        cls = Module
        caches = (cls.cache(), cls.cache(), cls.cache(), cls.cache(), cls.cache(), cls.cache())
        logits = cls.decode(tokens, R.prim_value(0), caches, embedding, attention_norm, wq, wk, wv, wo, mlp_norm, gate, up, down, norm)
        return (logits, caches)

    # The first byte of `tokens` is at position `start`.
    @R.function(pure=False)
    def decode(tokens: R.Tensor((n,), "int64"), start: R.Prim(value="start"), caches: R.Tuple(R.Object, R.Object, R.Object, R.Object, R.Object, R.Object), embedding: R.Tensor((256, 128), "float32"), attention_norm: R.Tensor((3, 128), "float32"), wq: R.Tensor((3, 128, 128), "float32"), wk: R.Tensor((3, 128, 64), "float32"), wv: R.Tensor((3, 128, 64), "float32"), wo: R.Tensor((3, 128, 128), "float32"), mlp_norm: R.Tensor((3, 128), "float32"), gate: R.Tensor((3, 128, 256), "float32"), up: R.Tensor((3, 128, 256), "float32"), down: R.Tensor((3, 256, 128), "float32"), norm: R.Tensor((128,), "float32")) -> R.Tensor((n, 256), "float32"):
        cls = Module
        x0 = R.take(embedding, tokens, axis=0) * R.const(11.313708498984761, "float32")
        # position * 10000^(-i / 16)
        places = R.reshape(R.arange(start, start + n, dtype="float32"), R.shape([n, 1, 1]))
        rates = R.exp(R.arange(16, dtype="float32") * R.const(-0.5756462732485115, "float32"))
        angles = places * rates
        x1 = cls.layer(x0, angles, caches[0], caches[1], R.take(attention_norm, R.const(0), axis=0), R.take(wq, R.const(0), axis=0), R.take(wk, R.const(0), axis=0), R.take(wv, R.const(0), axis=0), R.take(wo, R.const(0), axis=0), R.take(mlp_norm, R.const(0), axis=0), R.take(gate, R.const(0), axis=0), R.take(up, R.const(0), axis=0), R.take(down, R.const(0), axis=0))
        x2 = cls.layer(x1, angles, caches[2], caches[3], R.take(attention_norm, R.const(1), axis=0), R.take(wq, R.const(1), axis=0), R.take(wk, R.const(1), axis=0), R.take(wv, R.const(1), axis=0), R.take(wo, R.const(1), axis=0), R.take(mlp_norm, R.const(1), axis=0), R.take(gate, R.const(1), axis=0), R.take(up, R.const(1), axis=0), R.take(down, R.const(1), axis=0))
        x3 = cls.layer(x2, angles, caches[4], caches[5], R.take(attention_norm, R.const(2), axis=0), R.take(wq, R.const(2), axis=0), R.take(wk, R.const(2), axis=0), R.take(wv, R.const(2), axis=0), R.take(wo, R.const(2), axis=0), R.take(mlp_norm, R.const(2), axis=0), R.take(gate, R.const(2), axis=0), R.take(up, R.const(2), axis=0), R.take(down, R.const(2), axis=0))
        logits = R.matmul(R.nn.rms_norm(x3, norm, axes=[-1]), R.permute_dims(embedding))
        return logits

    @R.function(private=True, pure=False)
    def layer(x: R.Tensor((n, 128), "float32"), angles: R.Tensor((n, 1, 16), "float32"), keys: R.Object, values: R.Object, attention_norm: R.Tensor((128,), "float32"), wq: R.Tensor((128, 128), "float32"), wk: R.Tensor((128, 64), "float32"), wv: R.Tensor((128, 64), "float32"), wo: R.Tensor((128, 128), "float32"), mlp_norm: R.Tensor((128,), "float32"), gate: R.Tensor((128, 256), "float32"), up: R.Tensor((128, 256), "float32"), down: R.Tensor((256, 128), "float32")) -> R.Tensor((n, 128), "float32"):
        cls = Module
        h = R.nn.rms_norm(x, attention_norm, axes=[-1])
        q = cls.rotated(R.reshape(R.matmul(h, wq), R.shape([n, 4, 32])), angles)
        k = cls.rotated(R.reshape(R.matmul(h, wk), R.shape([n, 2, 32])), angles)
        v = R.reshape(R.matmul(h, wv), R.shape([n, 2, 32]))
        all_keys = R.match_cast(cls.appended(keys, k), R.Tensor((m, 2, 32), "float32"))
        all_values = R.match_cast(cls.appended(values, v), R.Tensor((m, 2, 32), "float32"))
        mixed = R.nn.attention(R.expand_dims(q, axis=0), R.expand_dims(all_keys, axis=0), R.expand_dims(all_values, axis=0), causal_mask="BottomRight", window_size=64)
        y = x + R.matmul(R.reshape(mixed, R.shape([n, 128])), wo)
        z = R.nn.rms_norm(y, mlp_norm, axes=[-1])
        result = y + R.matmul(R.nn.silu(R.matmul(z, gate)) * R.matmul(z, up), down)
        return result

    # Rotates the pairs (i, i + 16) of each head.
    @R.function(private=True)
    def rotated(x: R.Tensor((n, m, 32), "float32"), angles: R.Tensor((n, 1, 16), "float32")) -> R.Tensor((n, m, 32), "float32"):
        with R.dataflow():
            halves = R.split(x, 2, axis=-1)
            a = halves[0]
            b = halves[1]
            result = R.concat((a * R.cos(angles) - b * R.sin(angles), b * R.cos(angles) + a * R.sin(angles)), axis=-1)
            R.output(result)
        return result

    # An empty cache of keys or values.
    @R.function(private=True, pure=False)
    def cache() -> R.Object:
        result = R.call_packed("vm.builtin.attention_kv_cache_create", R.zeros(R.shape([1, 2, 32]), "float32"), R.shape([256, 2, 32]), R.prim_value(0), ty_args=(R.Object,))
        return result

    # Appends rows to a cache in place, and returns all of its rows.
    @R.function(private=True, pure=False)
    def appended(cache: R.Object, rows: R.Tensor((n, 2, 32), "float32")) -> R.Tensor(dtype="float32", ndim=3):
        same = R.call_packed("vm.builtin.attention_kv_cache_append", cache, rows, ty_args=(R.Object,))
        all_rows = R.call_packed("vm.builtin.attention_kv_cache_view", same, ty_args=(R.Tensor(dtype="float32", ndim=3),))
        return all_rows
