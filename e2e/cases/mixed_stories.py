"""The stories of mixed_cases.py: each runs graphs over the chief, the worker and two parameter servers of a cluster, asking the
chief, and gives what came out of them."""
import time

import numpy as np
from tensorflow.python.ops import control_flow_util

from case_tools import graph, tf, v1

STORIES = {}
PS = ("/job:ps/task:0", "/job:ps/task:1")
WORKER, CHIEF = "/job:worker/task:0", "/job:chief/task:0"


def story(tell):
    STORIES[tell.__name__] = tell
    return tell


def breaks_servers(tell):
    """Gets a cluster of its own."""
    tell.breaks_servers = True
    return tell


def config(**kw):
    """With time for TensorFlow's servers, which take long to start on a busy machine."""
    return v1.ConfigProto(operation_timeout_in_ms=300_000, **kw)


def session(c, g, **kw):
    """A session at the chief, with state of its own, so that stories that share servers do not meet."""
    return v1.Session(c.target("chief"), graph=g, config=config(isolate_session_state=True, **kw))


def both_kinds(tell):
    """The story with reference variables and with resource variables."""
    def twice(c):
        return [tell(c, resource) for resource in (False, True)]
    twice.__name__ = tell.__name__
    return story(twice)


def variable(name, value, resource, ps):
    with tf.device(PS[ps]):
        return v1.get_variable(name, initializer=tf.constant(value), use_resource=resource)


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).standard_normal(shape).astype("f")


# --- variables --------------------------------------------------------------------------------------------------------

@both_kinds
def dense_variables(c, resource):
    with graph() as g:
        a, b = variable("a", numbers(40, 30), resource, 0), variable("b", numbers(30, 20, seed=1), resource, 1)
        with tf.device(WORKER):
            product = tf.matmul(a, b)
            step = tf.group(a.assign_sub(0.1 * tf.matmul(product, b, transpose_b=True)),
                            b.assign_add(0.01 * tf.matmul(a, product, transpose_a=True)))
        with session(c, g) as s:
            s.run(v1.global_variables_initializer())
            before = s.run([a, b, product])
            s.run(step)
            s.run(a.assign(a * 2.0))
            return [before, s.run([a, b, product]), s.run(v1.report_uninitialized_variables())]


@both_kinds
def sparse_variables(c, resource):
    with graph() as g:
        table = variable("table", numbers(50, 8), resource, 1)
        with tf.device(WORKER):
            ids, rows = tf.constant([3, 7, 3, 49, 0]), tf.constant(numbers(5, 8, seed=2))
            looked_up = tf.nn.embedding_lookup(table, ids)
            slices = tf.IndexedSlices(rows * looked_up, ids, dense_shape=[50, 8])
        others = tf.IndexedSlices(rows, ids + [0, 0, 1, -5, 0], dense_shape=[50, 8])
        changes = [table.scatter_add(slices), table.scatter_sub(slices), table.scatter_mul(slices), table.scatter_max(slices),
                   table.scatter_update(others)]
        with session(c, g) as s:
            s.run(v1.global_variables_initializer())
            seen = [s.run([looked_up, table])]
            for change in changes:
                s.run(change.op)
                seen.append(s.run([looked_up, table]))
            return seen


@both_kinds
def partitioned_variables(c, resource):
    with graph() as g:
        setter = v1.train.replica_device_setter(ps_tasks=2, worker_device=WORKER)
        with v1.device(setter):
            whole = v1.get_variable("whole", [21, 4], initializer=v1.random_normal_initializer(seed=4), use_resource=resource,
                                    partitioner=v1.fixed_size_partitioner(3))
            ids = tf.constant([[0, 20, 7], [13, 14, 6]])
            with tf.device(WORKER):
                rows = [v1.nn.embedding_lookup(list(whole), ids, partition_strategy="div"),
                        v1.nn.embedding_lookup_sparse(list(whole), tf.sparse.from_dense(ids), None, combiner="mean",
                                                      partition_strategy="div")]
                loss = tf.reduce_sum(rows[0] ** 2) + tf.reduce_sum(rows[1]) + tf.reduce_mean(tf.convert_to_tensor(whole))
            train = v1.train.AdagradOptimizer(0.5).minimize(loss)
        with session(c, g) as s:
            s.run(v1.global_variables_initializer())
            losses = [s.run([loss, train])[0] for _ in range(5)]
            return [losses, s.run(list(whole)), s.run(rows)]


@story
def variables_shared_by_sessions(c):
    name = "shared_by_sessions_%d" % time.monotonic_ns()
    with graph() as g:
        with tf.device(PS[1]):
            v = v1.get_variable(name, initializer=2.5, use_resource=True)
        more = v.assign_add(1.0, read_value=False)
        results = []
        for target in (c.target("chief"), c.target("chief")):
            with v1.Session(target, graph=g, config=config()) as s:
                if not results:
                    s.run(v1.global_variables_initializer())
                s.run(more)
                results.append(s.run(v))
    return results


# --- control flow -----------------------------------------------------------------------------------------------------

def both_control_flows(tell):
    """The story with v1's control flow (Switch, Merge, Enter) and with v2's (If, While, which a master lowers or calls)."""
    def twice(c):
        results, before = [], control_flow_util.ENABLE_CONTROL_FLOW_V2
        for control_flow_util.ENABLE_CONTROL_FLOW_V2 in (False, True):
            try:
                results.append(tell(c))
            finally:
                control_flow_util.ENABLE_CONTROL_FLOW_V2 = before
        return results
    twice.__name__ = tell.__name__
    return story(twice)


@both_control_flows
def a_loop_across_tasks(c):
    with graph() as g:
        v = variable("v", numbers(6, 6), True, 0)
        n = v1.placeholder(tf.int32, [])

        def body(i, x):
            with tf.device(PS[0]):
                x = tf.matmul(x, v)
            with tf.device(WORKER):
                x = tf.tanh(x)
            with tf.device(PS[1]):
                return i + 1, x + tf.cast(i, tf.float32)
        with tf.device(WORKER):
            rounds, out = tf.while_loop(lambda i, _: i < n, body, [0, tf.eye(6)])
        with session(c, g) as s:
            s.run(v1.global_variables_initializer())
            return [s.run([rounds, out], {n: k}) for k in (0, 1, 7)]


@both_control_flows
def loops_in_loops_across_tasks(c):
    with graph() as g:
        def inner(i, x):
            with tf.device(PS[1]):
                return i + 1, x * 1.5 + tf.cast(i, tf.float32)

        def outer(i, x):
            with tf.device(WORKER):
                _, x = tf.while_loop(lambda j, _: j < i, inner, [0, x])
            with tf.device(PS[0]):
                return i + 1, x - 1.0
        out = tf.while_loop(lambda i, _: i < 5, outer, [0, tf.ones([3])])
        with session(c, g) as s:
            return s.run(out)


@both_control_flows
def a_conditional_across_tasks(c):
    with graph() as g:
        v = variable("v", numbers(5), True, 0)
        which = v1.placeholder(tf.bool, [])

        def yes():
            with tf.device(PS[1]):
                return tf.exp(v) * 2.0

        def no():
            with tf.device(PS[0]):
                return -v - 1.0
        with tf.device(WORKER):
            out = v1.cond(which, yes, no)
        with tf.device(PS[1]):
            total = tf.reduce_sum(out)
        with session(c, g) as s:
            s.run(v1.global_variables_initializer())
            return [s.run([out, total], {which: w}) for w in (True, False, True)]


@both_control_flows
def a_conditional_that_updates_state(c):
    with graph() as g:
        v = variable("v", numbers(5), True, 0)
        which = v1.placeholder(tf.bool, [])

        def update(by):
            with tf.control_dependencies([v.assign_add(tf.fill([5], by))]):
                return tf.constant(by)
        with tf.device(WORKER):
            out = v1.cond(which, lambda: update(1.0), lambda: update(-2.0))
        with session(c, g) as s:
            s.run(v1.global_variables_initializer())
            return [(s.run(out, {which: w}), s.run(v)) for w in (True, True, False)]
