#!/usr/bin/env python3
"""Training programs on servers of ours and on TensorFlow's: what comes out must be the same.

  run_jobs.py --server 'build/bin/tensorfleet server' [-k WORD] [--only ours|tensorflow]

Each job is a program of programs/, an unmodified tf.compat.v1 program that finds its place in TF_CONFIG, with one process
per task. Where a job is deterministic, the losses of its steps are compared number by number; where workers race, what
must hold of any run is checked on both sides. Prints a line per job, then 'N passed, N failed'; a failed job's logs stay.
Needs Python 3.11 with tensorflow-cpu==2.15.1.
"""
import argparse
import math
import os
import shutil
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from launch import TENSORFLOW, Cluster, join, results  # noqa: E402

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
JOBS = []


class Job:
    """`tasks`: the cluster; programs run on every task that is no ps. `same`: the keys of the chief's results that must
    agree between the servers. `holds(results by task)`: what must be true of each run; raises otherwise. `big`: only run
    when asked for, and on ours alone, as TensorFlow's servers cannot."""

    def __init__(self, name, program, tasks, args=(), same=(), holds=lambda results: None, seconds=120, big=False):
        self.name, self.program, self.tasks, self.args = name, program, tasks, list(args)
        self.same, self.holds, self.seconds, self.big = same, holds, seconds, big
        JOBS.append(self)

    def clients(self):
        return [(job, i) for job, n in self.tasks.items() if job != "ps" for i in range(n)]

    def run(self, server):
        """{(job, index): results}"""
        with Cluster(server, self.tasks) as cluster:
            model = os.path.join(cluster.directory, "model")
            os.mkdir(model)
            args = [a.replace("DIR", model) for a in self.args]
            started = {task: cluster.run(os.path.join(PROGRAMS, self.program), args, *task) for task in self.clients()}
            deadline = time.monotonic() + self.seconds
            for task, (process, log) in started.items():
                code = join(process, max(0.1, deadline - time.monotonic()))
                if code != 0:
                    raise AssertionError("%s:%d %s; see %s\n%s" % (
                        *task, "hangs" if code is None else "ended with %d" % code, log, tail(log)))
            found = {task: results(log) for task, (_, log) in started.items()}
            self.holds(found)
        shutil.rmtree(cluster.directory)
        return found


def tail(path, lines=12):
    with open(path, errors="replace") as f:
        return "".join(f.readlines()[-lines:])


def differences(ours, theirs, where=""):
    """Where two results differ, as texts. Floats may differ by rounding, which grows with the steps."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return [d for k in sorted(set(ours) | set(theirs))
                for d in differences(ours.get(k), theirs.get(k), "%s.%s" % (where, k))]
    if isinstance(theirs, list) and isinstance(ours, list) and len(ours) == len(theirs):
        return [d for i, (a, b) in enumerate(zip(ours, theirs)) for d in differences(a, b, "%s[%d]" % (where, i))]
    if isinstance(theirs, float) and isinstance(ours, float):
        if math.isclose(ours, theirs, rel_tol=2e-3, abs_tol=1e-5):
            return []
    elif ours == theirs:
        return []
    return ["%s is %r on ours, %r on TensorFlow's" % (where, ours, theirs)]


def require(condition, what):
    if not condition:
        raise AssertionError(what)


CHIEF = ("chief", 0)
ALONE = {"ps": 2, "chief": 1}
CROWD = {"ps": 2, "chief": 1, "worker": 2}


def trained(steps, accuracy, workers):
    """The digits are learnt, in as many steps as were asked for, and the chief's files say so."""
    def check(found):
        chief = found[CHIEF]
        require(chief["accuracy"] >= accuracy, "accuracy %s" % chief["accuracy"])
        # A worker that reads the step before its own update is counted makes one step more, and another is under way.
        require(steps <= chief["global_step"] < steps + 2 * workers, "step %s" % chief["global_step"])
        require(chief.get("summaries", 1) > 0, "no summaries")
        total = sum(r["own_steps"] for r in found.values())
        require(total >= chief["global_step"], "%d steps were run" % total)
    return check


def learnt(found):
    losses = found[CHIEF]["losses"]
    require(losses[-1] < 0.5 * losses[0], "the loss went from %s to %s" % (losses[0], losses[-1]))


def synchronous(steps, aggregate):
    def check(found):
        chief = found["worker", 0]
        require(chief["global_step"] == steps, "step %s" % chief["global_step"])
        require(chief["accuracy"] >= 0.9, "accuracy %s" % chief["accuracy"])
        require(all(r["in_order"] for r in found.values()), "a worker saw the global step go back")
        total = sum(r["own_steps"] for r in found.values())
        require(total >= (steps - 1) * aggregate, "%d gradients made %d steps of %d" % (total, steps, aggregate))
    return check


TRAIN = ["--dir", "DIR"]
for model in ("mlp", "cnn"):
    for optimizer in ("sgd", "momentum", "adam"):
        if model == "mlp" or optimizer == "momentum":
            Job("digits %s, %s, one worker" % (model, optimizer), "digits.py", ALONE,
                TRAIN + ["--model", model, "--optimizer", optimizer, "--steps", "150", "--save_steps", "60"],
                same=["losses", "accuracy", "global_step", "summaries"], holds=trained(150, 0.8, 1))
    Job("digits %s, three workers" % model, "digits.py", CROWD, TRAIN + ["--model", model, "--steps", "400"],
        holds=trained(400, 0.9, 3))
Job("digits mlp, resource variables, one worker", "digits.py", ALONE, TRAIN + ["--resource", "--steps", "150"],
    same=["losses", "accuracy", "global_step"], holds=trained(150, 0.8, 1))
Job("digits mlp, synchronous, 3 of 4 workers", "sync_replicas.py", {"ps": 1, "worker": 4},
    TRAIN + ["--aggregate", "3", "--steps", "60"], holds=synchronous(60, 3))
for optimizer in ("sgd", "adagrad", "adam", "momentum", "rmsprop", "ftrl"):
    Job("embedding in two parts, %s" % optimizer, "embedding.py", ALONE, TRAIN + ["--optimizer", optimizer],
        same=["losses", "table_sum", "table_norm", "restored_elsewhere"], holds=learnt)
Job("embedding in three parts, mod, resource variables, adagrad", "embedding.py", ALONE,
    TRAIN + ["--optimizer", "adagrad", "--parts", "3", "--strategy", "mod", "--resource"],
    same=["losses", "table_sum", "table_norm", "restored_elsewhere"], holds=learnt)
SAVED = ["whole", "sharded", "old", "exported", "kept"]
Job("saver", "saver.py", {"ps": 3, "chief": 1}, TRAIN, same=SAVED)
Job("saver, resource variables", "saver.py", {"ps": 3, "chief": 1}, TRAIN + ["--resource"], same=SAVED)
Job("lstm", "lstm.py", ALONE, same=["losses", "norms"], holds=learnt)
Job("gru", "lstm.py", ALONE, ["--cell", "gru"], same=["losses", "norms"], holds=learnt)
Job("queues", "queues.py", ALONE, same=["in_order", "once_per_epoch", "is_shuffled", "monitored"])
Job("control flow", "control_flow.py", {"ps": 1, "chief": 1},
    same=["branches", "nested", "mapped", "tables", "in_parts"])


def kept_whole(found):
    got = found[CHIEF]
    for key, wanted in (("erased", [0, 0, 0]), ("restored", [1, 0, 2]), ("piece_read_here", [2, 2]),
                        ("read_here", [1, 0, 2]), ("read_there", [3, 0, 4]), ("bytes", 4 * 1100 << 20)):
        require(got[key] == wanted, "%s is %r, not %r" % (key, got[key], wanted))


# TensorFlow's server goes down when another one fetches so large a tensor from it.
Job("a variable of 4.6 GB", "big_variable.py", {"ps": 1, "chief": 1}, TRAIN, holds=kept_whole, seconds=600, big=True)


def run_on_both(job, servers):
    if job.big:
        servers = [server for server in servers if server != TENSORFLOW]
    found = {server: job.run(server) for server in servers}
    if len(servers) == 2:
        ours, theirs = (found[s][CHIEF] if job.same else {} for s in servers)
        wrong = [d for key in job.same for d in differences(ours[key], theirs[key], key)]
        require(not wrong, "; ".join(wrong[:5]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="our server's command")
    parser.add_argument("-k", default="", help="only jobs whose name contains this")
    parser.add_argument("--only", choices=["ours", "tensorflow"], help="one kind of server, nothing to compare with")
    parser.add_argument("--big", action="store_true", help="also jobs that need 20 GB of memory and 10 of disk")
    args = parser.parse_args()
    servers = {"ours": [args.server], "tensorflow": [TENSORFLOW], None: [args.server, TENSORFLOW]}[args.only]
    failed = 0
    jobs = [job for job in JOBS if args.k in job.name and (not job.big or (args.big and args.only != "tensorflow"))]
    for job in jobs:
        start = time.monotonic()
        try:
            run_on_both(job, servers)
            verdict = "ok"
        except Exception as e:
            verdict = "FAILED: " + ("".join(str(e)) if isinstance(e, (AssertionError, TimeoutError)) else
                                    traceback.format_exc())
            failed += 1
        print("%-62s %5.1f s  %s" % (job.name, time.monotonic() - start, verdict), flush=True)
    print("%d passed, %d failed" % (len(jobs) - failed, failed))
    return 1 if failed or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
