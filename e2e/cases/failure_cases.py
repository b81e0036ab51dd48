#!/usr/bin/env python3
"""What goes wrong while steps run, driven by an unmodified TensorFlow client: errors of ops, deadlines, peers and clients
that vanish, servers that leave.

  failure_cases.py --server 'build/bin/tensorfleet server'    our servers
  failure_cases.py --server tensorflow    TensorFlow's own, to see that the cases are fair
  failure_cases.py --server ... -k partial    only the cases whose name contains 'partial'

Needs Python 3.11 with tensorflow-cpu==2.15.1. Prints a line per case, then 'N passed, N failed'.
"""
import signal
import subprocess
import sys
import threading
import time

from case_tools import E, Cluster, base, graph, main_of, only_ours, raises, ref_variable, session, tf, v1

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
            if base.SERVER != "tensorflow":   # (whose errors list what followed from the first one, too)
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


@only_ours("it waits for the step's deadline")
def case_a_stopped_peer_fails_the_step():
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


@only_ours("it waits for the step's deadline")
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


@only_ours("it takes longer than a second")
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


@only_ours("it ends without draining")
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


@only_ours("it ends by the signal")
def case_sigterm_ends_an_idle_server_at_once():
    with Cluster({"local": 1}) as c, graph() as g:
        s = session(c.target("local"), g, 5)
        s.run(tf.no_op())
        p, t0 = c.procs["local", 0], time.time()
        p.terminate()
        assert p.wait(15) == 0
        assert time.time() - t0 < 2, time.time() - t0


@only_ours("it ends without draining")
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


if __name__ == "__main__":
    main_of(globals(), __doc__)
