#!/usr/bin/env python3
"""What our servers promise beyond the documents' cases, driven by an unmodified TensorFlow client: partial runs,
callables, containers, isolation, device filters, ClusterSpec propagation, control flow, strings, errors, traces.

  server_feature_cases.py --server 'build/bin/tensorfleet server'    our servers
  server_feature_cases.py --server tensorflow                        TensorFlow's own, to see that the cases are fair
  server_feature_cases.py --server ... -k partial                    only the cases whose name contains 'partial'

Needs Python 3.11 with tensorflow-cpu==2.15.1. Prints a line per case, then 'N passed, N failed'.
"""
import subprocess
import sys
import threading
import time

import numpy as np
import tf_client_cases as base
from tf_client_cases import Cluster, graph, only_ours, ref_variable, session, tf, v1
from tensorflow.core.protobuf import cluster_pb2, config_pb2

E = tf.errors
CPU = "/job:%s/replica:0/task:%d/device:CPU:0"


def raises(code, word, call):
    try:
        call()
    except code as e:
        assert word in str(e), str(e)[:600]
        return e
    raise AssertionError("no %s" % code.__name__)


def config(**kw):
    return config_pb2.ConfigProto(operation_timeout_in_ms=60000, **kw)


# --- partial runs and callables -------------------------------------------------------------------------------------

def case_partial_run_takes_feeds_in_instalments():
    with Cluster({"local": 2}) as c, graph() as g:
        a, b, d = (v1.placeholder(tf.float32, [], name=n) for n in "abd")
        r1 = a + b
        with tf.device("/job:local/task:1"):
            r2 = r1 * d
        with session(c.target("local"), g) as s:
            for _ in range(3):
                h = s.partial_run_setup([r1, r2], [a, b, d])
                assert s.partial_run(h, r1, {a: 1, b: 2}) == 3.0
                assert s.partial_run(h, r2, {d: 17}) == 51.0


def case_partial_run_refuses_misuse():
    with Cluster({"local": 1}) as c, graph() as g:
        a, b = (v1.placeholder(tf.float32, [], name=n) for n in "ab")
        r1, r2 = a + 1.0, a + b
        with session(c.target("local"), g) as s:
            h = s.partial_run_setup([r1, r2], [a, b])
            raises(E.InvalidArgumentError, "can't be computed from the feeds",
                   lambda: s.partial_run(h, r2, {a: 1}))
            h = s.partial_run_setup([r1, r2], [a, b])
            assert s.partial_run(h, r1, {a: 1}) == 2.0
            raises(E.InvalidArgumentError, "has already been fetched", lambda: s.partial_run(h, r1, {b: 1}))


def case_callables_keep_the_order_of_feeds_and_fetches():
    with Cluster({"local": 1}) as c, graph() as g:
        x, y = v1.placeholder(tf.float32, [], name="x"), v1.placeholder(tf.float32, [], name="y")
        diff, prod = x - y, x * y
        with session(c.target("local"), g) as s:
            f = s.make_callable([prod, diff], [y, x])
            assert f(2.0, 5.0) == [10.0, 3.0]
            options = config_pb2.CallableOptions(feed=["y:0", "x:0"], fetch=[prod.name, diff.name, prod.name])
            f = s._make_callable_from_options(options)
            for i in range(5):
                got = [float(v) for v in f(np.float32(2.0), np.float32(i))]
                assert got == [2.0 * i, i - 2.0, 2.0 * i], got
            del f


# --- state ----------------------------------------------------------------------------------------------------------

@only_ours
def case_containers_are_cleared_one_by_one():
    with Cluster({"local": 1}) as c, graph() as g:
        with tf.compat.v1.container("kept") if hasattr(tf.compat.v1, "container") else g.container("kept"):
            kept = ref_variable(1.0, "v_kept")
        with g.container("dropped"):
            dropped = ref_variable(2.0, "v_dropped")
        s = session(c.target("local"), g)
        s.run(v1.global_variables_initializer())
        v1.Session.reset(c.target("local"), ["dropped"])
        raises(E.AbortedError, "is not found", lambda: s.run(kept))
        with session(c.target("local"), g) as s:
            assert s.run(kept) == 1.0
            raises(E.FailedPreconditionError, "uninitialized value v_dropped", lambda: s.run(dropped))


def case_isolated_sessions_share_nothing():
    with Cluster({"local": 2}) as c, graph() as g:
        with tf.device("/job:local/task:1"):
            v = ref_variable(0.0, "v")
        add = v.assign_add(1.0)
        isolated = config(isolate_session_state=True)
        with v1.Session(c.target("local"), g, isolated) as s1, v1.Session(c.target("local"), g, isolated) as s2:
            s1.run(v1.global_variables_initializer())
            s1.run(add)
            raises(E.FailedPreconditionError, "v", lambda: s2.run(v))
            assert s1.run(v) == 1.0
        with session(c.target("local"), g) as s:
            raises(E.FailedPreconditionError, "v", lambda: s.run(v))


def case_uninitialised_resource_variables_say_so():
    with Cluster({"local": 1}) as c, graph() as g:
        v = v1.Variable(1.0, name="rv", use_resource=True)
        with session(c.target("local"), g) as s:
            raises(E.FailedPreconditionError, "Could not find variable rv", lambda: s.run(v))
            raises(E.FailedPreconditionError, "uninitialized", lambda: s.run(v))
            s.run(v.initializer)
            assert s.run(v) == 1.0


def case_random_ops_go_on_from_step_to_step():
    with Cluster({"local": 1}) as c, graph() as g:
        r = v1.random_uniform([3], seed=7)
        also = r + 0.0
        with session(c.target("local"), g) as s:
            first, second, third = s.run(r), s.run(also), s.run(r)
        assert not np.array_equal(first, second) and not np.array_equal(second, third)


# --- clusters -------------------------------------------------------------------------------------------------------

def case_device_filters_leave_out_dead_tasks():
    with Cluster({"ps": 1, "worker": 2}, start=False) as c, graph() as g:
        c.start("ps", 0)
        c.start("worker", 0)   # worker 1 never comes up
        with tf.device("/job:ps/task:0"):
            v = ref_variable(3.0, "v")
        filters = config(device_filters=["/job:ps", "/job:worker/task:0"])
        with v1.Session(c.target("worker", 0), g, filters) as s:
            s.run(v1.global_variables_initializer())
            assert s.run(v * 2.0) == 6.0
            devices = {d.name for d in s.list_devices()}
        assert devices == {CPU % ("ps", 0), CPU % ("worker", 0)}, devices


def case_cluster_spec_propagation_renames_tasks():
    with Cluster({"local": 1}) as c0, Cluster({"local": 1}) as c1, graph() as g:
        addresses = [c0.spec["local"][0], c1.spec["local"][0]]
        cluster = cluster_pb2.ClusterDef()
        job = cluster.job.add(name="renamed")
        for i, a in enumerate(addresses):
            job.tasks[i] = a
        with tf.device("/job:renamed/task:1"):
            v = ref_variable(4.0, "v")
        with tf.device("/job:renamed/task:0"):
            y = v + 1.0
        with v1.Session("grpc://" + addresses[0], g, config(cluster_def=cluster)) as s:
            s.run(v1.global_variables_initializer())
            assert s.run(y) == 5.0
            assert {d.name for d in s.list_devices()} == {CPU % ("renamed", i) for i in (0, 1)}


def case_list_devices_shows_all_tasks():
    with Cluster({"ps": 1, "worker": 1}) as c, graph() as g:
        with session(c.target("worker"), g) as s:
            devices = s.list_devices()
        assert {d.name for d in devices} == {CPU % ("ps", 0), CPU % ("worker", 0)}
        assert all(d.device_type == "CPU" and d.incarnation for d in devices)


# --- graphs ---------------------------------------------------------------------------------------------------------

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


@only_ours
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


# --- errors ---------------------------------------------------------------------------------------------------------

def case_names_that_are_not_in_the_graph():
    from tensorflow.python.client import pywrap_tf_session as c_api  # noqa: F401 (the client has the C API)
    with Cluster({"local": 1}) as c, graph() as g:
        p = v1.placeholder(tf.float32, [], name="p")
        with session(c.target("local"), g) as s:
            s.run(tf.no_op())
            raises(E.InvalidArgumentError, "You must feed a value for placeholder tensor 'p' with dtype float",
                   lambda: s.run(p + 1.0))


def case_an_error_on_one_task_ends_the_step_on_the_other():
    with Cluster({"local": 2}) as c, graph() as g:
        with tf.device("/job:local/task:1"):
            bad = tf.reshape(v1.placeholder_with_default(tf.ones([4]), [None]), [3, -1], name="bad_reshape")
        with tf.device("/job:local/task:0"):
            q = tf.queue.FIFOQueue(1, [tf.float32], [[]])
            never = q.dequeue() + tf.reduce_sum(bad)
        with session(c.target("local"), g) as s:
            t0 = time.time()
            e = raises(E.InvalidArgumentError, "bad_reshape", lambda: s.run(never))
            assert "=====" not in str(e), str(e)
            assert time.time() - t0 < 5


def case_a_step_ends_at_its_deadline():
    with Cluster({"local": 2}) as c, graph() as g:
        with tf.device("/job:local/task:1"):
            q = tf.queue.FIFOQueue(1, [tf.float32], [[]], shared_name="q")
            take, size = q.dequeue(), q.size()
        with session(c.target("local"), g) as s:
            t0 = time.time()
            raises(E.DeadlineExceededError, "", lambda: s.run(take, options=v1.RunOptions(timeout_in_ms=400)))
            assert time.time() - t0 < 5
            assert s.run(size) == 0        # and the session works on


def case_close_cancels_what_runs():
    with Cluster({"local": 1}) as c, graph() as g:
        q = tf.queue.FIFOQueue(1, [tf.float32], [[]])
        take = q.dequeue()
        s = session(c.target("local"), g)
        s.run(tf.no_op())
        seen = []

        def blocked():
            try:
                s.run(take)
            except Exception as e:  # looked at below
                seen.append(e)
        t = threading.Thread(target=blocked)
        t.start()
        time.sleep(0.5)
        s.close()
        t.join(10)
        assert not t.is_alive() and isinstance(seen[0], E.CancelledError), seen


def case_a_stopped_peer_fails_the_step():
    import signal
    with Cluster({"ps": 1, "worker": 1}) as c, graph() as g:
        with tf.device("/job:ps/task:0"):
            v = ref_variable(1.0, "v")
        with session(c.target("worker"), g, 100) as s:
            s.run(v1.global_variables_initializer())
            assert s.run(v + 0.0) == 1.0
            ps = c.procs["ps", 0]
            ps.send_signal(signal.SIGSTOP)
            t0 = time.time()
            try:
                raises((E.UnavailableError, E.AbortedError), "", lambda: s.run(v + 1.0))
                assert time.time() - t0 < 45, time.time() - t0
            finally:
                ps.send_signal(signal.SIGCONT)


def case_a_restarted_server_is_noticed():
    with Cluster({"ps": 1, "worker": 1}) as c, graph() as g:
        with tf.device("/job:ps/task:0"):
            v = ref_variable(1.0, "v")
        s = session(c.target("worker"), g)
        s.run(v1.global_variables_initializer())
        assert s.run(v) == 1.0
        c.kill("ps", 0)
        c.start("ps", 0)
        deadline = time.time() + 20
        while True:
            try:
                s.run(v)
                raise AssertionError("the old session went on")
            except E.AbortedError:
                s.close()
                break
            except E.UnavailableError:
                assert time.time() < deadline
                time.sleep(0.1)


@only_ours
def case_a_step_towards_a_killed_server_fails_at_once():
    with Cluster({"ps": 1, "worker": 1}) as c, graph() as g:
        with tf.device("/job:ps/task:0"):
            q = tf.queue.FIFOQueue(1, [tf.float32], [[]])
            never = q.dequeue()
        with tf.device("/job:worker/task:0"):
            y = never + 1.0
        with session(c.target("worker"), g) as s:
            s.run(tf.no_op())
            killed = []
            threading.Timer(0.5, lambda: (killed.append(time.time()), c.kill("ps", 0))).start()
            raises((E.UnavailableError, E.AbortedError), "/job:ps/replica:0/task:0", lambda: s.run(y))
            assert time.time() - killed[0] < 2, time.time() - killed[0]


@only_ours
def case_the_next_step_after_a_restart_is_not_far():
    with Cluster({"ps": 1, "worker": 1}) as c, graph() as g:
        with tf.device("/job:ps/task:0"):
            v = ref_variable(1.0, "v")
        init = v1.global_variables_initializer()
        s = session(c.target("worker"), g)
        s.run(init)
        assert s.run(v) == 1.0
        took = []
        for _ in range(5):
            c.kill("ps", 0)
            t0 = time.time()
            c.start("ps", 0)
            while True:
                try:
                    s.run(init)
                    assert s.run(v) == 1.0
                    break
                except (E.UnavailableError, E.AbortedError):
                    s.close()
                    s = session(c.target("worker"), g)
            took.append(time.time() - t0)
        s.close()
        assert sorted(took)[2] < 1.0, took   # 0.1 s and less on a quiet machine


# --- traces and the server itself -----------------------------------------------------------------------------------

def case_a_trace_opens_in_the_timeline():
    from tensorflow.python.client import timeline
    with Cluster({"local": 2}) as c, graph() as g:
        with tf.device("/job:local/task:1"):
            v = ref_variable(tf.ones([8]), "v")
        y = v * 2.0
        with session(c.target("local"), g) as s:
            s.run(v1.global_variables_initializer())
            md = v1.RunMetadata()
            s.run(y, options=v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE, output_partition_graphs=True),
                  run_metadata=md)
        nodes = {n.node_name: n for d in md.step_stats.dev_stats for n in d.node_stats}
        assert "RecvTensor" in nodes, sorted(nodes)
        assert "[32B]" in nodes["RecvTensor"].timeline_label, nodes["RecvTensor"].timeline_label
        trace = timeline.Timeline(md.step_stats).generate_chrome_trace_format()
        assert "mul" in trace
        assert len(md.partition_graphs) == 2
        ops = {n.op for p in md.partition_graphs for n in p.node}
        assert {"_Send", "_Recv"} <= ops or {"_HostSend", "_HostRecv"} <= ops, ops


@only_ours
def case_sigterm_drains_and_exits_with_zero():
    with Cluster({"local": 1}) as c, graph() as g:
        q = tf.queue.FIFOQueue(1, [tf.float32], [[]], shared_name="q")
        put, take = q.enqueue([1.0]), q.dequeue()
        s, seen = session(c.target("local"), g, 5), []   # (the client says goodbye for as long, to nobody)
        s.run(put)
        t = threading.Thread(target=lambda: seen.append(s.run(take)))
        t.start()
        t.join(10)
        p = c.procs["local", 0]
        p.terminate()
        assert p.wait(15) == 0 and seen == [1.0], (p.returncode, seen)


@only_ours
def case_sigterm_ends_an_idle_server_at_once():
    with Cluster({"local": 1}) as c, graph() as g:
        s = session(c.target("local"), g, 5)
        s.run(tf.no_op())
        p, t0 = c.procs["local", 0], time.time()
        p.terminate()
        assert p.wait(15) == 0
        assert time.time() - t0 < 2, time.time() - t0


@only_ours
def case_a_draining_server_finishes_the_steps_it_takes_part_in():
    with Cluster({"ps": 1, "worker": 1}) as c, graph() as g:
        with tf.device("/job:worker/task:0"):
            gate = tf.queue.FIFOQueue(1, [tf.float32], [[]], shared_name="gate")
            passed, opening = gate.dequeue(), gate.enqueue([1.0])
        with tf.device("/job:ps/task:0"):
            v = ref_variable(3.0, "v")
            with tf.control_dependencies([passed]):
                late = tf.raw_ops.Identity(input=v._ref())
        with tf.device("/job:worker/task:0"):
            y = late + 1.0
        with session(c.target("worker"), g) as s:
            s.run(v.initializer)
            s.run(opening)
            assert s.run(y) == 4.0
            seen, ps = [], c.procs["ps", 0]
            t = threading.Thread(target=lambda: seen.append(s.run(y)))
            t.start()
            time.sleep(0.5)
            ps.terminate()
            time.sleep(0.3)
            raises(E.UnavailableError, "shutting down", lambda: s.run(v.initializer))
            s.run(opening)
            t.join(10)
            assert seen == [4.0] and ps.wait(5) == 0, (seen, ps.poll())


# --- what else their users rely on -----------------------------------------------------------------------------------

def case_the_graph_grows_between_steps():
    with Cluster({"local": 1}) as c, graph() as g:
        a = tf.constant(2.0)
        with session(c.target("local"), g) as s:
            assert s.run(a) == 2.0
            for i in range(5):
                a = a * 2.0
                assert s.run(a) == 2.0 ** (i + 2)


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
            where = base.traced(s, y)
    assert any("y" in nodes for device, nodes in where.items() if "/job:ps/" in device), where


if __name__ == "__main__":
    base.main_of(globals(), __doc__)
