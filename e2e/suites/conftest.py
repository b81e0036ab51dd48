"""Each story has a namespace of its own, in which pods must meet the restricted standard, and the operator it names."""

import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
pytest.register_assert_rewrite("harness")
from harness import chart, evidence, kube  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def operator(request):
    """The standard release, with the values that the module has as OPERATOR; None: the module installs its own."""
    values = getattr(request.module, "OPERATOR", {})
    if values is not None:
        chart.ensure(values)


@pytest.fixture
def ns(request):
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:50].strip("-")
    kube.kubectl("delete", "namespace", name, "--ignore-not-found", "--wait", timeout=120)
    kube.create({"apiVersion": "v1", "kind": "Namespace",
                 "metadata": {"name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    kube.until("the namespace has its service account", lambda: kube.get("serviceaccount", "default", name))
    yield name
    if getattr(request.node, "failed", False):
        print(f"kept in {evidence.keep(request.node.name, [name, chart.NAMESPACE])}")
    kube.kubectl("delete", "namespace", name, "--wait=false")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call":
        item.failed = report.failed
    return report
