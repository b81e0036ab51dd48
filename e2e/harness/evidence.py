"""What is kept of a story that failed: objects, events and logs."""

import json
import os
import pathlib
import subprocess

FOLDER = pathlib.Path(os.environ.get("E2E_EVIDENCE", "build/e2e"))
KINDS = "tfjobs,pods,services,events,leases,deployments,replicasets,persistentvolumeclaims"


def _save(path, *command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    path.write_text(done.stdout + done.stderr)
    return done.stdout


def keep(title, namespaces):
    """Writes what kubectl shows of the namespaces to FOLDER/title, and returns that folder."""
    folder = FOLDER / title
    folder.mkdir(parents=True, exist_ok=True)
    _save(folder / "nodes.yaml", "kubectl", "get", "nodes", "-o", "yaml")
    for ns in namespaces:
        _save(folder / f"{ns}.txt", "kubectl", "get", KINDS, "-n", ns, "-o", "wide")
        _save(folder / f"{ns}.yaml", "kubectl", "get", KINDS, "-n", ns, "-o", "yaml")
        listed = subprocess.run(["kubectl", "get", "pods", "-n", ns, "-o", "json"], capture_output=True, text=True,
                                timeout=60, check=False).stdout or '{"items": []}'
        for pod in json.loads(listed)["items"]:
            name = pod["metadata"]["name"]
            _save(folder / f"{ns}.{name}.log", "kubectl", "logs", "-n", ns, name, "--all-containers", "--timestamps")
            if any(s.get("restartCount") for s in pod["status"].get("containerStatuses", [])):
                _save(folder / f"{ns}.{name}.previous.log", "kubectl", "logs", "-n", ns, name, "--all-containers", "-p")
    return folder
