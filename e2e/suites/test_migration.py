"""Moving over: the objects that training-operator made for a running job are taken over as they are."""

import json

import pytest
from harness import chart, jobs
from harness.kube import create, get, kubectl, until

OPERATOR = None


@pytest.fixture(autouse=True)
def nobody_runs():
    """The TFJob resource, and no operator."""
    chart.install()
    chart.uninstall()
    yield
    chart.uninstall()


def as_training_operator_does(job, ns):
    """Pods and services of a stored job, by the reference's rules: names, labels, owner, TF_CONFIG, no attempt annotations."""
    name = job["metadata"]["name"]
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": name, "uid": job["metadata"]["uid"],
             "controller": True, "blockOwnerDeletion": True}
    specs = job["spec"]["tfReplicaSpecs"]
    cluster = {kind.lower(): [f"{name}-{kind.lower()}-{i}.{ns}.svc:2222" for i in range(spec["replicas"])]
               for kind, spec in sorted(specs.items())}
    made = []
    for kind, spec in specs.items():
        for i in range(spec["replicas"]):
            child = f"{name}-{kind.lower()}-{i}"
            labels = {
                "training.kubeflow.org/operator-name": "tfjob-controller",
                "training.kubeflow.org/job-name": name,
                "training.kubeflow.org/replica-type": kind.lower(),
                "training.kubeflow.org/replica-index": str(i),
            }
            role = {"training.kubeflow.org/job-role": "master"} if (kind, i) == ("Worker", 0) else {}
            config = {"cluster": cluster, "task": {"type": kind.lower(), "index": i}, "environment": "cloud"}
            template = json.loads(json.dumps(spec["template"]["spec"]))
            template["restartPolicy"] = "Never" if spec["restartPolicy"] == "ExitCode" else spec["restartPolicy"]
            container = template["containers"][0]
            container.setdefault("env", []).append({"name": "TF_CONFIG", "value": json.dumps(config, separators=(",", ":"))})
            container.setdefault("ports", []).append({"name": "tfjob-port", "containerPort": 2222})
            meta = {"name": child, "namespace": ns, "ownerReferences": [owner]}
            made.append({"apiVersion": "v1", "kind": "Pod", "metadata": {**meta, "labels": {**labels, **role}}, "spec": template})
            made.append({"apiVersion": "v1", "kind": "Service", "metadata": {**meta, "labels": labels},
                         "spec": {"clusterIP": "None", "selector": labels, "ports": [{"name": "tfjob-port", "port": 2222}]}})
    return made


def test_running_pods_are_adopted_and_the_job_ends(ns):
    create(jobs.tfjob("old", {"Worker": jobs.script("while ! [ -e /tmp/end ]; do sleep 0.2; done", 2, "ExitCode"),
                              "PS": jobs.sleeper(restart="Never")}), ns)
    spec = get("tfjob", "old", ns)
    for kind in spec["spec"]["tfReplicaSpecs"].values():
        kind["template"]["spec"]["volumes"] = [{"name": "tmp", "emptyDir": {}}]
        kind["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "tmp", "mountPath": "/tmp"}]
    create(as_training_operator_does(spec, ns), ns)
    before = jobs.running("old", ns, 3)
    services = {s["metadata"]["name"]: s["metadata"]["uid"] for s in get("services", ns=ns)}

    chart.install()
    jobs.wait_for("old", ns, "Running")
    after = jobs.running("old", ns, 3)
    assert {n: jobs.uid(p) for n, p in after.items()} == {n: jobs.uid(p) for n, p in before.items()}
    assert {s["metadata"]["name"]: s["metadata"]["uid"] for s in get("services", ns=ns)} == services

    for i in range(2):
        kubectl("exec", f"old-worker-{i}", "-n", ns, "--", "touch", "/tmp/end")
    jobs.wait_for("old", ns, "Succeeded")
    status = get("tfjob", "old", ns)["status"]
    assert "restarts" not in status and status["replicaStatuses"]["Worker"]["succeeded"] == 2
    # Its parameter server, which never ends by itself, is released.
    until("the parameter server is gone", lambda: "old-ps-0" not in jobs.pods("old", ns), 30)


def test_a_service_that_lost_its_owner_is_adopted(ns):
    create(jobs.tfjob("old", {"Worker": jobs.sleeper(2)}), ns)
    made = as_training_operator_does(get("tfjob", "old", ns), ns)
    for item in made:
        if item["kind"] == "Service":
            item["metadata"]["ownerReferences"] = []
    create(made, ns)
    jobs.running("old", ns, 2)
    chart.install()

    def owned():
        return all(s["metadata"].get("ownerReferences", [{}])[0].get("name") == "old" for s in get("services", ns=ns))

    until("the services have the job as owner", owned, 30)
