#!/usr/bin/env python3
"""What users of tf.compat.v1 sessions do beyond the documents' examples: one case per feature of the servers.

  feature_cases.py --server 'build/bin/tensorfleet server'   our servers
  feature_cases.py --server tensorflow                       TensorFlow's own, to see that the cases are fair
  feature_cases.py --server ... -k loop                      only the cases whose name contains 'loop'

Needs Python 3.11 with tensorflow-cpu==2.15.1. Prints a line per case, then 'N passed, N failed'.
"""
import argparse
import sys
import threading
import time
import traceback

import tf_client_cases as cases
from tf_client_cases import Cluster, graph, only_ours, ref_variable, session, tf, v1

import numpy as np

E = tf.errors


def raises(kind, word, call):
    try:
        call()
    except kind as e:
        assert word in str(e), str(e)[:500]
        return
    raise AssertionError("no %s that speaks of %r" % (kind.__name__, word))


# --- the session ------------------------------------------------------------------------------------------------

def case_partial_run_feeds_and_fetches_in_pieces():
    with Cluster({"local": 1}) as c, graph() as g:
        a, b = v1.placeholder(tf.float32, []), v1.placeholder(tf.float32, [])
        double, total = a * 2.0, a * 2.0 + b
        with session(c.target("local"), g) as s:
            h = s.partial_run_setup([double, total], [a, b])
            assert s.partial_run(h, double, {a: 3.0}) == 6.0
            assert s.partial_run(h, total, {b: 4.0}) == 10.0
            h = s.partial_run_setup([double, total], [a, b])
            raises(E.InvalidArgumentError, "can't be computed", lambda: s.partial_run(h, total, {a: 1.0}))


def case_callables_run_without_names():
    with Cluster({"local": 1}) as c, graph() as g:
        x = v1.placeholder(tf.float32, [None])
        y = tf.reduce_sum(x)
        with session(c.target("local"), g) as s:
            call = s.make_callable(y, [x])
            assert call([1.0, 2.0]) == 3.0
            options = tf.compat.v1.RunOptions()
            from tensorflow.core.protobuf import config_pb2
            raw = s._make_callable_from_options(config_pb2.CallableOptions(feed=[x.name], fetch=[y.name],
                                                                           run_options=options))
            assert raw(np.array([4.0, 5.0], "f"))[0] == 9.0
            del raw


def case_the_graph_grows_between_steps():
    with Cluster({"local": 1}) as c, graph() as g:
        a = tf.constant(2.0)
        with session(c.target("local"), g) as s:
            assert s.run(a) == 2.0
            for i in range(5):
                a = a * 2.0
                assert s.run(a) == 2.0 ** (i + 2)


def case_devices_of_the_whole_cluster_are_listed():
    with Cluster({"ps": 1, "worker": 2}) as c, graph() as g:
        with session(c.target("worker"), g) as s:
            names = {d.name for d in s.list_devices()}
    assert {"/job:ps/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:1/device:CPU:0"} <= names, names


def case_reset_clears_a_container():
    with Cluster({"local": 1}) as c, graph() as g:
        with g.container("mine"):
            mine = ref_variable(1.0, "mine")
        other = ref_variable(2.0, "other")
        s = session(c.target("local"), g)
        s.run(v1.global_variables_initializer())
        v1.Session.reset(c.target("local"), ["mine"])
        raises(E.AbortedError, "not found", lambda: s.run(other))
        with session(c.target("local"), g) as s:
            assert s.run(other) == 2.0
            raises(E.FailedPreconditionError, "mine", lambda: s.run(mine))


def case_isolated_sessions_have_their_own_state():
    with Cluster({"local": 2}) as c, graph() as g:
        with tf.device("/job:local/task:1"):
            v = ref_variable(0.0, "v")
            add = v.assign_add(1.0)
        config = v1.ConfigProto(isolate_session_state=True, operation_timeout_in_ms=60000)
        a, b = (v1.Session(c.target("local"), graph=g, config=config) for _ in range(2))
        a.run(v1.global_variables_initializer())
        a.run(add)
        assert a.run(v) == 1.0
        raises(E.FailedPreconditionError, "v", lambda: b.run(v))
        a.close()
        b.close()


def case_device_filters_leave_dead_workers_out():
    with Cluster({"ps": 1, "worker": 2}, start=False) as c, graph() as g:
        c.start("ps", 0)
        c.start("worker", 0)  # worker 1 never comes
        with tf.device("/job:ps/task:0"):
            x = tf.constant(5.0) + 1.0
        config = v1.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"], operation_timeout_in_ms=30000)
        with v1.Session(c.target("worker", 0), graph=g, config=config) as s:
            assert s.run(x) == 6.0
            assert all("worker/replica:0/task:1" not in d.name for d in s.list_devices())


def case_a_clusterspec_is_propagated_by_the_client():
    with Cluster({"local": 1}) as a, Cluster({"local": 1}) as b, graph() as g:
        with tf.device("/job:second/task:0"):
            x = tf.constant(20.0) + 1.0
        spec = tf.train.ClusterSpec({"first": [a.spec["local"][0]], "second": [b.spec["local"][0]]})
        config = v1.ConfigProto(cluster_def=spec.as_cluster_def(), operation_timeout_in_ms=60000)
        with v1.Session(a.target("local"), graph=g, config=config) as s:
            assert s.run(x) == 21.0
            assert "/job:second/replica:0/task:0/device:CPU:0" in {d.name for d in s.list_devices()}


def case_a_step_may_have_a_deadline():
    with Cluster({"local": 1}) as c, graph() as g:
        q = v1.FIFOQueue(1, [tf.float32], shapes=[[]])
        take = q.dequeue()
        with session(c.target("local"), g) as s:
            t0 = time.time()
            raises(E.DeadlineExceededError, "", lambda: s.run(take, options=v1.RunOptions(timeout_in_ms=500)))
            assert time.time() - t0 < 10
            s.run(q.enqueue(7.0))
            assert s.run(take) == 7.0  # the cancelled dequeue took nothing


def case_closing_a_session_ends_its_steps():
    with Cluster({"local": 1}) as c, graph() as g:
        q = v1.FIFOQueue(1, [tf.float32], shapes=[[]])
        take = q.dequeue()
        s = session(c.target("local"), g)
        errors = []

        def wait():
            try:
                s.run(take)
            except tf.errors.OpError as e:
                errors.append(e)
        t = threading.Thread(target=wait)
        t.start()
        time.sleep(0.5)
        s.close()
        t.join(20)
        assert not t.is_alive() and isinstance(errors[0], E.CancelledError), errors


def case_steps_of_many_clients_run_at_once():
    with Cluster({"ps": 1, "worker": 2}) as c, graph() as g:
        with tf.device("/job:ps/task:0"):
            v = ref_variable(0.0, "v")
            add = v1.assign_add(v, 1.0, use_locking=True)
        sessions = [session(c.target("worker", i % 2), g) for i in range(4)]
        sessions[0].run(v1.global_variables_initializer())
        threads = [threading.Thread(target=lambda s=s: [s.run(add.op) for _ in range(50)]) for s in sessions]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert sessions[0].run(v) == 200.0
        for s in sessions:
            s.close()


# --- values -----------------------------------------------------------------------------------------------------

def case_every_dtype_survives_the_way_there_and_back():
    kinds = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
             "bool", "complex64", "complex128", tf.bfloat16.as_numpy_dtype]
    with Cluster({"local": 2}) as c, graph() as g:
        pairs = []
        for kind in kinds:
            p = v1.placeholder(tf.as_dtype(kind), [None, 3])
            with tf.device("/job:local/task:1"):
                pairs.append((p, tf.identity(p), np.arange(6).reshape(2, 3).astype(kind)))
        with session(c.target("local", 0), g) as s:
            for p, y, value in pairs:
                assert np.array_equal(s.run(y, {p: value}), value), p.dtype
                assert s.run(y, {p: value[:0]}).shape == (0, 3), p.dtype


def case_strings_cross_tasks():
    words = np.array([b"", b"a", b"\x00\xff" * 1000, "größe".encode()], dtype=object)
    with Cluster({"local": 2}) as c, graph() as g:
        p = v1.placeholder(tf.string, [None])
        with tf.device("/job:local/task:1"):
            y = tf.strings.join([p, "!"])
        with session(c.target("local", 0), g) as s:
            assert list(s.run(y, {p: words})) == [w + b"!" for w in words]


def case_resource_variables_are_shared_and_read_consistently():
    with Cluster({"ps": 1, "worker": 1}) as c, graph() as g:
        with tf.device("/job:ps/task:0"):
            v = v1.get_variable("v", [3], initializer=v1.ones_initializer(), use_resource=True)
            before = tf.identity(v.read_value())
            with tf.control_dependencies([before]):
                update = v.assign_add([1.0, 2.0, 3.0])
            with tf.control_dependencies([update]):
                after = tf.identity(v.read_value())
        with session(c.target("worker"), g) as s:
            raises(E.FailedPreconditionError, "Could not find variable v", lambda: s.run(before))
            s.run(v1.global_variables_initializer())
            old, new = s.run([before, after])
    assert old.tolist() == [1, 1, 1] and new.tolist() == [2, 3, 4]


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


# --- control flow -----------------------------------------------------------------------------------------------

def loops_and_branches(modern):
    (v1.enable_control_flow_v2 if modern else v1.disable_control_flow_v2)()
    try:
        with Cluster({"local": 2}) as c, graph() as g:
            n = v1.placeholder(tf.int32, [])
            _, factorial = tf.while_loop(lambda i, p: i <= n, lambda i, p: (i + 1, p * i), [1, 1])
            with tf.device("/job:local/task:1"):
                nested = tf.while_loop(
                    lambda i, t: i < n,
                    lambda i, t: (i + 1, t + tf.while_loop(lambda j, u: j < i, lambda j, u: (j + 1, u + 1), [0, 0])[1]),
                    [0, 0])[1]
            branch = tf.cond(n > 3, lambda: tf.constant("big"), lambda: tf.constant("small"))
            x = tf.constant(3.0)
            slope = tf.gradients(tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), [0, 1.0])[1], x)[0]
            with session(c.target("local", 0), g) as s:
                for k in (0, 1, 5):
                    f, t, b, d = s.run([factorial, nested, branch, slope], {n: k})
                    assert f == np.prod(range(1, k + 1)), (k, f)
                    assert t == k * (k - 1) // 2, (k, t)
                    assert b == (b"big" if k > 3 else b"small")
                    assert abs(d - k * 3.0 ** (k - 1)) < 1e-3, (k, d)
    finally:
        v1.disable_control_flow_v2()


def case_loops_and_branches_as_nodes():
    loops_and_branches(False)


def case_loops_and_branches_as_functions():
    loops_and_branches(True)


def case_a_loop_spans_two_tasks():
    v1.disable_control_flow_v2()
    with Cluster({"local": 2}) as c, graph() as g:
        n = v1.placeholder(tf.int32, [])

        def body(i, x):
            with tf.device("/job:local/task:1"):
                x = x + 2.0
            return i + 1, x
        with tf.device("/job:local/task:0"):
            _, y = tf.while_loop(lambda i, x: i < n, body, [0, 0.0])
        with session(c.target("local", 0), g) as s:
            for k in (0, 1, 25):
                assert s.run(y, {n: k}) == 2.0 * k, k


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


def case_functions_are_called():
    with Cluster({"local": 2}) as c, graph() as g:
        @tf.function
        def twice(x):
            return x + x

        @tf.function
        def four_times(x):
            return twice(twice(x))
        with tf.device("/job:local/task:1"):
            y = four_times(tf.constant([1.0, 2.0]))
        with session(c.target("local", 0), g) as s:
            assert s.run(y).tolist() == [4.0, 8.0]


# --- errors -----------------------------------------------------------------------------------------------------

def case_an_error_in_the_middle_leaves_the_session_usable():
    with Cluster({"local": 2}) as c, graph() as g:
        x = v1.placeholder(tf.float32, [None])
        with tf.device("/job:local/task:1"):
            checked = v1.check_numerics(x, "numbers please", name="checked")
        with tf.device("/job:local/task:0"):
            y = tf.reduce_sum(checked)
            asserted = v1.Assert(y > 0, [y], name="positive")
        with session(c.target("local", 0), g) as s:
            raises(E.InvalidArgumentError, "numbers please", lambda: s.run(y, {x: [1.0, np.nan]}))
            raises(E.InvalidArgumentError, "assertion failed", lambda: s.run(asserted, {x: [-1.0]}))
            assert s.run(y, {x: [1.0, 2.0]}) == 3.0


def case_misuse_is_explained():
    with Cluster({"local": 1}) as c, graph() as g:
        x = v1.placeholder(tf.float32, [2], name="x")
        y = tf.identity(x, name="y")
        with session(c.target("local"), g) as s:
            raises(E.InvalidArgumentError, "You must feed a value for placeholder tensor 'x'", lambda: s.run(y))
            raises(E.InvalidArgumentError, "Must specify at least one target", lambda: s.run([]) or _nothing(s))


def _nothing(s):
    """A step without anything to do, past Python's own check."""
    from tensorflow.python.client import pywrap_tf_session
    s._extend_graph()
    return pywrap_tf_session.TF_SessionRun_wrapper(s._session, None, {}, [], [], None)


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


def case_a_vanished_client_leaves_the_server_serving():
    import subprocess
    with Cluster({"local": 1}) as c, graph() as g:
        code = ("import os, sys; os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\n"
                "import tensorflow as tf; v1 = tf.compat.v1; v1.disable_eager_execution()\n"
                "q = v1.FIFOQueue(1, [tf.float32], shapes=[[]]); s = v1.Session(sys.argv[1])\n"
                "s.run(tf.no_op()); print('ready', flush=True); s.run(q.dequeue())\n")
        client = subprocess.Popen([sys.executable, "-c", code, c.target("local")], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        assert client.stdout.readline().strip() == "ready"
        time.sleep(0.3)
        client.kill()
        client.wait()
        with session(c.target("local"), g) as s:
            assert s.run(tf.constant(1.0)) == 1.0


@only_ours
def case_what_is_unplaced_goes_to_task_0_of_the_first_job():
    with Cluster({"ps": 1, "worker": 1}) as c, graph() as g:
        y = tf.identity(v1.placeholder_with_default(tf.constant(1.0), []), name="y")
        with session(c.target("worker"), g) as s:
            where = cases.traced(s, y)
    assert any("y" in nodes for device, nodes in where.items() if "/job:ps/" in device), where


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("-k", default="")
    args = parser.parse_args()
    cases.SERVER = args.server
    passed = failed = skipped = 0
    for name, case in list(globals().items()):
        if not name.startswith("case_") or args.k not in name:
            continue
        if cases.SERVER == "tensorflow" and getattr(case, "only_ours", False):
            print("skip %s" % name[5:])
            skipped += 1
            continue
        v1.reset_default_graph()
        t0 = time.time()
        try:
            case()
            passed += 1
            print("ok   %-60s %6.1f s" % (name[5:], time.time() - t0), flush=True)
        except Exception:
            failed += 1
            print("FAIL %-60s %6.1f s" % (name[5:], time.time() - t0), flush=True)
            traceback.print_exc()
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    sys.exit(bool(failed or not passed))


if __name__ == "__main__":
    main()
