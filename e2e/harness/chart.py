"""The chart, installed from its package as a user would."""

import json
import os
import subprocess

import yaml

from .kube import get, kubectl, until

PACKAGE = os.environ.get("E2E_CHART", "")
RELEASE = "tensorfleet"
NAMESPACE = "tensorfleet-system"


class HelmError(Exception):
    """helm ended with another status than 0; the text is what it said."""


def helm(*args, stdin=None, timeout=120):
    done = subprocess.run(["helm", *args], input=stdin, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise HelmError(f"helm {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout


def install(values=None, release=RELEASE, ns=NAMESPACE, package=None):
    """Installs or upgrades to exactly these values, and waits until the operator is ready. Its pods must meet the restricted
    standard."""
    kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": ns, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}))
    helm("upgrade", "--install", release, package or PACKAGE, "-n", ns, "--create-namespace", "--reset-values", "--wait",
         "--timeout=90s", "-f", "-", stdin=yaml.safe_dump(values or {}))


def ensure(values=None):
    """The standard release with these values; nothing is done when that is how it is."""
    wanted = values or {}
    status = [r for r in json.loads(helm("list", "-n", NAMESPACE, "-o", "json", "--all")) if r["name"] == RELEASE]
    if status and status[0]["status"] == "deployed":
        held = json.loads(helm("get", "values", RELEASE, "-n", NAMESPACE, "-o", "json"))
        if (held or {}) == wanted:
            until("the operator is ready", lambda: ready_operators() == wanted.get("replicaCount", 1), 60)
            return
    install(wanted)
    if wanted.get("webhook", {}).get("enabled", True):
        helm("test", RELEASE, "-n", NAMESPACE, "--timeout=60s")


def uninstall(release=RELEASE, ns=NAMESPACE):
    helm("uninstall", release, "-n", ns, "--wait", "--timeout=60s", "--ignore-not-found")


def operators(ns=NAMESPACE):
    """The operator's pods that are not going."""
    found = get("pods", ns=ns, selector="app.kubernetes.io/component=operator")
    return [p for p in found if "deletionTimestamp" not in p["metadata"]]


def ready_operators(ns=NAMESPACE):
    return sum(
        any(c["type"] == "Ready" and c["status"] == "True" for c in p["status"].get("conditions", [])) for p in operators(ns)
    )


def leader(ns=NAMESPACE, lease="tensorfleet.tensorfleet.dev"):
    """The name of the pod that holds the lease; empty when nobody does."""
    found = get("lease", lease, ns)
    holder = (found or {}).get("spec", {}).get("holderIdentity") or ""
    return holder.split("_")[0]
