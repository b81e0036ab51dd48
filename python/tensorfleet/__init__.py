"""tensorfleet from Python: servers, TensorFlow's own sessions and servers on its engine, and its programs as functions.

`import tensorfleet.tensorflow as tf`, `tensorfleet.install()` or `PYTHONPATH=<this folder>/hook` make TensorFlow's Python run on
tensorfleet. Nothing here needs more than the standard library until TensorFlow itself is imported.
"""
from ._child import ServerError
from ._cluster import ClusterSpec, Server
from ._commands import ProgramFailed, inspect, run, train
from ._counters import steps
from ._hook import install
from ._program import ProgramNotFound

__all__ = ["ClusterSpec", "ProgramFailed", "ProgramNotFound", "Server", "ServerError", "inspect", "install", "run", "steps", "train"]
