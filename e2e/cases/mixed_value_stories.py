"""Stories of mixed_cases.py about what crosses between servers: types, empty and large tensors, queues, tables, functions, errors
and traces."""
import numpy as np
from mixed_stories import CHIEF, PS, WORKER, both_kinds, numbers, session, story, variable
from tensorflow.python.framework import function

from case_tools import E, graph, raises, tf, v1


@story
def strings(c):
    with graph() as g:
        with tf.device(PS[0]):
            words = v1.Variable([b"alpha", b"", b"\x00\xff", "ü".encode()], name="words", use_resource=False)
        with tf.device(WORKER):
            joined = tf.strings.join([words, words], separator="-")
            buckets = tf.strings.to_hash_bucket_fast(joined, 1000)
        with tf.device(PS[1]):
            lengths = tf.strings.length(joined)
            long = tf.strings.reduce_join(tf.fill([70000], joined[0]))
        with session(c, g) as s:
            s.run(v1.global_variables_initializer())
            return s.run([words, joined, buckets, lengths, long])


@both_kinds
def bfloat16(c, resource):
    with graph() as g:
        with tf.device(PS[0]):
            v = v1.get_variable("v", initializer=tf.cast(numbers(8, 8), tf.bfloat16), use_resource=resource)
        with tf.device(WORKER):
            twice = v + v
        with tf.device(PS[1]):
            back = tf.cast(twice, tf.float32)
            gathered = tf.cast(tf.gather(twice, [1, 1, 7]), tf.float32)
        with session(c, g) as s:
            s.run(v1.global_variables_initializer())
            more = s.run([back, gathered])
            s.run(v.assign_add(twice))
            return [more, s.run([back, gathered])]


@story
def every_plain_type(c):
    types = [tf.float64, tf.half, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32, tf.int64, tf.uint64, tf.bool,
             tf.complex64, tf.complex128]
    with graph() as g:
        there = []
        for i, dtype in enumerate(types):
            with tf.device(PS[i % 2]):
                x = v1.placeholder_with_default(tf.cast(tf.constant([[0, 1, 2], [3, 4, 5]]), dtype), [None, 3])
                x = tf.identity(x)
            with tf.device(WORKER):
                x = tf.transpose(x)
            with tf.device(PS[1 - i % 2]):
                there.append(tf.reshape(x, [-1]))
        with session(c, g) as s:
            return s.run(there)


@story
def empty_tensors(c):
    with graph() as g:
        with tf.device(PS[0]):
            rows = v1.Variable(np.zeros([0, 3], "f"), name="rows", use_resource=True)
            n = v1.placeholder_with_default(0, [])
            words = tf.fill([n], "word")
        with tf.device(WORKER):
            joined = tf.concat([rows, tf.ones([n, 3])], 0)
            total = tf.reduce_sum(joined)
            picked = tf.gather(tf.eye(4), tf.fill([n], 2))
        with tf.device(PS[1]):
            shapes = [tf.shape(joined), tf.shape(words), tf.identity(words), tf.identity(picked), tf.identity(total)]
        with session(c, g) as s:
            s.run(v1.global_variables_initializer())
            return [s.run([rows, *shapes], {n: k}) for k in (0, 2, 0)]


@story
def large_tensors(c):
    with graph() as g:
        with tf.device(PS[0]):
            a = v1.Variable(numbers(1200, 700), name="a", use_resource=True)
        with tf.device(PS[1]):
            b = tf.reverse(a, [0])
        with tf.device(WORKER):
            both = tf.concat([a, b], 0)
        with session(c, g) as s:
            s.run(v1.global_variables_initializer())
            for _ in range(3):
                result = s.run([tf.reduce_max(both, 0), both[::100]])
                s.run(a.assign(both[700:1900]))
            return result


@story
def seeded_random_numbers(c):
    with graph() as g:
        v1.set_random_seed(5)
        made = []
        for device in (PS[0], WORKER, PS[1], CHIEF):
            with tf.device(device):
                made += [v1.random_normal([5, 3], seed=1), v1.random_uniform([4], seed=2), v1.truncated_normal([6], seed=3),
                         v1.random_shuffle(tf.range(20), seed=4), v1.random_uniform([9], 0, 50, tf.int32, seed=5),
                         tf.random.stateless_normal([3], [1, 2])]
        with session(c, g) as s:
            return [s.run(made), s.run(made)]


@story
def queues(c):
    with graph() as g:
        with tf.device(PS[0]):
            lines = v1.FIFOQueue(10, [tf.float32, tf.string], shapes=[[2], []], shared_name="lines")
            padded = v1.PaddingFIFOQueue(10, [tf.int64], shapes=[[None]])
        with tf.device(WORKER):
            x = v1.placeholder(tf.float32, [None, 2])
            put = lines.enqueue_many([x * 2.0, tf.as_string(x[:, 0])])
            pad = padded.enqueue([tf.range(tf.cast(x[0, 0], tf.int64))])
        with tf.device(CHIEF):
            take, taken_pads = lines.dequeue_up_to(3), padded.dequeue_many(2)
        results = []
        with session(c, g) as s:
            for k in range(2):
                s.run([put, pad], {x: numbers(2, 2, seed=k) * 0 + k + 1})
            results += [s.run(lines.size()), s.run(take), s.run(taken_pads)]
            s.run(lines.close())
            results.append(s.run(take))
            raises(E.OutOfRangeError, "closed", lambda: s.run(take))
    return results


@story
def tables(c):
    with graph() as g:
        with tf.device(PS[0]):
            words = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
            fixed = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [3, 4]), 7)
        with tf.device(WORKER):
            keys = tf.constant(["a", "b", "zz"])
            put = words.insert(keys, tf.constant([5, 6, 7], tf.int64))
            found = [words.lookup(tf.strings.join([keys[:2], ["", "b"]])), fixed.lookup(keys), words.size()]
        with session(c, g) as s:
            s.run(v1.tables_initializer())
            before = s.run(found)
            s.run(put)
            return [before, s.run(found)]


@story
def functions(c):
    @function.Defun(tf.float32, tf.float32)
    def defined(x, y):
        return tf.matmul(x, y) + 1.0, tf.nn.relu(x)

    @tf.function
    def traced(x):
        if tf.reduce_sum(x) > 0:
            return x * 2.0
        return x - 1.0
    with graph() as g:
        with tf.device(PS[0]):      # read there: a TensorFlow worker takes no handle of another task's variable
            a = tf.identity(variable("a", numbers(4, 4), True, 0))
        with tf.device(PS[1]):
            first, second = defined(a, a)
            third = traced(first)
        with tf.device(WORKER):
            fourth = traced(second - first)
            gradient = tf.gradients(tf.reduce_sum(traced(a)), a)
            mapped = tf.map_fn(traced, a)
        with session(c, g) as s:
            s.run(v1.global_variables_initializer())
            return s.run([first, second, third, fourth, gradient, mapped])


@story
def errors_name_their_node(c):
    with graph() as g:
        n = v1.placeholder(tf.int32, [])
        results = []
        for i, device in enumerate((PS[0], WORKER)):
            with tf.device(device):
                x = tf.reshape(tf.ones([6]), [n, 2], name="bad%d" % i)
            with tf.device(PS[1]):
                results.append(tf.reduce_sum(x))
        with session(c, g) as s:
            for i, result in enumerate(results):
                raises(E.InvalidArgumentError, "bad%d" % i, lambda fetch=result: s.run(fetch, {n: 5}))
            return s.run(results, {n: 3})


@story
def an_uninitialized_variable_is_told(c):
    with graph() as g:
        kinds = [variable("v%d" % i, numbers(3), bool(i), i) for i in range(2)]
        with tf.device(WORKER):
            sums = [tf.reduce_sum(v) for v in kinds]
        with session(c, g) as s:
            for total in sums:
                raises(E.FailedPreconditionError, "v", lambda fetch=total: s.run(fetch))
            missing = sorted(s.run(v1.report_uninitialized_variables()))
            s.run(v1.global_variables_initializer())
            return [missing, s.run(sums)]


@story
def traces_show_all_tasks(c):
    with graph() as g:
        a = variable("a", numbers(4), True, 0)
        with tf.device(WORKER):
            b = tf.add(a, 1.0, name="b")
        with tf.device(PS[1]):
            out = tf.multiply(b, b, name="out")
        with session(c, g) as s:
            s.run(v1.global_variables_initializer())
            metadata = v1.RunMetadata()
            options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE, output_partition_graphs=True)
            value = s.run(out, options=options, run_metadata=metadata)
    seen = {n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats}
    pieces = {n.name for piece in metadata.partition_graphs for n in piece.node}
    return [value, sorted(seen & {"b", "out", "RecvTensor"}), sorted(pieces & {"b", "out"})]


@story
def partial_runs_and_callables(c):
    with graph() as g:
        x, y = v1.placeholder(tf.float32, [2]), v1.placeholder(tf.float32, [2])
        with tf.device(PS[0]):
            p = x * 2.0
        with tf.device(WORKER):
            q = p + y
        with tf.device(PS[1]):
            r = q * q
        with session(c, g) as s:
            handle = s.partial_run_setup([p, r], [x, y])
            parts = [s.partial_run(handle, p, {x: [1.0, 2.0]}), s.partial_run(handle, r, {y: [0.5, 0.25]})]
            call = s.make_callable([p, r], [x, y])
            return [parts, call([3.0, 4.0], [1.0, 1.0]), call([5.0, 4.0], [1.0, 1.0])]
