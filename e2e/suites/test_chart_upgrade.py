"""Upgrade from the first packaged version, rollback and removal, with jobs running all the while."""

import os

import pytest
from harness import chart, jobs
from harness.kube import KubectlError, create, get, kubectl, until

OPERATOR = None
FIRST = os.environ.get("E2E_FIRST_CHART", "")


@pytest.fixture(autouse=True)
def clean():
    chart.uninstall()
    yield
    chart.uninstall()


def accounts_of(pods):
    return {name: jobs.uid(pod) for name, pod in pods.items()}


def test_upgrade_and_rollback_leave_jobs_alone(ns):
    chart.install(package=FIRST)
    create(jobs.tfjob("on", {"Worker": jobs.sleeper(2), "PS": jobs.sleeper()}), ns)
    before = accounts_of(jobs.running("on", ns, 3))
    authority = get("secret", "tensorfleet-webhook-cert", chart.NAMESPACE)["data"]["ca.crt"]

    chart.install({"operator": {"logLevel": "debug"}})
    chart.helm("test", chart.RELEASE, "-n", chart.NAMESPACE, "--timeout=60s")
    assert accounts_of(jobs.running("on", ns, 3)) == before
    assert get("secret", "tensorfleet-webhook-cert", chart.NAMESPACE)["data"]["ca.crt"] == authority
    create(jobs.tfjob("new", {"Worker": jobs.script("true")}), ns)
    jobs.wait_for("new", ns, "Succeeded")

    chart.helm("rollback", chart.RELEASE, "1", "-n", chart.NAMESPACE, "--wait", "--timeout=90s")
    chart.helm("test", chart.RELEASE, "-n", chart.NAMESPACE, "--timeout=60s")
    assert accounts_of(jobs.running("on", ns, 3)) == before
    create(jobs.tfjob("newer", {"Worker": jobs.script("true")}), ns)
    jobs.wait_for("newer", ns, "Succeeded")
    assert "Failed" not in jobs.conditions("on", ns)


def test_an_upgrade_brings_the_new_resource(ns):
    """The part of the CRD story that a crds/ folder would not tell."""
    chart.install()
    kubectl("patch", "crd", "tfjobs.kubeflow.org", "--type=json", "-p",
            '[{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns/0"}]')
    assert "State" not in columns()
    chart.install({"operator": {"logLevel": "debug"}})
    assert "State" in columns()


def columns():
    crd = get("crd", "tfjobs.kubeflow.org")
    return " ".join(c["name"] for c in crd["spec"]["versions"][0]["additionalPrinterColumns"])


def test_removal_leaves_the_resource_the_jobs_and_their_pods(ns):
    chart.install()
    create(jobs.tfjob("on", {"Worker": jobs.sleeper(2)}), ns)
    before = accounts_of(jobs.running("on", ns, 2))
    chart.uninstall()
    assert get("crd", "tfjobs.kubeflow.org") and get("tfjob", "on", ns)
    assert accounts_of(jobs.running("on", ns, 2)) == before
    # No webhook is left behind that would refuse every change.
    kubectl("label", "tfjob", "on", "-n", ns, "touched=yes")
    # And who installs again goes on where the first left off.
    chart.install()
    create(jobs.tfjob("more", {"Worker": jobs.script("true")}), ns)
    jobs.wait_for("more", ns, "Succeeded")
    assert accounts_of(jobs.running("on", ns, 2)) == before


def test_removal_takes_everything_when_asked_to(ns):
    chart.install({"crd": {"keep": False}})
    create(jobs.tfjob("on", {"Worker": jobs.sleeper(2)}), ns)
    jobs.running("on", ns, 2)
    chart.uninstall()
    until("the resource is gone", lambda: get("crd", "tfjobs.kubeflow.org") is None, 60)
    until("the pods are gone", lambda: not get("pods", ns=ns), 60)
    with pytest.raises(KubectlError, match="doesn't have a resource type|could not find the requested resource"):
        kubectl("get", "tfjobs", "-n", ns)
