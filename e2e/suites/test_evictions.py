"""Pods that are deleted, evicted, or drained with their node come back, and no job fails."""

import json

from harness import chart, jobs, processes
from harness.kube import KubectlError, create, get, kubectl, until


def replaced(name, ns, old, count):
    """The job's pods, once all of them run and none is one of `old`."""

    def there():
        now = jobs.pods(name, ns)
        run = all(p["status"]["phase"] == "Running" for p in now.values())
        return now if run and len(now) == count and not old & {jobs.uid(p) for p in now.values()} else None

    return until(f"{len(old)} pods of {name} are replaced", there, 90)


def test_a_deleted_pod_is_replaced(ns):
    create(jobs.tfjob("d", {"Worker": jobs.sleeper(2), "PS": jobs.sleeper()}), ns)
    before = jobs.running("d", ns, 3)
    kubectl("delete", "pod", "d-worker-1", "-n", ns, "--wait=false")
    after = replaced("d", ns, {jobs.uid(before["d-worker-1"])}, 3)
    assert jobs.uid(after["d-worker-0"]) == jobs.uid(before["d-worker-0"]), "the others run on"
    assert "Failed" not in jobs.conditions("d", ns)


def test_an_evicted_pod_is_replaced_without_counting(ns):
    create(jobs.tfjob("e", {"Worker": jobs.sleeper(2, restart="ExitCode")}, {"backoffLimit": 0}), ns)
    before = jobs.running("e", ns, 2)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "e-worker-0", "namespace": ns}}
    kubectl("create", "--raw", f"/api/v1/namespaces/{ns}/pods/e-worker-0/eviction", "-f", "-", stdin=json.dumps(eviction))
    replaced("e", ns, {jobs.uid(before["e-worker-0"])}, 2)
    assert "Failed" not in jobs.conditions("e", ns)


def test_a_drained_node_fails_no_job(ns):
    processes.needs_own_cluster()
    create(jobs.tfjob("one", {"Worker": jobs.sleeper(2), "PS": jobs.sleeper()}), ns)
    create(jobs.tfjob("two", {"Chief": jobs.sleeper(), "Worker": jobs.sleeper(restart="ExitCode")}), ns)
    before = {**jobs.running("one", ns, 3), **jobs.running("two", ns, 2)}
    node = get("nodes")[0]["metadata"]["name"]
    try:
        kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=90s", timeout=100)
        assert not [p for p in jobs.pods("one", ns).values() if p["status"]["phase"] == "Running"]
    finally:
        kubectl("uncordon", node)
    until("the operator is back", chart.ready_operators, 60)
    old = {jobs.uid(p) for p in before.values()}
    after = {**jobs.running("one", ns, 3, timeout=90), **jobs.running("two", ns, 2, timeout=90)}
    assert not old & {jobs.uid(p) for p in after.values()}
    for name in ("one", "two"):
        assert "Failed" not in jobs.conditions(name, ns)


def test_training_ends_well_although_a_worker_is_evicted(ns):
    create(jobs.linear("linear"), ns)
    until("a worker runs", lambda: jobs.pods("linear", ns, "Worker").get("linear-worker-1", {}).get("status", {}).get("phase") == "Running", 60)
    try:
        kubectl("delete", "pod", "linear-worker-1", "-n", ns, "--wait=false")
    except KubectlError:  # it was quicker
        pass
    jobs.wait_for("linear", ns, "Succeeded", 180)
