"""TFJobs of the stories, and what becomes of them."""

from .images import EXAMPLES, RUNTIME, SHELL
from .kube import get, kubectl, until

JOB_LABEL = "training.kubeflow.org/job-name"


def replica(image, replicas=1, restart="OnFailure", **container):
    """A replica spec whose pods meet the restricted standard. Keywords are fields of the container."""
    container.setdefault("resources", {"requests": {"cpu": "10m", "memory": "16Mi"}})
    body = {
        "name": "tensorflow",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        **container,
    }
    pod = {
        "terminationGracePeriodSeconds": 2,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [body],
    }
    return {"replicas": replicas, "restartPolicy": restart, "template": {"spec": pod}}


def tfjob(name, replicas, run_policy=None, **spec):
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {"runPolicy": run_policy or {}, "tfReplicaSpecs": replicas, **spec},
    }


def script(text, replicas=1, restart="OnFailure", **container):
    """A replica that runs a line of shell; it ends at once when it is told to."""
    return replica(SHELL, replicas, restart, command=["/bin/sh", "-c", f"trap 'exit 143' TERM; {text}"], **container)


def sleeper(replicas=1, restart="OnFailure"):
    return script("sleep 3600 & wait", replicas, restart)


def linear(name, run_policy=None):
    """A parameter server, two workers, and a chief that trains a linear model on them."""
    targets = [f"grpc://{name}-worker-{i}:2222" for i in range(2)]
    return tfjob(
        name,
        {
            "Chief": replica(EXAMPLES, command=["/usr/bin/train_linear"], args=targets),
            "PS": replica(RUNTIME),
            "Worker": replica(RUNTIME, 2),
        },
        run_policy or {"cleanPodPolicy": "Running"},
    )


# --- what became of it ---


def conditions(name, ns):
    """type -> condition, of those that are True."""
    job = get("tfjob", name, ns) or {}
    return {c["type"]: c for c in job.get("status", {}).get("conditions", []) if c["status"] == "True"}


def wait_for(name, ns, condition, timeout=90):
    """The condition, once it is True; a job that ends otherwise is an error at once."""

    def reached():
        now = conditions(name, ns)
        if condition not in now:
            for end in {"Succeeded", "Failed"} & set(now):
                raise AssertionError(f"job {name} is {end}, not {condition}: {now[end].get('message')}")
        return now.get(condition)

    return until(f"job {name} is {condition}", reached, timeout)


def pods(name, ns, kind=None):
    """The job's pods that are not going, by name."""
    selector = f"{JOB_LABEL}={name}" + (f",training.kubeflow.org/replica-type={kind.lower()}" if kind else "")
    found = get("pods", ns=ns, selector=selector)
    return {p["metadata"]["name"]: p for p in found if "deletionTimestamp" not in p["metadata"]}


def running(name, ns, count, kind=None, timeout=60):
    """The job's pods, once so many are Running and ready."""

    def ready():
        found = pods(name, ns, kind)
        good = [p for p in found.values() if any(
            c["type"] == "Ready" and c["status"] == "True" for c in p["status"].get("conditions", []))]
        return found if len(good) == count == len(found) else None

    return until(f"{count} pods of {name} are ready", ready, timeout)


def logs(pod, ns, *args):
    return kubectl("logs", pod, "-n", ns, *args)


def uid(pod):
    return pod["metadata"]["uid"]
