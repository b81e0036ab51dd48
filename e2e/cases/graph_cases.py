#!/usr/bin/env python3
"""Graphs on our servers, driven by an unmodified TensorFlow client: loops and branches in both styles, functions, strings,
all kinds of numbers, random numbers.

  graph_cases.py --server 'build/bin/tensorfleet server'    our servers
  graph_cases.py --server tensorflow    TensorFlow's own, to see that the cases are fair
  graph_cases.py --server ... -k partial    only the cases whose name contains 'partial'

Needs Python 3.11 with tensorflow-cpu==2.15.1. Prints a line per case, then 'N passed, N failed'.
"""
import threading

import numpy as np
from case_tools import E, Cluster, graph, main_of, only_ours, raises, ref_variable, session, tf, v1

def loops_and_branches(c, target):
    with graph() as g:
        x = v1.placeholder(tf.int32, [])
        with tf.device("/job:local/task:1"):
            bound = x * 1
        total = tf.while_loop(lambda i, t: i < bound, lambda i, t: (i + 1, t + i), [0, 0])[1]
        branch = tf.cond(x > 3, lambda: x * 10, lambda: x - 10)
        with session(target, g) as s:
            for n in (0, 1, 7):
                assert s.run([total, branch], {x: n}) == [n * (n - 1) // 2, n * 10 if n > 3 else n - 10], n


def case_loops_and_branches_in_the_old_style():
    with Cluster({"local": 2}) as c:
        v1.disable_control_flow_v2()
        loops_and_branches(c, c.target("local"))


def case_loops_and_branches_in_the_new_style():
    with Cluster({"local": 2}) as c:
        v1.enable_control_flow_v2()
        try:
            loops_and_branches(c, c.target("local"))
        finally:
            v1.disable_control_flow_v2()


def case_a_loop_whose_body_spans_tasks():
    with Cluster({"local": 2}) as c, graph() as g:
        v1.disable_control_flow_v2()

        def body(i, t):
            with tf.device("/job:local/task:1"):
                return i + 1, t * 2.0
        total = tf.while_loop(lambda i, t: i < 10, body, [0, 1.0])[1]
        with session(c.target("local"), g) as s:
            for _ in range(3):
                assert s.run(total) == 1024.0


def case_a_variable_changed_in_a_loop_elsewhere_is_read_after_it():
    v1.disable_control_flow_v2()
    with Cluster({"local": 2}) as c, graph() as g:
        with tf.device("/job:local/task:1"):
            v = ref_variable(0.0, "v")

        def body(i):
            with tf.control_dependencies([v.assign_add(1.0)]):
                return i + 1
        loop = tf.while_loop(lambda i: i < 5, body, [0])[0]
        with tf.control_dependencies([loop]):
            unplaced = tf.raw_ops.Identity(input=v._ref())
            with tf.device("/job:local/task:0"):
                placed = tf.raw_ops.Identity(input=v._ref())
        with session(c.target("local"), g) as s:
            for read in (unplaced, placed):
                s.run(v.initializer)
                assert s.run(read) == 5.0, read.name


def changed_in_a_loop(body, times=4):
    """The reference variable v, 2 at first, after `times` runs of the ops that body(v) makes, one after another."""
    v1.disable_control_flow_v2()
    with Cluster({"local": 1}) as c, graph() as g:
        v = ref_variable([2.0, 3.0], "v")

        def count(i):
            with tf.control_dependencies([body(v)]):
                return i + 1
        end = tf.while_loop(lambda i: i < times, count, [0])[0]
        with session(c.target("local"), g) as s:
            s.run(v.initializer)
            assert s.run(end) == times
            return s.run(v).tolist()


def case_a_loop_reads_what_its_last_iteration_assigned():
    assert changed_in_a_loop(lambda v: v1.assign(v, tf.square(v))) == [65536.0, 43046720.0]
    assert changed_in_a_loop(lambda v: v1.assign(v, tf.gather(v, [1, 0]) * 2), 3) == [24.0, 16.0]

    def add_and_square(v):
        with tf.control_dependencies([v1.assign_add(v, [1.0, 1.0])]):
            return v1.assign(v, tf.square(v))
    assert changed_in_a_loop(add_and_square, 2) == [100.0, 289.0]

    def inner_loop(v):
        def double(i):
            with tf.control_dependencies([v1.assign(v, v * 2)]):
                return i + 1
        with tf.control_dependencies([tf.while_loop(lambda i: i < 2, double, [0])[0]]):
            return v1.assign(v, v + 1)
    assert changed_in_a_loop(inner_loop, 3) == [149.0, 213.0]

    def branch(v):
        return tf.cond(tf.reduce_sum(v) < 10, lambda: v1.assign(v, v * 2), lambda: v1.assign(v, v + 1))
    assert changed_in_a_loop(branch, 3) == [6.0, 8.0]


def case_who_uses_a_reference_after_an_assign_sees_the_new_value():
    with Cluster({"local": 1}) as c, graph() as g:
        v = ref_variable([2.0, 3.0], "v")
        row = tf.reshape(v, [1, 2])
        with tf.control_dependencies([v1.assign(v, tf.square(v))]):
            late = [v * 3.0, row * 3.0]
        with session(c.target("local"), g) as s:
            s.run(v.initializer)
            read = s.run(late)
            assert read[0].tolist() == [12.0, 27.0] and read[1].tolist() == [[12.0, 27.0]], read


@only_ours("TensorFlow shows the old value or the new one, as memory falls")
def case_a_late_user_of_a_reference_whose_shape_may_change_is_refused():
    with Cluster({"local": 1}) as c, graph() as g:
        v = v1.Variable([1.0, 2.0], use_resource=False, validate_shape=False)
        with tf.control_dependencies([v1.assign(v, [5.0, 6.0, 7.0], validate_shape=False)]):
            late = v * 3.0
        with session(c.target("local"), g) as s:
            s.run(v.initializer)
            raises(E.UnimplementedError, "validate_shape=false", lambda: s.run(late))


def case_a_call_in_a_loop_runs_once_per_iteration():
    with Cluster({"local": 1}) as c, graph() as g:
        v1.enable_control_flow_v2()
        try:
            v = v1.get_variable("v", [], initializer=v1.zeros_initializer(), use_resource=True)
            amount = v1.placeholder(tf.float32, [])

            @tf.function
            def bump(i):
                v.assign_add(amount)   # takes only what is the same in every iteration
                return i + 1
            loop = tf.while_loop(lambda i: i < 3, bump, [0])[0]
            with session(c.target("local"), g) as s:
                s.run(v.initializer)
                assert s.run(loop, {amount: 2.0}) == 3
                assert s.run(v) == 6.0
        finally:
            v1.disable_control_flow_v2()


def case_functions_are_called():
    with Cluster({"local": 2}) as c, graph() as g:
        @tf.function
        def f(x):
            return x * x + 1.0
        x = v1.placeholder(tf.float32, [None])
        with session(c.target("local"), g) as s:
            y = f(x)
            assert s.run(y, {x: [1, 2]}).tolist() == [2.0, 5.0]
            z = tf.function(lambda t: f(t) - 1.0)(x)    # the graph is extended by another function
            assert s.run(z, {x: [3]}).tolist() == [9.0]


def case_strings_cross_tasks():
    words = [b"", b"a", "ж".encode(), b"\x00\xff" * 50000]
    with Cluster({"local": 2}) as c, graph() as g:
        x = v1.placeholder(tf.string, [None])
        with tf.device("/job:local/task:1"):
            there = tf.identity(x)
        with tf.device("/job:local/task:0"):
            back = tf.reshape(tf.identity(there), [2, -1])
        with session(c.target("local"), g) as s:
            assert s.run(back, {x: words}).ravel().tolist() == words


def case_every_kind_of_number_comes_back():
    with Cluster({"local": 2}) as c, graph() as g:
        values = [np.array([[0, 1], [1, 0]]).astype(t) for t in
                  ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8", "c16")]
        values += [np.zeros([0, 3], "f4"), np.float32(3.5)]
        feeds = [v1.placeholder(v.dtype, v.shape) for v in values]
        with tf.device("/job:local/task:1"):
            there = [tf.identity(f) for f in feeds]
        with session(c.target("local"), g) as s:
            for got, want in zip(s.run(there, dict(zip(feeds, values))), values):
                assert got.dtype == want.dtype and np.array_equal(got, want), want.dtype


def case_concurrent_steps_of_many_clients():
    with Cluster({"local": 2}) as c, graph() as g:
        x = v1.placeholder(tf.float32, [])
        with tf.device("/job:local/task:1"):
            y = x * 2.0
        failures = []

        def client(k):
            try:
                with session(c.target("local", k % 2), g) as s:
                    for i in range(100):
                        assert s.run(y, {x: k + i}) == 2.0 * (k + i)
            except Exception as e:  # told by the main thread
                failures.append(e)
        threads = [threading.Thread(target=client, args=(k,)) for k in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not failures, failures[0]


def case_random_numbers_are_tensorflows():
    with graph() as g:
        def build():
            v1.set_random_seed(7)
            return [tf.random.uniform([5]), tf.random.normal([5]), tf.random.truncated_normal([5], seed=3),
                    tf.random.uniform([5], maxval=100, dtype=tf.int32, seed=4)]
        values = build()
        with v1.Session(graph=g) as local:
            want = local.run(values)
        with Cluster({"local": 1}) as c, session(c.target("local"), g) as s:
            got = s.run(values)
    for a, b in zip(got, want):
        assert np.array_equal(a, b), (a, b)


def case_a_branch_that_is_not_taken_sends_nothing():
    v1.disable_control_flow_v2()
    with Cluster({"local": 2}) as c, graph() as g:
        p = v1.placeholder(tf.bool, [])

        def remote(value):
            with tf.device("/job:local/task:1"):
                return tf.constant(value) + 1.0
        y = tf.cond(p, lambda: remote(1.0), lambda: remote(10.0))
        with session(c.target("local", 0), g) as s:
            assert (s.run(y, {p: True}), s.run(y, {p: False})) == (2.0, 11.0)


def case_a_python_function_is_refused_by_name():
    with Cluster({"local": 1}) as c, graph() as g:
        x = v1.py_func(lambda: np.float32(1), [], tf.float32, name="python")
        with session(c.target("local"), g) as s:
            try:
                s.run(x)
            except tf.errors.OpError as e:
                assert "PyFunc" in str(e) or "pyfunc" in str(e), str(e)[:300]
                return
            raise AssertionError("a Python function ran on a server")


if __name__ == "__main__":
    main_of(globals(), __doc__)
