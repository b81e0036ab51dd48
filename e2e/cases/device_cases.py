#!/usr/bin/env python3
"""Graphs on devices through PJRT, driven by an unmodified TensorFlow client: the plug-in for CPUs stands for a GPU.

  device_cases.py --server 'build/bin/tensorfleet server'
  device_cases.py --server ... -k adam    only the cases whose name contains 'adam'

Needs the plug-ins that `./dev setup --accelerators` fetches; every case runs with each of them. Without them all is skipped,
in words. Prints a line per case, then 'N passed, N failed'.
"""
import contextlib
import glob
import pathlib
import shlex
import subprocess
import sys
import tempfile
import threading
import urllib.request

import numpy as np
import tf_client_cases
from case_tools import E, Cluster, graph, main_of, only_ours, raises, session, tf, v1
from server_cases import environment, flags

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "e2e"))
from launch import wait_until  # noqa: E402

FOLDER = ROOT / ".accelerators"
PLUGINS = [p for p in (FOLDER / "xla-cpu-pjrt/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
                       FOLDER / "lammps-jax-pjrt-cpu/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so") if p.exists()]
TASK = "/job:local/replica:0/task:%d/device:%s"


@contextlib.contextmanager
def cluster(plugin, tasks=1, devices=1):
    with environment("TENSORFLEET_PJRT_PLUGINS", "GPU=%s?cpu_device_count=%d" % (plugin, devices)):
        with Cluster({"local": tasks}) as c:
            yield c


def on_both(plugin, build, feeds=(), steps=1):
    """What build(device's name) fetches, on the CPU and on the device."""
    values = []
    with cluster(plugin) as c:
        for device in ("cpu", "gpu"):
            with graph() as g:
                with tf.device("/%s:0" % device):
                    inputs = [v1.placeholder(f.dtype, [None] * f.ndim) for f in feeds]
                    fetches, train = build(device, *inputs)
                with session(c.target("local"), g) as s:
                    s.run(v1.global_variables_initializer())
                    feed = dict(zip(inputs, feeds))
                    values.append([s.run([fetches, train], feed)[0] for _ in range(steps)])
    return values


def close(a, b, tolerance=1e-4):
    for x, y in zip(tf.nest.flatten(a), tf.nest.flatten(b)):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def each_plugin(case):
    """The case with every plug-in that is there."""
    def run():
        for plugin in PLUGINS:
            case(plugin)
    run.__name__ = case.__name__
    return only_ours("TensorFlow's own server loads no such plug-ins")(run)


@each_plugin
def case_the_device_is_listed_and_logs_where_nodes_go(plugin):
    with cluster(plugin, devices=2) as c, graph() as g:
        with tf.device("/gpu:1"):
            x = v1.placeholder(tf.float32, [None, 3], name="x")
            y = tf.matmul(x, tf.ones([3, 2]), name="y")
        with session(c.target("local"), g) as s:
            names = [d.name for d in s.list_devices()]
            assert names == [TASK % (0, "CPU:0"), TASK % (0, "GPU:0"), TASK % (0, "GPU:1")], names
            np.testing.assert_allclose(s.run(y, {x: np.ones([4, 3])}), np.full([4, 2], 3.0))


@each_plugin
def case_a_device_that_is_not_there_is_an_error(plugin):
    with cluster(plugin) as c, graph() as g:
        with tf.device("/gpu:1"):
            y = tf.constant([1.0]) + 1.0
        with session(c.target("local"), g) as s:
            raises(E.InvalidArgumentError, "GPU:1", lambda: s.run(y))


@each_plugin
def case_a_mix_of_what_compiles_and_what_does_not(plugin):
    def build(device, x):
        hidden = tf.nn.relu(x * 2.0 - 1.0)
        where = tf.where(hidden > 0.5)              # its shape depends on values: on the host
        picked = tf.gather_nd(hidden, where)
        ordered = tf.sort(picked)
        text = tf.strings.length(tf.constant("abc")) if device == "cpu" else tf.constant(3)
        return [ordered * 3.0, tf.reduce_sum(hidden), tf.shape(hidden), tf.cast(text, tf.float32) + hidden], tf.no_op()
    x = np.random.RandomState(0).rand(5, 7).astype("f")
    a, b = on_both(plugin, build, [x])
    close(a, b)


@each_plugin
def case_branches_and_loops(plugin):
    def build(device, x):
        branch = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.exp(x) + 1.0, lambda: tf.sin(x) - 1.0)
        other = tf.cond(tf.reduce_sum(x) < 0.0, lambda: tf.exp(x) + 1.0, lambda: tf.sin(x) - 1.0)
        loop = tf.while_loop(lambda i, t: i < 5, lambda i, t: (i + 1, tf.tanh(t * 1.5) + x), [0, x])[1]
        return [branch, other, loop, tf.gradients(loop, x)[0]], tf.no_op()
    x = np.random.RandomState(0).rand(3, 4).astype("f")
    for functional in (False, True):
        with functional_control_flow(functional):
            a, b = on_both(plugin, build, [x])
        close(a, b)


@contextlib.contextmanager
def functional_control_flow(functional=True):
    """Branches and loops as If and While instead of Switch and NextIteration."""
    if functional:
        v1.enable_control_flow_v2()
    try:
        yield
    finally:
        v1.disable_control_flow_v2()


@each_plugin
def case_a_functional_loop_is_one_launch(plugin):
    port = tf_client_cases.free_ports(1)[0]
    with flags("--metrics_port %d" % port), cluster(plugin) as c, graph() as g, functional_control_flow():
        with tf.device("/gpu:0"):
            x = v1.placeholder(tf.float32, [None])
            y = tf.while_loop(lambda i, t: i < 200, lambda i, t: (i + 1, tf.cos(t) + x), [0, x])[1]
        with session(c.target("local"), g) as s:
            feed = {x: np.linspace(0, 1, 16).astype("f")}
            s.run(y, feed)
            names = ("launches_total", "host_runs_total")
            before = metrics(port, *names)
            for _ in range(5):
                s.run(y, feed)
            launches, on_host = metrics(port, *names) - before
            assert launches == 5 and on_host == 0, (launches, on_host)


@each_plugin
def case_functional_loops_and_branches_change_variables(plugin):
    def build(device, x):
        v = v1.get_variable("v" + device, initializer=tf.zeros([4]), use_resource=True)
        w = v1.get_variable("w" + device, initializer=tf.ones([4]), use_resource=True)

        def body(i, t):
            added = v.assign_add(t, read_value=False)
            with tf.control_dependencies([added]):
                return i + 1, tf.tanh(t + v.read_value())
        loop = tf.while_loop(lambda i, t: i < 3, body, [0, x])[1]
        with tf.control_dependencies([loop]):
            branch = tf.cond(tf.reduce_sum(v) > 1.0, lambda: tf.identity(w.assign(v * 2.0)), lambda: w + 1.0)
        with tf.control_dependencies([branch]):
            return [loop, branch, v.read_value(), w.read_value()], tf.no_op()
    x = np.linspace(-0.1, 0.2, 4).astype("f")
    with functional_control_flow():
        a, b = on_both(plugin, build, [x], steps=4)
    close(a, b)


@each_plugin
def case_a_functional_loop_whose_shapes_change(plugin):
    def build(device, x):
        return tf.while_loop(lambda i, t: i < 4, lambda i, t: (i + 1, tf.concat([t, t + 1.0], 0)), [0, x],
                             shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])[1], tf.no_op()
    with functional_control_flow():
        a, b = on_both(plugin, build, [np.ones(2, "f")])
    close(a, b)


@each_plugin
def case_what_a_kernel_refuses_in_a_functional_loop(plugin):
    with cluster(plugin) as c, graph() as g, functional_control_flow():
        with tf.device("/gpu:0"):
            x = v1.placeholder(tf.float32, [None])
            links = v1.placeholder(tf.int32, [None])
            v = v1.get_variable("v", initializer=tf.zeros([]), use_resource=True)

            def body(at, t):
                with tf.control_dependencies([v.assign_add(1.0, read_value=False)]):
                    return tf.gather(links, at), t + tf.gather(x, at)
            y = tf.while_loop(lambda at, t: at > 0, body, [1, 0.0])[1]
        with session(c.target("local"), g) as s:
            s.run(v.initializer)
            feed = {x: [1.0, 2.0, 4.0], links: [0, 2, 0]}
            assert s.run(y, feed) == 6.0 and s.run(v) == 2.0
            raises(E.InvalidArgumentError, "indices", lambda: s.run(y, {x: [1.0, 2.0, 4.0], links: [0, 2, 7]}))
            s.run(v.initializer)
            assert s.run(y, feed) == 6.0 and s.run(v) == 2.0


def mlp(optimizer, use_resource):
    rng = np.random.RandomState(0)
    w1, w2 = (rng.randn(784, 64) * 0.05).astype("f"), (rng.randn(64, 10) * 0.05).astype("f")

    def build(device, x, y):
        def variable(name, value):
            return v1.get_variable(name + device, initializer=tf.constant(value), use_resource=use_resource)
        weights = [variable("w1", w1), variable("b1", np.zeros(64, "f")), variable("w2", w2),
                   variable("b2", np.zeros(10, "f"))]
        h = tf.nn.relu(tf.matmul(x, weights[0]) + weights[1])
        logits = tf.matmul(h, weights[2]) + weights[3]
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        return loss, optimizer().minimize(loss)
    return build


@each_plugin
def case_training_in_place_gives_what_the_cpu_gives(plugin):
    rng = np.random.RandomState(1)
    x, y = rng.rand(32, 784).astype("f"), rng.randint(0, 10, 32).astype("i")
    train = v1.train
    for use_resource, optimizer in (
            (True, lambda: train.GradientDescentOptimizer(0.1)), (False, lambda: train.GradientDescentOptimizer(0.1)),
            (True, lambda: train.MomentumOptimizer(0.05, 0.9, use_nesterov=True)),
            (False, lambda: train.MomentumOptimizer(0.05, 0.9)),
            (True, lambda: train.AdamOptimizer(0.001)), (False, lambda: train.AdamOptimizer(0.001)),
            (True, lambda: train.RMSPropOptimizer(0.001, momentum=0.5)), (False, lambda: train.AdagradOptimizer(0.05)),
            (True, lambda: train.AdadeltaOptimizer(0.5))):
        a, b = on_both(plugin, mlp(optimizer, use_resource), [x, y], steps=8)
        assert a[-1] < a[0], a
        close(a, b, 2e-3)


def metrics(port, *names):
    """Counters of the server about its devices."""
    with urllib.request.urlopen("http://localhost:%d/metrics" % port, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    values = {line.split()[0]: float(line.split()[1]) for line in lines if line.startswith("tensorfleet_device_")}
    return np.array([values["tensorfleet_device_" + name] for name in names])


@each_plugin
def case_a_training_step_is_a_few_launches_and_copies_its_feeds_only(plugin):
    port = tf_client_cases.free_ports(1)[0]
    rng = np.random.RandomState(1)
    x, y = rng.rand(32, 784).astype("f"), rng.randint(0, 10, 32).astype("i")
    with flags("--metrics_port %d" % port), cluster(plugin) as c, graph() as g:
        with tf.device("/gpu:0"):
            images, labels = v1.placeholder(tf.float32, [None, 784]), v1.placeholder(tf.int32, [None])
            loss, train = mlp(lambda: v1.train.AdamOptimizer(0.001), True)("gpu", images, labels)
        with session(c.target("local"), g) as s:
            s.run(v1.global_variables_initializer())
            feeds = {images: x, labels: y}
            for _ in range(2):
                s.run([loss, train], feeds)
            names = ("launches_total", "copies_to_device_total", "copies_to_host_total", "host_runs_total",
                     "programs_compiled_total", "variables_doubled_total")
            before = metrics(port, *names)
            for _ in range(5):
                s.run([loss, train], feeds)
            launches, to_device, to_host, on_host, compiled, doubled = metrics(port, *names) - before
            assert 5 <= launches <= 15 and to_device == 10 and to_host == 5, (launches, to_device, to_host)
            assert on_host == compiled == doubled == 0, (on_host, compiled, doubled)


@each_plugin
def case_a_server_that_starts_anew_loads_what_was_compiled(plugin):
    port = tf_client_cases.free_ports(1)[0]
    rng = np.random.RandomState(1)
    x, y = rng.rand(32, 784).astype("f"), rng.randint(0, 10, 32).astype("i")
    losses, counted = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            with flags("--metrics_port %d --compile_cache %s/programs" % (port, folder)), cluster(plugin) as c, graph() as g:
                with tf.device("/gpu:0"):
                    images, labels = v1.placeholder(tf.float32, [None, 784]), v1.placeholder(tf.int32, [None])
                    loss, train = mlp(lambda: v1.train.AdamOptimizer(0.001), True)("gpu", images, labels)
                with session(c.target("local"), g) as s:
                    s.run(v1.global_variables_initializer())
                    losses.append([s.run([loss, train], {images: x, labels: y})[0] for _ in range(3)])
                    counted.append(metrics(port, "programs_compiled_total", "programs_loaded_total"))
                    # A program is kept after its first users have it.
                    wait_until(lambda n=counted[-1].sum(): len(glob.glob(folder + "/programs/*.program")) == n, 30, "kept programs")
    np.testing.assert_array_equal(losses[0], losses[1])
    assert losses[0][2] < losses[0][0], losses
    (compiled, before), (again, loaded) = counted
    assert compiled > 0 and before == 0 and again == 0 and loaded == compiled, counted


@each_plugin
def case_a_convolutional_net_with_other_batch_sizes(plugin):
    rng = np.random.RandomState(2)
    f1, f2 = (rng.randn(3, 3, 1, 8) * 0.2).astype("f"), (rng.randn(288, 10) * 0.1).astype("f")

    def build(device, x, y):
        c = v1.get_variable("c" + device, initializer=tf.constant(f1))
        d = v1.get_variable("d" + device, initializer=tf.constant(f2))
        h = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, c, 1, "SAME")), 2, 2, "VALID")
        logits = tf.matmul(tf.reshape(h, [-1, 288]), d)
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits))
        return [loss, c, d], v1.train.GradientDescentOptimizer(0.1).minimize(loss)
    for batch in (8, 3):
        x = rng.rand(batch, 12, 12, 1).astype("f")
        y = np.eye(10, dtype="f")[rng.randint(0, 10, batch)]
        a, b = on_both(plugin, build, [x, y], steps=3)
        close(a[0][0], b[0][0])
        close(a[-1][0], b[-1][0], 1e-3)


@each_plugin
def case_embeddings_with_sparse_gradients_train_as_on_the_cpu(plugin):
    rng = np.random.RandomState(3)
    table, w = (rng.randn(50, 8) * 0.3).astype("f"), (rng.randn(8, 5) * 0.3).astype("f")
    ids, y = rng.randint(0, 50, (12, 4)).astype("i"), rng.randint(0, 5, 12).astype("i")
    train = v1.train

    def net(optimizer, use_resource):
        def build(device, x, labels):
            e = v1.get_variable("e" + device, initializer=tf.constant(table), use_resource=use_resource)
            dense = v1.get_variable("w" + device, initializer=tf.constant(w), use_resource=use_resource)
            logits = tf.matmul(tf.reduce_mean(tf.nn.embedding_lookup(e, x), 1), dense)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
            return [loss, e], optimizer().minimize(loss)
        return build
    for optimizer in (lambda: train.GradientDescentOptimizer(0.5), lambda: train.AdagradOptimizer(0.3),
                      lambda: train.MomentumOptimizer(0.2, 0.9), lambda: train.AdamOptimizer(0.02),
                      lambda: train.RMSPropOptimizer(0.01), lambda: train.FtrlOptimizer(0.3),
                      lambda: train.AdadeltaOptimizer(0.5)):
        for use_resource in (True, False):
            a, b = on_both(plugin, net(optimizer, use_resource), [ids, y], steps=4)
            for x, z in zip(a, b):
                close(x, z, 1e-4)


@each_plugin
def case_what_a_kernel_refuses_is_refused_and_changes_nothing(plugin):
    with cluster(plugin) as c, graph() as g:
        with tf.device("/gpu:0"):
            ids, divisor = v1.placeholder(tf.int32, [None]), v1.placeholder(tf.int32, [])
            for use_resource in (True, False):
                v = v1.get_variable("v%d" % use_resource, initializer=tf.ones([6, 2]), use_resource=use_resource)
                dense = v1.get_variable("d%d" % use_resource, initializer=tf.ones([2]), use_resource=use_resource)
                rows = tf.gather(v, ids, name="rows")
#The update of another variable, in the same launch, waits for the verdict too.
                update = v1.assign_add(dense, tf.reduce_sum(rows, 0))
                scatter = v1.scatter_add(v, ids, tf.ones([1, 2]) * tf.reduce_sum(rows))
                divided = tf.cast(ids // divisor, tf.float32) * tf.reduce_sum(dense)
                with session(c.target("local"), g) as s:
                    s.run([v.initializer, dense.initializer])
                    for _ in range(2):
                        raises(E.InvalidArgumentError, "indices[0] = 6 is not in [0, 6)",
                               lambda: s.run([update, scatter], {
  ids:
    [6]}))
                        raises(E.InvalidArgumentError, "Integer division by zero",
                               lambda: s.run(divided, {ids: [1], divisor: 0}))
                        np.testing.assert_array_equal(s.run(dense), np.ones([2]))
                        np.testing.assert_array_equal(s.run(v), np.ones([6, 2]))
                    np.testing.assert_array_equal(s.run(divided, {ids: [-7], divisor: 2}), [-8.0])
                    s.run(update, {ids: [5]})
                    np.testing.assert_array_equal(s.run(dense), np.full([2], 2.0))


@each_plugin
def case_random_numbers_are_those_of_the_cpu_step_after_step(plugin):
    def build(device):
        def draws(seed):
            return [tf.random.uniform([3, 5], seed=seed), tf.random.normal([7], seed=seed + 1),
                    tf.random.truncated_normal([33], seed=seed + 2),
                    tf.random.uniform([4], 0, 1000, tf.int32, seed=seed + 3),
                    tf.random.stateless_normal([6], [1, 2]), tf.nn.dropout(tf.ones([20]), rate=0.4, seed=seed + 4)]
        v1.set_random_seed(7)
        return [x * 1 for x in draws(10)], tf.no_op()
    a, b = on_both(plugin, build, steps=3)
    assert not np.array_equal(a[0][0], a[1][0])
    for x, y in zip(a, b):
        close(x, y, 1e-5)


@each_plugin
def case_batch_normalisation_trains_as_on_the_cpu(plugin):
    x = np.random.RandomState(4).rand(6, 5, 5, 3).astype("f") * 2 + 1

    def build(device, image):
        scale = v1.get_variable("s" + device, initializer=tf.constant([1.0, 2.0, 0.5]))
        offset = v1.get_variable("o" + device, initializer=tf.zeros([3]))
        y, mean, variance = v1.nn.fused_batch_norm(image, scale, offset, is_training=True, epsilon=1e-3)
        loss = tf.reduce_mean(tf.square(y - tf.sin(image)))
        train = v1.train.GradientDescentOptimizer(0.2).minimize(loss)
        with tf.control_dependencies([train]):
            return [loss, mean, variance, scale.read_value(), offset.read_value()], train
    a, b = on_both(plugin, build, [x], steps=4)
    for p, q in zip(a, b):
        close(p, q, 1e-3)


@each_plugin
def case_variables_are_read_saved_and_changed_by_ops_of_both_kinds(plugin):
    with cluster(plugin) as c, graph() as g:
        with tf.device("/gpu:0"):
            for use_resource in (True, False):
                v = v1.get_variable("v%d" % use_resource, initializer=tf.ones([4, 2]), use_resource=use_resource)
                grow = v1.assign_add(v, tf.exp(tf.zeros([4, 2])))     # compiled
                row = v1.scatter_update(v, [1], [[9.0, 9.0]])         # on the host
                with session(c.target("local"), g) as s:
                    raises(E.FailedPreconditionError, "", lambda: s.run(tf.identity(v) * 1.0))
                    s.run(v.initializer)
                    for _ in range(3):
                        s.run(grow)
                    np.testing.assert_array_equal(s.run(v), np.full([4, 2], 4.0))
                    s.run(row)
                    s.run(grow)
                    want = np.full([4, 2], 5.0)
                    want[1] = 10.0
                    np.testing.assert_array_equal(s.run(v * 1.0), want)


@each_plugin
def case_values_cross_tasks_and_devices(plugin):
    with cluster(plugin, tasks=2, devices=2) as c, graph() as g:
        x = v1.placeholder(tf.float32, [None])
        with tf.device("/job:local/task:0/device:GPU:1"):
            a = tf.exp(x)
        with tf.device("/job:local/task:1/device:GPU:0"):
            b = a * 2.0 + 1.0
        with tf.device("/job:local/task:0/device:GPU:0"):
            d = tf.sqrt(b + a)
        with session(c.target("local"), g) as s:
            value = np.linspace(0, 1, 1000).astype("f")
            np.testing.assert_allclose(s.run(d, {x: value}), np.sqrt(3 * np.exp(value) + 1), rtol=1e-5)


@each_plugin
def case_steps_at_the_same_time_lose_no_update(plugin):
    with cluster(plugin) as c, graph() as g:
        with tf.device("/gpu:0"):
            v = v1.get_variable("v", initializer=tf.zeros([64]), use_resource=True)
            add = v1.assign_add(v, tf.cos(tf.zeros([64])))
            scatter = tf.raw_ops.ResourceScatterAdd(resource=v.handle, indices=[0], updates=[1.0])
        with session(c.target("local"), g) as s:
            s.run(v.initializer)
            threads = [threading.Thread(target=lambda op=op: [s.run(op) for _ in range(25)])
                       for op in (add, add, scatter, scatter)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            want = np.full([64], 50.0)
            want[0] = 100.0
            np.testing.assert_array_equal(s.run(v), want)


@only_ours("TensorFlow's own server loads no such plug-ins")
def case_a_plugin_that_cannot_be_loaded_is_said_at_the_start():
    done = subprocess.run(shlex.split(tf_client_cases.SERVER) + ["--pjrt", "GPU=/nowhere.so", "--bind", "localhost:1"], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 1 and "/nowhere.so" in done.stderr, done


if __name__ == "__main__":
    if not PLUGINS:
        print("skipped: there are no plug-ins in %s; ./dev setup --accelerators fetches them" % FOLDER)
        sys.exit(0)
    main_of(globals(), __doc__)
