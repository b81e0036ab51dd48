"""tf.train.Server and tf.distribute.Server are our servers, and say what TensorFlow's say.

    python servers_test.py --program build/bin/tensorfleet     needs TensorFlow, of any tested version
"""
import gc
import os
import signal
import socket
import subprocess
import sys
import textwrap
import unittest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from testing import ROOT, is_running, main  # noqa: E402

import tensorfleet  # noqa: E402

tensorfleet.install()

import tensorflow as tf  # noqa: E402
from tensorflow.core.protobuf import tensorflow_server_pb2  # noqa: E402

v1 = tf.compat.v1
v1.disable_eager_execution()
v1.logging.set_verbosity(v1.logging.ERROR)


def free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


class AServer(unittest.TestCase):
    def setUp(self):
        v1.reset_default_graph()

    def assertServes(self, server):
        before = tensorfleet.steps()["tensorfleet"]
        with v1.Session(server.target) as s:
            self.assertEqual(s.run(tf.constant("Hello, Distributed TensorFlow!")), b"Hello, Distributed TensorFlow!")
        self.assertEqual(tensorfleet.steps()["tensorfleet"], before + 1)
        self.assertTrue(is_running(server._tensorfleet.pid))

    def test_is_ours_by_every_name(self):
        port = free_port()
        for name, make in (("v1", v1.train.Server), ("v2", tf.distribute.Server), ("v1 too", v1.distribute.Server)):
            with self.subTest(name):
                self.assertServes(make({"local": ["localhost:0"]}))
        server = tf.distribute.Server({"local": ["localhost:%d" % port]})
        self.assertEqual(server.target, "grpc://localhost:%d" % port)
        self.assertServes(server)

    def test_is_ours_in_a_subclass(self):
        class Mine(v1.train.Server):
            pass
        self.assertServes(Mine({"local": ["localhost:0"]}))

    def test_takes_every_form_of_a_cluster(self):
        spec = v1.train.ClusterSpec({"a": {2: "localhost:0"}, "b": ["localhost:2222"]})
        definition = tensorflow_server_pb2.ServerDef(cluster=spec.as_cluster_def(), job_name="a", task_index=2, protocol="grpc")
        for made in (v1.train.Server(spec, "a", 2), v1.train.Server(spec.as_cluster_def(), job_name="a", task_index=2),
                     v1.train.Server(spec.as_dict(), "a", 2), v1.train.Server(definition)):
            self.assertEqual(made.server_def, definition)
            self.assertRegex(made.target, r"grpc://localhost:\d+")

    def test_is_made_locally(self):
        self.assertServes(v1.train.Server.create_local_server())
        server = tf.distribute.Server.create_local_server(start=False)
        server.start()
        server.start()
        self.assertServes(server)

    def test_has_the_devices_of_its_config(self):
        server = v1.train.Server.create_local_server(config=v1.ConfigProto(device_count={"CPU": 3}))
        with v1.Session(server.target) as s:
            self.assertEqual(len([d for d in s.list_devices() if d.device_type == "CPU"]), 3)

    def test_goes_on_when_nobody_holds_it(self):
        server = v1.train.Server.create_local_server()
        pid, target = server._tensorfleet.pid, server.target
        del server
        gc.collect()
        self.assertTrue(is_running(pid))
        with v1.Session(target) as s:
            self.assertEqual(s.run(tf.constant(1)), 1)

    def test_ends_its_join_when_the_job_has_ended(self):
        server = v1.train.Server.create_local_server()
        os.kill(server._tensorfleet.pid, signal.SIGTERM)
        server.join()

    def test_is_theirs_when_that_is_asked_for(self):
        os.environ["TENSORFLEET_SERVERS"] = "tensorflow"
        self.addCleanup(os.environ.pop, "TENSORFLEET_SERVERS")
        server = v1.train.Server.create_local_server()
        self.assertIsNone(server._tensorfleet)
        with v1.Session(server.target) as s:
            self.assertEqual(s.run(tf.constant(1)), 1)

    def test_of_the_estimator_and_of_this_script_are_one_class(self):
        from tensorflow.python.training import server_lib
        self.assertIs(server_lib.Server, v1.train.Server)
        self.assertIs(server_lib.Server, tf.distribute.Server)


class Errors(unittest.TestCase):
    def test_name_what_is_wrong_as_tensorflow_does(self):
        with socket.socket() as taken:
            taken.bind(("", 0))
            taken.listen()
            for error, words, arguments in (
                    (tf.errors.UnknownError, "Could not start gRPC server",
                     dict(server_or_cluster_def={"a": ["localhost:%d" % taken.getsockname()[1]]})),
                    (tf.errors.InternalError, 'Job "b" was not defined in cluster',
                     dict(server_or_cluster_def={"a": ["localhost:0"]}, job_name="b", task_index=0)),
                    (tf.errors.InternalError, 'Task 3 was not defined in job "a"',
                     dict(server_or_cluster_def={"a": ["localhost:0"]}, job_name="a", task_index=3)),
                    (tf.errors.NotFoundError, "No server factory registered for the given ServerDef",
                     dict(server_or_cluster_def={"a": ["localhost:0"]}, protocol="grpc+verbs")),
                    (tf.errors.InvalidArgumentError, 'Could not parse port for local server from "localhost".',
                     dict(server_or_cluster_def={"a": ["localhost"]})),
                    (tf.errors.InvalidArgumentError, "no where",
                     dict(server_or_cluster_def={"a": ["localhost:0", "no where:1"]}, task_index=0)),
                    (TypeError, "Could not convert", dict(server_or_cluster_def=3)),
                    (ValueError, "explicit `job_name`", dict(server_or_cluster_def={"a": ["x:1"], "b": ["y:1"]}))):
                with self.subTest(words), self.assertRaisesRegex(error, words):
                    v1.train.Server(**arguments)


class WithEagerExecution(unittest.TestCase):
    """TensorFlow 2's strategies send single ops to their servers, by a service that ours do not have."""

    def server_of(self, code):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120,
                              env=dict(os.environ, PYTHONPATH=str(ROOT / "python" / "tensorfleet" / "hook")))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip(), done.stderr

    MULTI = """
        import socket, tensorflow as tf
        def port():
            with socket.socket() as s:
                s.bind(("", 0))
                return s.getsockname()[1]
        server = tf.distribute.Server({"worker": ["localhost:%d" % port()], "ps": ["localhost:%d" % port()]}, "worker", 0)
        print(server._tensorfleet is not None)
    """

    def test_a_server_of_several_tasks_is_theirs_with_a_line_that_says_so(self):
        ours, log = self.server_of(self.MULTI)
        self.assertEqual(ours, "False")
        self.assertIn("TENSORFLEET_SERVERS=tensorfleet", log)

    def test_it_is_ours_when_that_is_asked_for(self):
        os.environ["TENSORFLEET_SERVERS"] = "tensorfleet"
        self.addCleanup(os.environ.pop, "TENSORFLEET_SERVERS")
        self.assertEqual(self.server_of(self.MULTI)[0], "True")

    def test_a_local_server_is_ours(self):
        self.assertEqual(self.server_of("""
            import tensorflow as tf
            print(tf.distribute.Server.create_local_server()._tensorfleet is not None)
        """)[0], "True")


@unittest.skipUnless(tf.__version__.startswith("2.15"), "Estimators have gone")
class AnEstimatorsJob(unittest.TestCase):
    """train_and_evaluate with a chief, a worker, a parameter server: each starts a server, by TF_CONFIG alone."""

    TASK = """
        import json, os, sys, time
        import numpy as np
        import tensorflow as tf
        import tensorfleet
        def input_fn():
            x = np.random.RandomState(0).rand(64, 4).astype("f")
            data = tf.data.Dataset.from_tensor_slices(({"x": x}, (x.sum(1) > 2).astype("int32")))
            return data.repeat().batch(16)
        job = json.loads(os.environ["TF_CONFIG"])["task"]["type"]
        began = os.path.join(sys.argv[1], "the worker has run")
        class Together(tf.estimator.SessionRunHook):
            def after_run(self, context, values):  # the chief would be done before the worker has begun
                if job == "worker":
                    open(began, "w").close()
                while not os.path.exists(began):
                    time.sleep(0.02)
        estimator = tf.estimator.LinearClassifier(
            [tf.feature_column.numeric_column("x", shape=(4,))], model_dir=sys.argv[1],
            config=tf.estimator.RunConfig(experimental_max_worker_delay_secs=0))
        tf.estimator.train_and_evaluate(estimator, tf.estimator.TrainSpec(input_fn, max_steps=200, hooks=[Together()]),
                                        tf.estimator.EvalSpec(input_fn, steps=2, start_delay_secs=0, throttle_secs=1))
        print(job, tensorfleet.steps())
    """

    def test_trains_on_our_servers(self):
        import json
        import tempfile
        cluster = {job: ["localhost:%d" % free_port()] for job in ("chief", "worker", "ps")}
        with tempfile.TemporaryDirectory() as folder:
            tasks = {}
            for job in cluster:
                environment = dict(os.environ, PYTHONPATH=str(ROOT / "python" / "tensorfleet" / "hook"), TF_CPP_MIN_LOG_LEVEL="3",
                                   TF_CONFIG=json.dumps({"cluster": cluster, "task": {"type": job, "index": 0}}))
                tasks[job] = subprocess.Popen([sys.executable, "-c", textwrap.dedent(self.TASK), folder], env=environment,
                                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                for job in ("chief", "worker"):
                    out, errors = tasks[job].communicate(timeout=240)
                    self.assertEqual(tasks[job].returncode, 0, errors[-4000:])
                    self.assertRegex(out, r"%s \{'tensorfleet': [1-9]\d*, 'tensorflow': 0, 'remote': 0\}" % job)
                self.assertIsNone(tasks["ps"].poll())  # it joins its server for ever, as TensorFlow's
            finally:
                for task in tasks.values():
                    task.kill()
                    task.communicate()


if __name__ == "__main__":
    main()
