"""Thirty wrong TFJobs: refused by the API server's schema or by the webhook; without the webhook, Failed in words."""

import copy

import pytest
from harness import chart, jobs
from harness.kube import KubectlError, create, get, kubectl

GOOD = jobs.tfjob("bad", {"Worker": jobs.replica("nobody/nothing:1")})
WORKER = ("spec", "tfReplicaSpecs", "Worker")
POD = (*WORKER, "template", "spec")


def changed(*changes):
    """GOOD with values put at paths; `None` takes the key away."""
    job = copy.deepcopy(GOOD)
    for path, value in changes:
        node = job
        for key in path[:-1]:
            node = node.setdefault(key, {}) if isinstance(node, dict) else node[key]
        if value is None:
            del node[path[-1]]
        else:
            node[path[-1]] = value
    return job


def worker():
    return copy.deepcopy(GOOD["spec"]["tfReplicaSpecs"]["Worker"])


# What the schema refuses, webhook or not: (name, job, words of the answer).
SCHEMA = [
    ("no spec.tfReplicaSpecs", changed((("spec", "tfReplicaSpecs"), None)), "spec.tfReplicaSpecs: Required value"),
    ("no replica types", changed((("spec", "tfReplicaSpecs"), {})), "spec.tfReplicaSpecs"),
    ("unknown replica type", changed((("spec", "tfReplicaSpecs", "Wroker"), worker())), "replica types are Chief, Evaluator"),
    ("a type twice", changed((("spec", "tfReplicaSpecs", "worker"), worker())), "given twice, in different letter case"),
    ("chief and master", changed((("spec", "tfReplicaSpecs", "Chief"), worker()),
                                 (("spec", "tfReplicaSpecs", "Master"), worker())), "more than 1 Chief or Master"),
    ("two chiefs", changed((("spec", "tfReplicaSpecs", "Chief"), {**worker(), "replicas": 2})), "at most one Chief or Master"),
    ("negative replicas", changed(((*WORKER, "replicas"), -1)), "greater than or equal to 0"),
    ("too many replicas", changed(((*WORKER, "replicas"), 10001)), "less than or equal to 10000"),
    ("replicas in words", changed(((*WORKER, "replicas"), "two")), "must be of type integer"),
    ("unknown restart policy", changed(((*WORKER, "restartPolicy"), "Sometimes")), 'supported values: "Never", "Always"'),
    ("unknown clean-up", changed((("spec", "runPolicy", "cleanPodPolicy"), "Some")), "cleanPodPolicy: Unsupported value"),
    ("unknown success policy", changed((("spec", "successPolicy"), "Chief")), "successPolicy: Unsupported value"),
    ("negative deadline", changed((("spec", "runPolicy", "activeDeadlineSeconds"), -1)), "activeDeadlineSeconds"),
    ("negative time to live", changed((("spec", "runPolicy", "ttlSecondsAfterFinished"), -5)), "ttlSecondsAfterFinished"),
    ("negative back-off limit", changed((("spec", "runPolicy", "backoffLimit"), -1)), "backoffLimit"),
    ("suspend as text", changed((("spec", "runPolicy", "suspend"), "yes")), "must be of type boolean"),
    ("managed by nobody known", changed((("spec", "runPolicy", "managedBy"), "me")), "managedBy: Unsupported value"),
    ("no template.spec.containers", changed(((*POD, "containers"), None)), "containers: Required value"),
    ("container without a name", changed(((*POD, "containers"), [{"image": "x"}])), "name: Required value"),
    ("bad minResources", changed((("spec", "runPolicy", "schedulingPolicy"), {"minResources": {"cpu": "lots"}})), "minResources"),
    ("rule without action", changed((("spec", "failurePolicy"), {"rules": [{"onExitCodes": {"values": [1]}}]})), "action: Required value"),
    ("rule without a condition", changed((("spec", "failurePolicy"), {"rules": [{"action": "FailJob"}]})),
     "a rule needs onExitCodes or onPodConditions"),
    ("bad percentage", changed((("spec", "failurePolicy"), {"maxFailedWorkers": "120%"})), "percentage from 0% to 100%"),
    ("unknown restart scope", changed((("spec", "restartScope"), "All")), "restartScope: Unsupported value"),
]
# What only the webhook and the operator refuse.
RULES = [
    ("name with a dot", changed((("metadata", "name"), "a.b")), "a DNS-1035 label must consist of lower case"),
    ("name with a digit first", changed((("metadata", "name"), "1job")), "a DNS-1035 label must consist of lower case"),
    ("name too long for its services", changed((("metadata", "name"), "n" * 58)), "is too long: the replica"),
    ("no container named tensorflow", changed(((*POD, "containers"), [{"name": "main", "image": "x"}])),
     "must have at least one container with name tensorflow"),
    ("no container at all", changed(((*POD, "containers"), [])), "template.spec.containers: Required value: must be specified"),
    ("container without an image", changed(((*POD, "containers"), [{"name": "tensorflow"}])),
     "containers[0].image: Required value: must be required"),
]


def title(case):
    return case[0].replace(" ", "-")


@pytest.fixture(scope="module")
def place():
    name = "bad-yaml"
    kubectl("delete", "namespace", name, "--ignore-not-found", "--wait", timeout=120)
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


def refusal(job, ns):
    with pytest.raises(KubectlError) as refused:
        create(job, ns)
    return str(refused.value)


def test_there_are_thirty():
    assert len({case[0] for case in SCHEMA + RULES}) == 30


@pytest.mark.parametrize("case", SCHEMA, ids=title)
def test_the_schema_refuses(place, case):
    assert case[2] in refusal(case[1], place)


@pytest.mark.parametrize("case", RULES, ids=title)
def test_the_webhook_refuses(place, case):
    chart.ensure({})
    said = refusal(case[1], place)
    assert 'admission webhook "validator.tfjob.tensorfleet.dev" denied the request' in said
    assert case[2] in said


@pytest.mark.parametrize("case", RULES, ids=title)
def test_without_the_webhook_the_job_fails_in_words(place, case):
    chart.ensure({"webhook": {"enabled": False}})
    name = case[1]["metadata"]["name"]
    kubectl("delete", "tfjob", name, "-n", place, "--ignore-not-found")
    create(case[1], place)
    failed = jobs.wait_for(name, place, "Failed", 30)
    assert failed["reason"] == "TFJobFailedValidation"
    assert case[2] in failed["message"]
    assert not get("pods", ns=place)


def test_a_change_for_the_worse_is_refused_too(place):
    chart.ensure({})
    kubectl("delete", "tfjob", "bad", "-n", place, "--ignore-not-found")
    create({**GOOD, "spec": {**GOOD["spec"], "runPolicy": {"suspend": True}}}, place)
    with pytest.raises(KubectlError, match="must have at least one container with name tensorflow"):
        kubectl("patch", "tfjob", "bad", "-n", place, "--type=json", "-p",
                '[{"op": "replace", "path": "/spec/tfReplicaSpecs/Worker/template/spec/containers/0/name", "value": "x"}]')
