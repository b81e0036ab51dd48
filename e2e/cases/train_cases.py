#!/usr/bin/env python3
"""`tensorfleet train`: whole jobs as processes, with graphs, checkpoints and event files that TensorFlow made or reads.

  train_cases.py --tensorfleet build/bin/tensorfleet [-k WORD]

Needs Python 3.11 with tensorflow-cpu==2.15.1. Prints a line per case, then 'N passed, N failed'.
"""
import argparse
import glob
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "e2e"))
import launch  # noqa: E402
from launch import tf  # noqa: E402

v1 = tf.compat.v1
METRICS = "--eval_metrics accuracy=accuracy:0,loss=loss:0"


class Job:
    """The tasks of one training as processes that run `tensorfleet train`, with one folder for everything."""

    def __init__(self, jobs, flags, **flags_by_job):
        self.dir = tempfile.mkdtemp(prefix="fleet-train-")
        self.model = os.path.join(self.dir, "model")
        ports = iter(launch.free_ports(sum(jobs.values())))
        self.spec = {job: ["localhost:%d" % next(ports) for _ in range(n)] for job, n in jobs.items()}
        self.tasks = {}
        for job, n in jobs.items():
            for i in range(n):
                own = flags_by_job.get(job, "")
                command = f"{Job.binary} train --checkpoint_dir {self.model} {flags} {own}"
                self.tasks[job, i] = launch.Server(command, self.spec, job, i, self.log(job, i))

    def log(self, job, index):
        return os.path.join(self.dir, f"{job}-{index}.log")

    def text(self, job, index=0):
        with open(self.log(job, index), errors="replace") as f:
            return f.read()

    def __enter__(self):
        for task in self.tasks.values():
            task.start()
        return self

    def __exit__(self, error, *_):
        for task in self.tasks.values():
            task.kill()
        if error is None:
            shutil.rmtree(self.dir)
        else:
            for job, i in self.tasks:
                print(f"--- {job} {i}\n" + self.text(job, i)[-1500:])

    def exit_code(self, job, index=0, seconds=240):
        return launch.join(self.tasks[job, index].process, seconds)

    def step(self, job="chief", index=0):
        """The last step in its log, -1 before the first."""
        steps = re.findall(r"Training step=(\d+)", self.text(job, index))
        return int(steps[-1]) if steps else -1

    def lines(self, job="chief", index=0):
        return len(re.findall(r"Training step=\d+", self.text(job, index)))

    def wait_for_step(self, step, seconds=60):
        launch.wait_until(lambda: self.step() >= step, seconds, f"step {step}; see {self.dir}")

    def checkpoint(self):
        return tf.train.latest_checkpoint(self.model)

    def saved_step(self):
        return int(tf.train.load_variable(self.checkpoint(), "global_step"))


def exported(name):
    """A meta graph of the digits example, made once."""
    out = pathlib.Path(tempfile.gettempdir()) / f"fleet-digits-{os.getpid()}"
    if not out.exists():
        script = ROOT / "deploy/examples/digits/export_meta_graphs.py"
        subprocess.run([sys.executable, str(script), str(out)], check=True, capture_output=True, timeout=180)
    return str(out / f"{name}.meta")


def digits(flags=""):
    return f"--meta_graph {exported('train')} --log_steps 1 {flags}"


def events(directory):
    found = []
    for path in sorted(glob.glob(os.path.join(directory, "events.out.tfevents.*"))):
        found += list(v1.train.summary_iterator(path))
    return found


def values(found, tag):
    return [(e.step, v.simple_value) for e in found for v in e.summary.value if v.tag == tag]


def has(condition, what):
    if not condition:
        raise AssertionError(what)


# --- whole jobs -----------------------------------------------------------------------------------------------------

def case_the_digits_are_learnt_by_an_exported_graph():
    jobs = {"chief": 1, "worker": 2, "ps": 2, "evaluator": 1}
    flags = digits(f"--eval_meta_graph {exported('eval')} --max_steps 2000 --save_steps 500 {METRICS}")
    with Job(jobs, flags) as job:
        codes = {task: job.exit_code(*task) for task in job.tasks}
        has(set(codes.values()) == {0}, f"exit codes {codes}")
        accuracy = values(events(os.path.join(job.model, "eval")), "accuracy")
        print("   accuracy by step:", [(s, round(a, 4)) for s, a in accuracy])
        has(accuracy[-1][0] >= 2000 and accuracy[-1][1] >= 0.97, f"accuracy {accuracy}")
        for ps in (0, 1):
            has(f"on=/job:ps/replica:0/task:{ps}" in job.text("chief"), "a parameter server holds nothing")

        found = events(job.model)
        has(found[0].file_version == "brain.Event:2", "the event file's first record")
        has(len(values(found, "loss")) >= 10, "losses in the event file")
        has(any(e.HasField("graph_def") for e in found), "the graph in the event file")
        has(any(e.session_log.status == e.session_log.CHECKPOINT for e in found), "checkpoints in the event file")


def case_tensorflow_restores_what_was_trained():
    with Job({"chief": 1, "ps": 2}, digits("--max_steps 300 --max_to_keep 2 --save_steps 100")) as job:
        has(job.exit_code("chief") == 0, "the chief's exit code")
        has(job.saved_step() == 300, f"saved at {job.saved_step()}")
        state = tf.train.get_checkpoint_state(job.model)
        has(len(state.all_model_checkpoint_paths) == 2, f"kept {state.all_model_checkpoint_paths}")
        with tf.Graph().as_default(), v1.Session() as s:
            v1.train.import_meta_graph(job.checkpoint() + ".meta").restore(s, job.checkpoint())
            has(s.run("global_step:0") == 300, "the step that TensorFlow restored")


def case_training_goes_on_from_tensorflows_checkpoint():
    with Job({"chief": 1, "ps": 1}, digits("--max_steps 30")) as job:
        job.tasks["chief", 0].kill()
        shutil.rmtree(job.model, ignore_errors=True)
        with tf.Graph().as_default(), v1.Session() as s:
            saver = v1.train.import_meta_graph(exported("train"))
            s.run(v1.get_collection("init_op"))
            s.run(v1.assign(v1.get_collection("global_step")[0], 20))
            os.makedirs(job.model)
            saver.save(s, os.path.join(job.model, "model.ckpt"), global_step=20)
        for task in job.tasks.values():
            task.kill()
            task.start()
        has(job.exit_code("chief") == 0, "the chief's exit code")
        has("model.ckpt-20" in job.text("chief"), "restored from elsewhere")
        has(job.saved_step() == 30, f"saved at {job.saved_step()}")


def case_one_process_trains_alone():
    directory = tempfile.mkdtemp(prefix="fleet-train-")
    environment = {k: v for k, v in os.environ.items() if k != "TF_CONFIG"}
    done = subprocess.run([Job.binary, "train", "--meta_graph", exported("train"), "--max_steps", "20",
                           "--checkpoint_dir", directory], env=environment, capture_output=True, text=True, timeout=60,
                          check=False)
    has(done.returncode == 0, done.stderr[-1000:])
    has(tf.train.latest_checkpoint(directory).endswith("-20"), "the last checkpoint")
    shutil.rmtree(directory)


def plugins():
    """Those that `./dev setup --accelerators` fetches: CPUs that stand for GPUs."""
    return sorted(glob.glob(str(ROOT / ".accelerators/*/*/*pjrt*.so")))


def case_one_process_trains_on_a_device():
    if not plugins():
        print("    skipped: no plug-in; ./dev setup --accelerators fetches some")
        return
    environment = {k: v for k, v in os.environ.items() if k != "TF_CONFIG"}
    for device, code, word in (("gpu", 0, "Compiled a cluster"), ("cpu", 0, ""), ("tpu", 1, "no plug-in has a device of type TPU")):
        done = subprocess.run([Job.binary, "train", "--meta_graph", exported("train"), "--max_steps", "20", "--device", device,
                               "--pjrt", "GPU=" + plugins()[0]], env=environment, capture_output=True, text=True, timeout=300,
                              check=False)
        has(done.returncode == code and word in done.stderr, done.stderr[-1000:])
        has(device != "gpu" or "runs on the host" not in done.stderr, "all clusters are compiled: " + done.stderr[-1000:])
        has(device != "cpu" or "Compiled" not in done.stderr, "no plug-in is opened: " + done.stderr[-1000:])


def case_inspect_lists_what_tensorflow_saved():
    def inspected(*args):
        done = subprocess.run([Job.binary, "inspect", *args], capture_output=True, text=True, timeout=60, check=False)
        has(done.returncode == 0, done.stderr)
        return done.stdout

    directory = tempfile.mkdtemp(prefix="fleet-train-")
    for version in (v1.train.SaverDef.V1, v1.train.SaverDef.V2):
        with tf.Graph().as_default(), v1.Session() as s:
            v1.get_variable("weights", [2, 3], initializer=v1.constant_initializer([1, 2, 3, 4, 5, 6]))
            v1.get_variable("steps", [], tf.int64, v1.ones_initializer())
            s.run(v1.global_variables_initializer())
            prefix = v1.train.Saver(write_version=version).save(s, os.path.join(directory, f"model-v{version}"))
        lines = [line.split() for line in inspected(prefix).splitlines()[1:]]
        has(lines == [["steps", "int64", "[]"], ["weights", "float", "[2,3]"]], f"tensors {lines}")
        has("[1 2 3][4 5 6]" in inspected(prefix, "--tensor", "weights"), "values")
    has("written by        TensorFlow 2.15" in inspected(prefix + ".meta"), "the graph")
    shutil.rmtree(directory)


def synchronous(path, aggregate, total):
    """Each gradient of w is 1 and the rate is 1: w is minus the number of steps, whoever was part of them."""
    with tf.Graph().as_default():
        step = v1.train.get_or_create_global_step()
        w = v1.get_variable("w", [], initializer=v1.zeros_initializer())
        optimizer = v1.train.SyncReplicasOptimizer(
            v1.train.GradientDescentOptimizer(1.0), aggregate, total, tf.train.ExponentialMovingAverage(0.5), [w])
        optimizer.minimize(tf.identity(w), step)
        v1.train.Scaffold().finalize()
        v1.train.export_meta_graph(path)
    return path


def case_synchronous_replicas_of_an_exported_graph():
    with tempfile.TemporaryDirectory() as directory:
        meta = synchronous(os.path.join(directory, "sync.meta"), 2, 3)
        with Job({"chief": 1, "worker": 2, "ps": 2}, f"--meta_graph {meta} --max_steps 60 --save_steps 20") as job:
            codes = {task: job.exit_code(*task, seconds=60) for task in job.tasks}
            has(set(codes.values()) == {0}, f"exit codes {codes}")
            step, w = job.saved_step(), float(tf.train.load_variable(job.checkpoint(), "w"))
            # Workers go on while the two servers' parts are saved.
            has(step >= 60 and abs(step + w) <= 5, f"w is {w} after {step} steps")
            average = float(tf.train.load_variable(job.checkpoint(), "w/ExponentialMovingAverage"))
            has(w - 5 <= average < w + 10, f"the average of w is {average}, w {w}")


# --- what goes wrong ------------------------------------------------------------------------------------------------

def next_step_after(job, act, task="chief"):
    """Seconds from act() to the chief's next step."""
    act()
    begin, lines = time.monotonic(), job.lines(task)
    launch.wait_until(lambda: job.lines(task) > lines, 60, f"a step after the fault; see {job.dir}")
    return time.monotonic() - begin


def case_a_killed_parameter_server_gets_back_what_it_held():
    with Job({"chief": 1, "ps": 2}, digits("--save_steps 200")) as job:
        job.wait_for_step(300)
        ps = job.tasks["ps", 1]
        seconds = next_step_after(job, lambda: (ps.kill(), ps.start()))
        print(f"   from kill to the next step: {seconds:.3f} s")
        text = job.text("chief")
        has("Restoring the variables that were lost" in text, "what was restored")
        has(job.step() >= 300, "the steps that the other server still counted")
        job.wait_for_step(job.step() + 50)


def case_a_parameter_server_that_is_told_to_leave_may_come_back():
    with Job({"chief": 1, "ps": 2}, digits("--save_steps 200")) as job:
        job.wait_for_step(300)
        ps = job.tasks["ps", 1]

        def restart():
            ps.process.send_signal(signal.SIGTERM)
            has(launch.join(ps.process, 20) == 128 + signal.SIGTERM, "the exit code")
            ps.start()
        print(f"   from SIGTERM to the next step: {next_step_after(job, restart):.3f} s")
        job.wait_for_step(job.step() + 50)


def case_a_killed_chief_goes_on_where_the_servers_are():
    with Job({"chief": 1, "ps": 2}, digits("--save_steps 200")) as job:
        job.wait_for_step(300)
        chief = job.tasks["chief", 0]
        seconds = next_step_after(job, lambda: (chief.kill(), chief.start()))
        print(f"   from kill to the next step: {seconds:.3f} s")
        has("nothing to restore" in job.text("chief"), "what the second chief did")
        job.wait_for_step(job.step() + 50)


def case_all_killed_the_job_goes_on_from_the_last_checkpoint():
    with Job({"chief": 1, "ps": 2}, digits("--save_steps 100 --max_steps 1000")) as job:
        job.wait_for_step(250)
        for task in job.tasks.values():
            task.kill()
        saved = job.saved_step()
        for task in job.tasks.values():
            task.start()
        has(job.exit_code("chief") == 0, "the chief's exit code")
        has(f"model.ckpt-{saved}" in job.text("chief").split("Restoring all variables")[1], "restored from elsewhere")
        has(job.saved_step() == 1000, f"saved at {job.saved_step()}")


def case_a_killed_worker_costs_the_others_nothing():
    with Job({"chief": 1, "worker": 1, "ps": 1}, digits()) as job:
        job.wait_for_step(100)
        launch.wait_until(lambda: job.step("worker") >= 100, 30, "the worker's steps")
        job.tasks["worker", 0].kill()
        job.wait_for_step(job.step() + 100)
        job.tasks["worker", 0].start()
        launch.wait_until(lambda: job.text("worker").count("Training begins") == 2, 30, "the second worker")
        has("opening another session" not in job.text("chief"), "the chief lost its session")


def case_a_worker_waits_for_the_chief_and_says_for_what():
    with Job({"chief": 1, "worker": 1, "ps": 1}, digits("--max_steps 50")) as job:
        for task in job.tasks.values():
            task.kill()
        shutil.rmtree(job.model, ignore_errors=True)
        before = job.text("worker").count("Waiting for the chief")
        job.tasks["ps", 0].start()
        job.tasks["worker", 0].start()
        launch.wait_until(lambda: job.text("worker").count("Waiting for the chief") > before, 30, "the worker's line")
        has(re.search(r"Waiting for the chief.*missing=.*hidden/kernel", job.text("worker")), "what it waits for")
        job.tasks["chief", 0].start()
        has(job.exit_code("worker") == 0, f"exit code {job.exit_code('worker')}")


def case_a_terminated_chief_saves_and_asks_for_another_attempt():
    with Job({"chief": 1, "ps": 1}, digits("--save_secs 1000")) as job:
        job.wait_for_step(50)
        job.tasks["chief", 0].process.send_signal(signal.SIGTERM)
        has(job.exit_code("chief") == 128 + signal.SIGTERM, f"exit code {job.exit_code('chief')}")
        has(job.saved_step() >= 50, f"saved at {job.saved_step()}")
        job.tasks["ps", 0].process.send_signal(signal.SIGTERM)
        has(job.exit_code("ps") == 128 + signal.SIGTERM, f"exit code {job.exit_code('ps')}")


def case_peers_that_never_come_are_a_retryable_failure():
    with Job({"chief": 1, "ps": 1}, digits("--give_up_secs 1")) as job:
        job.tasks["ps", 0].kill()
        job.tasks["chief", 0].kill()
        job.tasks["chief", 0].start()
        has(job.exit_code("chief") == 138, f"exit code {job.exit_code('chief')}")


def case_a_bad_graph_is_a_permanent_failure():
    with Job({"chief": 1, "ps": 1}, digits("--loss no_such_tensor")) as job:
        has(job.exit_code("chief") == 1, f"exit code {job.exit_code('chief')}")
        has("'no_such_tensor:0', which is not in the graph" in job.text("chief"), "the reason")


def case_a_graph_that_nobody_feeds_is_a_permanent_failure():
    with tempfile.TemporaryDirectory() as directory, tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [], name="measured")
        w = v1.get_variable("w", [], initializer=v1.zeros_initializer())
        v1.train.GradientDescentOptimizer(0.1).minimize(tf.square(w - x), v1.train.get_or_create_global_step())
        v1.train.Scaffold().finalize()
        v1.train.export_meta_graph(os.path.join(directory, "fed.meta"))
        with Job({"chief": 1, "ps": 1}, f"--meta_graph {directory}/fed.meta") as job:
            has(job.exit_code("chief") == 1, f"exit code {job.exit_code('chief')}")
            has("the placeholder 'measured'" in job.text("chief"), "the reason")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorfleet", required=True, help="the program")
    parser.add_argument("-k", default="", help="only cases whose name contains this")
    args = parser.parse_args()
    Job.binary = args.tensorfleet
    passed = failed = 0
    for name, case in list(globals().items()):
        if not name.startswith("case_") or args.k not in name:
            continue
        begin = time.monotonic()
        try:
            case()
            passed += 1
            print(f"PASS {name[5:]} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Exception:  # each case is reported by itself
            failed += 1
            print(f"FAIL {name[5:]}\n{traceback.format_exc(limit=3)}", flush=True)
    shutil.rmtree(pathlib.Path(tempfile.gettempdir()) / f"fleet-digits-{os.getpid()}", ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
