#!/usr/bin/env python3
"""What a server says of itself and of steps: traces, logs, metrics, health.

  server_cases.py --server 'build/bin/tensorfleet server'    our servers
  server_cases.py --server tensorflow    TensorFlow's own, to see that the cases are fair
  server_cases.py --server ... -k trace    only the cases whose name contains 'trace'

Needs Python 3.11 with tensorflow-cpu==2.15.1. Prints a line per case, then 'N passed, N failed'.
"""
import contextlib
import os
import re
import tempfile
import time
import urllib.request

import grpc
from case_tools import E, Cluster, base, config, graph, main_of, only_ours, raises, ref_variable, session, tf, v1
from tensorflow.core.protobuf import tensorflow_server_pb2


@contextlib.contextmanager
def flags(text):
    """Servers that are started inside get these flags too."""
    before, base.SERVER = base.SERVER, base.SERVER + " " + text
    try:
        yield
    finally:
        base.SERVER = before


@contextlib.contextmanager
def environment(name, value):
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]


def seen(read, text, seconds=10):
    """What read() gives once it has `text`: a server's log comes when it comes."""
    deadline = time.time() + seconds
    while text not in read():
        assert time.time() < deadline, read()[-1500:]
        time.sleep(0.05)
    return read()


# --- traces ---------------------------------------------------------------------------------------------------------

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


def case_log_device_placement_names_every_node():
    with Cluster({"ps": 1, "worker": 1}) as c, graph() as g:
        with tf.device("/job:ps/task:0"):
            a = v1.placeholder(tf.float32, [], name="a")
        with tf.device("/job:worker/task:0"):
            y = tf.negative(a, name="y")
        with v1.Session(c.target("worker"), g, config(log_device_placement=True)) as s:
            assert s.run(y, {a: 1.0}) == -1.0
        log = seen(lambda: c.log("worker", 0), "y: (Neg): /job:worker/replica:0/task:0/device:CPU:0")
        assert "a: (Placeholder): /job:ps/replica:0/task:0/device:CPU:0" in log, log[-1500:]
        assert "y: (Neg)" not in c.log("ps", 0)       # said by the master, and by it only


# --- the server itself ----------------------------------------------------------------------------------------------

@only_ours("it has no metrics")
def case_metrics_say_what_happened():
    port = base.free_ports(1)[0]
    with Cluster({"ps": 1, "worker": 1}, start=False) as c, graph() as g:
        c.start("ps", 0)
        with flags("--metrics_port %d" % port):
            c.start("worker", 0)
        with tf.device("/job:ps/task:0"):
            v = ref_variable(tf.ones([1000]), "v")
        with tf.device("/job:worker/task:0"):
            y = tf.reduce_sum(v)
            q = tf.queue.FIFOQueue(8, [tf.float32], [[]], shared_name="batches")
            put, take = q.enqueue_many([[1.0, 2.0, 3.0]]), q.dequeue()
        with session(c.target("worker"), g) as s:
            s.run(v.initializer)
            assert s.run(y) == 1000.0
            s.run([put])
            s.run(take)

            def page():
                with urllib.request.urlopen("http://localhost:%d/metrics" % port, timeout=10) as response:
                    assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4"), response.headers
                    return response.read().decode()
            text = page()
        value = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line[:1] != "#"}
        assert value["tensorfleet_step_seconds_count"] >= 4 and value["tensorfleet_sessions"] == 1, text
        edge = 'tensorfleet_received_bytes_total{src="/job:ps/replica:0/task:0",dst="/job:worker/replica:0/task:0"}'
        assert value[edge] >= 4000, text
        assert value['tensorfleet_queue_elements{queue="batches",kind="FIFOQueue"}'] == 2, text
        assert value['tensorfleet_queue_capacity{queue="batches",kind="FIFOQueue"}'] == 8, text


@only_ours("it has neither")
def case_health_and_reflection_answer():
    with Cluster({"local": 1}) as c:
        with grpc.insecure_channel(c.spec["local"][0]) as channel:
            grpc.channel_ready_future(channel).result(30)
            raw = {"request_serializer": bytes, "response_deserializer": bytes}
            health = channel.unary_unary("/grpc.health.v1.Health/Check", **raw)
            assert health(b"", timeout=10) == b"\x08\x01"                            # SERVING
            reflection = channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", **raw)
            listed = next(reflection(iter([b"\x3a\x01*"]), timeout=10))               # list_services
            for service in (b"tensorflow.MasterService", b"tensorflow.WorkerService", b"grpc.health.v1.Health"):
                assert service in listed, listed


@only_ours("it is a Python object, not a program with files and flags")
def case_a_server_def_says_who_the_server_is_and_what_its_sessions_want():
    port = base.free_ports(1)[0]
    definition = tensorflow_server_pb2.ServerDef(job_name="solo", task_index=0, protocol="grpc")
    definition.cluster.job.add(name="solo").tasks[0] = "localhost:%d" % port
    definition.default_session_config.allow_soft_placement = True
    with tempfile.NamedTemporaryFile() as file:
        file.write(definition.SerializeToString())
        file.flush()
        # TF_CONFIG is set too (by Cluster); the file wins.
        with environment("TF_SERVER_DEF_FILE", file.name), Cluster({"local": 1}) as c, graph() as g:
            with tf.device("/job:solo/task:0/device:GPU:0"):
                y = tf.constant(2.0) * 3.0
            with session("grpc://localhost:%d" % port, g) as s:
                assert s.run(y) == 6.0                                                # on the CPU, since that is allowed
            assert "solo" in seen(lambda: c.log("local", 0), "Started server with target")
    with Cluster({"local": 1}) as c, graph() as g:
        with tf.device("/job:local/task:0/device:GPU:0"):
            y = tf.constant(2.0) * 3.0
        with session(c.target("local"), g) as s:
            raises(E.InvalidArgumentError, "GPU:0", lambda: s.run(y))


@only_ours("the flag is ours")
def case_the_master_task_may_take_what_is_unplaced():
    with flags("--default_placement=master-task"), Cluster({"ps": 1, "worker": 1}) as c, graph() as g:
        y = tf.identity(v1.placeholder_with_default(tf.constant(1.0), []), name="y")
        with session(c.target("worker"), g) as s:
            where = base.traced(s, y)
    assert any("y" in nodes for device, nodes in where.items() if "/job:worker/" in device), where


@only_ours("the flag is ours")
def case_everything_unplaced_may_go_to_task_0_of_the_first_job():
    with flags("--default_placement=first-job"), Cluster({"ps": 1, "worker": 1}) as c, graph() as g:
        y = tf.identity(v1.placeholder_with_default(tf.constant(1.0), []), name="y")
        with session(c.target("worker"), g) as s:
            where = base.traced(s, y)
    assert any("y" in nodes for device, nodes in where.items() if "/job:ps/" in device), where


@only_ours("the flag is ours")
def case_ports_may_be_mapped():
    inside, outside = base.free_ports(2)
    with Cluster({"local": 1}, start=False) as c, graph() as g:
        c.spec["local"] = ["localhost:%d" % outside]
        with flags("--bind localhost:%d" % inside):
            c.start("local", 0)
        with session("grpc://localhost:%d" % inside, g) as s:
            assert s.run(tf.constant(4.0) + 1.0) == 5.0
        assert "localhost:%d" % outside in c.log("local", 0)


def several_cpus(c, target):
    """Four CPU devices: listed, placed on, traced, each with variables of its own."""
    with graph() as g:
        x = v1.placeholder(tf.float32, [], name="x")
        with tf.device("/cpu:3"):
            v = base.ref_variable(5.0, "v")
            y = tf.add(x, v, name="y")
        with tf.device("/cpu:1"):
            z = tf.multiply(y, 2.0, name="z")
        with session(target, g) as s:
            assert [d.name[-5:] for d in s.list_devices()] == ["CPU:%d" % i for i in range(4)]
            s.run(v.initializer)
            assert s.run(z, {x: 1.0}) == 12.0
            md = v1.RunMetadata()
            s.run(z, {x: 1.0}, options=v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), run_metadata=md)
            nodes = {d.device[-5:]: [n.node_name for n in d.node_stats] for d in md.step_stats.dev_stats}
            assert "y" in nodes["CPU:3"] and "z" in nodes["CPU:1"], nodes
    with graph() as g, tf.device("/cpu:4"):
        with session(target, g) as s:
            raises(E.InvalidArgumentError, "CPU:4", lambda: s.run(tf.constant(1.0)))


@only_ours("the flag is ours")
def case_a_task_may_have_several_cpu_devices():
    with flags("--cpu_devices=4"), Cluster({"local": 1}) as c:
        several_cpus(c, c.target("local"))


@only_ours("it is a Python object, not a program with files and flags")
def case_a_server_def_says_how_many_cpu_devices():
    port = base.free_ports(1)[0]
    definition = tensorflow_server_pb2.ServerDef(job_name="local", task_index=0, protocol="grpc")
    definition.cluster.job.add(name="local").tasks[0] = "localhost:%d" % port
    definition.default_session_config.device_count["CPU"] = 4
    with tempfile.NamedTemporaryFile() as file:
        file.write(definition.SerializeToString())
        file.flush()
        with environment("TF_SERVER_DEF_FILE", file.name), Cluster({"local": 1}) as c:
            several_cpus(c, "grpc://localhost:%d" % port)


@only_ours("its log is another")
def case_without_a_gpu_no_gpu_is_listed():
    with Cluster({"local": 1}) as c, graph() as g:
        with session(c.target("local"), g) as s:
            s.run(tf.no_op())
        log = c.log("local", 0)
    gpus = re.findall(r"GPU (\d+): ", log)
    assert gpus == [str(i) for i in range(len(gpus))], log
    assert os.path.exists("/dev/nvidia0") or not gpus, log
    assert "error" not in log.lower(), log


if __name__ == "__main__":
    main_of(globals(), __doc__)
