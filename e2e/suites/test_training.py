"""A TFJob with a parameter server, two workers and a chief trains, and the usual tools show it."""

import re

from harness import jobs
from harness.kube import create, get, kubectl, until
from kubeflow.training import TrainingClient


def test_a_job_trains(ns):
    create(jobs.linear("linear", {"cleanPodPolicy": "None"}), ns)
    client = TrainingClient(namespace=ns, job_kind="TFJob")
    client.wait_for_job_conditions("linear", ns, expected_conditions={"Succeeded"}, wait_timeout=120, polling_interval=1)

    # The trainer's last words; it fails itself when the loss has not come down.
    logs, _ = client.get_job_logs("linear", ns)
    assert list(logs) == ["linear-chief-0"]
    losses = [float(x) for x in re.findall(r"^step .* loss (\S+)$", logs["linear-chief-0"], re.M)]
    assert len(losses) >= 3 and losses[-1] < 0.001 < losses[0]

    # Its ops ran where their variables live, and found each other by name.
    placed = logs["linear-chief-0"]
    assert "/job:ps/replica:0/task:0/device:CPU:0" in placed and "/job:worker/replica:0/task:0/device:CPU:0" in placed
    worker, _ = client.get_job_logs("linear", ns, is_master=False, replica_type="worker", replica_index=0)
    assert "oneDNN is missing" not in worker["linear-worker-0"]

    seen = jobs.conditions("linear", ns)
    assert {"Created", "Succeeded"} <= set(seen) and "Failed" not in seen
    assert client.is_job_succeeded("linear", ns)


def test_kubectl_shows_states(ns):
    def columns():
        return kubectl("get", "tfjob", "quick", "-n", ns, "--no-headers").split()

    create(jobs.tfjob("quick", {"Worker": jobs.script("sleep 4", 2)}), ns)
    until("the job is shown as running", lambda: columns()[1] == "Running", 60)
    until("both replicas are shown as ready", lambda: "2/2" in columns(), 30)
    until("the job is shown as succeeded", lambda: columns()[1] == "Succeeded", 60)
    events = kubectl("get", "events", "-n", ns, "--field-selector=involvedObject.kind=TFJob", "-o", "jsonpath={.items[*].reason}")
    assert {"SuccessfulCreatePod", "SuccessfulCreateService", "TFJobSucceeded"} <= set(events.split())


def test_deleting_a_job_deletes_what_it_made(ns):
    create(jobs.tfjob("gone", {"Worker": jobs.sleeper(2), "PS": jobs.sleeper()}), ns)
    jobs.running("gone", ns, 3)
    kubectl("delete", "tfjob", "gone", "-n", ns)
    until("pods and services are gone", lambda: not get("pods", ns=ns) and not get("services", ns=ns), 60)


def test_workers_can_be_scaled(ns):
    create(jobs.tfjob("scaled", {"Worker": jobs.sleeper(1)}), ns)
    jobs.running("scaled", ns, 1)
    kubectl("scale", "tfjob", "scaled", "-n", ns, "--replicas=3")
    jobs.running("scaled", ns, 3)
    kubectl("scale", "tfjob", "scaled", "-n", ns, "--replicas=1")
    until("two workers are gone", lambda: list(jobs.pods("scaled", ns)) == ["scaled-worker-0"], 30)
    assert "Failed" not in jobs.conditions("scaled", ns)
