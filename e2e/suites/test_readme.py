"""The commands for a cluster in README.md and docs/, as they stand there."""

import pathlib
import re
import shlex
import subprocess
import sys

from harness import chart, jobs
from harness.forward import forwarded
from harness.kube import create, get, kubectl, until

OPERATOR = None
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "e2e"))
import readme  # noqa: E402

# Commands in the text that another story runs.
ELSEWHERE = {"kubectl apply --server-side -k deploy": "test_kustomize.py", "helm test": "../harness/chart.py"}
# Commands in the text that are run below, one by one.
HERE = {
    "kubectl apply -f deploy/examples/servers.yaml",
    "kubectl port-forward servers-worker-0 2222",
    "kubectl get crd tfjobs.kubeflow.org",
    "kubectl apply -f deploy/crd/",
    "kubectl -n tensorfleet-system get pods",
    "kubectl describe pod",
    "kubectl logs POD --previous",
}


def run(command, ns=None):
    """A command of the text in the repository's root."""
    program, *words = shlex.split(command)
    done = subprocess.run([program, *words, *(["-n", ns] if ns else [])], cwd=ROOT, capture_output=True, text=True, timeout=60,
                          check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def test_every_block_says_where_it_runs():
    assert not list(readme.faults_of_marks())


def test_every_command_of_the_text_is_run():
    assert set(readme.inline("kubectl", "helm")) == HERE | set(ELSEWHERE)


def test_the_commands_for_a_cluster_work():
    chart.uninstall()
    said = []
    for language, text in readme.blocks("cluster"):
        assert language == "sh"
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=300,
                              check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        said.append(done.stdout)
    assert "Phase:          Succeeded" in said[0]  # of helm test
    assert "Succeeded" in said[1] and "accuracy=0.9" in said[1]


def test_the_program_trains_on_servers_of_the_cluster(ns):
    run("kubectl apply -f deploy/examples/servers.yaml", ns)
    jobs.running("servers", ns, 3)
    (_, program), = [block for block in readme.blocks("here") if block[0] == "python"]
    with forwarded("servers-worker-0", ns, 2222) as port:
        readme.run_program(re.sub(r"grpc://localhost:\d+", f"grpc://localhost:{port}", program))


def test_what_to_look_at_when_something_is_wrong(ns):
    assert "tfjobs.kubeflow.org" in run("kubectl get crd tfjobs.kubeflow.org")
    assert "configured" in (said := run("kubectl apply -f deploy/crd/")) or "unchanged" in said
    assert "Running" in run("kubectl -n tensorfleet-system get pods")
    create(jobs.tfjob("fails", {"Worker": jobs.script("echo this went wrong; exit 1")}), ns)
    until("it was restarted", lambda: any(s.get("restartCount") for p in get("pods", ns=ns) for s in
                                          p["status"].get("containerStatuses", [])), 60)
    assert "Exit Code:    1" in run("kubectl describe pod", ns)
    # The kubelet keeps the log of one dead container; for a moment, while the next one dies, of none.
    until("its last words are there", lambda: "this went wrong" in run("kubectl logs fails-worker-0 --previous", ns), 30)
    kubectl("delete", "tfjob", "fails", "-n", ns)
