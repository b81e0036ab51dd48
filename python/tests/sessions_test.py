"""Sessions without a target run on our engine, and are to their programs what TensorFlow's are.

    python sessions_test.py --program build/bin/tensorfleet     needs TensorFlow, of any tested version
"""
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from testing import ROOT, await_true, main  # noqa: E402

import tensorfleet  # noqa: E402

tensorfleet.install()

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from tensorfleet import _engine  # noqa: E402

v1 = tf.compat.v1
v1.disable_eager_execution()
v1.logging.set_verbosity(v1.logging.ERROR)


def ref_variable(value, name):
    return v1.Variable(value, name=name, use_resource=False)


def unknown_to_servers(x):
    """An op that servers refuse, and no Python function."""
    return tf.raw_ops.QuantizeV2(input=x, min_range=0.0, max_range=1.0, T=tf.quint8).output


class SessionsTest(unittest.TestCase):
    def setUp(self):
        v1.reset_default_graph()
        self.before = tensorfleet.steps()

    def assertRanOn(self, engine, steps=None):
        now = tensorfleet.steps()
        ran = {e: now[e] - self.before[e] for e in now}
        self.assertEqual({e for e, n in ran.items() if n}, {engine})
        if steps is not None:
            self.assertEqual(ran[engine], steps)

    def assertGoesBack(self, word, run):
        with self.assertLogs("tensorfleet", "WARNING") as logged:
            result = run()
        self.assertEqual(len(logged.output), 1, logged.output)
        self.assertIn(word, logged.output[0])
        self.assertRanOn("tensorflow")
        return result


class ASession(SessionsTest):
    def test_runs_on_our_engine(self):
        a = v1.placeholder(tf.float32, [2])
        with v1.Session() as s:
            self.assertEqual(s.run(a * 2.0, {a: [1, 2]}).tolist(), [2, 4])
            self.assertEqual(s.sess_str, b"")
            self.assertEqual([d.name for d in s.list_devices()], ["/job:localhost/replica:0/task:0/device:CPU:0"])
        self.assertRanOn("tensorfleet", 1)

    def test_that_runs_on_our_engine_ends_with_it(self):
        c = tf.constant(1)
        s = v1.Session()
        s.run(c)
        child = _engine._engines[os.getpid(), 1]
        killed = child.pid
        with self.assertLogs("tensorfleet", "WARNING"):
            os.kill(killed, signal.SIGKILL)
            with self.assertRaises((tf.errors.AbortedError, tf.errors.UnavailableError)):
                s.run(c)
            await_true(lambda: child.pid != killed)
        with contextlib.suppress(tf.errors.AbortedError):
            s.close()
        with v1.Session() as s:
            self.assertEqual(s.run(c), 1)

    def test_shares_nothing_with_another(self):
        for resource in (False, True):
            v = v1.Variable(0.0, name="v%d" % resource, use_resource=resource)
            init, add = v1.global_variables_initializer(), v.assign_add(1.0)
            with v1.Session() as one, v1.Session() as other:
                one.run(init)
                other.run(init)
                one.run(add)
                self.assertEqual((one.run(v), other.run(v)), (1.0, 0.0))
        self.assertRanOn("tensorfleet")

    def test_sees_what_is_added_to_its_graph(self):
        with v1.Session() as s:
            self.assertEqual(s.run(tf.constant(1)), 1)
            v = ref_variable(3.0, "v")
            s.run(v.initializer)
            self.assertEqual(s.run(v + 1.0), 4.0)
        self.assertRanOn("tensorfleet", 3)

    def test_may_have_been_made_before_its_graph(self):
        with v1.Session() as s:
            s.list_devices()
            c = tf.constant([1, 2])
            self.assertEqual(s.run(c).tolist(), [1, 2])

    def test_has_as_many_devices_as_it_asks_for(self):
        with tf.device("/cpu:1"):
            c = tf.constant(1)
        with v1.Session(config=v1.ConfigProto(device_count={"CPU": 2})) as s:
            self.assertEqual(len(s.list_devices()), 2)
            self.assertEqual(s.run(c), 1)
        self.assertRanOn("tensorfleet", 1)

    def test_of_an_evaluator_minds_no_cluster(self):
        with v1.Session(config=v1.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])) as s:
            self.assertEqual(s.run(tf.constant(1)), 1)

    def test_runs_in_instalments_and_as_a_callable(self):
        a, b, c = (v1.placeholder(tf.float32, []) for _ in range(3))
        sum_, product = a + b, (a + b) * c
        with v1.Session() as s:
            h = s.partial_run_setup([sum_, product], [a, b, c])
            self.assertEqual(s.partial_run(h, sum_, {a: 1, b: 2}), 3.0)
            self.assertEqual(s.partial_run(h, product, {c: 17}), 51.0)
            self.assertEqual(s.make_callable(sum_, [a, b])(1.0, 2.0), 3.0)
            self.assertEqual(s.make_callable(tf.constant(5))(), 5)
            call = s._make_callable_from_options(v1.CallableOptions(feed=[a.name, b.name], fetch=[sum_.name])) if hasattr(
                v1, "CallableOptions") else None
            if call is not None:
                self.assertEqual(call(np.float32(1), np.float32(2)), [3.0])
            del call
        self.assertRanOn("tensorfleet")

    def test_takes_steps_from_many_threads(self):
        a = v1.placeholder(tf.float32, [])
        v = ref_variable(0.0, "v")
        add = v1.assign_add(v, a, use_locking=True)
        with v1.Session() as s:
            s.run(v.initializer)
            threads = [threading.Thread(target=lambda: [s.run(add, {a: 1.0}) for _ in range(50)]) for _ in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual(s.run(v), 200.0)
        self.assertRanOn("tensorfleet", 202)

    def test_writes_where_its_process_is(self):
        v = ref_variable(3.0, "v")
        saver = v1.train.Saver([v])
        with v1.Session() as s, tempfile.TemporaryDirectory() as folder:
            s.run(v.initializer)
            before = os.getcwd()
            try:
                os.chdir(folder)
                saver.save(s, "./model")
                self.assertIn("model.index", os.listdir(folder))
                s.run(v.assign(0.0))
                saver.restore(s, "./model")
            finally:
                os.chdir(before)
            self.assertEqual(s.run(v), 3.0)
        self.assertRanOn("tensorfleet")

    def test_runs_elsewhere_when_it_is_asked_to(self):
        os.environ["TENSORFLEET_SESSIONS"] = "tensorflow"
        self.addCleanup(os.environ.pop, "TENSORFLEET_SESSIONS")
        with v1.Session() as s:
            self.assertEqual(s.run(tf.constant(1)), 1)
        self.assertRanOn("tensorflow", 1)

    def test_reset_closes_those_of_the_process(self):
        s = v1.Session()
        s.run(tf.constant(1))
        v1.Session.reset("")
        with self.assertRaisesRegex(RuntimeError, "closed"):
            s.run(tf.constant(1))


class WhatIsBuiltOnSessions(SessionsTest):
    def test_interactive(self):
        s = v1.InteractiveSession()
        self.assertEqual((tf.constant(2) * 3).eval(), 6)
        s.close()
        self.assertRanOn("tensorfleet", 1)

    def test_monitored(self):
        with tempfile.TemporaryDirectory() as folder:
            step = v1.train.get_or_create_global_step()
            x = ref_variable(5.0, "x")
            train = v1.train.GradientDescentOptimizer(0.1).minimize(x * x, global_step=step)
            for last in (10, 20):
                with v1.train.MonitoredTrainingSession(
                        checkpoint_dir=folder, save_checkpoint_steps=5, hooks=[v1.train.StopAtStepHook(last_step=last)]) as s:
                    while not s.should_stop():
                        s.run(train)
            reached = v1.train.latest_checkpoint(folder)
        self.assertTrue(reached.endswith("-20"), reached)
        self.assertRanOn("tensorfleet")

    def test_queue_runners_and_coordinators(self):
        queue = v1.train.string_input_producer(["a", "b"], shuffle=False, num_epochs=2)
        one = queue.dequeue()
        with v1.Session() as s:
            s.run([v1.local_variables_initializer(), v1.global_variables_initializer()])
            coord = v1.train.Coordinator()
            threads = v1.train.start_queue_runners(s, coord)
            got = []
            with self.assertRaises(tf.errors.OutOfRangeError):
                while True:
                    got.append(s.run(one))
            coord.request_stop()
            coord.join(threads)
        self.assertEqual(got, [b"a", b"b"] * 2)
        self.assertRanOn("tensorfleet")

    def test_data_sets(self):
        data = tf.data.Dataset.range(10).map(lambda x: x * x).batch(4)
        batch = v1.data.make_one_shot_iterator(data).get_next()
        with v1.Session() as s:
            self.assertEqual(s.run(batch).tolist(), [0, 1, 4, 9])
        self.assertRanOn("tensorfleet", 1)

    @unittest.skipUnless(tf.__version__.startswith("2.15"), "Keras 3 has no graph mode")
    def test_keras_in_graph_mode(self):
        model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation="relu", input_shape=(4,)), tf.keras.layers.Dense(1)])
        model.compile(optimizer=tf.keras.optimizers.legacy.SGD(0.05), loss="mse")
        x = np.random.RandomState(0).rand(64, 4).astype("f")
        y = x.sum(1, keepdims=True)
        losses = model.fit(x, y, epochs=5, batch_size=16, verbose=0).history["loss"]
        self.assertLess(losses[-1], losses[0])
        self.assertEqual(model.predict(x, verbose=0).shape, (64, 1))
        v1.keras.backend.clear_session()
        self.assertRanOn("tensorfleet")

    @unittest.skipUnless(tf.__version__.startswith("2.15"), "Estimators have gone")
    def test_estimators(self):
        def input_fn():
            x = np.random.RandomState(0).rand(64, 4).astype("f")
            data = tf.data.Dataset.from_tensor_slices(({"x": x}, (x.sum(1) > 2).astype("int32")))
            return data.repeat().batch(16)
        with tempfile.TemporaryDirectory() as folder:
            estimator = tf.estimator.LinearClassifier([tf.feature_column.numeric_column("x", shape=(4,))], model_dir=folder)
            estimator.train(input_fn, steps=30)
            result = estimator.evaluate(input_fn, steps=4)
        self.assertEqual(result["global_step"], 30)
        self.assertRanOn("tensorfleet")


class AGraphThatNoServerRuns(SessionsTest):
    def test_has_a_python_function_from_the_beginning(self):
        y = tf.numpy_function(lambda x: x + np.float32(1), [tf.constant(1.0)], tf.float32)

        def run():
            with v1.Session() as s:
                return s.run(y)
        self.assertEqual(self.assertGoesBack("PyFunc", run), 2.0)

    def test_gets_a_python_function_before_its_first_step(self):
        def run():
            with v1.Session() as s:
                s.list_devices()
                return s.run(tf.py_function(lambda x: x + np.float32(1), [tf.constant(1.0)], tf.float32))
        self.assertEqual(self.assertGoesBack("EagerPyFunc", run), 2.0)

    def test_has_a_python_function_in_a_function(self):
        data = tf.data.Dataset.from_generator(lambda: iter(range(3)), tf.int32)
        value = v1.data.make_one_shot_iterator(data).get_next()

        def run():
            with v1.Session() as s:
                return [s.run(value) for _ in range(3)]
        self.assertEqual(self.assertGoesBack("in the function", run), [0, 1, 2])

    def test_has_an_op_that_servers_refuse(self):
        y = unknown_to_servers(tf.constant([0.0, 1.0]))

        def run():
            with v1.Session() as s:
                return s.run(tf.cast(y, tf.int32)).tolist()
        self.assertEqual(self.assertGoesBack("QuantizeV2", run), [0, 255])

    def test_goes_back_for_partial_runs_too(self):
        a = v1.placeholder(tf.float32, [])

        def run():
            with v1.Session() as s:
                y = tf.numpy_function(lambda x: x + np.float32(1), [a], tf.float32)
                h = s.partial_run_setup([y], [a])
                return s.partial_run(h, y, {a: 1.0})
        self.assertEqual(self.assertGoesBack("PyFunc", run), 2.0)

    def test_takes_its_variables_along_when_a_python_function_comes_late(self):
        ref, handle = ref_variable([1.0, 2.0], "ref"), v1.Variable("text", name="handle", use_resource=True)
        never = ref_variable(0.0, "never")
        with v1.Session() as s:
            s.run([ref.initializer, handle.initializer])
            s.run(ref.assign_add([1.0, 1.0]))
            self.assertRanOn("tensorfleet", 2)
            late = ref_variable(5.0, "late")
            y = tf.numpy_function(lambda x: x + np.float32(1), [ref], tf.float32, name="function")
            with self.assertLogs("tensorfleet", "WARNING") as logged:
                self.assertEqual(s.run(y).tolist(), [3.0, 4.0])
            self.assertIn("function (PyFunc) (2 variables go with it", logged.output[0])
            self.assertEqual(s.run(handle), b"text")
            for v in (never, late):
                with self.assertRaises(tf.errors.FailedPreconditionError):
                    s.run(v)
            self.assertEqual(tensorfleet.steps()["tensorfleet"], self.before["tensorfleet"] + 2)

    def test_takes_its_variables_along_when_an_op_that_servers_refuse_comes_late(self):
        v = ref_variable(1.0, "v")
        with v1.Session() as s:
            s.run(v.initializer)
            s.run(v.assign_add(1.0))
            y = unknown_to_servers(tf.constant([0.0, 1.0]))
            new = ref_variable(5.0, "new")
            with self.assertLogs("tensorfleet", "WARNING") as logged:
                self.assertEqual(s.run(v), 2.0)
            self.assertIn("QuantizeV2", logged.output[0])
            self.assertEqual(s.run(tf.cast(y, tf.int32)).tolist(), [0, 255])
            s.run(new.initializer)
            self.assertEqual(s.run(new), 5.0)

    def test_says_so_when_there_is_other_state_than_variables(self):
        queue = v1.FIFOQueue(3, tf.float32, name="queue")
        with v1.Session() as s:
            s.run(queue.enqueue(1.0))
            y = tf.numpy_function(lambda x: x + np.float32(1), [tf.constant(1.0)], tf.float32, name="late")
            with self.assertRaisesRegex(tf.errors.UnimplementedError, r"late.*queue \(FIFOQueueV2\).*TENSORFLEET_SESSIONS=tensorflow"):
                s.run(y)

    def test_says_so_when_a_step_is_running(self):
        with tempfile.TemporaryDirectory() as folder:
            fifo = os.path.join(folder, "fifo")
            os.mkfifo(fifo)
            with v1.Session() as s:
                waits = tf.io.read_file(fifo)
                s.run(tf.constant(1))
                thread = threading.Thread(target=s.run, args=(waits,))
                thread.start()
                await_true(lambda: s._tensorfleet.running == 1)
                y = tf.numpy_function(lambda x: x, [tf.constant(1.0)], tf.float32, name="late")
                try:
                    with self.assertRaisesRegex(tf.errors.UnimplementedError, "steps that are running"):
                        s.run(y)
                finally:
                    open(fifo, "w").close()  # its other end waited in open
                    thread.join()
                with self.assertLogs("tensorfleet", "WARNING"):
                    self.assertEqual(s.run(y), 1.0)

    def test_says_so_when_the_rest_of_a_data_set_would_be_lost(self):
        value = v1.data.make_one_shot_iterator(tf.data.Dataset.range(5)).get_next()
        with v1.Session() as s:
            s.run(value)
            tf.numpy_function(lambda x: x, [tf.constant(1.0)], tf.float32, name="late")
            with self.assertRaisesRegex(tf.errors.UnimplementedError, "Iterator"):
                s.run(value)


class Errors(SessionsTest):
    """Those that the same program gets from TensorFlow, which is asked beside."""

    def both(self, build, expected):
        for where in ("tensorflow", "tensorfleet"):
            v1.reset_default_graph()
            os.environ["TENSORFLEET_SESSIONS"] = where
            try:
                fetch, feed = build()
                with v1.Session() as s:
                    with self.assertRaises(expected) as raised:
                        s.run(fetch, feed)
                self.assertIs(type(raised.exception), expected, where)
            finally:
                del os.environ["TENSORFLEET_SESSIONS"]
            yield raised.exception

    def same(self, build, expected, named=None):
        theirs, ours = self.both(build, expected)
        if named:
            for e in (theirs, ours):
                self.assertEqual(e.op.name if e.op is not None else None, named)

    def test_an_uninitialized_variable(self):
        self.same(lambda: (ref_variable(1.0, "never"), {}), tf.errors.FailedPreconditionError)
        self.same(lambda: (v1.Variable(1.0, name="never", use_resource=True), {}), tf.errors.FailedPreconditionError)

    def test_a_placeholder_without_a_value(self):
        self.same(lambda: (v1.placeholder(tf.float32, [], name="x") + 1.0, {}), tf.errors.InvalidArgumentError, "x")

    def test_shapes_that_do_not_fit(self):
        def build():
            x = v1.placeholder(tf.float32, [None, None])
            return tf.matmul(x, tf.ones([2, 2]), name="product"), {x: np.ones([1, 3])}
        self.same(build, tf.errors.InvalidArgumentError, "product")

    def test_an_index_outside(self):
        def build():
            i = v1.placeholder(tf.int32, [])
            return tf.gather(tf.constant([1, 2]), i, name="pick"), {i: 5}
        self.same(build, tf.errors.InvalidArgumentError, "pick")

    def test_a_device_that_is_not_there(self):
        def build():
            with tf.device("/job:nowhere"):
                return tf.constant(1, name="lost"), {}
        self.same(build, tf.errors.InvalidArgumentError)

    def test_the_end_of_a_data_set(self):
        self.same(lambda: (v1.data.make_one_shot_iterator(tf.data.Dataset.range(0)).get_next(), {}), tf.errors.OutOfRangeError)

    def test_a_file_that_is_not_there(self):
        self.same(lambda: (tf.io.read_file("/no/such/file"), {}), tf.errors.NotFoundError)

    def test_a_step_that_takes_too_long(self):
        def build():
            return v1.FIFOQueue(1, tf.int32).dequeue(), {}
        for where in ("tensorflow", "tensorfleet"):
            os.environ["TENSORFLEET_SESSIONS"] = where
            self.addCleanup(os.environ.pop, "TENSORFLEET_SESSIONS", None)
            v1.reset_default_graph()
            fetch, _ = build()
            with v1.Session() as s, self.assertRaises(tf.errors.DeadlineExceededError):
                s.run(fetch, options=v1.RunOptions(timeout_in_ms=200))

    def test_what_is_no_session_at_all(self):
        for wrong in (lambda: v1.Session(config=3), lambda: v1.Session(graph=3), lambda: v1.Session(v1.ConfigProto())):
            with self.assertRaises(TypeError):
                wrong()


def run_alone(code, **environment):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, PYTHONPATH=str(ROOT / "python"), TF_CPP_MIN_LOG_LEVEL="3", **environment))
    assert done.returncode == 0, done.stdout + done.stderr
    return done


class AForkedProcess(unittest.TestCase):
    def test_runs_its_own_sessions(self):
        """gRPC does not survive a fork, so they run in TensorFlow, and those of the parent are closed."""
        done = run_alone("""
            import multiprocessing, tensorfleet, tensorfleet.tensorflow as tf
            c = tf.constant(7)
            parents = tf.Session()
            parents.run(c)
            def work(q):
                try:
                    parents.run(c)
                except RuntimeError as e:
                    q.put(str(e))
                with tf.Session() as s:
                    q.put(int(s.run(c)))
            q = multiprocessing.get_context("fork").Queue()
            p = multiprocessing.get_context("fork").Process(target=work, args=(q,))
            p.start()
            print(q.get(timeout=60), q.get(timeout=60))
            p.join()
            print(parents.run(c), tensorfleet.steps()["tensorfleet"])
        """)
        self.assertEqual(done.stdout.splitlines(), ["Attempted to use a closed Session. 7", "7 2"])
        self.assertIn("because of a fork", done.stderr)

    def test_has_an_engine_of_its_own_when_its_parent_had_none(self):
        done = run_alone("""
            import multiprocessing, tensorfleet, tensorfleet.tensorflow as tf
            def work(q):
                with tf.Session() as s:
                    q.put((int(s.run(tf.constant(7))), tensorfleet.steps()["tensorfleet"]))
            q = multiprocessing.get_context("fork").Queue()
            ps = [multiprocessing.get_context("fork").Process(target=work, args=(q,)) for _ in range(2)]
            for p in ps: p.start()
            print(q.get(timeout=60), q.get(timeout=60))
            for p in ps: p.join()
        """)
        self.assertEqual(done.stdout.split("\n")[0], "(7, 1) (7, 1)")


class ThePlainProgram(unittest.TestCase):
    PROGRAM = """
        import tensorflow.compat.v1 as tf
        tf.disable_eager_execution()
        with tf.Session() as s:
            print(s.run(tf.constant(3)))
        import tensorfleet
        print(tensorfleet.steps())
    """

    def test_needs_no_changed_line(self):
        environment = dict(os.environ, PYTHONPATH=str(ROOT / "python" / "tensorfleet" / "hook"), TF_CPP_MIN_LOG_LEVEL="3")
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(self.PROGRAM)], capture_output=True, text=True, timeout=120,
                              env=environment)
        self.assertEqual(done.stdout.splitlines(), ["3", "{'tensorfleet': 1, 'tensorflow': 0, 'remote': 0}"], done.stderr)

    def test_says_what_is_missing_without_the_program(self):
        done = subprocess.run([sys.executable, "-c", "import tensorfleet.tensorflow as tf; tf.Session()"], capture_output=True,
                              text=True, timeout=120, env=dict(os.environ, PYTHONPATH=str(ROOT / "python"),
                                                               TENSORFLEET_PROGRAM="/nowhere"))
        self.assertIn("TENSORFLEET_PROGRAM is set to '/nowhere', which is not a program", done.stderr)


if __name__ == "__main__":
    main()
