"""Every file of deploy/examples is taken by the API server and does what it is an example of."""

import json
import pathlib
import re
import urllib.request

import pytest
import yaml
from harness import jobs, processes
from harness.forward import forwarded
from harness.kube import KubectlError, always, create, get, kubectl, patch, until

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


def test_gpus_are_asked_for_and_had(open_ns):
    create(job_of("gpu"), open_ns)
    pods = until("its pods are made", lambda: all_of("gpu", open_ns, 3))
    limits = pods["gpu-worker-0"]["spec"]["containers"][0]["resources"]["limits"]
    assert limits["nvidia.com/gpu"] == "1"
    processes.needs_own_cluster()
    until("the parameter server runs", lambda: [
        p for p in jobs.pods("gpu", open_ns, "PS").values() if p["status"]["phase"] == "Running"], 60)
    workers = jobs.pods("gpu", open_ns, "Worker").values()
    assert all(not p["spec"].get("nodeName") for p in workers), "there is no GPU here"
    try:
        node_has_gpus(2)  # says the node; the image falls back to CPUs, for its device library is empty
        jobs.running("gpu", open_ns, 3)
    finally:
        kubectl("delete", "tfjob", "gpu", "-n", open_ns)
        node_has_gpus(None)


def node_has_gpus(count):
    """What a device plug-in makes the kubelet report."""
    node = get("nodes")[0]["metadata"]["name"]
    path = "nvidia.com~1gpu"
    patches = [{"op": "add", "path": f"/status/{field}/{path}", "value": str(count)} if count else
               {"op": "remove", "path": f"/status/{field}/{path}"} for field in ("capacity", "allocatable")]
    kubectl("patch", "node", node, "--subresource=status", "--type=json", "-p", json.dumps(patches))


def test_a_job_of_tensorflows_image_trains(open_ns):
    create(documents("tensorflow_image"), open_ns)
    jobs.wait_for("tensorflow-image", open_ns, "Succeeded", 300)
    assert re.search(r"^loss [0-9.e-]+ w \[", jobs.logs("tensorflow-image-chief-0", open_ns), re.M)


def test_an_evaluator_and_tensorboard_read_what_the_chief_writes(open_ns):
    create(documents("evaluator_tensorboard"), open_ns)
    until("a checkpoint is evaluated", lambda: "evaluated" in evaluator_log(open_ns), 300)
    jobs.wait_for("evaluated", open_ns, "Succeeded", 300)
    kubectl("rollout", "status", "deployment/evaluated-tensorboard", "-n", open_ns, "--timeout=120s", timeout=130)
    with forwarded("evaluated-tensorboard", open_ns, 80, kind="service") as port:
        def runs():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/data/runs", timeout=10) as answer:
                    return set(json.load(answer)) >= {"train", "eval"}
            except OSError:
                return False

        until("TensorBoard shows both", runs, 120)


def evaluator_log(ns):
    try:
        return jobs.logs("evaluated-evaluator-0", ns)
    except KubectlError:  # not there yet
        return ""


def test_without_a_gang_scheduler_gang_is_an_ordinary_job(open_ns):
    create(job_of("gang"), open_ns)
    jobs.running("gang", open_ns, 3)
