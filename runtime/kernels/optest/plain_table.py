"""Programs for what hands values on, makes text and files, and for older forms of ops."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np
import tensorflow as tf

from lines import EVERY, FLOATS, PLAIN, Pool
from state_table import Program, constant
from tensorflows import runs

v1 = tf.compat.v1
raw = tf.raw_ops


def passing_on(pool: Pool) -> list[Any]:
    steps: list[Any] = []
    for dtype in EVERY:
        x = constant(pool((3, 2), dtype))
        steps += [raw.Identity(input=x), list(raw.IdentityN(input=[x, x[0]])), raw.StopGradient(input=x), raw.PreventGradient(input=x), raw.DeepCopy(x=x),
                  raw.GuaranteeConst(input=x), tf.constant(pool((2, 2), dtype)), raw.EnsureShape(input=x, shape=[3, 2]),
                  raw.EnsureShape(input=x, shape=[None, 4]), list(raw.ShapeN(input=[x, x[0]])), raw.DebugGradientIdentity(input=x)]
        if runs("Snapshot", dtype):
            steps.append(raw.Snapshot(input=x))
    hole = v1.placeholder(tf.float32, [])
    # TensorFlow leaves the values of a FakeParam to chance.
    return steps + [hole, tf.no_op(), raw.Empty(shape=constant([0, 3]), dtype=tf.float32), raw.Empty(shape=constant([2, 3]), dtype=tf.int32, init=True),
                    raw.Shape(input=raw.FakeParam(dtype=tf.float32, shape=[2]))]


def choosing(pool: Pool) -> list[Any]:
    """Switch and Merge by themselves, of values and of references."""
    steps: list[Any] = []
    x = constant(pool((2, 2), "float32"))
    for way in (False, True):
        no, yes = raw.Switch(data=x, pred=constant(way))
        steps += [list(raw.Merge(inputs=[raw.Neg(x=no), raw.Square(x=yes)])), no, yes]
    a, b = (v1.get_variable(n, initializer=np.float32(i), use_resource=False) for i, n in enumerate("ab"))
    no, yes = raw.RefSwitch(data=a._ref(), pred=constant(True))
    merged = raw.RefMerge(inputs=[no, yes])
    enter = raw.RefEnter(data=a._ref(), frame_name="round")
    chosen = raw.RefSelect(index=constant(1), inputs=[a._ref(), b._ref()])
    return steps + [[a.initializer, b.initializer], raw.AssignAdd(ref=merged.output, value=constant(5.0, np.float32)), a,
                    raw.Assign(ref=chosen, value=constant(9.0, np.float32)), b, raw.RefIdentity(input=b._ref()),
                    raw.RefExit(data=enter), raw.RefSelect(index=constant(7), inputs=[a._ref(), b._ref()])]


def calls(pool: Pool) -> list[Any]:
    """Functions as ops that the graph keeps: v2 control flow, calls."""
    was_on = v1.control_flow_v2_enabled()
    v1.enable_control_flow_v2()
    try:
        x = constant(pool((3,), "float32"))
        x.set_shape((3,))
        v = v1.get_variable("v", initializer=np.ones([3], np.float32), use_resource=True)

        @tf.function
        def pure(t: tf.Tensor) -> tf.Tensor:
            return t * 2.0

        @tf.function
        def changes(t: tf.Tensor) -> tf.Tensor:
            v.assign_add(t)
            return v.read_value()
        cases = [tf.switch_case(constant(i), [lambda: x + 1.0, lambda: x * 3.0, lambda: -x]) for i in (0, 1, 2, 9)]
        with_state = tf.switch_case(constant(1), [lambda: changes(x), lambda: changes(x + 1.0)])
        branch = v1.cond(constant(True), lambda: changes(x), lambda: changes(-x))
        loop = v1.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, changes(s)), [constant(0), x], shape_invariants=[tf.TensorShape([]), tf.TensorShape([3])])
        return [v.initializer, pure(x), changes(x), *cases, with_state, branch, loop[1], v.read_value()]
    finally:
        (v1.enable_control_flow_v2 if was_on else v1.disable_control_flow_v2)()


def counted_loops(pool: Pool) -> list[Any]:
    """For, up and down, of nothing, and with bad bounds."""
    @tf.function(input_signature=[tf.TensorSpec([], tf.int32), tf.TensorSpec([2]), tf.TensorSpec([], tf.int32)])
    def body(i: tf.Tensor, x: tf.Tensor, n: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return x * 2.0 + tf.cast(i, tf.float32), n + 1

    body.get_concrete_function().add_to_graph()
    start = constant(pool((2,), "float32"))
    return [list(raw.For(start=constant(a), limit=constant(b), delta=constant(d), input=[start, constant(0)], body=body.get_concrete_function()))
            for a, b, d in ((0, 5, 1), (5, -1, -2), (3, 3, 1), (0, 5, 0), (0, 5, -1))]


def text(pool: Pool) -> list[Any]:
    words = constant([b"s3://bucket/x", b"/local/x", b""])
    numbers = [constant(pool((2, 3), t, "small")) for t in ("float32", "int32", "string")]
    return [raw.StaticRegexFullMatch(input=words, pattern="^s3://.*"), raw.StaticRegexFullMatch(input=words, pattern=""),
            raw.StaticRegexReplace(input=words, pattern="/(.)", rewrite="<\\1>", replace_global=True),
            raw.StaticRegexReplace(input=words, pattern="/", rewrite="-", replace_global=False),
            raw.ShardedFilename(basename=constant(b"model"), shard=constant(3), num_shards=constant(12)),
            raw.ShardedFilespec(basename=constant(b"model"), num_shards=constant(12)),
            *(raw.StringFormat(inputs=[n], template="got %s!", placeholder="%s", summarize=2) for n in numbers[1:]),
            raw.Assert(condition=constant(True), data=[words]), raw.Assert(condition=constant(False), data=[words, numbers[1]]),
            raw.Print(input=numbers[1], data=[words], message="printed by the op test: "), raw.PrintV2(input=constant(b"printed by the op test"))]


def summaries(pool: Pool) -> list[Any]:
    steps: list[Any] = []
    for dtype in ("float32", "float64", "int32", "int64"):
        x = constant(pool((7, 5), dtype))
        steps += [raw.ScalarSummary(tags=constant(b"a"), values=x[0, 0]), raw.ScalarSummary(tags=constant([b"a", b"b"]), values=x[0, :2]),
                  raw.ScalarSummary(tags=constant([b"a"]), values=x[0, :2]), raw.HistogramSummary(tag=constant(b"h"), values=x)]
    sound = constant(pool((2, 40, 1), "float32", "unit"))
    one = raw.ScalarSummary(tags=constant(b"a"), values=constant(1.0, np.float32))
    two = raw.ScalarSummary(tags=constant(b"b"), values=constant(2.0, np.float32))
    return steps + [raw.AudioSummaryV2(tag=constant(b"s"), tensor=sound, sample_rate=constant(8000.0, np.float32), max_outputs=2),
                    raw.TensorSummaryV2(tag=constant(b"t"), tensor=constant(pool((2, 2), "float32")), serialized_summary_metadata=constant(b"")),
                    raw.MergeSummary(inputs=[one, two]), raw.MergeSummary(inputs=[one, one]),
                    raw.HistogramSummary(tag=constant(b"h"), values=constant([1.0, np.nan], np.float32))]


def checkpoints(pool: Pool) -> list[Any]:
    """Saved by whoever runs the step, restored from what was written last: each reads the other's files too."""
    folder = tempfile.mkdtemp()
    whole, parts = os.path.join(folder, "whole"), [os.path.join(folder, "part%d" % i) for i in (0, 1)]
    kept = [constant(pool((3, 4), t)) for t in PLAIN]
    kept.append(constant(np.array([b"a", b"", b"\xff" * 300], object)))
    names = ["of_" + t for t in PLAIN] + ["words"]
    dtypes = [k.dtype for k in kept]
    save = raw.SaveV2(prefix=whole, tensor_names=names, shape_and_slices=[""] * len(names), tensors=kept)
    restore = raw.RestoreV2(prefix=whole, tensor_names=names, shape_and_slices=[""] * len(names), dtypes=dtypes)
    rows = [raw.SaveV2(prefix=p, tensor_names=["v"], shape_and_slices=["4 2 %d,2:-" % (2 * i)], tensors=[constant(pool((2, 2), "float32"))])
            for i, p in enumerate(parts)]
    # In one step: merging removes the parts, which belong to both who run this.
    with tf.control_dependencies(rows):
        merge = raw.MergeV2Checkpoints(checkpoint_prefixes=parts, destination_prefix=os.path.join(folder, "merged"))
    with tf.control_dependencies(rows[:1]):
        missing = raw.MergeV2Checkpoints(checkpoint_prefixes=[parts[0], parts[1] + "x"], destination_prefix=os.path.join(folder, "other"))
        half = raw.MergeV2Checkpoints(checkpoint_prefixes=[parts[0], parts[1] + "x"], destination_prefix=os.path.join(folder, "half"), allow_missing_files=True)
    read = lambda name, piece, dtype=tf.float32: list(raw.RestoreV2(  # noqa: E731
        prefix=os.path.join(folder, "merged"), tensor_names=[name], shape_and_slices=[piece], dtypes=[dtype]))
    return [save, list(restore), merge, missing, half, read("v", ""), read("v", "4 2 1,2:-"), read("v", "", tf.int32), read("gone", ""),
            list(raw.RestoreV2(prefix=os.path.join(folder, "nothing"), tensor_names=["v"], shape_and_slices=[""], dtypes=[tf.float32]))]


def first_checkpoints(pool: Pool) -> list[Any]:
    """Files of the format before SaveV2, which TensorFlow can still write."""
    path = os.path.join(tempfile.mkdtemp(), "first")
    kept = {"of_" + t: pool((3, 4), t) for t in ("float32", "float64", "int32", "int64", "uint8", "int16", "int8", "complex64", "bool")}
    with tf.Graph().as_default(), v1.Session() as session:
        session.run(raw.Save(filename=path, tensor_names=list(kept), data=[tf.constant(v) for v in kept.values()]))
    return [*(raw.Restore(file_pattern=path, tensor_name=name, dt=value.dtype) for name, value in kept.items()),
            raw.RestoreSlice(file_pattern=path, tensor_name="of_float32", shape_and_slice="3 4 1,2:0,3", dt=tf.float32),
            list(raw.RestoreV2(prefix=path, tensor_names=["of_int64", "of_bool"], shape_and_slices=["", ""], dtypes=[tf.int64, tf.bool])),
            raw.Restore(file_pattern=path, tensor_name="gone", dt=tf.float32), raw.Restore(file_pattern=path, tensor_name="of_int32", dt=tf.float32),
            raw.Restore(file_pattern=path + "x", tensor_name="of_int32", dt=tf.int32)]


def files(pool: Pool) -> list[Any]:
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "below", "file")
    return [raw.WriteFile(filename=path, contents=constant(b"some\x00bytes")), raw.ReadFile(filename=path), raw.MatchingFiles(pattern=constant(folder + "/*/f*")),
            raw.MatchingFiles(pattern=constant([folder + "/x*"])), raw.ReadFile(filename=folder + "/gone")]


def older_forms(pool: Pool) -> list[Any]:
    x, y = constant(pool((3, 4), "float32")), constant(pool((3, 4), "float32", "positive"))
    row = constant(pool((4,), "float32"))
    square = constant(pool((2, 3, 3), "float32"))
    image = constant(pool((1, 6, 6, 2), "float32"))
    window = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
    pooled = raw.MaxPool(input=image, **window)
    out, argmax = raw.MaxPoolWithArgmax(input=image, **window)
    sizes = {"ksize": constant([1, 2, 2, 1]), "strides": constant([1, 2, 2, 1]), "padding": "VALID"}
    scale = constant(pool((2,), "float32", "positive"))
    steps: list[Any] = [
        raw.Gather(params=x, indices=constant([2, 0])), raw.Reverse(tensor=x, dims=constant([True, False])), raw.BiasAddV1(value=x, bias=row),
        raw.InTopK(predictions=x, targets=constant([0, 3, 2]), k=2), raw.MatrixDiag(diagonal=x), raw.MatrixDiagPart(input=square),
        raw.MatrixDiagV2(diagonal=row, k=constant(1), num_rows=constant(-1), num_cols=constant(-1), padding_value=constant(0.5, np.float32)),
        raw.MatrixDiagPartV2(input=square, k=constant([-1, 0]), padding_value=constant(7.0, np.float32)), raw.BatchMatMul(x=square, y=square, adj_y=True),
        raw.CheckNumericsV2(tensor=x, message="m"), raw.CheckNumericsV2(tensor=constant([np.nan, -np.inf], np.float32), message="m"),
        raw.ApproximateEqual(x=x, y=x + 1e-6, tolerance=1e-4), raw.ApproximateEqual(x=x, y=y), raw.AccumulateNV2(inputs=[x, y, x], shape=[3, 4]),
        raw.TruncateMod(x=constant([7, -7, 5]), y=constant([3, 3, -4])), raw.ParallelConcat(values=[tf.ensure_shape(v[:1], [1, 4]) for v in (x, y)], shape=[2, 4]),
        raw.MaxPoolGradV2(orig_input=image, orig_output=pooled, grad=pooled, **sizes), raw.MaxPoolGradGrad(orig_input=image, orig_output=pooled, grad=image, **window),
        raw.MaxPoolGradGradV2(orig_input=image, orig_output=pooled, grad=image, **sizes),
        raw.MaxPoolGradWithArgmax(input=image, grad=out, argmax=argmax, **window),
        list(raw.FusedBatchNorm(x=image, scale=scale, offset=scale, mean=constant([], np.float32), variance=constant([], np.float32)))[:3],
        list(raw.FusedBatchNormV2(x=image, scale=scale, offset=scale, mean=constant([], np.float32), variance=constant([], np.float32)))[:3],
        list(raw.FusedBatchNormGrad(y_backprop=image, x=image, scale=scale, reserve_space_1=scale, reserve_space_2=scale))[:3],
        list(raw.FusedBatchNormGradV2(y_backprop=image, x=image, scale=scale, reserve_space_1=scale, reserve_space_2=scale))[:3]]
    for op in ("Lgamma", "Digamma"):
        for dtype in (t for t in FLOATS if runs(op, t)):
            steps.append(getattr(raw, op)(x=constant(pool((5, 5), dtype, "positive"))))
    return steps


def variables_and_counters(pool: Pool) -> list[Any]:
    v = v1.get_variable("v", initializer=np.int32(0), use_resource=False)
    r = v1.get_variable("r", initializer=np.int64(0), use_resource=True)
    table = v1.get_variable("table", initializer=pool((4, 3), "float32", "positive"), use_resource=True)
    ref = v1.get_variable("ref", initializer=pool((4, 3), "float32", "positive"), use_resource=False)
    places, two = constant([[0, 1], [3, 2]]), constant(pool((2,), "float32", "positive"))
    rows, by = constant([0, 2, 0]), constant(pool((3, 3), "float32", "positive"))
    temporary = raw.TemporaryVariable(shape=[2], dtype=tf.float32, var_name="temporary")
    filled = raw.Assign(ref=temporary, value=constant([1.0, 2.0], np.float32))
    gone = raw.DestroyTemporaryVariable(ref=filled, var_name="temporary")
    older = raw.Variable(shape=[2], dtype=tf.float32, shared_name="older")
    count, count_ref = raw.ResourceCountUpTo(resource=r.handle, limit=2, T=tf.int64), raw.CountUpTo(ref=v._ref(), limit=2)
    steps: list[Any] = [[x.initializer for x in (v, r, table, ref)], count_ref, count_ref, count_ref, count, count, count, raw.VariableShape(input=table.handle),
                        raw.Assign(ref=older, value=constant([3.0, 4.0], np.float32)), older, gone]
    for op, handle in ((raw.ScatterDiv, None), (raw.ResourceScatterDiv, table.handle)):
        steps.append(op(ref=ref._ref(), indices=rows, updates=by) if handle is None else op(resource=handle, indices=rows, updates=by))
    for by_ref, by_handle in ((raw.ScatterNdMax, raw.ResourceScatterNdMax), (raw.ScatterNdMin, raw.ResourceScatterNdMin)):
        steps += [by_ref(ref=ref._ref(), indices=places, updates=two), by_handle(ref=table.handle, indices=places, updates=two)]
    steps += [raw.DisableCopyOnRead(resource=table.handle), tf.identity(table.read_value()), ref,
              raw.DestroyResourceOp(resource=table.handle, ignore_lookup_error=False), tf.identity(table.read_value()),
              raw.DestroyResourceOp(resource=table.handle, ignore_lookup_error=False), raw.DestroyResourceOp(resource=table.handle, ignore_lookup_error=True)]
    return steps


def older_accumulators(pool: Pool) -> list[Any]:
    handle = raw.ConditionalAccumulator(dtype=tf.float32, shape=[2], shared_name="by_reference")
    grad = constant([2.0, 4.0], np.float32)
    apply = raw.AccumulatorApplyGradient(handle=handle, local_step=constant(0, np.int64), gradient=grad)
    count = raw.AccumulatorNumAccumulated(handle=handle)
    take = raw.AccumulatorTakeGradient(handle=handle, num_required=constant(2), dtype=tf.float32)
    return [apply, apply, count, take, count, raw.AccumulatorSetGlobalStep(handle=handle, new_global_step=constant(9, np.int64)), apply, count]


def more_random_ops(pool: Pool) -> list[Any]:
    seed, shape = constant([3, 4], np.int64), constant([3, 11])
    key, counter = raw.StatelessRandomGetKeyCounter(seed=seed)
    return [raw.StatelessRandomGetAlg(), list(raw.StatelessRandomGetKeyCounterAlg(seed=seed)),
            raw.StatelessRandomUniformIntV2(shape=shape, key=key, counter=counter, alg=1, minval=constant(-7), maxval=constant(90)),
            raw.StatelessRandomUniformFullIntV2(shape=shape, key=key, counter=counter, alg=1, dtype=tf.uint64)]


PLAIN_PROGRAMS: tuple[Program, ...] = (
    Program("Passing on", passing_on),
    Program("Choosing", choosing),
    Program("Calls", calls),
    Program("Counted loops", counted_loops),
    Program("Text", text),
    Program("Summaries", summaries),
    Program("Checkpoints", checkpoints),
    Program("Checkpoints of the first version", first_checkpoints),
    Program("Files", files),
    Program("Older forms", older_forms, 64),
    Program("Variables and counters", variables_and_counters),
    Program("Accumulators by reference", older_accumulators),
    Program("Stateless random ops for generators", more_random_ops, 4),
)
