"""TensorFlow's class BaseSession, with our engine behind sessions that have no target.

TensorFlow's own client opens them on a child of this process (`_engine`), isolated from each other as sessions in the
process are, so results and errors are made where they are made for every server. A session whose graph a server cannot
run goes back to TensorFlow, with the values of its variables when it has run already. When it holds other state, such as a
queue, that is an error.
"""
from __future__ import annotations

import os
import threading
import weakref

from . import _child, _counters, _engine, _settings, _state

log = _child.log

# Ops that call back into this process.
_PYTHON_OPS = frozenset(("PyFunc", "PyFuncStateless", "EagerPyFunc"))
_sessions = weakref.WeakSet()
_connected = False       # a session of this process has had a target, ours or the program's
_lost_by_fork = False    # one of the process that this one was forked from had


class _Local:
    """What we know about one session without a target."""

    def __init__(self):
        self.lock = threading.RLock()
        self.engine = "tensorfleet"
        self.has_state = False  # the engine has its graph, so maybe its variables
        self.ops_seen = 0
        self.ops_known = 0  # by the engine
        self.swap_lock = threading.Lock()  # of what follows, and of the session that steps begin in
        self.running = 0  # steps
        self.functions_seen = 0

    def python_op(self, graph) -> str:
        """Names an op of the graph that calls Python, among those that were not looked at before; '' when there is none."""
        if graph.version != self.ops_seen:
            operations = graph.get_operations()
            for op in operations[self.ops_seen:]:
                if op.type in _PYTHON_OPS:
                    return "%s (%s)" % (op.name, op.type)
            self.ops_seen = len(operations)
        functions = len(getattr(graph, "_functions", ()))
        if functions != self.functions_seen:
            for function in graph.as_graph_def().library.function:
                for node in function.node_def:
                    if node.op in _PYTHON_OPS:
                        return "%s (%s) in the function %s" % (node.name, node.op, function.signature.name)
            self.functions_seen = functions
        return ""


def _cpu_devices(config) -> int:
    return max(1, config.device_count.get("CPU", 1)) if "CPU" in config.device_count else 1


def patch(module) -> None:
    """Changes `module`, tensorflow.python.client.session."""
    base = module.BaseSession
    tf_session, errors = module.tf_session, module.errors
    theirs = {name: base.__dict__[name] for name in (
        "__init__", "_extend_graph", "partial_run_setup", "_call_tf_sessionrun", "_call_tf_sessionprun")}
    their_call = base._Callable.__call__
    their_reset = module.Session.reset
    # These say nothing about the graph.
    passing = (errors.UnavailableError, errors.DeadlineExceededError, errors.AbortedError, errors.CancelledError,
               errors.ResourceExhaustedError)

    def __init__(self, target="", graph=None, config=None):
        global _connected
        self._tensorfleet = None
        _connected = _connected or target not in ("", b"", None)
        if target not in ("", b"", None) or _settings.sessions() != "tensorfleet":
            theirs["__init__"](self, target, graph, config)
            return
        if config is None:
            config = module.context.context().config
        if not isinstance(config, module.config_pb2.ConfigProto) or not isinstance(
                graph, (type(None), module.ops.Graph)):
            theirs["__init__"](self, target, graph, config)  # which says what is wrong
            return
        local = _Local()
        python = local.python_op(module.ops.get_default_graph() if graph is None else graph)
        if python or _lost_by_fork:
            log.warning(_BACK, python or _FORKED)
            theirs["__init__"](self, target, graph, config)
            return
        _connected = True
        ours = module.config_pb2.ConfigProto()
        ours.CopyFrom(config)
        ours.isolate_session_state = True
        # These say something about clusters, and nothing to a session within its process.
        ours.ClearField("device_filters")
        ours.ClearField("cluster_def")
        address = _engine.target(_cpu_devices(config), config.intra_op_parallelism_threads)
        theirs["__init__"](self, address, graph, ours)
        self._target = module.compat.as_bytes(target) if target is not None else None
        self._config = config if self._config is ours else self._config
        self._tensorfleet = local
        _sessions.add(self)

    def step(session, feeds, fetches, targets):
        """In the C library, without the look at the graph that comes before other steps."""
        return tf_session.TF_SessionRun_wrapper(session, None, feeds, fetches, targets, None)

    def go_back(self, reason):
        """To TensorFlow, with what the session holds."""
        with self._tensorfleet.swap_lock:
            swap(self, self._tensorfleet, reason)

    def swap(self, local, reason):
        values = []
        if local.has_state:
            try:
                if local.running:
                    raise _state.CannotCarry("steps that are running")
                values = _state.read(self._graph.get_operations()[:local.ops_known],
                                     lambda t: step(self._session, {}, [t._as_tf_output()], [])[0],
                                     errors.FailedPreconditionError)
            except _state.CannotCarry as e:
                raise errors.UnimplementedError(None, None, _TOO_LATE % (reason, e)) from None
        log.warning(_BACK, reason + " (%d variables go with it; random numbers begin anew)" % len(values) if values else reason)
        options = tf_session.TF_NewSessionOptions(target=self._target, config=self._config)
        try:
            with self._graph._c_graph.get() as c_graph:
                theirs_now = tf_session.TF_NewSessionRef(c_graph, options)
        finally:
            tf_session.TF_DeleteSessionOptions(options)
        before, self._session = self._session, theirs_now
        tf_session.TF_DeleteSession(before)
        local.engine = "tensorflow"
        if values:
            theirs["_extend_graph"](self)
        for assign, tensor, value in values:
            step(self._session, {tensor._as_tf_output(): value}, [], [assign._c_op])

    def _extend_graph(self):
        local = self._tensorfleet
        if local is None or local.engine != "tensorfleet":
            theirs["_extend_graph"](self)
            return
        with local.lock:
            if local.engine == "tensorfleet":
                python = local.python_op(self._graph)
                if python:
                    go_back(self, python)
            try:
                theirs["_extend_graph"](self)
            except errors.OpError as e:
                if local.engine != "tensorfleet" or isinstance(e, passing):
                    raise
                go_back(self, (e.message or str(e)).splitlines()[0])
                theirs["_extend_graph"](self)
            local.has_state = local.has_state or self._graph.version > 0
            local.ops_known = local.ops_seen

    def partial_run_setup(self, fetches, feeds=None):
        # It passes the session on before the graph is extended, which may put another in its place.
        if self._tensorfleet is not None and not self._closed and self.graph.version:
            self._extend_graph()
        return theirs["partial_run_setup"](self, fetches, feeds)

    def engine_of(self):
        if self._tensorfleet is not None:
            return self._tensorfleet.engine
        return _counters.engine_of(module.compat.as_text(self._target or b""))

    def counted(session, call, *args, **kwargs):
        _child.follow_folder()
        local = session._tensorfleet
        if local is None:
            result = call(*args, **kwargs)
        else:
            with local.swap_lock:
                local.running += 1
            try:
                result = call(*args, **kwargs)
            finally:
                with local.swap_lock:
                    local.running -= 1
        _counters.count(engine_of(session))
        return result

    def counting(name):
        call = theirs[name]
        return lambda self, *args, **kwargs: counted(self, call, self, *args, **kwargs)

    def __call__(self, *args, **kwargs):
        return counted(self._session, their_call, self, *args, **kwargs)

    def reset(target, containers=None, config=None):
        if target in ("", b"", None):
            for session in list(_sessions):
                session.close()
        their_reset(target, containers, config)

    for ours in (__init__, _extend_graph, partial_run_setup):
        ours.__doc__ = theirs[ours.__name__].__doc__
        setattr(base, ours.__name__, ours)
    for name in ("_call_tf_sessionrun", "_call_tf_sessionprun"):
        setattr(base, name, counting(name))
    base._Callable.__call__ = __call__
    reset.__doc__ = their_reset.__doc__
    module.Session.reset = staticmethod(reset)


_BACK = "a session runs in TensorFlow instead of tensorfleet, because of %s"
_FORKED = "a fork: gRPC does not survive one in a process that has used it"
_TOO_LATE = ("%s: this was added to the graph of a session that has run on tensorfleet, which cannot run it, and the state of "
             "%s cannot go with the session to TensorFlow; add it before the session's first step, or set "
             "TENSORFLEET_SESSIONS=tensorflow")


def _after_fork() -> None:
    global _lost_by_fork
    _lost_by_fork = _connected
    # The connection belongs to the other process, with the threads that serve it: a call on it would never end.
    for session in list(_sessions):
        session._closed = True
        session._session = None


os.register_at_fork(after_in_child=_after_fork)
