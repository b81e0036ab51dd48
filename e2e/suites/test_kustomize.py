"""The manifests of deploy/, applied as they are: the same operator under the names that the manifests give."""

import pathlib

import pytest
from harness import chart, jobs
from harness.kube import KubectlError, create, kubectl, until

OPERATOR = None
DEPLOY = str(pathlib.Path(__file__).resolve().parents[2] / "deploy")


@pytest.fixture(autouse=True)
def applied():
    chart.uninstall()
    kubectl("apply", "--server-side", "--force-conflicts", "-k", DEPLOY)
    kubectl("rollout", "status", "deployment/tensorfleet-operator", "-n", "tensorfleet-system", "--timeout=60s", timeout=70)
    yield
    kubectl("delete", "-k", DEPLOY, "--timeout=60s", timeout=90)


def test_it_runs_jobs_and_refuses_bad_ones(ns):
    bad = jobs.tfjob("bad", {"Worker": jobs.script("true")})
    bad["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["name"] = "other"

    def refused():
        try:
            create(bad, ns)
        except KubectlError as error:
            return "at least one container with name tensorflow" in str(error)
        return False

    until("bad jobs are refused by the webhook", refused, 30)
    create(jobs.tfjob("good", {"Worker": jobs.script("true", 2)}), ns)
    jobs.wait_for("good", ns, "Succeeded")
