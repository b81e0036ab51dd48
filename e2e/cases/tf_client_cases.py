#!/usr/bin/env python3
"""The documents' cases, driven by an unmodified TensorFlow client against servers in processes of their own.

  tf_client_cases.py --server 'build/bin/tensorfleet server'    our servers
  tf_client_cases.py --server tensorflow                                TensorFlow's own, to see that the cases are fair
  tf_client_cases.py --server ... -k trace                              only the cases whose name contains 'trace'

A server command is started once per task with TF_CONFIG in its environment and must serve on its task's address.
Needs Python 3.11 with tensorflow-cpu==2.15.1. Prints a line per case, then 'N passed, N failed'.
"""
import argparse, contextlib, json, os, shlex, socket, subprocess, sys, tempfile, textwrap, threading, time, traceback
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf
v1 = tf.compat.v1
v1.disable_eager_execution()
v1.logging.set_verbosity(v1.logging.ERROR)

SERVER = None
TF_SERVER = textwrap.dedent("""
    import json, os, tensorflow as tf
    c = json.loads(os.environ["TF_CONFIG"])
    tf.compat.v1.train.Server(c["cluster"], c["task"]["type"], c["task"]["index"]).join()
""")


def free_ports(n):
    socks = [socket.socket() for _ in range(n)]
    for s in socks:
        s.bind(("localhost", 0))
    ports = [s.getsockname()[1] for s in socks]
    for s in socks:
        s.close()
    return ports


class Cluster:
    """Servers of one cluster as processes; `jobs` maps a job's name to its number of tasks."""

    def __init__(self, jobs, start=True):
        ports = iter(free_ports(sum(jobs.values())))
        self.spec = {j: ["localhost:%d" % next(ports) for _ in range(n)] for j, n in jobs.items()}
        self.procs, self.logs = {}, {}
        if start:
            for j, n in jobs.items():
                for i in range(n):
                    self.start(j, i)

    def start(self, job, index):
        env = dict(os.environ, TF_CONFIG=json.dumps({"cluster": self.spec, "task": {"type": job, "index": index}}),
                   TF_CPP_MIN_LOG_LEVEL="0")
        cmd = [sys.executable, "-c", TF_SERVER] if SERVER == "tensorflow" else shlex.split(SERVER)
        log = tempfile.NamedTemporaryFile("w+", suffix=".%s%d.log" % (job, index), delete=False)
        self.logs[job, index] = log.name
        self.procs[job, index] = subprocess.Popen(cmd, env=env, stdout=log, stderr=subprocess.STDOUT)

    def kill(self, job, index):
        p = self.procs.pop((job, index))
        p.kill()
        p.wait()

    def log(self, job, index):
        with open(self.logs[job, index], errors="replace") as f:
            return f.read()

    def target(self, job, index=0):
        return "grpc://" + self.spec[job][index]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for p in self.procs.values():
            p.terminate()
        for p in self.procs.values():
            try:
                p.wait(5)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()


@contextlib.contextmanager
def graph():
    with tf.Graph().as_default() as g:
        yield g


def only_ours(case):
    """TensorFlow 2.15 puts what is unplaced on the task of the server that is asked. The documents' version, and so
    ours, puts it on task 0 of the first job, whichever server is asked: that is what makes variables shared."""
    case.only_ours = "it puts what is unplaced on the task that is asked"
    return case


def session(target, g=None, seconds=60):
    return v1.Session(target, graph=g, config=v1.ConfigProto(operation_timeout_in_ms=int(seconds * 1000)))


def ref_variable(value, name, **kw):
    return v1.Variable(value, name=name, use_resource=False, **kw)


def traced(sess, fetch):
    md = v1.RunMetadata()
    sess.run(fetch, options=v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), run_metadata=md)
    return {d.device: [n.node_name for n in d.node_stats] for d in md.step_stats.dev_stats}


# --- document 000 -----------------------------------------------------------------------------------------------

def case_random_matrices_across_two_tasks():
    with Cluster({"local": 2}) as c, graph() as g:
        with tf.device("/job:local/task:0"):
            mats = [v1.random_normal([25, 25]) for _ in range(2)]
        with tf.device("/job:local/task:1"):
            total = tf.add_n([tf.reduce_sum(m) for m in mats])
        with session(c.target("local", 1), g) as s:
            got = np.array([s.run(total) for _ in range(400)])
    assert len(set(got.tolist())) > 390, "values repeat"
    assert abs(got.mean()) < 6 * 35.36 / 20, got.mean()
    assert 30 < got.std() < 41, got.std()


def case_server_log_names_peers_target_and_session():
    with Cluster({"local": 2}) as c, graph() as g:
        with session(c.target("local", 1), g) as s:
            s.run(tf.no_op())
        log = c.log("local", 1)
    if SERVER == "tensorflow":
        return  # TensorFlow 2.15 no longer logs all three lines
    assert "Started server with target: grpc://" in log, log[-800:]
    assert "Start master session" in log, log[-800:]
    assert all(a in log for a in c.spec["local"]), log[-800:]


# --- document 001 -----------------------------------------------------------------------------------------------

def case_constants_on_ps_multiplied_by_two_workers():
    with Cluster({"ps": 1, "worker": 2}) as c, graph() as g:
        with tf.device("/job:ps/task:0"):
            a, b = tf.constant(3.0, dtype=tf.float32), tf.constant(4.0)
        y0, y1 = tf.multiply(a, b), tf.multiply(tf.constant(10.0), b)
        init = v1.global_variables_initializer()
        for i, (y, want) in enumerate(((y0, 12.0), (y1, 40.0))):
            with session(c.target("worker", i), g) as s:
                s.run(init)
                assert s.run(y) == want


# --- document 002 -----------------------------------------------------------------------------------------------

def case_model_on_ps_1_trained_from_worker_1():
    rng = np.random.RandomState(0)
    xs = rng.rand(64, 8).astype("f")
    ys = (xs @ rng.rand(8, 1)).astype("f")
    with Cluster({"ps": 2, "worker": 2}) as c, graph() as g:
        with tf.device("/job:ps/task:1"):
            w1 = ref_variable(tf.random.truncated_normal([8, 16], stddev=0.3, seed=1), "w1")
            b1 = ref_variable(tf.zeros([16]), "b1")
            w2 = ref_variable(tf.random.truncated_normal([16, 1], stddev=0.3, seed=2), "w2")
        with tf.device("/job:worker/task:1"):
            layer = tf.nn.relu(tf.matmul(xs, w1) + b1)
            loss = tf.reduce_mean(tf.square(tf.matmul(layer, w2) - ys), name="loss")
            train = v1.train.GradientDescentOptimizer(0.05).minimize(loss)
        with session(c.target("worker", 1), g) as s:
            s.run(v1.global_variables_initializer())
            first = s.run(loss)
            for _ in range(100):
                s.run(train)
            assert s.run(loss) < first / 5, (first, s.run(loss))
            where = traced(s, train)
    names = {d: " ".join(n) for d, n in where.items()}
    assert any("/job:ps/replica:0/task:1/" in d and "w1" in n for d, n in names.items()), names
    assert any("/job:worker/replica:0/task:1/" in d and "MatMul" in n for d, n in names.items()), names


# --- document 003 -----------------------------------------------------------------------------------------------

def case_first_server_waits_for_the_second():
    with Cluster({"local": 2}, start=False) as c, graph() as g:
        c.start("local", 0)
        late = threading.Timer(3, lambda: c.start("local", 1))
        late.start()
        t0 = time.time()
        with session(c.target("local", 0), g) as s:
            s.run(tf.no_op())
        waited = time.time() - t0
        late.join()
        assert waited > 2.5, waited
        if SERVER != "tensorflow":  # (there it is said on standard error, with a delay of ten seconds)
            assert "/job:local/replica:0/task:1" in c.log("local", 0), c.log("local", 0)[-800:]


@only_ours
def case_variables_shared_by_two_servers():
    for resource in (False, True):
        with Cluster({"local": 2}) as c, graph() as g:
            var = v1.Variable(0.0, name="variable", use_resource=resource)
            add = var.assign_add(1.0)
            s1, s2 = session(c.target("local", 0), g), session(c.target("local", 1), g)
            s1.run(v1.global_variables_initializer())
            s2.run(v1.global_variables_initializer())
            assert (s1.run(var), s2.run(var)) == (0.0, 0.0)
            s1.run(add)
            assert (s1.run(var), s2.run(var)) == (1.0, 1.0)
            s1.close()
            assert s2.run(var) == 1.0  # state outlives the session that wrote it
            s2.close()


# --- document 004 -----------------------------------------------------------------------------------------------

def case_hello_string():
    with Cluster({"local": 1}) as c, graph() as g:
        k = tf.constant("Hello, Distributed TensorFlow!")
        with session(c.target("local"), g) as s:
            assert s.run(k) == b"Hello, Distributed TensorFlow!"


@only_ours
def case_trace_shows_placement():
    with Cluster({"local": 2}) as c, graph() as g:
        var = ref_variable(0.0, "var")
        inc = var.assign_add(1.0)
        with tf.device("/job:local/task:0"):
            var1 = ref_variable(0.0, "var1")
        with tf.device("/job:local/task:1"):
            var2 = ref_variable(0.0, "var2")
        s1, s2 = session(c.target("local", 0), g), session(c.target("local", 1), g)
        s1.run(v1.global_variables_initializer())
        d0, d1 = ("/job:local/replica:0/task:%d/device:CPU:0" % i for i in (0, 1))

        def where(s, fetch, node):
            t = traced(s, fetch)
            return {d for d, names in t.items() if any(n == node for n in names)}
        assert where(s1, var, "var") == {d0}
        assert where(s2, var, "var") == {d0}      # an unplaced variable lives on task 0, whoever asks
        assert where(s1, inc, inc.op.name) == {d0}
        assert where(s1, var1, "var1") == {d0}
        assert where(s1, var2, "var2") == {d1}
        assert where(s2, var2, "var2") == {d1}
        assert where(s2, var1, "var1") == {d0}
        t = traced(s2, var)
        if SERVER != "tensorflow":
            assert all("_SOURCE" in names for names in t.values()) and d0 in t, t
        s1.close()
        s2.close()


@only_ours
def case_two_graphs_share_a_variable_by_name():
    with Cluster({"local": 2}) as c:
        g1, g2 = tf.Graph(), tf.Graph()
        with g1.as_default():
            var1 = ref_variable(0.0, "var")
            set1 = var1.assign(1.0)
        assert [o.type for o in g1.get_operations()][:4] == ["Const", "VariableV2", "Assign", "Identity"]
        s1, s2 = session(c.target("local", 0), g1), session(c.target("local", 1), g2)
        with g2.as_default():
            var2 = ref_variable(0.0, "var")      # added after the session was opened: the graph is extended
        s1.run(set1)
        assert s2.run(var2) == 1.0
        s1.close()
        s2.close()


@only_ours
def case_wait_until_another_client_initialises():
    with Cluster({"local": 2}) as c:
        def build():
            g = tf.Graph()
            with g.as_default():
                ref_variable(0.0, "var")
                return g, v1.report_uninitialized_variables(), v1.global_variables_initializer()
        (ga, reporta, _), (gb, _, initb) = build(), build()
        with session(c.target("local", 0), ga) as sa, session(c.target("local", 1), gb) as sb:
            assert sa.run(reporta).tolist() == [b"var"]
            threading.Timer(1.0, lambda: sb.run(initb)).start()
            for _ in range(100):
                if not len(sa.run(reporta)):
                    break
                time.sleep(0.05)
            else:
                raise AssertionError("never initialised")


PS_EXAMPLE = textwrap.dedent("""
    import os, sys, time
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    v1 = tf.compat.v1; v1.disable_eager_execution()
    role, target = sys.argv[1:]
    with tf.device("/job:ps/task:0"):
        var = v1.Variable(0.0, name="var", use_resource=False)
    report, init, inc = v1.report_uninitialized_variables(), v1.global_variables_initializer(), var.assign_add(1.0)
    s = v1.Session(target)
    s.run(report)
    if role == "ps":
        s.run(init)
        seen = []
        while not seen or seen[-1] < 10 and len(seen) < 400:
            seen.append(float(s.run(var))); time.sleep(0.05)
        assert seen == sorted(seen), seen
        time.sleep(0.3)
        print("final", float(s.run(var)))
    else:
        while len(s.run(report)): time.sleep(0.05)
        for _ in range(5):
            s.run(inc); time.sleep(0.1)
""")


def case_ps_and_two_workers_as_processes():
    with Cluster({"worker": 2, "ps": 1}) as c:
        roles = [("ps", c.target("ps")), ("worker", c.target("worker", 0)), ("worker", c.target("worker", 1))]
        ps = [subprocess.Popen([sys.executable, "-c", PS_EXAMPLE, *r], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True) for r in roles]
        out = [p.communicate(timeout=90)[0] for p in ps]
    assert [p.returncode for p in ps] == [0, 0, 0], out
    assert "final 10.0" in out[0], out


def case_in_graph_and_between_graph_replication_agree():
    rng = np.random.RandomState(3)
    xs = rng.rand(2, 32, 4).astype("f")
    ys = (xs @ rng.rand(4, 1)).astype("f")

    def loss_of(i, w):
        return tf.reduce_mean(tf.square(tf.matmul(xs[i], w) - ys[i]))
    with Cluster({"ps": 1, "worker": 2}) as c, graph() as g:   # in-graph: one client, a tower per worker
        with tf.device("/job:ps/task:0"):
            w = ref_variable(tf.zeros([4, 1]), "w")
        towers = []
        for i in range(2):
            with tf.device("/job:worker/task:%d" % i):
                towers.append(tf.gradients(loss_of(i, w), w)[0])
        with tf.device("/job:ps/task:0"):
            train = w.assign_sub(0.1 * (towers[0] + towers[1]) / 2)
        with session(c.target("worker", 0), g) as s:
            s.run(v1.global_variables_initializer())
            for _ in range(300):
                s.run(train)
            in_graph = s.run(loss_of(0, w) + loss_of(1, w))
    with Cluster({"ps": 1, "worker": 2}) as c:                 # between-graph: a client per worker, turn by turn
        clients = []
        for i in range(2):
            g = tf.Graph()
            with g.as_default():
                with tf.device("/job:ps/task:0"):
                    w = ref_variable(tf.zeros([4, 1]), "w")
                with tf.device("/job:worker/task:%d" % i):
                    mine = loss_of(i, w)
                    train = v1.train.GradientDescentOptimizer(0.05).minimize(mine)
                both = loss_of(0, w) + loss_of(1, w)
                clients.append((session(c.target("worker", i), g), train, both, v1.global_variables_initializer()))
        clients[0][0].run(clients[0][3])
        for _ in range(300):
            for s, train, _, _ in clients:
                s.run(train)
        between = clients[0][0].run(clients[0][2])
        for s, *_ in clients:
            s.close()
    assert abs(in_graph - between) < 0.02 * max(1.0, in_graph), (in_graph, between)


# --- what their readers would try next ----------------------------------------------------------------------------

def case_errors_reach_the_client_with_their_code():
    E = tf.errors
    with Cluster({"local": 2}) as c, graph() as g:
        x = v1.placeholder(tf.float32, [None, 2], name="x")
        y = tf.matmul(x, tf.ones([2, 2]), name="y")
        with tf.device("/job:local/task:1"):
            bad = v1.Print(tf.reshape(x, [3, -1]), [x], name="bad")
        v = ref_variable(1.0, "never_initialised")
        with session(c.target("local", 0), g) as s:
            for fetch, feed, code, word in ((y, {}, E.InvalidArgumentError, "x"),
                                            (bad, {x: np.ones([2, 2])}, E.InvalidArgumentError, "bad"),
                                            (v, {}, E.FailedPreconditionError, "never_initialised")):
                try:
                    s.run(fetch, feed)
                    raise AssertionError("no error for %s" % fetch.name)
                except code as e:
                    assert word in str(e), str(e)[:300]
            assert s.run(y, {x: np.ones([1, 2])}).tolist() == [[2.0, 2.0]]  # and the session still works


def case_unknown_device_is_refused_by_name():
    with Cluster({"local": 1}) as c, graph() as g:
        with tf.device("/job:nowhere/task:0"):
            lost = tf.constant(1.0, name="lost")
        with session(c.target("local"), g) as s:
            try:
                s.run(lost)
                raise AssertionError("no error")
            except tf.errors.InvalidArgumentError as e:
                assert "lost" in str(e) and "/job:nowhere/task:0" in str(e), str(e)[:500]


def case_big_tensors_cross_tasks_unharmed():
    with Cluster({"local": 2}) as c, graph() as g:
        x = v1.placeholder(tf.float32, [None])
        with tf.device("/job:local/task:1"):
            y = tf.negative(x)
        with tf.device("/job:local/task:0"):
            z = tf.reduce_sum(tf.cast(y, tf.float64)), tf.negative(y)
        with session(c.target("local", 0), g) as s:
            for n in (0, 1, 1000, 3_000_000, 40_000_000):
                data = np.arange(n, dtype="f") % 1000
                total, back = s.run(z, {x: data})
                assert total == -data.astype("d").sum() and np.array_equal(back, data), n


def case_dead_worker_fails_the_step_and_a_new_one_serves():
    with Cluster({"ps": 1, "worker": 1}) as c, graph() as g:
        with tf.device("/job:ps/task:0"):
            v = ref_variable(5.0, "v")
        with tf.device("/job:worker/task:0"):
            y = v * 2.0
        s = session(c.target("worker"), g, 30)
        s.run(v1.global_variables_initializer())
        assert s.run(y) == 10.0
        c.kill("ps", 0)
        try:
            s.run(y)
            raise AssertionError("no error after the parameter server died")
        except (tf.errors.UnavailableError, tf.errors.AbortedError):
            pass
        c.start("ps", 0)
        deadline = time.time() + 40
        while True:
            try:
                s = session(c.target("worker"), g, 30)
                s.run(v1.global_variables_initializer())
                assert s.run(y) == 10.0
                s.close()   # while there is a server: to none, the client says goodbye for as long as its timeout
                return
            except (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.DeadlineExceededError):
                assert time.time() < deadline, "no recovery"
                time.sleep(0.1)


def main_of(cases, doc):
    """Runs the cases in `cases` (a module's globals) as the command line says."""
    global SERVER
    ap = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--server", required=True)
    ap.add_argument("-k", default="")
    a = ap.parse_args()
    SERVER = a.server
    passed = failed = 0
    for name, case in list(cases.items()):
        if not name.startswith("case_") or a.k not in name:
            continue
        if SERVER == "tensorflow" and getattr(case, "only_ours", None):
            print("skip %s: %s" % (name[5:], case.only_ours))
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
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(bool(failed or not passed))


if __name__ == "__main__":
    main_of(globals(), __doc__)
