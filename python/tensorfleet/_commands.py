"""The programs as functions."""
from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, List, Mapping, Optional, Sequence

from . import _program

# For a program to save and end after it was asked to.
_GRACE_SECONDS = 30.0
# Starts a program that ends when the process that waits for it does, however that ends. A process of its own sets this up,
# because code of Python between fork and exec is not safe where there are threads.
_ENDS_WITH_US = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
sys.exit(1)
"""


class ProgramFailed(RuntimeError):
    """A program ended with an error.

    Attributes:
        exit_code: Its own; those of `train` are explained by `tensorfleet train --help`. A signal is 128 plus its number.
    """

    def __init__(self, command: str, exit_code: int, said: str):
        super().__init__("tensorfleet %s ended with exit code %d%s" % (command, exit_code, ": " + said if said else ""))
        self.exit_code = exit_code


def _flags(options: Mapping[str, Any], dash: str = "_") -> List[str]:
    flags: List[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", dash)
        if value is True:
            flags.append(flag)
        elif value is None or value is False:
            continue
        elif isinstance(value, Mapping):
            for key, each in value.items():
                flags += [flag, "%s=%s" % (key, each)]
        elif isinstance(value, (list, tuple)):
            for each in value:
                flags += [flag, str(each)]
        else:
            flags += [flag, str(value)]
    return flags


def _run(command: str, arguments: Sequence[str], environment: Optional[Mapping[str, str]] = None) -> None:
    """Runs it and shows what it says, on this process's sys.stderr, so in notebooks too."""
    program = _program.find()
    argv = [program, command, *arguments]
    if sys.executable:
        argv = [sys.executable, "-I", "-S", "-c", _ENDS_WITH_US, str(os.getpid()), *argv]
    said: List[str] = []
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", env={**os.environ, **(environment or {})}) as process:
        try:
            for line in process.stdout or ():
                said = [*said[-3:], line.rstrip()]
                sys.stderr.write(line)
            status = process.wait()
        except BaseException:
            # Ctrl-C: it saves what it has, and ends.
            process.terminate()
            try:
                process.wait(_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    if status != 0:
        raise ProgramFailed(command, 128 - status if status < 0 else status, "\n".join(said))


def train(meta_graph: str, checkpoint_dir: str, *, max_steps: Optional[int] = None, cluster: Any = None,
          job_name: Optional[str] = None, task_index: Optional[int] = None, save_steps: Optional[int] = None,
          save_secs: Optional[float] = None, max_to_keep: Optional[int] = None, log_steps: Optional[int] = None,
          summary_steps: Optional[int] = None, eval_meta_graph: Optional[str] = None,
          eval_metrics: Optional[Mapping[str, str]] = None, **flags: Any) -> None:
    """Trains an exported graph, as one task of a job or alone, and returns when the job is done.

    What it logs appears on sys.stderr. Ctrl-C ends it after a checkpoint.

    Args:
        meta_graph: A file that tf.compat.v1.train.export_meta_graph wrote.
        checkpoint_dir: Where checkpoints and summaries go, and where training goes on from; all tasks must see it.
        max_steps: The global step at which the job is done; None: never.
        cluster, job_name, task_index: The job (see `ClusterSpec`) and which task this is; else TF_CONFIG says it, else this is
            the only one.
        save_steps, save_secs, max_to_keep, log_steps, summary_steps: How often it does what.
        eval_meta_graph, eval_metrics: For an evaluator: its graph, and the tensors that it writes, by their names there.
        flags: Any other flag of `tensorfleet train`, whose `--help` explains all of them.

    Raises:
        ProgramFailed: It failed; `exit_code` says whether another attempt may succeed (from 128 on).

    Example:
        >>> train("model.meta", "run1", max_steps=20, save_steps=10, log_level="error")
        >>> print(inspect("run1", tensor="global_step"))  # doctest: +ELLIPSIS
        global_step...20...
    """
    if cluster is not None:
        from ._cluster import ClusterSpec
        flags = {"cluster_spec": ClusterSpec(cluster).to_json(), **flags}
    metrics = ",".join("%s=%s" % pair for pair in eval_metrics.items()) if eval_metrics else None
    _run("train", _flags(dict(
        meta_graph=meta_graph, checkpoint_dir=checkpoint_dir, max_steps=max_steps, job_name=job_name, task_index=task_index,
        save_steps=save_steps, save_secs=save_secs, max_to_keep=max_to_keep, log_steps=log_steps, summary_steps=summary_steps,
        eval_meta_graph=eval_meta_graph, eval_metrics=metrics, **flags)))


def inspect(path: str, *, tensor: Optional[str] = None, values: Optional[int] = None) -> str:
    """What a checkpoint, an event file or an exported graph holds, as text.

    Args:
        path: A checkpoint's prefix, its .index file or its folder; an event file; a graph. May begin with s3://.
        tensor: One tensor of the checkpoint, whose values are shown.
        values: How many of them at most.

    Raises:
        ProgramFailed: It is none of these, or cannot be read.

    Example:
        >>> inspect("nothing.meta")
        Traceback (most recent call last):
        tensorfleet._commands.ProgramFailed: tensorfleet inspect ended with exit code 1: ...
    """
    done = subprocess.run([_program.find(), "inspect", path, *_flags(dict(tensor=tensor, values=values))],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          check=False)
    if done.returncode != 0:
        raise ProgramFailed("inspect", done.returncode, done.stderr.strip())
    return done.stdout


def run(job: str, *, set: Sequence[str] = (), volume: Optional[Mapping[str, str]] = None,  # pylint: disable=redefined-builtin
        env: Optional[Mapping[str, str]] = None, dir: Optional[str] = None,  # pylint: disable=redefined-builtin
        **flags: Any) -> None:
    """Runs a TFJob on this machine, a process for each replica, and returns when it has succeeded.

    Args:
        job: The YAML file of the TFJob.
        set: Fields to change, as "tfReplicaSpecs.Worker.replicas=3".
        volume: Folders of this machine by the names of the job's volumes.
        env: Variables for all of its containers.
        dir: Where logs and temporary folders go.
        flags: Any other flag of `tensorfleet run`, with _ for -.

    Raises:
        ProgramFailed: The job failed, or could not be run.

    Example:
        >>> run("job.yaml", dir="logs", plain=True)
        >>> open("logs/logs/worker-0.log").read()
        'trained\\n'
    """
    _run("run", [job, *_flags(dict(set=list(set), volume=volume, env=env, dir=dir, **flags), dash="-")])
