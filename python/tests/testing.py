"""What the tests share: the program, waiting, and where the package is."""
import os
import pathlib
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

if "--program" in sys.argv:
    at = sys.argv.index("--program")
    os.environ["TENSORFLEET_PROGRAM"] = os.path.abspath(sys.argv[at + 1])
    del sys.argv[at:at + 2]
PROGRAM = os.environ.get("TENSORFLEET_PROGRAM", str(ROOT / "build" / "bin" / "tensorfleet"))
os.environ["TENSORFLEET_PROGRAM"] = PROGRAM


def is_running(pid):
    """Not a zombie either, which nobody has waited for yet."""
    try:
        with open("/proc/%d/stat" % pid) as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def await_true(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.01)


def main():
    unittest.main()
