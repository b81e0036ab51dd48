"""The wheel, and the docstrings' examples.

    python package_test.py --program build/bin/tensorfleet

Examples that train want TensorFlow, which exports the graph, and the program tensorfleet-run beside the other one; they are left
out, in words, without.
"""
import doctest
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import venv

from testing import PROGRAM, ROOT, main

import tensorfleet
from tensorfleet import _cluster, _commands, _counters, _hook

JOB = """
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: mine}
spec:
  tfReplicaSpecs:
    Worker:
      template: {spec: {containers: [{name: tensorflow, image: none, command: [echo, trained]}]}}
"""


def has_tensorflow():
    return subprocess.run([sys.executable, "-c", "import tensorflow"], capture_output=True, check=False).returncode == 0


def export(path):
    """A graph with a variable that grows by one a step."""
    subprocess.run([sys.executable, "-c", """
import sys, tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
step = tf.train.get_or_create_global_step()
x = tf.get_variable("x", initializer=5.0)
tf.add_to_collection("train_op", tf.train.GradientDescentOptimizer(0.1).minimize(x * x, global_step=step))
tf.train.export_meta_graph(sys.argv[1])
""", path], check=True, capture_output=True)


class Examples(unittest.TestCase):
    def run_examples(self, thing, module, **names):
        finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        tests = [t for t in finder.find(thing, module=module, globs={**vars(module), **names}) if t.examples]
        self.assertTrue(tests, thing)
        for test in tests:
            said = []
            runner.run(test, out=said.append)
            self.assertEqual(runner.failures, 0, "".join(said))

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(scratch.name)

    def test_of_clusters_and_servers(self):
        self.run_examples(tensorfleet.ClusterSpec, _cluster)
        self.run_examples(tensorfleet.Server, _cluster)

    def test_of_counting(self):
        self.run_examples(tensorfleet.steps, _counters)

    def test_of_installing(self):
        self.run_examples(tensorfleet.install, _hook)

    def test_of_inspecting(self):
        self.run_examples(tensorfleet.inspect, _commands)

    def test_of_training(self):
        if not has_tensorflow():
            self.skipTest("no TensorFlow to export a graph")
        export("model.meta")
        self.run_examples(tensorfleet.train, _commands)

    def test_of_running_jobs(self):
        if not os.path.exists(PROGRAM + "-run"):
            self.skipTest("there is no %s-run" % PROGRAM)
        pathlib.Path("job.yaml").write_text(JOB)
        self.run_examples(tensorfleet.run, _commands)

    def test_are_everywhere(self):
        for name in set(tensorfleet.__all__) - {"ProgramFailed", "ProgramNotFound", "ServerError"}:
            self.assertIn("Example:", getattr(tensorfleet, name).__doc__, name)


class ACommand(unittest.TestCase):
    def test_fails_with_its_exit_code_and_what_it_said(self):
        with self.assertRaisesRegex(tensorfleet.ProgramFailed, "nothing.meta") as raised:
            tensorfleet.train("nothing.meta", tempfile.gettempdir())
        self.assertEqual(raised.exception.exit_code, 1)


class TheWheel(unittest.TestCase):
    def test_installs_with_the_programs_in_it(self):
        with tempfile.TemporaryDirectory() as folder:
            venv.create(folder, with_pip=True)
            python = os.path.join(folder, "bin", "python")
            environment = {**os.environ, "TENSORFLEET_BIN": os.path.dirname(PROGRAM), "PIP_NO_INDEX": "1",
                           "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
            environment.pop("TENSORFLEET_PROGRAM")
            environment.pop("PYTHONPATH", None)
            done = subprocess.run([python, "-m", "pip", "install", "-q", str(ROOT / "python")], env=environment, capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = subprocess.run([python, "-c", """
import tensorfleet, tensorfleet._program as p
with tensorfleet.Server({"local": ["localhost:0"]}) as server:
    print(p.find().endswith("site-packages/tensorfleet/bin/tensorfleet"), server.is_alive)
"""], env=environment, cwd=folder, capture_output=True, text=True, check=False)
            self.assertEqual(done.stdout, "True True\n", done.stderr)


if __name__ == "__main__":
    main()
