"""Killing what runs in a pod, as a machine does that fails: without a word to anybody."""

import os
import pathlib
import signal

import pytest

from .kube import kubectl, own_cluster


def processes_of(pod):
    """PIDs of the pod's containers on this machine, but for the one that holds its namespaces."""
    marks = {pod["metadata"]["uid"], pod["metadata"]["uid"].replace("-", "_")}
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            groups = (folder / "cgroup").read_text()
            program = (folder / "cmdline").read_bytes().split(b"\0")[0]
        except OSError:  # it has ended meanwhile
            continue
        if any(mark in groups for mark in marks) and program != b"/pause":
            found.append(int(folder.name))
    return found


def kill(pod):
    """SIGKILL to everything in the pod; on a cluster of others, the pod is deleted by force instead."""
    if not own_cluster():
        kubectl("delete", "pod", pod["metadata"]["name"], "-n", pod["metadata"]["namespace"], "--force", "--grace-period=0")
        return
    victims = processes_of(pod)
    assert victims, f"no process of pod {pod['metadata']['name']} is on this machine"
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def needs_own_cluster():
    """For stories that take the cluster itself apart."""
    if not own_cluster():
        pytest.skip("takes the cluster apart: only on one that ./dev e2e brought up")
