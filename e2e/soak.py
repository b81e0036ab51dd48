#!/usr/bin/env python3
"""Shows that servers keep nothing for clients and masters that have gone: their memory stays flat.

  soak.py --server 'build/bin/tensorfleet server'            in full: an hour or so on two cores
  soak.py --server ... --short                               a minute; what ctest runs
  soak.py --server ... --signatures 100000 --sessions 0 ...  each part as often as asked; 0 leaves it out
  soak.py --server ... --measure                             bytes for a signature, a partial run, an idle session

Two servers run, a worker whose master is asked and a parameter server. Each part is cut into slices; after each
slice the servers' resident memory is read, when what the slice has made is due to be gone. A part fails when memory
grows by more than --growth MiB after its first quarter, or when at the end the metrics say that something is kept.

  signatures    steps with ever new fetches in one session, every tenth over both servers
  callables     made, run, released;  partial_runs  set up, run in two instalments
  sessions      opened with a graph of 190 nodes, run once, and dropped without goodbye
  masters       a third server's: killed while its step runs on the parameter server
"""
import argparse
import atexit
import contextlib
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases"))
from tf_client_cases import free_ports  # noqa: E402
from wire import Peer, message, neg, node, placeholder, scalar  # noqa: E402

IDLE_SECONDS = 2  # after which a session, and what a dead master left, goes
SLICES = 20
KEPT = ["sessions", "callables", "partial_runs", "worker_sessions", "worker_graphs", "worker_steps"]
ALONE = {"worker_sessions": 1}  # the one for masters that open none


def serves(address):
    host, port = address.rsplit(":", 1)
    with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
        return True
    return False


class Task:
    """One server of the cluster as a process."""

    def __init__(self, fleet, job, flags):
        self.fleet, self.job, self.flags = fleet, job, flags
        self.metrics_port = free_ports(1)[0]
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".%s.log" % job, delete=False)
        self.start()
        atexit.register(lambda: self.process.kill())

    def start(self):
        env = dict(os.environ, TF_CONFIG=json.dumps({"cluster": self.fleet, "task": {"type": self.job, "index": 0}}))
        command = shlex.split(ARGS.server) + self.flags
        if self.flags:
            command += ["--metrics_port", str(self.metrics_port)]
        self.process = subprocess.Popen(command, env=env, stdout=self.log, stderr=subprocess.STDOUT)
        # Before there is a channel: one that fails to connect waits longer and longer before it tries again.
        wait_for(lambda: serves(self.fleet[self.job][0]), "a server of the job " + self.job)
        self.peer = Peer(self.fleet[self.job][0])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.peer.channel.close()

    def resident(self):
        with open("/proc/%d/statm" % self.process.pid) as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def gauges(self):
        with urllib.request.urlopen("http://localhost:%d/metrics" % self.metrics_port, timeout=60) as page:
            lines = page.read().decode().splitlines()
        values = dict(line.split(" ") for line in lines if line.startswith("tensorfleet_") and "{" not in line)
        return {name: int(values["tensorfleet_" + name]) for name in KEPT}


def wait_for(condition, what, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("%s did not come about in %d seconds" % (what, seconds))
        time.sleep(0.05)


def run(peer, handle, fetches, **fields):
    """One step; what its response says went wrong is an error too."""
    request = message("RunStepRequest")(session_handle=handle, fetch=fetches, **fields)
    request.feed.add(name="x:0", tensor=scalar(1.0))
    peer.master("RunStep", request)


def chain(length, device="/job:worker/task:0"):
    nodes = [placeholder("x", device=device)]
    for i in range(length):
        nodes.append(neg("n%d" % i, "n%d" % (i - 1) if i else "x", device=device))
    return nodes


class Signatures:
    def __init__(self, worker):
        self.peer = worker.peer
        self.handle = self.peer.session(*chain(17), neg("remote", "x", device="/job:ps/task:0"))

    def make(self, i):
        i += 1
        fetches = ["n%d:0" % bit for bit in range(17) if i >> bit & 1]
        run(self.peer, self.handle, fetches + ["remote:0"] * (i % 10 == 0))

    def end(self):
        self.peer.master("CloseSession", session_handle=self.handle)


class Callables(Signatures):
    def make(self, i):
        options = message("CallableOptions")(feed=["x:0"], fetch=["n%d:0" % (i % 17), "remote:0"])
        made = self.peer.master("MakeCallable", session_handle=self.handle, options=options)
        self.peer.master("RunCallable", session_handle=self.handle, handle=made.handle, feed=[scalar(1.0)])
        self.peer.master("ReleaseCallable", session_handle=self.handle, handle=made.handle)


class PartialRuns(Signatures):
    def make(self, i):
        fetches = ["n%d:0" % (i % 8), "n%d:0" % (8 + i % 9)]
        setup = self.peer.master("PartialRunSetup", session_handle=self.handle, feed=["x:0"], fetch=fetches)
        run(self.peer, self.handle, fetches[:1], partial_run_handle=setup.partial_run_handle)
        self.peer.master("RunStep", session_handle=self.handle, fetch=fetches[1:],
                         partial_run_handle=setup.partial_run_handle)


class Sessions:
    slices = 5  # each takes a while to settle

    def __init__(self, worker):
        self.worker = worker
        self.nodes = chain(189)

    def make(self, i):
        run(self.worker.peer, self.worker.peer.session(*self.nodes), ["n%d:0" % (i % 189)])

    def settle(self):
        """A server gives freed memory back to the system after six idle seconds; until then its peak is what is seen."""
        wait_for(lambda: self.worker.gauges()["sessions"] == 0, "the end of sessions without a client")
        time.sleep(10)

    def end(self):
        pass


class Masters:
    def __init__(self, fleet, ps):
        self.ps, self.chief = ps, Task(fleet, "chief", server_flags())
        floats = "list { type: DT_FLOAT }"
        self.nodes = [node("queue", "FIFOQueueV2", device="/job:ps/task:0", component_types=floats),
                      node("never", "QueueDequeueV2", "queue", device="/job:ps/task:0", component_types=floats),
                      neg("n", "never", device="/job:chief/task:0")]

    def make(self, i):
        handle = self.chief.peer.session(*self.nodes)
        waiting = self.chief.peer.start("MasterService", "RunStep",
                                        message("RunStepRequest")(session_handle=handle, fetch=["n:0"]))
        wait_for(lambda: self.ps.gauges()["worker_steps"] > 0, "a step at the parameter server")
        self.chief.kill()
        waiting.exception()
        self.chief.start()

    def end(self):
        self.chief.kill()


def server_flags():
    return ["--session_idle_timeout", str(IDLE_SECONDS), "--master_lease", str(IDLE_SECONDS),
            "--cached_graphs", str(ARGS.cached_graphs)]


def soak(name, part, count, servers):
    """Whether memory stayed flat."""
    began, resident = time.monotonic(), []
    slices = min(getattr(part, "slices", SLICES), count)
    for s in range(slices):
        for i in range(count * s // slices, count * (s + 1) // slices):
            part.make(i)
        getattr(part, "settle", lambda: None)()
        resident.append(sum(server.resident() for server in servers))
    part.end()
    wait_for(lambda: all(server.gauges() == dict.fromkeys(KEPT, 0) | ALONE for server in servers),
             "nothing kept; it is " + str([server.gauges() for server in servers]))
    quarter = resident[min(len(resident) - 1, (len(resident) + 3) // 4)]
    growth = max(resident[-1] - quarter, 0)
    is_flat = growth <= ARGS.growth << 20
    print("%-13s %7d in %5.0f s; resident MiB: %s; after the first quarter +%.1f%s" % (
        name, count, time.monotonic() - began, " ".join("%.0f" % (r / 2**20) for r in resident), growth / 2**20,
        "" if is_flat else "  GROWS"), flush=True)
    return is_flat


def measure(worker):
    """What a thousand of each keep, by the resident memory before and after."""
    def grown(what, count, make, once=lambda: None):
        once()
        before = worker.resident()
        for i in range(count):
            make(i)
        print("%-50s %7.1f kB each" % (what, (worker.resident() - before) / count / 1000), flush=True)

    peer = worker.peer
    signatures = Signatures(worker)
    grown("1,000 different signatures of small steps", 1000, lambda i: signatures.make(10 * i), lambda: signatures.make(1))
    partial = PartialRuns(worker)
    grown("1,000 finished partial runs", 1000, partial.make, lambda: partial.make(0))
    sessions = Sessions(worker)
    grown("idle sessions with a graph of 190 nodes, run once", 200, lambda i: run(
        peer, peer.session(*sessions.nodes), ["n188:0"]), lambda: sessions.make(1))


def main():
    ports = free_ports(3)
    fleet = {job: ["localhost:%d" % port] for job, port in zip(("ps", "worker", "chief"), ports)}
    if ARGS.measure:
        # A cluster of one: nothing else's memory counts.
        alone = Task({"worker": fleet["worker"]}, "worker", [])
        Signatures.__init__ = lambda self, worker: vars(self).update(
            peer=worker.peer, handle=worker.peer.session(*chain(17), neg("remote", "x")))
        measure(alone)
        alone.kill()
        return 0
    if not ARGS.masters:
        del fleet["chief"]
    ps, worker = Task(fleet, "ps", server_flags()), Task(fleet, "worker", server_flags())
    servers, chief = [ps, worker], fleet.get("chief")
    if chief:  # sessions of the worker's master wait for the cluster's other tasks
        chief = Task(fleet, "chief", server_flags())
    parts = {"signatures": Signatures, "callables": Callables, "partial_runs": PartialRuns, "sessions": Sessions}
    results = [soak(name, make(worker), getattr(ARGS, name), servers) for name, make in parts.items() if getattr(ARGS, name)]
    if chief:
        chief.kill()
        results.append(soak("masters", Masters(fleet, ps), ARGS.masters, servers))
    for server in servers:
        server.kill()
    print("flat" if all(results) else "memory grows")
    return 0 if all(results) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="the command that starts a server")
    parser.add_argument("--short", action="store_true", help="few of each")
    parser.add_argument("--measure", action="store_true", help="only print what is kept for how much")
    parser.add_argument("--signatures", type=int, help="default 100000")
    parser.add_argument("--callables", type=int, help="default 10000")
    parser.add_argument("--partial_runs", type=int, help="default 10000")
    parser.add_argument("--sessions", type=int, help="default 10000")
    parser.add_argument("--masters", type=int, help="default 50")
    parser.add_argument("--cached_graphs", type=int, help="graphs that each session keeps prepared; default 1000")
    parser.add_argument("--growth", type=int, default=16, help="MiB that memory may grow by; default 16")
    ARGS = parser.parse_args()
    defaults = {"signatures": (100000, 4000), "callables": (10000, 400), "partial_runs": (10000, 400),
                "sessions": (10000, 200), "masters": (50, 3), "cached_graphs": (1000, 200)}
    for option, (full, short) in defaults.items():
        if getattr(ARGS, option) is None:
            setattr(ARGS, option, short if ARGS.short else full)
    sys.exit(main())
