"""An installation for one namespace works there, and has no hold on any other."""

import pytest
from harness import chart, jobs
from harness.kube import KubectlError, always, create, kubectl

OPERATOR = None
HOME, OURS, OTHER = "one-namespace-operator", "one-namespace-ours", "one-namespace-other"
ACCOUNT = f"system:serviceaccount:{HOME}:scoped-tensorfleet"


@pytest.fixture(scope="module", autouse=True)
def scoped():
    chart.uninstall()
    for name in (OURS, OTHER):
        kubectl("delete", "namespace", name, "--ignore-not-found", "--wait", timeout=120)
        kubectl("create", "namespace", name)
    chart.install({"watchNamespace": OURS, "crd": {"install": False}}, release="scoped", ns=HOME)
    chart.helm("test", "scoped", "-n", HOME, "--timeout=60s")
    yield
    chart.uninstall("scoped", HOME)
    for name in (OURS, OTHER, HOME):
        kubectl("delete", "namespace", name, "--wait=false")


def may(verb, what, ns):
    try:
        return kubectl("auth", "can-i", verb, what, "-n", ns, f"--as={ACCOUNT}").strip() == "yes"
    except KubectlError:  # kubectl ends with 1 for "no"
        return False


def test_it_runs_jobs_of_its_namespace():
    create(jobs.tfjob("j", {"Worker": jobs.script("true", 2)}), OURS)
    jobs.wait_for("j", OURS, "Succeeded")


def test_it_leaves_jobs_elsewhere_alone():
    create(jobs.tfjob("j", {"Worker": jobs.script("true")}), OTHER)
    always("nothing happens to it", lambda: not jobs.conditions("j", OTHER) and not jobs.pods("j", OTHER), 5)


@pytest.mark.parametrize("what", ["pods", "services", "secrets", "tfjobs.kubeflow.org", "events", "leases.coordination.k8s.io"])
def test_it_has_no_right_elsewhere(what):
    for verb in ("get", "list", "watch", "create", "patch", "update", "delete"):
        assert not may(verb, what, OTHER), f"{verb} {what}"


def test_it_has_the_rights_that_it_needs_at_home():
    assert may("create", "pods", OURS) and may("delete", "services", OURS) and may("list", "tfjobs.kubeflow.org", OURS)
    assert may("get", "secrets/scoped-tensorfleet-webhook-cert", HOME)
    assert not may("get", "secrets/another", HOME)
    assert not may("create", "pods", HOME)


def test_its_webhook_judges_its_namespace_only():
    bad = jobs.tfjob("bad", {"Worker": jobs.script("true")})
    bad["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["name"] = "other"
    with pytest.raises(KubectlError, match="denied the request"):
        create(bad, OURS)
    create(bad, OTHER)
