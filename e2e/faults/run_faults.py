#!/usr/bin/env python3
"""Training that survives: faults at random moments, drawn from a seed, and what must be true afterwards.

  run_faults.py --server 'build/bin/tensorfleet server' [--runs 200] [--seed 1] [--kinds kill,stop]

Each run trains with a chief, a worker and two parameter servers; servers and programs that end are started again, as the
operator would. One to three faults happen to the chief, the worker or a parameter server: kill -9 (of the server, of the
program, of both), a pause by SIGSTOP, cut connections, a full disk, an orderly restart with empty state. Afterwards:
  - every program has ended by itself, in time;
  - the global step is the one asked for, and each counter agrees with it but for the steps that a fault cut in two, and
    those that the worker made while the chief restored, which is not of one moment;
  - no session began below the last checkpoint that had been acknowledged.
A run is repeated by its seed. Needs Python 3.11 with tensorflow-cpu==2.15.1. Prints a line per run.
"""
import contextlib
import os
import random
import resource
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from launch import TENSORFLOW, Server, fork, free_ports, join, _run_program  # noqa: E402
from proxy import Proxy  # noqa: E402
from seeded import parser as seeded_parser, run_all  # noqa: E402

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "train.py")
TASKS = [("chief", 0), ("worker", 0), ("ps", 0), ("ps", 1)]
STEPS, SAVE_STEPS = 150, 20
DEADLINE = 300  # seconds of one run; training alone takes some 3 on a machine with nothing else to do
DISK_FULL = 100_000  # bytes that a file may still have


class Task:
    """One task: its server behind a proxy, and on chief and worker its program. Both are started again when they end."""

    def __init__(self, job, index, cluster, command, directory, model, real_port):
        self.job, self.index, self.directory = job, index, directory
        address = cluster[job][index]
        bind = "localhost:%d" % real_port
        self.proxy = Proxy(int(address.rsplit(":", 1)[1]), bind)
        self.server = Server(command, cluster, job, index, self.path("server"), bind=bind)
        self.cluster, self.model = cluster, model
        self.program, self.starts, self.ended = None, 0, job == "ps"

    def path(self, what):
        return os.path.join(self.directory, "%s-%s-%d.log" % (what, self.job, self.index))

    def start_program(self):
        import json
        config = {"cluster": self.cluster, "task": {"type": self.job, "index": self.index}}
        args = ["--dir", self.model, "--steps", str(STEPS), "--save_steps", str(SAVE_STEPS)]
        self.program = fork(lambda: _run_program(PROGRAM, args), self.path("program"),
                            {"TF_CONFIG": json.dumps(config)})
        self.starts += 1

    def supervise(self):
        """Starts again what has ended. True when this task's program is over for good."""
        if self.server.process.poll() is not None:
            self.server.start()
        if self.ended:
            return True
        if self.program.exitcode == 0:
            self.ended = True
        elif self.program.exitcode is not None:
            self.start_program()
        return self.ended

    def stop(self):
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.server.kill()
        if self.program is not None:
            self.program.kill()
            join(self.program, 10)
        self.proxy.close()

    def pids(self):
        found = [self.server.pid]
        if self.program is not None and self.program.exitcode is None:
            found.append(self.program.pid)
        return found


# --- faults: fault(task, rng) makes it happen and returns how to undo it, and for how many seconds it lasts -----------

def send(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def kill(task, rng):
    pids = task.pids()
    chosen = rng.choice([pids[:1], pids[-1:], pids])
    return (lambda: send(chosen, signal.SIGKILL)), None, 0


def stop(task, rng):
    chosen = task.pids()
    return (lambda: send(chosen, signal.SIGSTOP)), (lambda: send(chosen, signal.SIGCONT)), rng.uniform(0.3, 5)


def drop(task, rng):
    return task.proxy.cut, task.proxy.mend, rng.choice([0, rng.uniform(0, 2)])


def restart(task, rng):
    return (lambda: send([task.server.pid], signal.SIGTERM)), None, 0


def full_disk(task, rng):
    pid = task.server.pid

    def limit(size):
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    return (lambda: limit(DISK_FULL)), (lambda: limit(resource.RLIM_INFINITY)), rng.uniform(0.3, 2)


FAULTS = {"kill": kill, "stop": stop, "drop": drop, "restart": restart, "disk": full_disk}


class Run:
    def __init__(self, command, seed, kinds):
        self.rng = random.Random(seed)
        self.kinds = kinds
        self.directory = tempfile.mkdtemp(prefix="fleet-faults-%d-" % seed)
        ports = free_ports(2 * len(TASKS))
        cluster = {}
        for (job, _), port in zip(TASKS, ports):
            cluster.setdefault(job, []).append("localhost:%d" % port)
        model = os.path.join(self.directory, "model")
        os.mkdir(model)
        self.tasks = {(job, i): Task(job, i, cluster, command, self.directory, model, port)
                      for (job, i), port in zip(TASKS, ports[len(TASKS):])}
        self.told = []  # the faults, for people
        self.undo = []  # (when, call)

    def plan(self):
        """[(seconds after the first step, kind, task)], in order."""
        rng = self.rng
        faults = [(rng.uniform(0, 2.5), rng.choice(self.kinds), rng.choice(TASKS)) for _ in range(rng.randint(1, 3))]
        # A file that is too big is met where checkpoints are written.
        return sorted((at, kind, ("ps", rng.randint(0, 1)) if kind == "disk" else task) for at, kind, task in faults)

    def go(self):
        plan = self.plan()
        for task in self.tasks.values():
            task.server.start()
        for task in self.tasks.values():
            task.server.wait_until_serving()
        for task in self.tasks.values():
            if task.job != "ps":
                task.start_program()
        start = began = time.monotonic()
        training = False
        while True:
            now = time.monotonic()
            if now - start > DEADLINE:
                raise AssertionError("hangs")
            if not training and self.lines("chief", "FIRST"):
                training, began = True, now
            while training and plan and now - began >= plan[0][0]:
                at, kind, name = plan.pop(0)
                self.told.append("%s %s:%d at %.2f s" % (kind, *name, at))
                happen, undo, seconds = FAULTS[kind](self.tasks[name], self.rng)
                happen()
                if undo is not None:
                    self.undo.append((now + seconds, undo))
            for entry in [e for e in self.undo if now >= e[0]]:
                self.undo.remove(entry)
                entry[1]()
            if all([task.supervise() for task in self.tasks.values()]):
                return
            time.sleep(0.01)

    def lines(self, job, word):
        return [words for _, words in self.timed_lines(job, word)]

    def timed_lines(self, job, word):
        found = []
        with contextlib.suppress(FileNotFoundError), open(self.tasks[job, 0].path("program"), errors="replace") as f:
            for line in f:
                words = line.split()
                if words[:1] == ["FAULTS"] and words[2] == word:
                    found.append((float(words[1]), words[3:]))
        return found

    def steps_within_restores(self):
        """Steps of the worker that may have run while the chief gave variables their old values, one after the other."""
        steps = [at for at, _ in self.timed_lines("worker", "STEP")]
        ends = [at for at, _ in self.timed_lines("chief", "RESTORED")]
        count = 0
        for begin, _ in self.timed_lines("chief", "RESTORES"):
            end = min([at for at in ends if at >= begin], default=begin)
            count += sum(begin <= at <= end for at in steps) + 1  # and the one that was under way at the end
        return count

    def check(self):
        ends = self.lines("chief", "END")
        saved = [int(words[0]) for words in self.lines("chief", "SAVED")]
        if not saved:
            raise AssertionError("no checkpoint was ever acknowledged")
        if saved[-1] < STEPS:
            raise AssertionError("the last checkpoint is of step %d" % saved[-1])
        # A step that a fault cut in two may have counted on one server only, once per worker and session.
        sessions = sum(len(self.lines(job, "BEGIN")) for job in ("chief", "worker"))
        apart = 2 * sessions + self.steps_within_restores()
        for end in ends:
            step, counters, loss = int(end[0]), [int(c) for c in end[1:-2]], float(end[-1])
            if not STEPS <= step < STEPS + 4:
                raise AssertionError("the global step is %d" % step)
            for counter in counters:
                if abs(counter - step) > apart:
                    raise AssertionError("global step %d, but a counter of %d after %d sessions; %d may be between" % (
                        step, counter, sessions, apart))
            if loss > 0.01:
                raise AssertionError("a loss of %g" % loss)
        self.check_nothing_was_lost()

    def check_nothing_was_lost(self):
        """In the order of the chief's log: a session begins at or above the last acknowledged checkpoint."""
        acknowledged = 0
        with open(self.tasks["chief", 0].path("program"), errors="replace") as f:
            for line in f:
                words = line.split()
                if words[:1] != ["FAULTS"]:
                    continue
                if words[2] == "SAVED":
                    acknowledged = int(words[3])
                elif words[2] == "BEGIN" and int(words[3]) < acknowledged:
                    raise AssertionError("a session began at step %s, after checkpoint %d was acknowledged" % (
                        words[3], acknowledged))

    def close(self):
        for task in self.tasks.values():
            task.stop()


def main():
    parser = seeded_parser(__doc__)
    parser.add_argument("--server", required=True, help="our server's command")
    parser.add_argument("--kinds", default=",".join(FAULTS), help="which faults, of: " + ", ".join(FAULTS))
    args = parser.parse_args()
    if args.server == TENSORFLOW:
        parser.error("TensorFlow's servers cannot listen behind a proxy")
    kinds = args.kinds.split(",")
    if set(kinds) - set(FAULTS):
        parser.error("unknown faults: " + ", ".join(sorted(set(kinds) - set(FAULTS))))
    return run_all(args, lambda seed: Run(args.server, seed, kinds))


if __name__ == "__main__":
    sys.exit(main())
