"""The operator's rights: listed in rights/*.txt, which a review can read, and compared with what is rendered."""

import os

import pytest
from conftest import CHART

CASES = {
    "cluster_wide": {},
    "one_namespace": {"watchNamespace": "team-a"},
    "gang_scheduling": {"operator": {"gangSchedulerName": "volcano"}},
    "without_webhook": {"webhook": {"enabled": False}},
    "others_certificates": {"webhook": {"certificate": {"existingSecret": "mine"}}},
}


def rights(rendered, account):
    """One line per role, resource and name, of the roles that are bound to `account`."""
    lines = set()
    for kind in ("ClusterRole", "Role"):
        for binding in rendered.all(kind + "Binding"):
            if not any(s["name"] == account for s in binding["subjects"]):
                continue
            role = rendered.one(kind, binding["roleRef"]["name"])
            where = binding["metadata"].get("namespace", "all namespaces")
            for rule in role["rules"]:
                for group in rule["apiGroups"]:
                    for resource in rule["resources"]:
                        for name in rule.get("resourceNames", ["any"]):
                            path = f"{group}/{resource}" if group else resource
                            lines.add(f"{where}: {path} ({name}): {' '.join(sorted(rule['verbs']))}")
    return "".join(f"{line}\n" for line in sorted(lines))


@pytest.mark.parametrize("case", CASES)
def test_rights_are_those_on_the_list(template, case):
    path = CHART / "tests" / "rights" / f"{case}.txt"
    found = rights(template(CASES[case]), "tensorfleet")
    if os.environ.get("UPDATE_RIGHTS"):  # then read the difference before committing it
        path.parent.mkdir(exist_ok=True)
        path.write_text(found)
    assert found == path.read_text()


def test_nothing_is_granted_wholesale(template):
    for values in CASES.values():
        for role in template(values).all("ClusterRole") + template(values).all("Role"):
            for rule in role["rules"]:
                assert "*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"], role["metadata"]["name"]


def test_one_namespace_gives_no_right_to_any_object_elsewhere(template):
    rendered = template({"watchNamespace": "team-a"})
    for line in rights(rendered, "tensorfleet").splitlines():
        where, path = line.split(": ")[:2]
        assert where in ("team-a", "fleet") or path.startswith("admissionregistration.k8s.io/"), line
    webhook = rendered.one("ValidatingWebhookConfiguration")["webhooks"][0]
    assert webhook["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": "team-a"}
    assert "--namespace=team-a" in rendered.args


def test_no_roles_are_made_when_others_keep_them(template):
    rendered = template({"rbac": {"create": False, "userRoles": {"create": False}}})
    made = [o for o in rendered.objects if "Role" in o["kind"] and "self-check" not in o["metadata"]["name"]]
    assert not made


def test_the_pages_may_read_and_no_more(template):
    found = rights(template({"ui": {"enabled": True}}), "tensorfleet-ui")
    assert found.splitlines() == [
        "all namespaces: events (any): get list",
        "all namespaces: kubeflow.org/tfjobs (any): get list",
        "all namespaces: pods (any): get list",
        "all namespaces: pods/log (any): get",
        "all namespaces: pods/proxy (any): get",
    ]
