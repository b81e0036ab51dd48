"""The hook takes effect whoever is imported first, and hides nothing of the user's. Needs no TensorFlow."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from testing import ROOT, main

HOOK = str(ROOT / "python" / "tensorfleet" / "hook")
# What stands for TensorFlow: the two modules that are changed, with what the changes look for.
SERVER_LIB = """
class Server:
    def __init__(self, *a): pass
    def __del__(self): pass
    def start(self): pass
    def join(self): pass
    target = property(lambda self: "theirs")
def _make_server_def(*a): pass
class errors: pass
"""
SESSION = """
class tf_session: pass
class errors:
    UnavailableError = DeadlineExceededError = AbortedError = CancelledError = ResourceExhaustedError = OpError = ValueError
class BaseSession:
    def __init__(self): pass
    def _extend_graph(self): pass
    def partial_run_setup(self): pass
    def _call_tf_sessionrun(self): pass
    def _call_tf_sessionprun(self): pass
    class _Callable:
        def __call__(self): pass
class Session(BaseSession):
    @staticmethod
    def reset(): pass
"""


class TheHook(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        for name in ("tensorflow", "tensorflow/python", "tensorflow/python/training", "tensorflow/python/client"):
            (self.folder / name).mkdir()
            (self.folder / name / "__init__.py").touch()
        (self.folder / "tensorflow/python/training/server_lib.py").write_text(SERVER_LIB)
        (self.folder / "tensorflow/python/client/session.py").write_text(SESSION)

    def run_python(self, code, *path):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, PYTHONPATH=os.pathsep.join([*path, str(self.folder)])), cwd="/")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_changes_modules_that_are_imported_later(self):
        self.assertEqual(self.run_python(
            "import tensorflow.python.training.server_lib as m, tensorflow.python.client.session as s\n"
            "print(m._tensorfleet, s._tensorfleet, m.Server.__init__.__module__)", HOOK),
            "True True tensorfleet._servers")

    def test_changes_modules_that_are_there(self):
        self.assertEqual(self.run_python(
            "import tensorflow.python.training.server_lib as m; before = m.Server\n"
            "import tensorfleet; tensorfleet.install(); tensorfleet.install()\n"
            "print(m._tensorfleet, before is m.Server)", str(ROOT / "python")), "True True")

    def test_leaves_everything_else_alone(self):
        self.assertEqual(self.run_python("import json, sys; print('tensorflow' in sys.modules, 'tensorfleet' in sys.modules)", HOOK),
                         "False True")

    def test_puts_nothing_on_the_path(self):
        self.assertEqual(self.run_python("import sys; print(sum('python' == p.rsplit('/', 1)[-1] for p in sys.path))", HOOK), "0")

    def test_runs_the_sitecustomize_that_it_hides(self):
        (self.folder / "sitecustomize.py").write_text("import builtins; builtins.theirs = 5")
        self.assertEqual(self.run_python("print(theirs)", HOOK), "5")

    def test_refuses_a_version_with_other_insides_by_name(self):
        (self.folder / "tensorflow/python/client/session.py").write_text("class BaseSession: pass")
        self.assertIn("tensorflow.python.client.session has no", self.run_python(
            "try:\n  import tensorflow.python.client.session\nexcept ImportError as e: print(e)", HOOK))

    def test_runs_a_script_as_python_would(self):
        script = self.folder / "script.py"
        script.write_text("import sys, neighbour\nprint(__name__, sys.argv[1:], neighbour.here)\n"
                          "import tensorflow.python.client.session as s\nprint(s._tensorfleet)")
        (self.folder / "neighbour.py").write_text("here = 1")
        done = subprocess.run([sys.executable, "-m", "tensorfleet", str(script), "a", "--b"], capture_output=True, text=True,
                              timeout=60, env=dict(os.environ, PYTHONPATH=str(ROOT / "python")), cwd="/")
        self.assertEqual(done.stdout, "__main__ ['a', '--b'] 1\nTrue\n", done.stderr)

    def test_reads_its_settings_when_they_are_needed(self):
        self.assertEqual(self.run_python(
            "import os; os.environ['TENSORFLEET_SESSIONS'] = 'elsewhere'\nfrom tensorfleet import _settings\n"
            "try: _settings.sessions()\nexcept ValueError as e: print(e)", HOOK),
            "TENSORFLEET_SESSIONS must be one of tensorfleet, tensorflow, not 'elsewhere'")

    def test_brings_nothing_heavy_with_the_package(self):
        self.assertEqual(self.run_python(
            "import sys, tensorfleet; print(sorted({'asyncio', 'numpy', 'tensorflow', 'google'} & set(sys.modules)))",
            str(ROOT / "python")), "[]")


if __name__ == "__main__":
    main()
