"""Kubeflow's own TrainingClient (kubeflow-training 1.9) against the operator and a real API server.

Run by ctest with KUBECONFIG set; TENSORFLEET_OPERATOR is the program.
"""
import os
import pathlib
import subprocess
import sys
import time
import uuid

import pytest
from kubernetes import client, config
from kubeflow.training import TrainingClient, constants, models

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "testing"))
from fake_kubelet import FakeKubelet  # noqa: E402


@pytest.fixture(scope="module")
def namespace():
    config.load_kube_config()
    core = client.CoreV1Api()
    name = f"sdk-{uuid.uuid4().hex[:8]}"
    core.create_namespace({"metadata": {"name": name}})
    for _ in range(100):  # pods need the namespace's service account
        if core.list_namespaced_service_account(name).items:
            break
        time.sleep(0.1)
    yield name
    core.delete_namespace(name)


@pytest.fixture(scope="module")
def kubelet(namespace, tmp_path_factory):
    started = FakeKubelet(namespace, tmp_path_factory.mktemp("kubelet"))
    yield started
    started.stop()


@pytest.fixture(scope="module", autouse=True)
def running_operator(namespace):
    process = subprocess.Popen([os.environ["TENSORFLEET_OPERATOR"], "--namespace", namespace,
                                "--metrics-bind-address=0", "--health-probe-bind-address=0"])
    yield process
    process.terminate()
    assert process.wait(10) == 0


@pytest.fixture
def sdk(namespace):
    return TrainingClient(namespace=namespace, job_kind=constants.TFJOB_KIND)


def wait_for_pods(sdk, job, count):
    for _ in range(100):
        names = sorted(sdk.get_job_pod_names(job))
        if len(names) == count:
            return names
        time.sleep(0.1)
    raise AssertionError(f"pods of {job}: {names}")


def wait(sdk, job, *conditions):
    return sdk.wait_for_job_conditions(job, expected_conditions=set(conditions), wait_timeout=20, polling_interval=1)


def job_of(name, spec):
    container = client.V1Container(name="tensorflow", image="train:1", command=["python", "train.py"])
    template = client.V1PodTemplateSpec(spec=client.V1PodSpec(containers=[container]))
    replicas = {kind: models.KubeflowOrgV1ReplicaSpec(replicas=count, template=template, restart_policy="Never")
                for kind, count in spec.items()}
    return models.KubeflowOrgV1TFJob(
        api_version="kubeflow.org/v1", kind="TFJob", metadata=client.V1ObjectMeta(name=name),
        spec=models.KubeflowOrgV1TFJobSpec(run_policy=models.KubeflowOrgV1RunPolicy(clean_pod_policy="None"),
                                           tf_replica_specs=replicas))


def test_a_job_from_creation_to_deletion(sdk, kubelet, namespace):
    sdk.create_job(job_of("mnist", {"PS": 1, "Worker": 2}))
    pods = wait_for_pods(sdk, "mnist", 3)
    assert pods == ["mnist-ps-0", "mnist-worker-0", "mnist-worker-1"]
    assert sdk.get_job_pod_names("mnist", is_master=True) == ["mnist-worker-0"]
    assert sdk.get_job_pod_names("mnist", replica_type="ps") == ["mnist-ps-0"]
    wait(sdk, "mnist", "Created")

    for pod in pods:
        kubelet.run(namespace, pod)
    wait(sdk, "mnist", "Running")
    assert sdk.is_job_running("mnist")

    kubelet.logs["mnist-worker-0"] = "step 1 loss 0.5\n"
    logs, _ = sdk.get_job_logs("mnist")
    assert logs == {"mnist-worker-0": "step 1 loss 0.5\n"}

    kubelet.end(namespace, "mnist-worker-0", 0)
    wait(sdk, "mnist", "Succeeded")
    conditions = {c.type: c.status for c in sdk.get_job_conditions("mnist")}
    assert conditions == {"Created": "True", "Running": "False", "Succeeded": "True"}
    assert sdk.get_job("mnist").status.completion_time is not None

    sdk.delete_job("mnist")
    with pytest.raises(RuntimeError):
        sdk.get_job("mnist")


def test_a_function_becomes_a_job(sdk):
    def train():
        print("hello")

    sdk.create_job(name="function", train_func=train, num_workers=2, num_chief_replicas=1, num_ps_replicas=1,
                   base_image="train:1", env_vars={"EPOCHS": "3"})
    assert wait_for_pods(sdk, "function", 4) == ["function-chief-0", "function-ps-0", "function-worker-0",
                                                 "function-worker-1"]
    assert "function" in [job.metadata.name for job in sdk.list_jobs()]
    sdk.delete_job("function")


def test_a_failure_is_reported(sdk, kubelet, namespace):
    sdk.create_job(job_of("broken", {"Worker": 1}))
    (pod,) = wait_for_pods(sdk, "broken", 1)
    kubelet.run(namespace, pod)
    kubelet.end(namespace, pod, 1)
    with pytest.raises(RuntimeError, match="Failed|failed"):
        wait(sdk, "broken", "Succeeded")
    assert sdk.is_job_failed("broken")
    _, events = sdk.get_job_logs("broken", verbose=True)
    assert any("Created pod: broken-worker-0" in message for message in events["tfjob/broken"])


def test_a_job_can_be_changed(sdk):
    sdk.create_job(job_of("scaled", {"Worker": 1}))
    wait_for_pods(sdk, "scaled", 1)
    job = sdk.get_job("scaled")
    job.spec.tf_replica_specs["Worker"].replicas = 3
    sdk.update_job(job, "scaled")
    wait_for_pods(sdk, "scaled", 3)


def test_a_bad_job_is_refused(sdk):
    with pytest.raises(RuntimeError):
        sdk.create_job(job_of("bad", {"Worker": -1}))


def test_kubectl_shows_the_state_and_scales(sdk, namespace):
    sdk.create_job(job_of("shown", {"Worker": 2}))
    wait_for_pods(sdk, "shown", 2)
    wait(sdk, "shown", "Created")
    table = subprocess.run(["kubectl", "-n", namespace, "get", "tfjob", "shown"], check=True, capture_output=True,
                           text=True).stdout
    header, row = table.splitlines()
    assert header.split() == ["NAME", "STATE", "STEP", "READY", "RESTARTS", "AGE"]
    assert row.split()[:3] == ["shown", "Created", "0/2"]
    subprocess.run(["kubectl", "-n", namespace, "scale", "tfjob", "shown", "--replicas=1"], check=True)
    wait_for_pods(sdk, "shown", 1)


def test_kubectl_shows_the_step_that_the_chief_reports(sdk, kubelet, namespace):
    sdk.create_job(job_of("steps", {"Worker": 1}))
    (pod,) = wait_for_pods(sdk, "steps", 1)
    kubelet.run(namespace, pod)
    wait(sdk, "steps", "Running")
    client.CoreV1Api().patch_namespaced_pod(pod, namespace, {"metadata": {"annotations": {
        "tensorfleet.dev/progress": '{"step": 1200}'}}})
    for _ in range(100):
        shown = subprocess.run(["kubectl", "-n", namespace, "get", "tfjob", "steps", "-o",
                                "jsonpath={.status.progress.step}"], capture_output=True, text=True).stdout
        if shown == "1200":
            return
        time.sleep(0.1)
    raise AssertionError(f"the step shown is {shown!r}")
