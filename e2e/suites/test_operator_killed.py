"""The operator is killed while jobs start and while one finishes, and a leader beside its stand-in: nothing is lost or doubled."""

import time

from harness import chart, jobs, processes
from harness.births import Births
from harness.kube import create, get, kubectl, until

OPERATOR = {"replicaCount": 2}
COUNT = 20


def kill_leader():
    name = until("somebody leads", chart.leader, 30)
    pod = get("pod", name, chart.NAMESPACE)
    processes.kill(pod)
    return name


def test_killed_while_twenty_jobs_start(ns):
    batch = [jobs.tfjob(f"j{i}", {"Worker": jobs.script("sleep 1", 2)}, {"cleanPodPolicy": "None"}, successPolicy="AllWorkers")
             for i in range(COUNT)]
    with Births(ns) as births:
        create(batch, ns)
        until("the first pods are there", lambda: len(births.uids) >= 3, 60, every=0.02)
        kill_leader()
        for i in range(COUNT):
            jobs.wait_for(f"j{i}", ns, "Succeeded", 180)
    assert len(births.uids) == 2 * COUNT
    assert not births.made_twice()
    for job in get("tfjobs", ns=ns):
        assert "restarts" not in job["status"], job["metadata"]["name"]
        assert job["status"]["replicaStatuses"]["Worker"] == {
            **job["status"]["replicaStatuses"]["Worker"], "succeeded": 2}, job["metadata"]["name"]


def test_killed_while_a_job_finishes(ns):
    with Births(ns) as births:
        create(jobs.tfjob("ends", {"Worker": jobs.script("sleep 3", 3)}, {"cleanPodPolicy": "None"}), ns)
        jobs.running("ends", ns, 3)
        time.sleep(2)
        kill_leader()
        jobs.wait_for("ends", ns, "Succeeded", 90)
    assert sorted(births.uids) == [f"ends-worker-{i}" for i in range(3)]
    assert not births.made_twice()
    kinds = [c["type"] for c in get("tfjob", "ends", ns)["status"]["conditions"]]
    assert len(kinds) == len(set(kinds)), "each condition is there once"


def test_another_takes_over_when_the_leader_is_killed(ns):
    until("both operators are ready", lambda: chart.ready_operators() == 2, 60)
    old = until("somebody leads", chart.leader, 30)
    lease = get("lease", "tensorfleet.tensorfleet.dev", chart.NAMESPACE)["spec"]["holderIdentity"]
    kill_leader()
    begin = time.monotonic()
    create(jobs.tfjob("after", {"Worker": jobs.script("true")}), ns)
    jobs.wait_for("after", ns, "Succeeded", 60)
    took = time.monotonic() - begin
    now = get("lease", "tensorfleet.tensorfleet.dev", chart.NAMESPACE)["spec"]["holderIdentity"]
    assert now != lease, "the process that was killed cannot hold the lease"
    print(f"{old} killed; a job was done by {now} after {took:.1f} s")
    # A lease of 15 s, a look every second, and the job itself.
    assert took < 30


def test_another_takes_over_within_seconds_when_the_leader_ends(ns):
    until("both operators are ready", lambda: chart.ready_operators() == 2, 60)
    old = until("somebody leads", chart.leader, 30)
    begin = time.monotonic()
    kubectl("delete", "pod", old, "-n", chart.NAMESPACE, "--wait=false")
    until("another leads", lambda: chart.leader() not in ("", old), 30, every=0.05)
    print(f"taken over after {time.monotonic() - begin:.2f} s")
    assert time.monotonic() - begin < 10
