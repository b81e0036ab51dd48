#!/usr/bin/env python3
"""Sessions on our servers, driven by an unmodified TensorFlow client: partial runs, callables, containers, isolation,
device filters, ClusterSpec propagation, graphs that grow.

  session_cases.py --server 'build/bin/tensorfleet server'    our servers
  session_cases.py --server tensorflow    TensorFlow's own, to see that the cases are fair
  session_cases.py --server ... -k partial    only the cases whose name contains 'partial'

Needs Python 3.11 with tensorflow-cpu==2.15.1. Prints a line per case, then 'N passed, N failed'.
"""
import numpy as np
from case_tools import CPU, E, Cluster, base, config, graph, main_of, only_ours, raises, ref_variable, session, tf, v1
from tensorflow.core.protobuf import cluster_pb2, config_pb2

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


@only_ours("it cannot parse its own answer then")
def case_a_callable_may_fetch_a_tensor_twice():
    with Cluster({"local": 1}) as c, graph() as g:
        x, y = v1.placeholder(tf.float32, [], name="x"), v1.placeholder(tf.float32, [], name="y")
        diff, prod = x - y, x * y
        with session(c.target("local"), g) as s:
            options = config_pb2.CallableOptions(feed=["y:0", "x:0"], fetch=[prod.name, diff.name, prod.name])
            f = s._make_callable_from_options(options)
            for i in range(5):
                got = [float(v) for v in f(np.float32(2.0), np.float32(i))]
                assert got == [2.0 * i, i - 2.0, 2.0 * i], got
            del f


# --- state ----------------------------------------------------------------------------------------------------------

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


@only_ours("it puts what is unplaced on the task that is asked")
def case_unplaced_state_goes_to_task_0_of_the_first_job_and_the_rest_where_it_costs_least():
    with Cluster({"ps": 1, "worker": 1}) as c, graph() as g:
        v = ref_variable(1.0, "v")
        on_its_input = tf.negative(v, name="on_its_input")
        x = v1.placeholder(tf.float32, [], name="x")
        where_asked = tf.multiply(x, on_its_input, name="where_asked")
        with session(c.target("worker"), g) as s:
            s.run(v1.global_variables_initializer())
            metadata = v1.RunMetadata()
            assert s.run(where_asked, {x: 3.0}, v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), metadata) == -3.0
    where = {n.node_name: d.device for d in metadata.step_stats.dev_stats for n in d.node_stats}
    ps, worker = (CPU % (job, 0) for job in ("ps", "worker"))
    assert (where["v"], where["on_its_input"], where["where_asked"]) == (ps, ps, worker), where


if __name__ == "__main__":
    main_of(globals(), __doc__)
