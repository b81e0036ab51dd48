#!/usr/bin/env python3
"""The documents' scripts, in which only the import says tensorfleet, with what they must print.

  run_documents.py --program build/bin/tensorfleet             all of them
  run_documents.py --program build/bin/tensorfleet -k ps       those whose name contains 'ps'

Needs TensorFlow; the notebook also nbclient and ipykernel, and is left out, in words, without them. The scripts' ports are
replaced by free ones. After each case no process of its may be left. Prints a line per case, then 'N passed, N failed'.
"""
import argparse
import contextlib
import importlib.metadata
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import uuid

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAM = None
MARK = "TENSORFLEET_DOCUMENTS_CASE=" + uuid.uuid4().hex


class Skipped(Exception):
    pass


def free_ports(n):
    with contextlib.ExitStack() as open_sockets:
        found = []
        for _ in range(n):
            s = open_sockets.enter_context(socket.socket())
            s.bind(("", 0))
            found.append(s.getsockname()[1])
        return found


def tensorflow_version():
    for name in ("tensorflow-cpu", "tensorflow"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    raise Skipped("TensorFlow is not installed")


class Run:
    """The scripts in a folder of their own, each of the documents' ports replaced by one that is free, the same in all."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        sources = {p.name: p.read_text() for p in (HERE / "scripts").glob("*.py")}
        ports = sorted({p for text in sources.values() for p in re.findall(r"localhost:(\d{4})", text)})
        chosen = dict(zip(ports, free_ports(len(ports))))
        for name, text in sources.items():
            text = re.sub(r"localhost:(\d{4})", lambda m: "localhost:%d" % chosen[m[1]], text)
            (self.folder / name).write_text(text)

    def environment(self, **more):
        key, value = MARK.split("=")
        return {**os.environ, "PYTHONPATH": str(ROOT / "python"), "TENSORFLEET_PROGRAM": PROGRAM, "TF_CPP_MIN_LOG_LEVEL": "2",
                "PYTHONUNBUFFERED": "1", key: value, **more}

    def start(self, name, *arguments, **more):
        errors = open(self.folder / ("%s.%d.err" % (name, time.monotonic_ns())), "w+")
        process = subprocess.Popen([sys.executable, name, *arguments], cwd=self.folder, env=self.environment(**more), text=True,
                                   stdout=subprocess.PIPE, stderr=errors)
        process.errors = errors
        return process

    def output(self, process, seconds=120):
        try:
            out, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
            raise AssertionError("not done after %d s: %s\n%s" % (seconds, out, self.errors(process))) from None
        assert process.returncode == 0, "exit code %d: %s\n%s" % (process.returncode, out, self.errors(process))
        return out

    def errors(self, process):
        process.errors.seek(0)
        return process.errors.read()[-6000:]

    def script(self, name, *arguments, **more):
        """What the script prints, line by line."""
        return self.output(self.start(name, *arguments, **more)).splitlines()


def processes_left():
    left = []
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if MARK.encode() in (folder / "environ").read_bytes():
                left.append((int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200]))
    return left


def in_order(lines, *wanted):
    at = -1
    for line in wanted:
        assert line in lines[at + 1:], "no %r after line %d of %s" % (line, at, lines)
        at = lines.index(line, at + 1)


# --- rows 1 and 2 -----------------------------------------------------------------------------------------------------

def case_random_matrices_are_summed_over_two_tasks():
    run = Run()
    process = run.start("parallelizing.py", TF_CPP_MIN_LOG_LEVEL="0")
    out, log = run.output(process), run.errors(process)
    assert re.search(r"Summed Values:-?\d+\.\d+", out), out
    assert log.count("Started server with target: grpc://localhost:") == 2, log
    assert log.count("Cluster job local -> {0 -> localhost:") == 2, log
    assert re.search(r"Start master session [0-9a-f]{16}", log), log


# --- row 3 ------------------------------------------------------------------------------------------------------------

def case_two_workers_multiply_the_ps_constants():
    run = Run()
    for script, wanted in (("main.py", []), ("worker0.py", ["12.0"]), ("worker1.py", ["40.0"])):
        assert run.script(script) == wanted


# --- rows 5 and 6 -----------------------------------------------------------------------------------------------------

def case_cluster_specs_in_every_form():
    assert Run().script("cluster_specs.py") == ["['/job:worker/replica:0/task:3/device:CPU:0']", "every form says the same"]


def case_training_runs_where_it_was_put():
    assert Run().script("placed_training.py")[-1] == "every op ran where it was put"


# --- rows 7 and 9 -----------------------------------------------------------------------------------------------------

def case_the_first_server_waits_for_the_second():
    run = Run()
    process = run.start("two_processes.py", TF_CPP_MIN_LOG_LEVEL="0")
    lines = run.output(process).splitlines()
    in_order(lines, "First server: running no-op...", "Second server: 1 seconds disconnected before connect...",
             "First server: no-op run!")
    assert "Second server: connected!" in lines, lines
    assert "still waiting for response from worker: /job:local/replica:0/task:1" in run.errors(process)


def case_increments_are_seen_in_the_other_session():
    assert Run().script("shared_variable.py") == [
        "First value of a variable in session first: 0.0", "Second value of a variable in session second: 0.0",
        "Increment done in session1", "Value in first session: 1.0", "Value in second session: 1.0"]


# --- rows 8 to 13: the notebook ---------------------------------------------------------------------------------------

VALUES = ["Initial value of var in session 1: 0.0", "Initial value of var in session 2: 0.0", "Incremented var in session 1",
          "Value of var in session 1: 1.0"]


def where(*devices):
    return ["/job:local/replica:0/task:%d/device:CPU:0" % d for d in devices]


def check_notebook(outputs):
    """`outputs`: the lines that each cell printed, its value included."""
    printed = [lines for lines in outputs[1:] if lines]  # the import may warn
    assert printed[0] == VALUES + ["Value of var in session 2: 0.0"], printed[0]
    assert printed[1] == ["b'Hello, Distributed TensorFlow!'"], printed[1]
    assert printed[2] == VALUES + ["Value of var in session 2: 1.0"], printed[2]
    traces = printed[3:10]
    for lines, devices, nodes in zip(traces, ((0, ), (0, ), (1, 0), (0, ), (0, 1), (1, ), (1, 0)),
                                     (("var", ), ("var", "AssignAdd_1"), ("var", ), ("var1", ), ("var2", ), ("var2", ), ("var1", ))):
        ran_on = [line for line in lines if line.startswith("/job")]
        assert sorted(ran_on) == sorted(where(*devices)), lines
        assert lines.count("   _SOURCE") == len(devices), lines
        for node in nodes:
            assert "   " + node in lines, lines
    assert printed[10] == [
        "[<tf.Operation 'var/initial_value' type=Const>, <tf.Operation 'var' type=VariableV2>, "
        "<tf.Operation 'var/Assign' type=Assign>, <tf.Operation 'var/read' type=Identity>]"], printed[10]
    assert printed[11] == ["[]"], printed[11]
    assert printed[12] == ["1.0"], printed[12]


def case_the_notebook():
    try:
        import nbclient
        import nbformat
        import ipykernel  # noqa: F401
    except ImportError as e:
        raise Skipped(str(e)) from None
    run = Run()
    cells = (run.folder / "notebook.py").read_text().split("# %%\n")[1:]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    os.environ["JUPYTER_PLATFORM_DIRS"] = "1"
    before = dict(os.environ)
    os.environ.update(run.environment())
    try:
        nbclient.NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(run.folder)}}).execute()
    finally:
        os.environ.clear()
        os.environ.update(before)
    outputs = []
    for cell in book.cells:
        text = ""
        for output in cell.outputs:
            if output.output_type == "stream" and output.name == "stdout":
                text += output.text
            elif output.output_type == "execute_result":
                # NumPy 2 shows its scalars with their types.
                text += re.sub(r"^np\.float32\((.*)\)$", r"\1", output.data["text/plain"])
        outputs.append(text.splitlines())
    check_notebook(outputs)


# --- rows 14 to 16 ----------------------------------------------------------------------------------------------------

def case_one_client_waits_until_the_other_initializes():
    in_order(Run().script("wait_for_initialization.py"), "Server 1: waiting for connection...",
             "Server 1: waiting for initialization...", "Server 1: variables initialized!")


def case_a_ps_shows_what_two_workers_add():
    lines = Run().script("parameter_server.py")
    in_order(lines, "Parameter server: waiting for cluster connection...", "Parameter server: cluster ready!",
             "Parameter server: initializing variables...", "Parameter server: variables initialized",
             "Parameter server: var ends as 10.0", "Parameter server: blocking...")
    for worker in (0, 1):
        in_order(lines, "Worker %d: cluster ready!" % worker, "Worker %d: variables initialized" % worker,
                 *["Worker %d: incrementing var" % worker] * 5, "Worker %d: blocking..." % worker)
    values = [float(line.split()[-1]) for line in lines if line.startswith("Parameter server: var has value")]
    assert len(values) == 5 and values == sorted(values) and values[0] <= 2.0, values


def case_replication_in_and_between_graphs_agree():
    assert Run().script("replication.py")[-1].startswith("in-graph ")


# --- rows 21 to 24 ----------------------------------------------------------------------------------------------------

def case_slices_written_by_processes_are_read_by_workers():
    if not tensorflow_version().startswith("2.15"):
        raise Skipped("pipelines over TFRecord files of the newest TensorFlow's client fail on servers (ARCHITECTURE.md, data)")
    assert Run().script("input_pipeline.py") == ["wrote 100 rows", "worker 0 read 50 rows", "worker 1 read 50 rows",
                                                 "every row was read once"]


def case_what_a_request_does_not_need_does_not_run():
    run = Run()
    process = run.start("pruning.py", TENSORFLEET_LOG_LEVEL="debug")
    assert run.output(process).splitlines() == ["[[3.]]", "what the request does not need did not run"]
    assert re.search(r"Pruned a graph nodes=\d of=\d", run.errors(process)), run.errors(process)


class Job:
    """recovery.py as the tasks of a job."""

    def __init__(self):
        self.run = Run()
        self.checkpoints = self.run.folder / "checkpoints"
        ports = free_ports(3)
        self.cluster = {job: ["localhost:%d" % port] for job, port in zip(("ps", "chief", "worker"), ports)}
        self.tasks = {job: self.start(job) for job in self.cluster}

    def start(self, job):
        config = {"cluster": self.cluster, "task": {"type": job, "index": 0}}
        return self.run.start("recovery.py", str(self.checkpoints), TF_CONFIG=json.dumps(config))

    def await_step(self, job, what, at_least=0):
        """The step at which it 'begins' or 'at' which it is, as soon as that is far enough."""
        lines = []
        for line in self.tasks[job].stdout:
            lines.append(line)
            said = re.search(what + r" (?:at )?step (\d+)$", line)
            if said and int(said[1]) >= at_least:
                return int(said[1])
        raise AssertionError("%s ended before it %s step %d: %s\n%s" % (
            job, what, at_least, lines, self.run.errors(self.tasks[job])))

    def kill(self, job):
        process = self.tasks[job]
        process.kill()
        process.communicate()
        # Its server, a process of its own, has gone too, so the address is free for the next one.
        host, port = self.cluster[job][0].split(":")
        for _ in range(1000):
            with socket.socket() as s:
                if s.connect_ex((host, int(port))) != 0:
                    break
            time.sleep(0.02)
        else:
            raise AssertionError("the server of the killed %s is still there" % job)

    def restart(self, job):
        self.kill(job)
        self.tasks[job] = self.start(job)

    def finish(self):
        (self.checkpoints / "enough").touch()
        for job in ("chief", "worker"):
            assert "%s is done" % job in self.run.output(self.tasks[job]), job
        self.kill("ps")


def case_training_goes_on_when_a_worker_or_ps_dies():
    job = Job()
    job.await_step("worker", "at")
    reached = job.await_step("chief", "at", 40)
    job.restart("worker")
    assert job.await_step("worker", "begins") >= reached  # nothing was lost
    reached = job.await_step("chief", "at", reached + 40)
    job.restart("ps")
    begun = job.await_step("chief", "begins")
    assert begun >= reached - 40, (begun, reached)  # a checkpoint every 20 steps, and the one that is being written
    job.await_step("chief", "at", begun + 40)
    job.finish()


def case_a_new_chief_begins_at_the_latest_checkpoint():
    job = Job()
    reached = job.await_step("chief", "at", 60)
    for task in ("chief", "worker", "ps"):
        job.kill(task)
    for task in ("ps", "worker", "chief"):
        job.tasks[task] = job.start(task)
    begun = job.await_step("chief", "begins")
    assert begun >= reached - 40, (begun, reached)
    job.await_step("chief", "at", begun + 40)
    job.finish()


def main():
    global PROGRAM
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("-k", default="")
    arguments = parser.parse_args()
    PROGRAM = os.path.abspath(arguments.program)
    passed = failed = 0
    for name, case in list(globals().items()):
        if not name.startswith("case_") or arguments.k not in name:
            continue
        begun = time.monotonic()
        try:
            case()
            left = processes_left()
            patience = time.monotonic() + 5
            while left and time.monotonic() < patience:
                time.sleep(0.05)
                left = processes_left()
            assert not left, "processes are left: %s" % left
        except Skipped as why:
            print("skip %s: %s" % (name[5:], why), flush=True)
            continue
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print("FAIL %-60s %6.1f s" % (name[5:], time.monotonic() - begun), flush=True)
            traceback.print_exc()
            for pid, _ in processes_left():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            continue
        passed += 1
        print("ok   %-60s %6.1f s" % (name[5:], time.monotonic() - begun), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(bool(failed or not passed))


if __name__ == "__main__":
    main()
