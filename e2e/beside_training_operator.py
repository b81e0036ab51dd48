#!/usr/bin/env python3
"""Moving TFJobs over from a real training-operator that stays for its other jobs, and back again.

    go mod download github.com/kubeflow/training-operator@v1.9.3
    go install github.com/kubeflow/training-operator/cmd/training-operator.v1@v1.9.3
    KUBECONFIG=$(e2e/cluster/cluster up --control-plane-only --controllers) e2e/beside_training_operator.py \\
        --reference "$(go env GOPATH)/bin/training-operator.v1" --bin build/bin \\
        --manifests "$(go env GOPATH)/pkg/mod/github.com/kubeflow/training-operator@v1.9.3/manifests"

Its manifests are applied as they are, and ours by `kubectl apply -k deploy`. There are no nodes: both programs run here, with the
flags that their Deployments say, and pods are made Running by writing their status. No pod may be made anew on the way, and nothing of
training-operator's may change but what operator/docs/moving_from_training_operator.md says.
"""

import argparse
import base64
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "e2e"))
from harness.kube import KubectlError, create, get, kubectl, until  # noqa: E402

THEIRS = [("clusterrole", "training-operator", None), ("clusterrolebinding", "training-operator", None),
          ("service", "training-operator", "kubeflow"), ("serviceaccount", "training-operator", "kubeflow"),
          ("secret", "training-operator-webhook-cert", "kubeflow")]
CONFIGURATION = "validator.training-operator.kubeflow.org"
OURS = "validator.tensorfleet-operator.tensorfleet.dev"
NS = "default"


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


class Program:
    """A program that is ended when the story ends."""

    all = []

    def __init__(self, log, *args, **environment):
        self.log = log
        self.process = subprocess.Popen(args, stdout=open(log, "w"), stderr=subprocess.STDOUT, env={**os.environ, **environment})
        Program.all.append(self)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def said(self, text):
        assert self.process.poll() is None, f"it has ended: {self.log.read_text()[-1500:]}"
        return text in self.log.read_text()


def version(kind, name, ns):
    found = get(kind, name, ns)
    return found and found["metadata"]["resourceVersion"]


def job(kind, name, replicas, key):
    container = {"name": {"TFJob": "tensorflow", "PyTorchJob": "pytorch"}[kind], "image": "any:1"}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": {"name": name},
            "spec": {"runPolicy": {}, key: {t: {"replicas": n, "restartPolicy": "OnFailure",
                                                "template": {"spec": {"containers": [container]}}} for t, n in replicas.items()}}}


def play_kubelet(name, phase, code=None):
    state = {"running": {"startedAt": "2026-01-01T00:00:00Z"}} if code is None else {
        "terminated": {"exitCode": code, "reason": "Completed", "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:01:00Z"}}
    container = get("pod", name, NS)["spec"]["containers"][0]["name"]
    status = {"phase": phase, "conditions": [{"type": "Ready", "status": "True" if code is None else "False"}],
              "containerStatuses": [{"name": container, "image": "any:1", "imageID": "", "ready": code is None, "restartCount": 0,
                                     "state": state}]}
    kubectl("patch", "pod", name, "-n", NS, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))


def pods_of(name):
    found = get("pods", ns=NS, selector=f"training.kubeflow.org/job-name={name}")
    return {p["metadata"]["name"]: p["metadata"]["uid"] for p in found}


def is_true(kind, name, condition):
    status = (get(kind, name, NS) or {}).get("status", {})
    return any(c["type"] == condition and c["status"] == "True" for c in status.get("conditions", []))


def reference(args, folder, number, *schemes):
    certs = pathlib.Path("/tmp/k8s-webhook-server/serving-certs")
    certs.mkdir(parents=True, exist_ok=True)
    for file in certs.iterdir():
        file.unlink()
    program = Program(folder / f"reference-{number}.log", args.reference, f"--kubeconfig={os.environ['KUBECONFIG']}",
                      "--metrics-bind-address=127.0.0.1:0", f"--health-probe-bind-address=127.0.0.1:{28081 + number}",
                      f"--webhook-server-port={29443 + number}", *[f"--enable-scheme={s}" for s in schemes])

    def has_certificates():  # what its Deployment mounts
        data = (get("secret", "training-operator-webhook-cert", "kubeflow") or {}).get("data", {})
        return data if "tls.crt" in data else None

    for name, text in until("it has made its certificates", has_certificates, 60).items():
        (certs / name).write_bytes(base64.b64decode(text))
    return program


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--manifests", required=True)
    parser.add_argument("--bin", required=True)
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="beside-"))
    try:
        tell(args, folder)
    except BaseException:
        print(f"the programs' words are in {folder}", file=sys.stderr)
        raise
    finally:
        for program in Program.all:
            program.end()


def unreachable_webhooks_may_fail(name):
    """There are no nodes, so no Service of a webhook has an end."""
    for i in range(len(get("validatingwebhookconfiguration", name)["webhooks"])):
        kubectl("patch", "validatingwebhookconfiguration", name, "--type=json", "-p",
                json.dumps([{"op": "replace", "path": f"/webhooks/{i}/failurePolicy", "value": "Ignore"}]))


def tell(args, folder):
    say("training-operator's manifests, and its program")
    kubectl("apply", "--server-side", "-k", f"{args.manifests}/overlays/standalone")
    unreachable_webhooks_may_fail(CONFIGURATION)
    first = reference(args, folder, 1)
    create([job("TFJob", "old", {"PS": 1, "Worker": 2}, "tfReplicaSpecs"), job("PyTorchJob", "torch", {"Master": 1}, "pytorchReplicaSpecs")], NS)
    until("its pods are there", lambda: len(pods_of("old")) == 3 and len(pods_of("torch")) == 1, 90)
    for name in [*pods_of("old"), *pods_of("torch")]:
        play_kubelet(name, "Running")
    until("both run", lambda: is_true("tfjob", "old", "Running") and is_true("pytorchjob", "torch", "Running"), 60)
    pods, torch = pods_of("old"), pods_of("torch")
    theirs = {item: version(*item) for item in THEIRS}
    bundles = {w["name"]: w["clientConfig"].get("caBundle") for w in get("validatingwebhookconfiguration", CONFIGURATION)["webhooks"]}
    assert all(bundles.values()), "its certificates are in its own configuration"

    say("ours beside it: it says for whom it waits, and touches nothing")
    kubectl("apply", "--server-side", "--force-conflicts", "-k", str(ROOT / "deploy"))
    unreachable_webhooks_may_fail(OURS)
    ours = Program(folder / "ours.log", f"{args.bin}/tensorfleet-operator", f"--kubeconfig={os.environ['KUBECONFIG']}", "--leader-elect",
                   "--webhook=true", "--webhook-server-port=0", "--metrics-bind-address=0", "--health-probe-bind-address=0",
                   MY_POD_NAMESPACE="tensorfleet-system")
    until("it names the other", lambda: ours.said("deployment kubeflow/training-operator"), 30)
    until("its authority is in its own configuration",
          lambda: get("validatingwebhookconfiguration", OURS)["webhooks"][0]["clientConfig"].get("caBundle"), 30)
    assert not ours.said("reconciling"), "it works beside the other"

    say("TFJobs are taken from training-operator, which stays for PyTorchJobs")
    first.end()
    kubectl("patch", "deployment", "training-operator", "-n", "kubeflow", "--type=json", "-p",
            json.dumps([{"op": "add", "path": "/spec/template/spec/containers/0/args", "value": ["--enable-scheme=pytorchjob"]}]))
    second = reference(args, folder, 2, "pytorchjob")
    kubectl("patch", "validatingwebhookconfiguration", CONFIGURATION, "--type=strategic", "-p",
            '{"webhooks": [{"name": "validator.tfjob.training-operator.kubeflow.org", "$patch": "delete"}]}')
    until("ours begins", lambda: ours.said("reconciling"), 30)
    create(job("TFJob", "new", {"Worker": 1}, "tfReplicaSpecs"), NS)
    until("ours makes pods", lambda: len(pods_of("new")) == 1, 30)
    play_kubelet("new-worker-0", "Succeeded", 0)
    until("and sees them end", lambda: is_true("tfjob", "new", "Succeeded"), 30)
    create(job("PyTorchJob", "torch2", {"Master": 1}, "pytorchReplicaSpecs"), NS)
    until("training-operator goes on with PyTorchJobs", lambda: len(pods_of("torch2")) == 1, 60)
    assert pods_of("old") == pods and pods_of("torch") == torch, "a pod was made anew"
    for item, held in theirs.items():
        assert version(*item) == held, f"{item[0]} {item[1]} has changed"
    now = {w["name"]: w["clientConfig"].get("caBundle") for w in get("validatingwebhookconfiguration", CONFIGURATION)["webhooks"]}
    assert now == {n: b for n, b in bundles.items() if "tfjob" not in n}, "entries of others have changed"

    say("and back again")
    ours.end()
    second.end()
    kubectl("delete", "validatingwebhookconfiguration", OURS)
    kubectl("patch", "deployment", "training-operator", "-n", "kubeflow", "--type=json", "-p",
            json.dumps([{"op": "remove", "path": "/spec/template/spec/containers/0/args"}]))
    reference(args, folder, 3)
    create(job("TFJob", "back", {"Worker": 1}, "tfReplicaSpecs"), NS)
    until("training-operator makes pods of TFJobs again", lambda: len(pods_of("back")) == 1, 60)
    assert pods_of("old") == pods and pods_of("torch") == torch, "a pod was made anew"
    for name in ("old-worker-0", "old-worker-1"):
        play_kubelet(name, "Succeeded", 0)
    until("the old job ends with it", lambda: is_true("tfjob", "old", "Succeeded"), 60)
    assert is_true("pytorchjob", "torch", "Running")
    say("all is as it was")


if __name__ == "__main__":
    try:
        main()
    except (AssertionError, KubectlError) as error:
        sys.exit(f"beside_training_operator.py: {error}")
