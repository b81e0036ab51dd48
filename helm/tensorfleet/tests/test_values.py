"""The values: documented, described by the schema, and refused when they are wrong."""

import json

import pytest
import yaml
from conftest import CHART

# Their own keys are those of Kubernetes.
FREE = {"resources", "ui.resources", "podSecurityContext", "securityContext", "metrics.dashboard.labels"}


def leaves(node, path=""):
    for key, value in node.items():
        name = f"{path}.{key}" if path else key
        if isinstance(value, dict) and value and name not in FREE:
            yield from leaves(value, name)
        else:
            yield name


def schema_of(path):
    node = json.loads((CHART / "values.schema.json").read_text())
    for key in path.split("."):
        node = node["properties"][key]
    return node


VALUES = yaml.safe_load((CHART / "values.yaml").read_text())


@pytest.mark.parametrize("path", list(leaves(VALUES)))
def test_every_value_is_in_the_schema(path):
    assert schema_of(path)


def test_the_schema_has_no_value_without_a_default():
    def walk(schema, values, path):
        for key, node in schema.get("properties", {}).items():
            if path == "" and key == "global":  # Helm's own
                continue
            assert key in values, f"{path}{key} has no default in values.yaml"
            if node.get("properties"):
                walk(node, values[key], f"{path}{key}.")

    walk(json.loads((CHART / "values.schema.json").read_text()), VALUES, "")


def test_every_group_of_values_is_explained():
    """Each top-level key has a comment above it, above its first key, or above the run of keys that it stands in."""
    explained = False
    for line in (CHART / "values.yaml").read_text().splitlines():
        if line.strip().startswith("#"):
            explained = True
        elif not line.strip():
            explained = False
        elif not line.startswith(" ") and line.endswith(":"):
            explained = True  # what it holds is explained inside
        elif not line.startswith(" "):
            assert explained, f"nothing explains {line}"


@pytest.mark.parametrize(
    "values",
    [
        {"replicas": 2},
        {"image": {"name": "x"}},
        {"replicaCount": "two"},
        {"replicaCount": -1},
        {"image": {"digest": "abc"}},
        {"image": {"pullPolicy": "Sometimes"}},
        {"watchNamespace": "Not_a_name"},
        {"webhook": {"failurePolicy": "Maybe"}},
        {"webhook": {"port": 0}},
        {"operator": {"logLevel": "loud"}},
        {"operator": {"extraArgs": ["namespace=x"]}},
        {"imagePullSecrets": ["registry"]},
        {"podDisruptionBudget": {"maxUnavailable": "half"}},
        {"terminationGracePeriodSeconds": 1},
    ],
    ids=str,
)
def test_a_wrong_value_is_refused(template, values):
    with pytest.raises(ValueError, match="values don't meet the specifications of the schema"):
        template(values)


def test_lint_is_clean(helm):
    done = helm("lint", "--strict", str(CHART))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stdout + done.stderr
