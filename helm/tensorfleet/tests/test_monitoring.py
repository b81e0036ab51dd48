"""The dashboard and the alerts: every metric that they name is one that a program of ours has."""

import json
import re

import pytest
import yaml
from conftest import ROOT

SOURCES = [*ROOT.glob("operator/main/*.cc"), *ROOT.glob("runtime/session/*.cc"), *ROOT.glob("runtime/rpc/*.cc")]
FUNCTIONS = {"sum", "rate", "increase", "absent", "by", "le", "histogram_quantile", "max", "and", "on", "or", "min", "avg"}


def metrics_of_the_programs():
    names = set()
    for path in SOURCES:
        for text in re.findall(r'"([^"\n]*)"', path.read_text()):
            names |= set(re.findall(r"[a-z]+(?:_[a-z]+)+", text))
    return names


def expressions():
    rules = yaml.safe_load((ROOT / "deploy/alerts/tensorfleet.yaml").read_text())
    for group in rules["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]
    board = json.loads((ROOT / "deploy/dashboards/tensorfleet.json").read_text())
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]


@pytest.mark.parametrize(("title", "expr"), list(expressions()), ids=lambda text: text[:30])
def test_expressions_name_metrics_that_exist(title, expr):
    bare = re.sub(r"\{[^}]*\}|\[[^]]*\]|\b(by|on)\s*\([^)]*\)", "", expr)
    used = set(re.findall(r"[a-z_]{3,}", bare)) - FUNCTIONS
    known = metrics_of_the_programs()
    for name in used:
        assert re.sub(r"_(bucket|count|sum)$", "", name) in known or name in known, f"{title}: {name}"
    assert used


def test_every_alert_says_what_to_do():
    for group in yaml.safe_load((ROOT / "deploy/alerts/tensorfleet.yaml").read_text())["groups"]:
        for rule in group["rules"]:
            assert rule["labels"]["severity"] in ("critical", "warning", "info")
            assert rule["annotations"]["summary"] and rule["annotations"]["description"], rule["alert"]


def test_panels_do_not_overlap():
    board = json.loads((ROOT / "deploy/dashboards/tensorfleet.json").read_text())
    taken = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
