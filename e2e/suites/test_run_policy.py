"""Suspension, time to live, deadline, back-off limit and clean-up."""

import datetime

import pytest
from harness import jobs
from harness.kube import always, create, get, patch, until


def parse(stamp):
    return datetime.datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")


def test_a_suspended_job_has_no_pods_until_it_is_resumed(ns):
    create(jobs.tfjob("s", {"Worker": jobs.script("sleep 2", 2)}, {"suspend": True}), ns)
    jobs.wait_for("s", ns, "Suspended")
    always("no pod is made", lambda: not jobs.pods("s", ns), 2)
    patch("tfjob", "s", ns, {"spec": {"runPolicy": {"suspend": False}}})
    jobs.wait_for("s", ns, "Succeeded")
    assert "Suspended" not in jobs.conditions("s", ns)


def test_suspending_a_running_job_takes_its_pods_and_resuming_starts_anew(ns):
    create(jobs.tfjob("s", {"Worker": jobs.sleeper(2)}), ns)
    before = jobs.running("s", ns, 2)
    patch("tfjob", "s", ns, {"spec": {"runPolicy": {"suspend": True}}})
    until("the pods are gone", lambda: not get("pods", ns=ns), 30)
    jobs.wait_for("s", ns, "Suspended")
    patch("tfjob", "s", ns, {"spec": {"runPolicy": {"suspend": False}}})
    after = jobs.running("s", ns, 2)
    assert not {jobs.uid(p) for p in before.values()} & {jobs.uid(p) for p in after.values()}
    assert jobs.wait_for("s", ns, "Running")


def test_a_finished_job_goes_when_its_time_is_over(ns):
    create(jobs.tfjob("ttl", {"Worker": jobs.script("true")}, {"ttlSecondsAfterFinished": 5}), ns)
    jobs.wait_for("ttl", ns, "Succeeded")
    always("it is kept for a while", lambda: get("tfjob", "ttl", ns), 3)
    until("the job is gone", lambda: get("tfjob", "ttl", ns) is None, 10)
    until("so are its pods", lambda: not get("pods", ns=ns), 30)


def test_a_job_past_its_deadline_fails_at_the_second(ns):
    create(jobs.tfjob("late", {"Worker": jobs.sleeper(2)}, {"activeDeadlineSeconds": 4}), ns)
    failed = jobs.wait_for("late", ns, "Failed", 30)
    assert "deadline" in failed["message"].lower()
    status = get("tfjob", "late", ns)["status"]
    took = parse(status["completionTime"]) - parse(status["startTime"])
    assert 4 <= took.total_seconds() <= 5
    until("nothing runs any more", lambda: not jobs.pods("late", ns), 30)


def test_a_job_that_keeps_failing_ends_at_its_backoff_limit(ns):
    create(jobs.tfjob("flaky", {"Worker": jobs.script("exit 130", restart="ExitCode")}, {"backoffLimit": 2}), ns)
    failed = jobs.wait_for("flaky", ns, "Failed", 90)
    assert "backoff" in failed["message"].lower().replace("-", "")
    assert get("tfjob", "flaky", ns)["status"]["restarts"] == 2


def test_an_exit_code_below_128_fails_at_once(ns):
    create(jobs.tfjob("wrong", {"Worker": jobs.script("exit 1", restart="ExitCode")}), ns)
    jobs.wait_for("wrong", ns, "Failed", 30)
    assert "restarts" not in get("tfjob", "wrong", ns)["status"]


@pytest.mark.parametrize(
    ("policy", "left"),
    [
        (None, {"c-chief-0", "c-worker-0"}),  # what ended keeps its log; worker 0 never ends, and is no server by type
        ("None", {"c-chief-0", "c-ps-0", "c-worker-0"}),
        ("Running", {"c-chief-0"}),
        ("All", set()),
    ],
    ids=str,
)
def test_clean_up_after_success(ns, policy, left):
    replicas = {"Chief": jobs.script("sleep 1"), "PS": jobs.sleeper(), "Worker": jobs.sleeper()}
    create(jobs.tfjob("c", replicas, {"cleanPodPolicy": policy} if policy else {}), ns)
    jobs.wait_for("c", ns, "Succeeded")
    until(f"{left or 'nothing'} is left", lambda: set(jobs.pods("c", ns)) == left, 30)
    always("and stays", lambda: set(jobs.pods("c", ns)) == left, 2)
