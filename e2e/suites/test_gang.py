"""Gang scheduling, with a scheduler of this story's own: none that does it can be had as a package. The operator's part is real:
the PodGroup comes before the pods, which name it and wait for that scheduler; it binds them once all of them are there."""

import json
import pathlib

import pytest
import yaml
from harness import chart, jobs
from harness.kube import always, create, get, kubectl, until

OPERATOR = None
SCHEDULER = "gang-scheduler"
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "deploy/examples/gang.yaml"
# As scheduler-plugins have it, without the checks.
POD_GROUP = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "podgroups.scheduling.x-k8s.io"},
    "spec": {
        "group": "scheduling.x-k8s.io",
        "names": {"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup", "shortNames": ["pg"]},
        "scope": "Namespaced",
        "versions": [{
            "name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }],
    },
}


@pytest.fixture(autouse=True)
def scheduler():
    chart.uninstall()
    kubectl("delete", "crd", POD_GROUP["metadata"]["name"], "--ignore-not-found")
    create(POD_GROUP)
    kubectl("wait", "crd", POD_GROUP["metadata"]["name"], "--for=condition=Established", "--timeout=30s")
    chart.ensure({"operator": {"gangSchedulerName": SCHEDULER}})
    yield
    chart.uninstall()
    kubectl("delete", "crd", POD_GROUP["metadata"]["name"])


def bind(pod, node):
    """What a scheduler does when it has decided."""
    meta = pod["metadata"]
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
               "target": {"apiVersion": "v1", "kind": "Node", "name": node}}
    kubectl("create", "--raw", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/binding", "-f", "-",
            stdin=json.dumps(binding))


def test_all_replicas_are_started_together(ns):
    example = yaml.safe_load(EXAMPLE.read_text())
    for replica in example["spec"]["tfReplicaSpecs"].values():  # the namespace's standard
        secured = jobs.replica(jobs.RUNTIME)["template"]["spec"]
        spec = replica["template"]["spec"]
        spec["securityContext"] = secured["securityContext"]
        spec["containers"][0]["securityContext"] = secured["containers"][0]["securityContext"]
    create(example, ns)

    group = until("the group is made", lambda: get("podgroup", "gang", ns), 30)
    assert group["spec"]["minMember"] == 3
    assert group["spec"]["minResources"] == {"cpu": "300m", "memory": "192Mi"}
    members = until("its pods are made", lambda: found if len(found := jobs.pods("gang", ns)) == 3 else None, 30)
    for pod in members.values():
        assert pod["spec"]["schedulerName"] == SCHEDULER
        assert pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "gang"
    always("nobody else schedules them", lambda: not any(p["spec"].get("nodeName") for p in jobs.pods("gang", ns).values()), 2)

    node = get("nodes")[0]["metadata"]["name"]
    for pod in members.values():
        bind(pod, node)
    jobs.running("gang", ns, 3)
    assert jobs.wait_for("gang", ns, "Running")
    kubectl("delete", "tfjob", "gang", "-n", ns)
    until("the group goes with the job", lambda: get("podgroup", "gang", ns) is None, 30)
