"""Clusters and servers without TensorFlow."""
from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _child, _counters

Tasks = Union[Sequence[str], Mapping[int, str]]


class ClusterSpec:
    """The tasks of a training job, by job, with their addresses.

    Args:
        cluster: A dict of each job's name to its addresses, in order or by index; the same as JSON; or another ClusterSpec.

    Raises:
        TypeError, ValueError: It is none of these; the message names the job, task or address at fault.

    Example:
        >>> spec = ClusterSpec({"worker": ["a:2222", "b:2222"], "ps": {3: "c:2222"}})
        >>> spec.jobs
        ['ps', 'worker']
        >>> spec.task_address("ps", 3)
        'c:2222'
        >>> ClusterSpec(spec.to_json()) == spec
        True
        >>> ClusterSpec({"worker": ["nowhere"]})
        Traceback (most recent call last):
        ValueError: job 'worker', task 0: 'nowhere' is not an address of the form host:port
    """

    def __init__(self, cluster: Union["ClusterSpec", Mapping[str, Tasks], str]):
        if isinstance(cluster, ClusterSpec):
            self._jobs: Dict[str, Dict[int, str]] = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
            return
        if isinstance(cluster, str):
            cluster = json.loads(cluster)
        if not isinstance(cluster, Mapping):
            raise TypeError("a cluster is a dict of jobs, its JSON, or a ClusterSpec, not %r" % (cluster,))
        self._jobs = {str(job): _tasks(str(job), tasks) for job, tasks in cluster.items()}

    @property
    def jobs(self) -> List[str]:
        """The names of its jobs, sorted."""
        return sorted(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """How many tasks the job has."""
        return len(self._of(job_name))

    def task_indices(self, job_name: str) -> List[int]:
        """The indices of the job's tasks, sorted."""
        return sorted(self._of(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Where the task serves."""
        tasks = self._of(job_name)
        if task_index not in tasks:
            raise ValueError("job '%s' has no task %d" % (job_name, task_index))
        return tasks[task_index]

    def as_dict(self) -> Dict[str, Union[List[str], Dict[int, str]]]:
        """Lists where a job's indices are 0 to n-1, dicts elsewhere."""
        return {job: [tasks[i] for i in range(len(tasks))] if set(tasks) == set(range(len(tasks))) else dict(tasks)
                for job, tasks in self._jobs.items()}

    def to_json(self) -> str:
        """As `tensorfleet server --cluster_spec` and TF_CONFIG take it."""
        return json.dumps(self.as_dict())

    def _of(self, job_name: str) -> Dict[int, str]:
        if job_name not in self._jobs:
            raise ValueError("the cluster has no job '%s'; it has %s" % (job_name, ", ".join(self.jobs)))
        return self._jobs[job_name]

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __repr__(self) -> str:
        return "ClusterSpec(%r)" % self.as_dict()


def _tasks(job: str, tasks: Tasks) -> Dict[int, str]:
    if isinstance(tasks, Mapping):
        pairs = [(int(index), address) for index, address in tasks.items()]
    elif isinstance(tasks, Sequence) and not isinstance(tasks, (str, bytes)):
        pairs = list(enumerate(tasks))
    else:
        raise TypeError("job '%s': its tasks must be a list of addresses or a dict of them by index, not %r" % (job, tasks))
    for index, address in pairs:
        host, colon, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
        if not (host and colon and port.isdigit() and int(port) < 65536):
            raise ValueError("job '%s', task %d: %r is not an address of the form host:port" % (job, index, address))
    return dict(pairs)


class Server:
    """One task's server, a process that is a part of this one: it ends when this process does.

    Args:
        cluster: Whom it serves with (see `ClusterSpec`). Port 0 in its own address is any free one.
        job_name, task_index: Which task it is; may be left out where there is only one.
        bind: "host:port" to listen on, where that is not the port of its address.
        flags: More flags of `tensorfleet server`, whose `--help` explains them.

    Raises:
        ServerError: It cannot serve; the message says why, such as a port that is taken.
        ProgramNotFound: There is no program to start.

    Example:
        >>> with Server({"local": ["localhost:0"]}) as server:
        ...     server.target.startswith("grpc://localhost:")
        True
    """

    def __init__(self, cluster: Union[ClusterSpec, Mapping[str, Tasks], str], job_name: Optional[str] = None,
                 task_index: Optional[int] = None, *, bind: str = "", flags: Sequence[str] = ()):
        self.cluster = spec = ClusterSpec(cluster)
        if job_name is None:
            if len(spec.jobs) != 1:
                raise ValueError("job_name is needed: the cluster has the jobs %s" % ", ".join(spec.jobs))
            job_name = spec.jobs[0]
        if task_index is None:
            if spec.num_tasks(job_name) != 1:
                raise ValueError("task_index is needed: job '%s' has %d tasks" % (job_name, spec.num_tasks(job_name)))
            task_index = spec.task_indices(job_name)[0]
        self.job_name, self.task_index = job_name, task_index
        host, _, port = (bind or spec.task_address(job_name, task_index)).rpartition(":")

        def arguments(chosen: int) -> List[str]:
            final = ClusterSpec(spec)
            if int(port) == 0:
                final._jobs[job_name][task_index] = "%s:%d" % (host, chosen)
            where = ["--bind", "%s:%d" % (host, chosen)] if bind else []
            return ["--cluster_spec", final.to_json(), "--job_name", job_name, "--task_index", str(task_index), *where, *flags]

        self._child = _child.Child(arguments, int(port))
        _counters.add_target(self.target)

    @property
    def target(self) -> str:
        """What tf.compat.v1.Session takes: "grpc://localhost:2222"."""
        return self._child.target

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._child.pid

    @property
    def is_alive(self) -> bool:
        """Whether it serves."""
        return self._child.is_alive

    def join(self) -> None:
        """Waits until it has ended because the job has.

        Raises:
            ServerError: It ended otherwise.
        """
        self._child.join()

    def stop(self) -> None:
        """Ends it at once; twice is once."""
        if self._child.is_alive:
            self._child.stop()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *exc: Any) -> None:
        self.stop()
