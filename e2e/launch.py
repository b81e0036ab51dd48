"""Servers and programs of one cluster as processes, of our kind or TensorFlow's.

TensorFlow is imported once, here; a program or a TensorFlow server is then a fork of this process, which takes
milliseconds instead of seconds. So nothing in this process may start TensorFlow's threads: no session, no server.
Whatever was started dies with this process.
"""
import contextlib
import ctypes
import json
import multiprocessing
import os
import runpy
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf  # noqa: E402

TENSORFLOW = "tensorflow"  # the "server command" that stands for TensorFlow's own servers
PR_SET_PDEATHSIG = 1


def free_ports(count):
    with contextlib.ExitStack() as open_sockets:
        sockets = [open_sockets.enter_context(socket.socket()) for _ in range(count)]
        for s in sockets:
            s.bind(("localhost", 0))
        return [s.getsockname()[1] for s in sockets]


def serves(address):
    host, port = address.rsplit(":", 1)
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
        return True
    return False


def wait_until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("waited %s seconds for %s" % (seconds, what))
        time.sleep(0.002)


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _forked(call, log, env):
    die_with_parent()
    with open(log, "a") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    os.environ.update(env)
    code = 1
    try:
        call()
        code = 0
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else int(e.code is not None)
    except BaseException:  # the process's last words, as Python would print them
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def fork(call, log, env):
    """A started multiprocessing.Process that runs call() with its output appended to `log`."""
    process = multiprocessing.get_context("fork").Process(target=_forked, args=(call, log, env))
    process.start()
    return process


def _serve_tensorflow(cluster, job, index):
    tf.compat.v1.train.Server(cluster, job, index).join()


def _run_program(path, args):
    sys.argv = [path, *args]
    sys.path.insert(0, os.path.dirname(path))
    runpy.run_path(path, run_name="__main__")


class Server:
    """One server process: start, kill and start again; `address` stays."""

    def __init__(self, command, cluster, job, index, log, bind=None):
        self.command, self.cluster, self.job, self.index, self.log = command, cluster, job, index, log
        self.bind = bind  # where it listens, when that is not the address that the cluster knows
        self.process = None

    @property
    def address(self):
        return self.cluster[self.job][self.index]

    @property
    def pid(self):
        return self.process.pid

    def start(self, preexec=None):
        if self.command == TENSORFLOW:
            self.process = fork(lambda: _serve_tensorflow(self.cluster, self.job, self.index), self.log, {})
            return
        config = {"cluster": self.cluster, "task": {"type": self.job, "index": self.index}}
        command = shlex.split(self.command) + (["--bind", self.bind] if self.bind else [])

        def prepare():
            die_with_parent()
            if preexec is not None:
                preexec()
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(command, env=dict(os.environ, TF_CONFIG=json.dumps(config)), stdout=log,
                                            stderr=subprocess.STDOUT, preexec_fn=prepare)

    def wait_until_serving(self, seconds=60):
        wait_until(lambda: serves(self.bind or self.address), seconds, "%s:%d to serve; see %s" % (
            self.job, self.index, self.log))

    def kill(self):
        if self.process is not None:
            self.process.kill()
            join(self.process, 10)


def join(process, seconds):
    """The exit code, or None when it still runs after so long."""
    if isinstance(process, subprocess.Popen):
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(seconds)
        return None
    process.join(seconds)
    return process.exitcode


class Cluster:
    """The servers of a cluster: `jobs` maps a job's name to its number of tasks. A context manager."""

    def __init__(self, command, jobs, directory=None):
        self.directory = directory or tempfile.mkdtemp(prefix="fleet-jobs-")
        ports = iter(free_ports(sum(jobs.values())))
        self.spec = {job: ["localhost:%d" % next(ports) for _ in range(n)] for job, n in jobs.items()}
        self.servers = {(job, i): Server(command, self.spec, job, i, os.path.join(
            self.directory, "server-%s-%d.log" % (job, i))) for job, n in jobs.items() for i in range(n)}
        self.programs = []

    def __enter__(self):
        for server in self.servers.values():
            server.start()
        for server in self.servers.values():
            server.wait_until_serving()
        return self

    def __exit__(self, *_):
        for process in self.programs:
            process.kill()
            join(process, 10)
        for server in self.servers.values():
            server.kill()

    def run(self, program, args, job, index):
        """Starts `program` (a Python file) as the client of one task; returns (process, path of its output)."""
        config = {"cluster": self.spec, "task": {"type": job, "index": index}}
        log = os.path.join(self.directory, "program-%s-%d.log" % (job, index))
        process = fork(lambda: _run_program(program, args), log, {"TF_CONFIG": json.dumps(config)})
        self.programs.append(process)
        return process, log


def results(log):
    """What a program reported: the JSON objects of its lines 'RESULT {...}', merged."""
    merged = {}
    with open(log, errors="replace") as f:
        for line in f:
            if line.startswith("RESULT "):
                merged.update(json.loads(line[len("RESULT "):]))
    return merged
