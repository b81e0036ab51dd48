"""Every file of deploy/examples is taken by the API server and does what it is an example of."""

import pathlib

import pytest
import yaml
from harness import jobs
from harness.kube import always, create, get, kubectl, patch, until

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "deploy/examples"
FILES = sorted(FOLDER.glob("*.yaml"))


def documents(name):
    return [d for d in yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text()) if d]


def job_of(name):
    return next(d for d in documents(name) if d["kind"] == "TFJob")


def all_of(name, ns, count):
    found = jobs.pods(name, ns)
    return found if len(found) == count else None


@pytest.fixture
def open_ns():
    """A namespace without the restricted standard: the examples of TensorFlow's image do not meet it."""
    kubectl("delete", "namespace", "examples", "--ignore-not-found", "--wait", timeout=120)
    kubectl("create", "namespace", "examples")
    until("the namespace has its service account", lambda: get("serviceaccount", "default", "examples"))
    yield "examples"
    kubectl("delete", "namespace", "examples", "--wait=false")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_is_taken(open_ns, path):
    kubectl("apply", "--dry-run=server", "-n", open_ns, "-f", str(path))


def test_servers_serve(ns):
    create(job_of("servers"), ns)
    jobs.running("servers", ns, 3)
    assert jobs.wait_for("servers", ns, "Running")


def test_a_queued_job_starts_when_it_is_admitted(open_ns):
    create(job_of("kueue"), open_ns)
    jobs.wait_for("queued", open_ns, "Suspended")
    always("it has no pods", lambda: not jobs.pods("queued", open_ns), 2)
    patch("tfjob", "queued", open_ns, {"spec": {"runPolicy": {"suspend": False}}})  # as Kueue does
    jobs.running("queued", open_ns, 2)


def test_gpus_are_asked_for(open_ns):
    create(job_of("gpu"), open_ns)
    pods = until("its pods are made", lambda: all_of("gpu", open_ns, 3))
    limits = pods["gpu-worker-0"]["spec"]["containers"][0]["resources"]["limits"]
    assert limits["nvidia.com/gpu"] == "1"


def test_without_a_gang_scheduler_gang_is_an_ordinary_job(open_ns):
    create(job_of("gang"), open_ns)
    jobs.running("gang", open_ns, 3)
