#!/usr/bin/env python3
"""Clients that ask for more than there is: steps that no memory could hold, loops over rows that are not there, and what
`tensorfleet server --max_... --forbid_ops` allows. The server says no and goes on serving.

  limit_cases.py --server 'build/bin/tensorfleet server'

Not for TensorFlow's servers: most of these end them.
"""
import contextlib
import os
import re
import threading
import time
import urllib.request

import tf_client_cases as base
from case_tools import E, Cluster, graph, main_of, raises, session, tf, v1

GIB = 1 << 30


def n(value):
    """`value`, which is not known before the step runs: no constant to be folded."""
    zero = tf.cast(tf.random.uniform([], 0.0, 0.5), tf.int32)
    return tf.constant(value) + zero


@contextlib.contextmanager
def server(*flags, address_space=0):
    """One server with these flags, in so much address space; gives its target and its process."""
    plain = base.SERVER
    prefix = "prlimit --as=%d " % address_space if address_space else ""
    base.SERVER = prefix + plain + "".join(" " + flag for flag in flags)
    try:
        with Cluster({"local": 1}) as cluster:
            yield cluster.target("local"), cluster.procs["local", 0]
    finally:
        base.SERVER = plain


def still_serves(target):
    with graph() as g:
        y = tf.constant([1.0, 2.0]) * 3.0
        with session(target, g) as s:
            assert list(s.run(y)) == [3.0, 6.0]


def peak_bytes(process):
    with open("/proc/%d/status" % process.pid) as f:
        return int(re.search(r"VmHWM:\s+(\d+) kB", f.read()).group(1)) << 10


def refused(target, build, code=(E.ResourceExhaustedError, E.InvalidArgumentError), word="", seconds=60):
    """The step that `build` describes fails with one of these errors."""
    with graph() as g:
        fetch = build()
        with session(target, g, seconds) as s:
            try:
                s.run(fetch)
            except code as error:
                assert word in str(error), str(error)[:600]
                return
    raise AssertionError("not refused")


def empty_rows(rows, dtype=tf.float32):
    """A tensor of shape [rows, 0], which takes no memory."""
    return tf.reshape(v1.placeholder_with_default(tf.zeros([0], dtype), [None]), tf.constant([rows, 0], tf.int64))


def case_loops_over_rows_that_are_not_there():
    with server(address_space=6 * GIB) as (target, process):
        ask_for_empty_rows(target)
        still_serves(target)
        assert process.poll() is None
        assert peak_bytes(process) < 2 * GIB


def ask_for_empty_rows(target):
    refused(target, lambda: tf.gather_nd(v1.placeholder_with_default(tf.zeros([3]), [None]), empty_rows(1 << 32, tf.int32)))
    refused(target, lambda: tf.raw_ops.ScatterNd(indices=tf.constant([[0]], tf.int64), updates=tf.zeros([1, 0]),
                                                 shape=v1.placeholder_with_default(tf.constant([1 << 40, 0], tf.int64), [2])))
    refused(target, lambda: tf.raw_ops.UniqueV2(x=empty_rows(1 << 40), axis=[0]).idx)

    def enqueue():
        queue = tf.queue.FIFOQueue(-1, [tf.float32], [[0]])
        return queue.enqueue_many([empty_rows(1 << 40)])
    refused(target, enqueue)


def case_allocations_that_fail():
    """One after the other, each more than is left: as the tensors of a step, and as what a kernel works with."""
    with server(address_space=6 * GIB) as (target, process):
        refused(target, lambda: tf.reduce_sum(tf.fill(n([40000, 50000]), 1.0)), E.ResourceExhaustedError)
        refused(target, lambda: tf.unique(tf.range(n(500_000_000)))[1], E.ResourceExhaustedError)
        refused(target, lambda: tf.strings.as_string(tf.range(n(400_000_000))), E.ResourceExhaustedError)
        refused(target, lambda: tf.where(tf.fill(n([1_000_000_000]), True)), E.ResourceExhaustedError)
        still_serves(target)
        assert process.poll() is None


def case_loops_nested_without_end():
    with server(address_space=6 * GIB) as (target, process):
        def nest():
            x = tf.constant(1.0)
            for i in range(5_000):
                x = tf.raw_ops.Enter(data=x, frame_name="f%d" % i)
            for i in range(5_000):
                x = tf.raw_ops.Exit(data=x)
            return x
        refused(target, nest, E.ResourceExhaustedError, "nested in more than")
        still_serves(target)
        assert process.poll() is None


def case_error_texts_with_bytes_that_are_no_characters():
    with server() as (target, _):
        def read():
            return tf.io.read_file(v1.placeholder_with_default(tf.constant(b"/no/such/\xff\xfe\x80 file"), []))
        refused(target, read, E.NotFoundError, "\\xff\\xfe\\x80 file")
        refused(target, lambda: tf.strings.to_number(v1.placeholder_with_default(tf.constant(b"\xc3\x28"), [])),
                E.InvalidArgumentError, "\\xc3(")
        still_serves(target)


def case_a_deadline_that_passes_in_a_kernel():
    """The client is told while the kernel still runs, and the kernel ends long before its work is done."""
    with server() as (target, process):
        with graph() as g:
            side = 12_000
            x = tf.fill(n([side, side]), 1e-3)
            for _ in range(400):
                x = tf.matmul(x, x)
            with session(target, g) as s:
                raises(E.DeadlineExceededError, "", lambda: s.run(x.op, options=v1.RunOptions(timeout_in_ms=3000)))
        still_serves(target)
        deadline = time.time() + 60
        while time.time() < deadline:      # the processor is given back
            used = cpu_seconds(process)
            time.sleep(1)
            if cpu_seconds(process) - used < 0.2:
                break
        else:
            raise AssertionError("the kernels of a step that was given up go on")


def cpu_seconds(process):
    with open("/proc/%d/stat" % process.pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def case_bytes_of_a_tensor_a_step_and_a_session():
    with server("--max_tensor_bytes 1MiB") as (target, _):
        refused(target, lambda: tf.fill(n([300_000]), 1.0), E.ResourceExhaustedError, "limit of 1048576 bytes for one tensor")
        still_serves(target)
    with server("--max_step_bytes 8MiB") as (target, _):
        def pieces(count):
            return lambda: tf.add_n([tf.reduce_sum(tf.concat([tf.fill(n([250_000 + i]), 1.0) for i in range(count)], 0))])
        refused(target, pieces(9), E.ResourceExhaustedError, "its limit is 8388608")
        with graph() as g, session(target, g) as s:
            fetch = pieces(3)()
        with session(target, g) as s:
            for _ in range(20):     # what a step has held is free again
                assert s.run(fetch) > 0
    with server("--max_session_bytes 4MiB") as (target, _):
        with graph() as g:
            variables = [v1.Variable(tf.fill(n([250_000]), float(i)), shape=tf.TensorShape(None), use_resource=True) for i in range(8)]
            with session(target, g) as s:
                raises(E.ResourceExhaustedError, "session", lambda: [s.run(v.initializer) for v in variables])
        still_serves(target)


def case_counts_of_nodes_sessions_and_steps():
    with server("--max_graph_nodes 100 --max_sessions 2 --max_steps 1") as (target, _):
        def chain():
            x = tf.constant(1.0)
            for _ in range(200):
                x = tf.negative(x)
            return x
        refused(target, chain, E.ResourceExhaustedError, "--max_graph_nodes")
        with graph() as g:
            queue = tf.queue.FIFOQueue(1, [tf.float32], [[]], shared_name="q")
            take, one = queue.dequeue(), tf.constant(1.0)
            with session(target, g) as first, session(target, g) as second:
                first.run(one)
                second.run(one)
                raises(E.ResourceExhaustedError, "--max_sessions", lambda: session(target, g).run(one))
                waiting = threading.Thread(target=lambda: first.run(take))
                waiting.start()
                while True:     # until the waiting step has begun
                    try:
                        second.run(one)
                    except E.ResourceExhaustedError as error:
                        assert "--max_steps" in str(error), error
                        break
                first.close()
                waiting.join()


def case_ops_that_are_forbidden():
    with server("--forbid_ops files,MatMul") as (target, _):
        word = "place it on another server"
        refused(target, lambda: tf.io.read_file("/etc/hostname"), E.PermissionDeniedError, word)
        refused(target, lambda: tf.io.write_file("/tmp/x", "y"), E.PermissionDeniedError, "--forbid_ops=files")
        refused(target, lambda: tf.matmul([[1.0]], [[1.0]]), E.PermissionDeniedError, "is a MatMul")

        @tf.function
        def hidden(x):
            return tf.io.read_file(x)
        refused(target, lambda: hidden(tf.constant("/etc/hostname")), E.PermissionDeniedError, "of function")
        still_serves(target)


def case_metrics_tell_what_was_refused():
    port = base.free_ports(1)[0]
    with server("--max_graph_nodes 20 --forbid_ops ReadFile --max_tensor_bytes 1MiB --metrics_port %d" % port) as (target, _):
        refused(target, lambda: tf.fill(n([300_000]), 1.0), E.ResourceExhaustedError)
        refused(target, lambda: tf.io.read_file("x"), E.PermissionDeniedError)
        refused(target, lambda: tf.add_n([tf.constant(float(i)) for i in range(30)]), E.ResourceExhaustedError)
        text = urllib.request.urlopen("http://localhost:%d/metrics" % port, timeout=20).read().decode()
        values = dict(re.findall(r"^(tensorfleet_\w+) (\d+)$", text, re.M))
        assert int(values["tensorfleet_tensors_refused_total"]) >= 1, text
        assert values["tensorfleet_refused_ops_total"] == "1", text
        assert values["tensorfleet_refused_over_limit_total"] == "1", text
        assert values["tensorfleet_tensor_bytes_limit"] == str(1 << 20), text
        assert values["tensorfleet_steps_running"] == "0", text


if __name__ == "__main__":
    main_of(globals(), __doc__)
