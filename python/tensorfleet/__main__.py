"""python -m tensorfleet SCRIPT [ARGUMENT...]: runs a script whose TensorFlow runs on tensorfleet."""
import os
import runpy
import sys

from . import install


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit("usage: python -m tensorfleet SCRIPT [ARGUMENT...]")
    install()
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")


main()
