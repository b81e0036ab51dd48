"""TensorFlow's class Server, with our servers inside."""
from __future__ import annotations

import os
import sys

from . import _child, _counters, _server_def, _settings

# Who starts servers for graphs although the caller runs eagerly.
_GRAPH_CALLERS = ("tensorflow_estimator.", "tensorflow.python.distribute.distribute_coordinator")


def _for_graphs(module, server_def) -> bool:
    """Whether clients of this server will bring graphs, which is what our servers run.

    With eager execution on, a server of several tasks is one of ParameterServerStrategy's in TensorFlow 2, whose
    coordinator sends single ops through the eager service.
    """
    if sum(len(job.tasks) for job in server_def.cluster.job) < 2:
        return True
    from tensorflow.python.eager import context  # TensorFlow's own module, which is there already
    if not context.executing_eagerly():
        return True
    frame = sys._getframe(1)
    for _ in range(6):
        if frame is None:
            return False
        if (frame.f_globals.get("__name__") or "").startswith(_GRAPH_CALLERS):
            return True
        frame = frame.f_back
    return False


def patch(module) -> None:
    """Changes `module`, tensorflow.python.training.server_lib: its class is changed in its place, so every name and every
    subclass of it has the change."""
    server_class = module.Server
    theirs = {name: server_class.__dict__[name] for name in ("__init__", "__del__", "start", "join", "target")}
    make_server_def = module._make_server_def
    errors = module.errors

    def error_of(e: _server_def.BadServerDef):
        return getattr(errors, e.kind)(None, None, str(e))

    def __init__(self, server_or_cluster_def, job_name=None, task_index=None, protocol=None, config=None, start=True):
        self._tensorfleet = None
        mode = _settings.servers()
        server_def = None
        if mode != "tensorflow":
            server_def = make_server_def(server_or_cluster_def, job_name, task_index, protocol, config)
            if mode == "auto" and not _for_graphs(module, server_def):
                _child.log.warning(
                    "TensorFlow's own server is used, because eager execution is on: the strategies of TensorFlow 2 need its "
                    "eager service. For sessions, set TENSORFLEET_SERVERS=tensorfleet or call disable_eager_execution()")
                server_def = None
        if server_def is None:
            theirs["__init__"](self, server_or_cluster_def, job_name, task_index, protocol, config, start)
            return
        self._server_def = server_def
        self._server = None
        try:
            self._tensorfleet = _server_def.start(server_def)
        except _server_def.BadServerDef as e:
            raise error_of(e) from None
        self._tensorfleet_pid = os.getpid()
        _counters.add_target(self._tensorfleet.target)

    def __del__(self):
        # As TensorFlow's: a server that serves goes on until the process ends.
        if getattr(self, "_tensorfleet", None) is None and getattr(self, "_server", None) is not None:
            theirs["__del__"](self)

    def start(self):
        # Ours serves from the beginning, as TensorFlow's does to clients in its own process.
        if self._tensorfleet is None:
            theirs["start"](self)

    def join(self):
        if self._tensorfleet is None:
            theirs["join"](self)
            return
        try:
            self._tensorfleet.join()
        except _child.ServerError as e:
            raise errors.UnavailableError(None, None, str(e)) from None

    def target(self):
        if self._tensorfleet is None:
            return theirs["target"].fget(self)
        return self._tensorfleet.target

    for name, ours in (("__init__", __init__), ("__del__", __del__), ("start", start), ("join", join)):
        ours.__doc__ = theirs[name].__doc__
        setattr(server_class, name, ours)
    server_class.target = property(target, doc=theirs["target"].__doc__)
