"""A worker and then a parameter server are killed in the middle of a job: it goes on, with its other replicas as they were."""

from harness import jobs, processes
from harness.kube import create, until


def restarts(name, ns, pod):
    return jobs.pods(name, ns)[pod]["status"]["containerStatuses"][0]["restartCount"]


def test_a_killed_worker_and_a_killed_server_come_back_in_place(ns):
    server = jobs.replica(jobs.RUNTIME, restart="Always")
    create(jobs.tfjob("k", {"PS": server, "Worker": {**server, "replicas": 2}}), ns)
    before = jobs.running("k", ns, 3)
    for victim in ("k-worker-1", "k-ps-0"):
        processes.kill(before[victim])
        until(f"{victim} was restarted", lambda name=victim: restarts("k", ns, name) == 1, 60)
        jobs.running("k", ns, 3)
    after = jobs.pods("k", ns)
    assert {jobs.uid(p) for p in after.values()} == {jobs.uid(p) for p in before.values()}
    assert "Failed" not in jobs.conditions("k", ns)


def test_a_killed_worker_of_policy_exit_code_is_replaced(ns):
    create(jobs.tfjob("k", {"Worker": jobs.sleeper(2, restart="ExitCode")}), ns)
    before = jobs.running("k", ns, 2)
    processes.kill(before["k-worker-1"])
    until("it is replaced", lambda: jobs.pods("k", ns).get("k-worker-1", before["k-worker-1"])["metadata"]["uid"]
          != jobs.uid(before["k-worker-1"]), 60)
    after = jobs.running("k", ns, 2)
    assert jobs.uid(after["k-worker-0"]) == jobs.uid(before["k-worker-0"])
    assert "Failed" not in jobs.conditions("k", ns)


def test_training_ends_well_although_its_parameter_server_is_killed(ns):
    create(jobs.linear("linear"), ns)
    server = until("the parameter server runs", lambda: next(
        (p for p in jobs.pods("linear", ns, "PS").values() if p["status"]["phase"] == "Running"), None), 60)
    processes.kill(server)
    jobs.wait_for("linear", ns, "Succeeded", 180)
