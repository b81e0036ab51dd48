"""The example of deploy/examples/digits: six replicas read digits they have never seen, also when one of them is killed midway."""

import pathlib
import re

from harness import jobs, processes
from harness.kube import get, kubectl, until
from kubeflow.training import TrainingClient

FOLDER = str(pathlib.Path(__file__).resolve().parents[2] / "deploy/examples/digits")


def start(ns, steps=None):
    """The example as it stands, or with more steps."""
    if steps is None:
        return kubectl("apply", "-n", ns, "-k", FOLDER)
    text = kubectl("kustomize", FOLDER)
    assert "--max_steps=2000" in text
    return kubectl("apply", "-n", ns, "-f", "-", stdin=text.replace("--max_steps=2000", f"--max_steps={steps}"))


def accuracy(ns):
    """What the evaluator said last, of the last checkpoint."""
    until("the evaluator has finished", lambda: jobs.pods("digits", ns, "Evaluator")["digits-evaluator-0"]["status"]["phase"]
          == "Succeeded", 60)
    found = re.findall(r"accuracy=([0-9.]+)", jobs.logs("digits-evaluator-0", ns))
    return float(found[-1])


def last_checkpoint(ns):
    """The last step of which the chief said that it is saved."""
    found = re.findall(r"Saved a checkpoint.*?step=(\d+)", jobs.logs("digits-chief-0", ns))
    return int(found[-1]) if found else 0


def last_step(ns):
    """The last step that the chief reported."""
    found = re.findall(r"Training.*?step=(\d+)", jobs.logs("digits-chief-0", ns))
    return int(found[-1]) if found else 0


def test_it_learns_to_read(ns):
    start(ns)
    client = TrainingClient(namespace=ns, job_kind="TFJob")
    client.wait_for_job_conditions("digits", ns, expected_conditions={"Succeeded"}, wait_timeout=300, polling_interval=1)
    assert accuracy(ns) >= 0.97
    logs, _ = client.get_job_logs("digits", ns)
    assert "Saved a checkpoint" in logs["digits-chief-0"]
    assert "restarts" not in get("tfjob", "digits", ns)["status"]


def test_a_killed_chief_goes_on_from_its_checkpoint(ns):
    start(ns)
    jobs.running("digits", ns, 6, timeout=120)
    until("a checkpoint was saved while training", lambda: last_checkpoint(ns) > 0, 180)
    chief = jobs.pods("digits", ns, "Chief")["digits-chief-0"]
    saved = last_checkpoint(ns)
    processes.kill(chief)
    until("the chief is replaced", lambda: jobs.pods("digits", ns, "Chief").get("digits-chief-0", chief)["metadata"]["uid"]
          != jobs.uid(chief), 60)
    jobs.running("digits", ns, 1, "Chief", timeout=60)
    jobs.wait_for("digits", ns, "Succeeded", 400)
    assert accuracy(ns) >= 0.97
    # It began where the first left off, not at step 0.
    begun = [int(step) for step in re.findall(r"Training.*?step=(\d+)", jobs.logs("digits-chief-0", ns))]
    assert begun and min(begun) >= saved
    assert get("tfjob", "digits", ns)["status"]["restarts"] >= 1


def test_a_killed_worker_and_then_a_killed_parameter_server_do_not_stop_it(ns):
    start(ns, steps=6000)
    jobs.running("digits", ns, 6, timeout=120)
    until("it has begun to train", lambda: last_step(ns) > 0, 180)
    for kind, name in (("Worker", "digits-worker-1"), ("PS", "digits-ps-0")):
        old = jobs.pods("digits", ns, kind)[name]
        processes.kill(old)
        until(f"{name} is replaced", lambda kind=kind, name=name, old=old: jobs.pods("digits", ns, kind)
              .get(name, old)["metadata"]["uid"] != jobs.uid(old), 60)
        reached = last_step(ns)
        until("training goes on", lambda reached=reached: last_step(ns) > reached, 180)
    jobs.wait_for("digits", ns, "Succeeded", 400)
    assert accuracy(ns) >= 0.97
    assert get("tfjob", "digits", ns)["status"]["restarts"] >= 2
