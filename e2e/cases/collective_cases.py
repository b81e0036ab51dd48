#!/usr/bin/env python3
"""Collectives over servers and devices, driven by unmodified clients: each worker has a client, a session and a master of its
own, as in MultiWorkerMirroredStrategy, and groups mix these servers with TensorFlow's.

  collective_cases.py --server 'build/bin/tensorfleet server'    our servers
  collective_cases.py --server tensorflow    TensorFlow's own, to see that the cases are fair

Needs Python 3.11 with tensorflow-cpu==2.15.1. Prints a line per case, then 'N passed, N failed'.
"""
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.ops import collective_ops

from case_tools import CPU, E, Cluster, base, config, graph, main_of, only_ours, raises, session, tf, v1

LEADER = "/job:worker/replica:0/task:0"
THEIRS = """
import json, os, tensorflow as tf
from tensorflow.core.protobuf import config_pb2
c = json.loads(os.environ["TF_CONFIG"])
config = config_pb2.ConfigProto(experimental=config_pb2.ConfigProto.Experimental(collective_group_leader="%s"))
config.device_count["CPU"] = int(os.environ.get("CPU_DEVICES", "1"))
tf.distribute.Server(tf.train.ClusterSpec(c["cluster"]), c["task"]["type"], c["task"]["index"], config=config).join()
""" % LEADER


class Workers(Cluster):
    """Servers of one job; those in `theirs` are TensorFlow's."""

    def __init__(self, count, theirs=(), cpu_devices=1):
        self.theirs, self.cpu_devices = theirs, cpu_devices
        super().__init__({"worker": count})

    def start(self, job, index):
        ours, script = base.SERVER, base.TF_SERVER
        try:
            base.TF_SERVER = THEIRS
            os.environ["CPU_DEVICES"] = str(self.cpu_devices)
            if index in self.theirs:
                base.SERVER = "tensorflow"
            elif ours != "tensorflow":
                base.SERVER = "%s --cpu_devices %d" % (ours, self.cpu_devices)
            super().start(job, index)
        finally:
            base.SERVER, base.TF_SERVER = ours, script
            del os.environ["CPU_DEVICES"]

    def session(self, index, g, **experimental):
        experimental.setdefault("collective_group_leader", LEADER)
        settings = config(device_filters=["/job:worker/task:%d" % index],
                          experimental=config_pb2.ConfigProto.Experimental(**experimental))
        return v1.Session(self.target("worker", index), graph=g, config=settings)


def each(cluster, count, build, steps=1, **experimental):
    """What every worker's client fetches in each of its steps: build(worker) gives the fetches and the feeds of a step."""
    results, errors = [None] * count, []

    def client(index):
        try:
            with graph() as g, g.device(CPU % ("worker", index)):
                fetches, feeds = build(index)
            with cluster.session(index, g, **experimental) as s:
                results[index] = [s.run(fetches, feeds(step)) for step in range(steps)]
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=client, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]
    return results


def value(shape, dtype, worker):
    """Small whole numbers, so that every order of adding them gives the same in every type."""
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 23 + worker + 1).astype(tf.as_dtype(dtype).as_numpy_dtype)


def reductions(count, shapes=((), (1,), (32,), (7, 5), (1000,), (700, 1000))):
    """Fetches of every type, size and way to merge, and what they must be."""
    def build(worker):
        fetches, instance = {}, 0
        for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.int32, tf.int64):
            for merge, final in (("Add", "Id"), ("Add", "Div"), ("Min", "Id"), ("Max", "Id"), ("Mul", "Id")):
                for shape in shapes if (dtype, merge) == (tf.float32, "Add") else ((9,),):
                    instance += 1
                    x = tf.constant(value(shape, dtype, worker))
                    fetches[dtype.name, merge, final, shape] = collective_ops.all_reduce(x, count, 1, instance, merge, final)
        return fetches, lambda step: {}

    def expected(key):
        dtype, merge, final, shape = key
        parts = [value(shape, dtype, w).astype(np.float64) for w in range(count)]
        whole = {"Add": sum, "Min": np.minimum.reduce, "Max": np.maximum.reduce, "Mul": np.multiply.reduce}[merge](parts)
        if final == "Div":
            whole = whole / count if "float" in dtype else np.trunc(whole / count)
        return whole.astype(tf.as_dtype(dtype).as_numpy_dtype)
    return build, expected


def check_reductions(cluster, count):
    build, expected = reductions(count)
    for worker in each(cluster, count, build, steps=2):
        for fetched in worker:
            for key, got in fetched.items():
                want = expected(key)
                assert got.dtype == want.dtype and got.shape == want.shape and (got == want).all(), (key, got, want)


def check_others(cluster, count):
    """Gather and broadcast."""
    def build(worker):
        x = tf.constant(value((3, 2), tf.float32, worker))
        gathered = collective_ops.all_gather(x, count, 1, 1000)
        sent = value((1000,), tf.int32, 40)
        if worker == 1:
            broadcast = collective_ops.broadcast_send(tf.constant(sent), sent.shape, tf.int32, count, 1, 1001)
        else:
            broadcast = collective_ops.broadcast_recv(sent.shape, tf.int32, count, 1, 1001)
        return (gathered, broadcast), lambda step: {}

    for worker in each(cluster, count, build, steps=2):
        for gathered, broadcast in worker:
            assert (gathered == np.concatenate([value((3, 2), tf.float32, w) for w in range(count)])).all(), gathered
            assert (broadcast == value((1000,), tf.int32, 40)).all(), broadcast


def case_two_workers_reduce_in_every_type():
    with Workers(2) as c:
        check_reductions(c, 2)


def case_three_workers_gather_and_broadcast():
    with Workers(3) as c:
        check_others(c, 3)


@only_ours("its own servers are the whole group there")
def case_a_group_mixes_ours_with_tensorflows_led_by_ours():
    with Workers(3, theirs=(1,)) as c:
        check_reductions(c, 3)
        check_others(c, 3)


@only_ours("its own servers are the whole group there")
def case_a_group_mixes_ours_with_tensorflows_led_by_it():
    with Workers(3, theirs=(0, 2)) as c:
        check_reductions(c, 3)
        check_others(c, 3)


def case_ops_of_the_second_version_take_their_keys_as_inputs():
    def build(worker):
        x = tf.constant(value((4, 3), tf.float32, worker))
        reduced = collective_ops.all_reduce_v2(x, 2, 3, 1, "Add", "Id")
        gathered = collective_ops.all_gather_v2(x, 2, 3, 2)
        if worker == 0:
            broadcast = collective_ops.broadcast_send_v2(x, 2, 3, 3)
        else:
            broadcast = collective_ops.broadcast_recv_v2([4, 3], tf.float32, 2, 3, 3)
        return (reduced, gathered, broadcast), lambda step: {}

    parts = [value((4, 3), tf.float32, w) for w in range(2)]
    with Workers(2) as c:
        for worker in each(c, 2, build, steps=3):
            for reduced, gathered, broadcast in worker:
                assert (reduced == parts[0] + parts[1]).all()
                assert (gathered == np.concatenate(parts)).all()
                assert (broadcast == parts[0]).all()


def meeting(c, workers=2):
    """A session for each worker with the reduction that it fetches; all have met once."""
    sessions = []
    for worker in range(workers):
        with graph() as g, g.device(CPU % ("worker", worker)):
            summed = collective_ops.all_reduce(tf.ones([3]), workers, 9, 1, "Add", "Id")
        sessions.append((c.session(worker, g), summed))
    threads = [threading.Thread(target=s.run, args=(summed,)) for s, summed in sessions]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return sessions


@only_ours("it waits for ever")
def case_a_worker_that_dies_fails_the_others_by_name():
    with Workers(2) as c:
        (s, summed), (t, _) = meeting(c)
        killer = threading.Timer(1, lambda: c.kill("worker", 1))
        killer.start()
        raises(E.UnavailableError, "task:1", lambda: s.run(summed))
        killer.join()
        raises(E.UnavailableError, "task:1", lambda: s.run(summed))
        s.close()
        c.start("worker", 1)    # closing a session waits for its server
        raises(E.AbortedError, "is not found", t.close)


@only_ours("it waits for ever")
def case_a_worker_that_stops_fails_the_others_by_name():
    with Workers(2) as c:
        (s, summed), (t, other) = meeting(c)
        c.procs["worker", 1].send_signal(signal.SIGSTOP)
        try:
            start = time.time()
            raises(E.UnavailableError, "task:1", lambda: s.run(summed))
            assert time.time() - start < 8, time.time() - start
        finally:
            c.procs["worker", 1].send_signal(signal.SIGCONT)
        # It goes on as if nothing had been.
        again = threading.Thread(target=until_ok, args=(t, other))
        again.start()
        assert (until_ok(s, summed) == 2).all()
        again.join()
        s.close()
        t.close()


def until_ok(s, fetch):
    for _ in range(100):
        try:
            return s.run(fetch)
        except E.UnavailableError:
            time.sleep(0.05)
    raise AssertionError("it never worked")


@only_ours("what has restarted never finds into a group again")
def case_a_worker_that_restarts_finds_its_place_in_the_group():
    with Workers(2) as c:
        for index in (1, 0):    # a follower, then the leader
            sessions = meeting(c)
            c.kill("worker", index)
            c.start("worker", index)
            with graph() as g, g.device(CPU % ("worker", index)):
                summed = collective_ops.all_reduce(tf.ones([3]), 2, 9, 1, "Add", "Id")
            sessions[index] = (c.session(index, g), summed)
            results = [None, None]

            def run(worker):
                results[worker] = until_ok(*sessions[worker])
            threads = [threading.Thread(target=run, args=(worker,)) for worker in range(2)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            assert all(r is not None and (r == 2).all() for r in results), results
            for s, _ in sessions:
                s.close()


# --- algorithms -------------------------------------------------------------------------------------------------------

def case_results_are_the_same_bits_everywhere_and_every_time_whatever_the_size():
    for count, sizes in ((4, (1, 5, 1000, 20_000, 600_000)), (3, (1, 20_000)), (2, (1, 20_000, 2_000_000))):
        def build(worker):
            random = np.random.RandomState(worker)
            feeds = {}
            sums = []
            for instance, n in enumerate(sizes, 1):
                x = v1.placeholder(tf.float32, [n])
                feeds[x] = random.uniform(-1, 1, n).astype(np.float32)
                sums.append(collective_ops.all_reduce(x, count, 1, instance, "Add", "Div"))
            return sums, lambda step: feeds
        with Workers(count) as c:
            results = each(c, count, build, steps=2)
        randoms = [np.random.RandomState(worker) for worker in range(count)]
        for i, n in enumerate(sizes):
            mean = sum(random.uniform(-1, 1, n).astype(np.float32).astype(np.float64) for random in randoms) / count
            assert np.allclose(results[0][0][i], mean, atol=1e-6), (count, n)
            for steps in results:
                for step in steps:
                    assert step[i].tobytes() == results[0][0][i].tobytes(), (count, n)


# --- strategies -----------------------------------------------------------------------------------------------------

BATCH = np.arange(24, dtype=np.float32).reshape(8, 3) / 10
TARGETS = (BATCH.sum(axis=1, keepdims=True) * 2 - 1).astype(np.float32)
STEPS = 5


def alone():
    """The weights after each step of one device on the whole batch."""
    w, seen = np.zeros((3, 1), np.float64), []
    for _ in range(STEPS):
        w -= 0.1 * 2 * BATCH.T @ (BATCH @ w - TARGETS) / len(BATCH)
        seen.append(w.copy())
    return seen


def case_mirrored_strategy_over_cpu_devices_is_one_device_on_the_whole_batch():
    for cross_device in (None, tf.distribute.ReductionToOneDevice(), tf.distribute.HierarchicalCopyAllReduce(), "collectives"):
        with Workers(1, cpu_devices=2) as c, graph() as g:
            devices = ["/job:worker/replica:0/task:0/device:CPU:%d" % i for i in range(2)]
            if cross_device == "collectives":
                train, read = replicas_with_collectives(devices)
            else:
                train, read = mirrored(devices, cross_device)
            with c.session(0, g) as s:
                s.run(v1.global_variables_initializer())
                for expected in alone():
                    s.run(train)
                    for w in s.run(read):
                        assert np.allclose(w, expected, rtol=1e-5, atol=1e-6), (cross_device, w, expected)


def mirrored(devices, cross_device):
    return replicated(tf.distribute.MirroredStrategy(devices, cross_device_ops=cross_device))


def replicated(strategy):
    """The training step of all replicas, each with its share of the batch, and what reads the weights."""
    count = strategy.num_replicas_in_sync
    with strategy.scope():
        w = v1.get_variable("w", initializer=np.zeros((3, 1), np.float32), use_resource=True)
        optimizer = v1.train.GradientDescentOptimizer(0.1)

    def step():
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        x, y = (tf.gather(tf.reshape(t, [count, len(BATCH) // count, -1]), replica) for t in (BATCH, TARGETS))
        loss = tf.reduce_sum((x @ w - y) ** 2) / len(BATCH)
        return optimizer.minimize(loss)

    with strategy.scope():
        train = strategy.experimental_local_results(strategy.run(step))
    return train, [v.read_value() for v in strategy.experimental_local_results(w)]


def replicas_with_collectives(devices):
    """The same by hand, with a gradient that the replicas reduce themselves."""
    train, read = [], []
    for i, device in enumerate(devices):
        with tf.device(device):
            w = v1.get_variable("w%d" % i, initializer=np.zeros((3, 1), np.float32), use_resource=True)
            x, y = (tf.constant(t.reshape(2, 4, -1)[i]) for t in (BATCH, TARGETS))
            gradient = 2 * tf.transpose(x) @ (x @ w - y) / 4
            mean = collective_ops.all_reduce(gradient, 2, 5, 1, "Add", "Div")
            train.append(w.assign_sub(0.1 * mean).op)
            read.append(w.read_value())
    return train, read


def case_one_device_and_central_storage_strategies_are_one_device_on_the_whole_batch():
    """One keeps variables and work on one device; the other keeps variables on a device that neither replica is on."""
    devices = ["/job:worker/replica:0/task:0/device:CPU:%d" % i for i in range(3)]
    for make in (lambda: v1.distribute.OneDeviceStrategy(devices[1]),
                 lambda: v1.distribute.experimental.CentralStorageStrategy(devices[:2], devices[2])):
        with Workers(1, cpu_devices=3) as c, graph() as g:
            strategy = make()
            train, read = replicated(strategy)
            where = [v.device for v in v1.global_variables()]
            assert where == [devices[1 if strategy.num_replicas_in_sync == 1 else 2]], where
            with c.session(0, g) as s:
                s.run(v1.global_variables_initializer())
                for expected in alone():
                    s.run(train)
                    for w in s.run(read):
                        assert np.allclose(w, expected, rtol=1e-5, atol=1e-6), (strategy, w, expected)


MULTI_WORKER = """
import json, os, sys
sys.path.insert(0, %r)
import collective_cases as cases
cases.multi_worker(sys.argv[1])
""" % os.path.dirname(os.path.abspath(__file__))


def multi_worker(target):
    """One worker's program; TF_CONFIG says which."""
    index = tf.distribute.cluster_resolver.TFConfigClusterResolver().task_id
    with graph() as g:
        strategy = v1.distribute.experimental.MultiWorkerMirroredStrategy()
        with strategy.scope():
            w = v1.get_variable("w", initializer=np.full((3, 1), 7.0 * index, np.float32), use_resource=True)
            optimizer = v1.train.GradientDescentOptimizer(0.1)

        def step():
            x, y = (tf.constant(t.reshape(2, 4, -1)[index]) for t in (BATCH, TARGETS))
            loss = tf.reduce_sum((x @ w - y) ** 2) / len(BATCH)
            return optimizer.minimize(loss)

        with strategy.scope():
            train = strategy.experimental_local_results(strategy.run(step))
        read = strategy.experimental_local_results(w)[0].read_value()
        settings = strategy.update_config_proto(config())
        with v1.Session(target, graph=g, config=settings) as s:
            s.run(v1.global_variables_initializer())
            weights = [s.run(read)]     # those of the first worker: the initial value is broadcast
            for _ in range(STEPS):
                s.run(train)
                weights.append(s.run(read))
    print("WEIGHTS", json.dumps(np.array(weights).ravel().tolist()), flush=True)


def case_multi_worker_mirrored_strategy_is_one_device_on_the_whole_batch():
    with Workers(2) as c:
        programs = [subprocess.Popen([sys.executable, "-c", MULTI_WORKER, c.target("worker", i)], stdout=subprocess.PIPE,
                                     env=dict(os.environ, TF_CONFIG=json.dumps(
                                         {"cluster": c.spec, "task": {"type": "worker", "index": i}})))
                    for i in range(2)]
        try:
            outputs = [p.communicate(timeout=180)[0].decode() for p in programs]
        finally:
            for p in programs:
                p.kill()
    expected = np.array([np.zeros((3, 1))] + alone()).ravel()
    weights = [json.loads(o.split("WEIGHTS", 1)[1]) for o in outputs]
    assert weights[0] == weights[1], weights
    assert np.allclose(weights[0], expected, rtol=1e-5, atol=1e-6), (weights[0], expected)


if __name__ == "__main__":
    main_of(globals(), __doc__)
