# Attention of several sequences of different lengths over one paged KV cache, a chunk of each at a time.
#
# `Pages` (hammock.kv_pages.*) maps pages of the cache to sequences. A step allocates slots for its rows and
# writes them in place; attention then gathers each sequence's pages by its row of the block table. The last of `n`
# queries of a sequence is at its end; shorter sequences are left-padded with unused queries.
#
# `hammock.kv_pages.create` creates the pages, for all layers of a model; `sequences` and `counts` are shapes: the
# sequence numbers, and the number of new rows of each.

from typing import TypeVar
from tvm.script import ir as I, relax as R, tirx as T

b = TypeVar("b")
n = TypeVar("n")
r = TypeVar("r")
t = TypeVar("t")
p = TypeVar("p")
@I.ir_module
class Module:
    # Writes keys and values to their pages, then computes attention within each sequence, over the last `window` rows.
    @R.function(pure=False)
    def step(q: R.Tensor((b, n, 4, 8), "float32"), k: R.Tensor((r, 2, 8), "float32"), v: R.Tensor((r, 2, 8), "float32"), keys: R.Tensor((p, 4, 2, 8), "float32"), values: R.Tensor((p, 4, 2, 8), "float32"), pages: R.Object, sequences: R.Object, counts: R.Object, window: R.Tensor((), "int32")) -> R.Tensor((b, n, 4, 8), "float32"):
        cls = Module
        places = R.call_packed("hammock.kv_pages.extend", pages, sequences, counts, ty_args=(R.Tensor(dtype="int64", ndim=1),))
        more_keys = R.match_cast(R.call_packed("hammock.kv_pages.write", keys, places, k, ty_args=(R.Tensor(dtype="float32", ndim=4),)), R.Tensor((p, 4, 2, 8), "float32"))
        more_values = R.match_cast(R.call_packed("hammock.kv_pages.write", values, places, v, ty_args=(R.Tensor(dtype="float32", ndim=4),)), R.Tensor((p, 4, 2, 8), "float32"))
        table = R.match_cast(R.call_packed("hammock.kv_pages.table", pages, sequences, ty_args=(R.Tensor(dtype="int32", ndim=2),)), R.Tensor((b, t), "int32"))
        lengths = R.match_cast(R.call_packed("hammock.kv_pages.lengths", pages, sequences, ty_args=(R.Tensor(dtype="int32", ndim=1),)), R.Tensor((b,), "int32"))
        result = cls.attention(q, more_keys, more_values, table, lengths, window)
        return result

    @R.function
    def attention(q: R.Tensor((b, n, 4, 8), "float32"), keys: R.Tensor((p, 4, 2, 8), "float32"), values: R.Tensor((p, 4, 2, 8), "float32"), table: R.Tensor((b, t), "int32"), lengths: R.Tensor((b,), "int32"), window: R.Tensor((), "int32")) -> R.Tensor((b, n, 4, 8), "float32"):
        with R.dataflow():
            k = R.reshape(R.take(keys, table, axis=0), R.shape([b, t * 4, 2, 8]))
            v = R.reshape(R.take(values, table, axis=0), R.shape([b, t * 4, 2, 8]))
            row = R.reshape(R.arange(t * 4, dtype="int32"), R.shape([1, 1, 1, t * 4]))
            query = R.reshape(R.arange(n, dtype="int32"), R.shape([1, 1, n, 1]))
            at = R.subtract(R.add(R.reshape(lengths, R.shape([b, 1, 1, 1])), query), R.astype(R.shape_to_tensor(R.shape([n])), "int32"))
            seen = R.logical_and(R.less_equal(row, at), R.greater(row, R.subtract(at, window)))
            bias = R.where(seen, R.const(0, "float32"), R.const(-1e30, "float32"))
            result = R.nn.attention(q, k, v, bias)
            R.output(result)
        return result
