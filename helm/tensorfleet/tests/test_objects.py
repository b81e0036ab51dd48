"""What the chart renders by default, and what each switch changes."""

import re

import pytest
import yaml
from conftest import ROOT


def names(rendered):
    return sorted(f"{o['kind']} {o['metadata']['name']}" for o in rendered.objects)


EVERYTHING = {
    "networkPolicy": {"enabled": True},
    "metrics": {"serviceMonitor": {"enabled": True}, "alerts": {"enabled": True}, "dashboard": {"enabled": True}},
}


def test_default_objects(template):
    assert names(template()) == [
        "ClusterRole tensorfleet-admin",
        "ClusterRole tensorfleet-edit",
        "ClusterRole tensorfleet-view",
        "ClusterRole tensorfleet.fleet",
        "ClusterRoleBinding tensorfleet.fleet",
        "CustomResourceDefinition tfjobs.kubeflow.org",
        "Deployment tensorfleet",
        "Pod tensorfleet-self-check",
        "PodDisruptionBudget tensorfleet",
        "Role tensorfleet",
        "Role tensorfleet-self-check",
        "RoleBinding tensorfleet",
        "RoleBinding tensorfleet-self-check",
        "Secret tensorfleet-webhook-cert",
        "Service tensorfleet",
        "ServiceAccount tensorfleet",
        "ServiceAccount tensorfleet-self-check",
        "ValidatingWebhookConfiguration validator.tensorfleet.fleet.tensorfleet.dev",
    ]


def test_names_follow_the_release(template):
    assert template(release="blue").one("Deployment")["metadata"]["name"] == "blue-tensorfleet"
    assert template({"fullnameOverride": "x"}).one("Deployment")["metadata"]["name"] == "x"


def test_two_releases_of_one_name_share_no_cluster_wide_object(template):
    def cluster_wide(namespace):
        rendered = template({"crd": {"install": False}, "rbac": {"userRoles": {"create": False}}}, namespace=namespace)
        return {n for n in names(rendered) if n.startswith(("Cluster", "Validating"))}

    assert not cluster_wide("a") & cluster_wide("b")


def test_common_labels_are_on_every_object_and_pod(template):
    rendered = template({**EVERYTHING, "commonLabels": {"team": "vision"}})
    for item in rendered.objects:
        assert item["metadata"]["labels"]["team"] == "vision", item["kind"]
    assert rendered.one("Deployment")["spec"]["template"]["metadata"]["labels"]["team"] == "vision"


def test_every_namespaced_object_is_in_the_release_namespace(template):
    for item in template(EVERYTHING).objects:
        if not item["kind"].startswith(("Cluster", "Custom", "Validating")):
            assert item["metadata"]["namespace"] == "fleet", item["kind"]


def test_the_service_chooses_the_operator_and_not_the_self_check(template):
    rendered = template()
    chosen = rendered.one("Service")["spec"]["selector"].items()
    assert chosen <= rendered.one("Deployment")["spec"]["template"]["metadata"]["labels"].items()
    assert not chosen <= rendered.one("Pod")["metadata"]["labels"].items()


# --- the pod ---


def faults_of_restricted(pod):
    """The rules of the restricted pod security standard that `pod` breaks."""
    context = pod.get("securityContext", {})
    if pod.get("hostNetwork") or pod.get("hostPID") or pod.get("hostIPC"):
        yield "host namespaces"
    if any(set(volume) - {"name", "configMap", "emptyDir", "projected", "secret"} for volume in pod.get("volumes", [])):
        yield "volume types"
    for container in pod["containers"] + pod.get("initContainers", []):
        own = container.get("securityContext", {})
        if own.get("allowPrivilegeEscalation") is not False:
            yield "allowPrivilegeEscalation"
        if own.get("capabilities", {}).get("drop") != ["ALL"] or own["capabilities"].get("add"):
            yield "capabilities"
        if not own.get("runAsNonRoot", context.get("runAsNonRoot")) or own.get("runAsUser", context.get("runAsUser")) == 0:
            yield "runAsNonRoot"
        if own.get("seccompProfile", context.get("seccompProfile", {})).get("type") not in ("RuntimeDefault", "Localhost"):
            yield "seccompProfile"
        if own.get("privileged") or any("hostPort" in port for port in container.get("ports", [])):
            yield "privileged or host ports"


def test_every_pod_is_restricted_and_read_only(template):
    rendered = template({"webhook": {"certificate": {"existingSecret": "mine"}}})
    for pod in (rendered.pod, rendered.one("Pod")["spec"]):
        assert not list(faults_of_restricted(pod))
        assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True


@pytest.mark.parametrize(
    ("values", "where", "expected"),
    [
        ({"imagePullSecrets": [{"name": "registry"}]}, "imagePullSecrets", [{"name": "registry"}]),
        ({"priorityClassName": "system-cluster-critical"}, "priorityClassName", "system-cluster-critical"),
        ({"nodeSelector": {"pool": "system"}}, "nodeSelector", {"pool": "system"}),
        ({"tolerations": [{"key": "gpu", "operator": "Exists"}]}, "tolerations", [{"key": "gpu", "operator": "Exists"}]),
        ({"affinity": {"nodeAffinity": {"x": 1}}}, "affinity", {"nodeAffinity": {"x": 1}}),
        ({"terminationGracePeriodSeconds": 20}, "terminationGracePeriodSeconds", 20),
        ({"serviceAccount": {"name": "me"}}, "serviceAccountName", "me"),
        ({"serviceAccount": {"create": False}}, "serviceAccountName", "default"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_pod_settings_reach_the_pod(template, values, where, expected):
    assert template(values).pod[where] == expected


def test_the_image_is_named_by_version_tag_or_digest(template):
    digest = "sha256:" + "0" * 64

    def image(**values):
        return template({"image": values}).pod["containers"][0]["image"]

    assert image() == "localhost/tensorfleet-operator:0.1.0"
    assert image(repository="reg.example/t", tag="1") == "reg.example/t:1"
    assert image(repository="reg.example/t", tag="1", digest=digest) == f"reg.example/t@{digest}"


def test_every_flag_that_is_given_is_documented(template):
    documented = set(re.findall(r"`--([a-z-]+)`", (ROOT / "operator/docs/flags.md").read_text()))
    rendered = [
        template({"watchNamespace": "a", "operator": {"gangSchedulerName": "volcano"}}),
        template({"webhook": {"certificate": {"existingSecret": "mine"}}}),
    ]
    for one in rendered:
        for arg in one.args + one.one("Pod")["spec"]["containers"][0]["args"]:
            assert arg.split("=")[0].removeprefix("--") in documented


def test_settings_of_the_operator_become_flags(template):
    rendered = template(
        {
            "operator": {"logLevel": "debug", "kubeApiQps": 5000000, "gangSchedulerName": "volcano", "clusterDomain": "c.local",
                         "extraArgs": ["--status-delay=2s"], "extraEnv": [{"name": "A", "value": "b"}]},
            "metrics": {"port": 1234},
        }
    )
    assert {"--zap-log-level=debug", "--kube-api-qps=5000000", "--gang-scheduler-name=volcano", "--status-delay=2s",
            "--metrics-bind-address=:1234"} <= set(rendered.args)
    env = {e["name"]: e.get("value") for e in rendered.pod["containers"][0]["env"]}
    assert env["CUSTOM_CLUSTER_DOMAIN"] == "c.local"
    assert env["A"] == "b"
    assert {"name": "metrics", "port": 1234, "targetPort": "metrics"} in rendered.one("Service")["spec"]["ports"]


def test_leader_election_is_on_under_the_releases_own_lease(template):
    assert "--leader-elect" in template().args
    assert "--leader-election-id=tensorfleet.tensorfleet.dev" in template().args
    assert "--leader-election-namespace=fleet" in template({"watchNamespace": "a"}).args


def test_nothing_has_a_name_of_training_operators(template):
    for item in template(values={}, release="training").objects:
        assert "training-operator" not in item["metadata"]["name"]
    for webhook in template().one("ValidatingWebhookConfiguration")["webhooks"]:
        assert "training-operator" not in webhook["name"]


def test_leader_election_may_be_off(template):
    assert not [a for a in template({"leaderElection": {"enabled": False}}).args if "leader" in a]


# --- the resource ---


def test_the_crd_is_that_of_deploy_and_survives_uninstallation(template):
    crd = template().one("CustomResourceDefinition")
    assert crd["spec"] == yaml.safe_load((ROOT / "deploy/crd/tfjob.yaml").read_text())["spec"]
    assert crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_the_crd_may_be_left_out_or_go_with_the_release(template):
    assert not template({"crd": {"install": False}}).all("CustomResourceDefinition")
    assert "annotations" not in template({"crd": {"keep": False}}).one("CustomResourceDefinition")["metadata"]


# --- the webhook ---


def test_the_webhook_points_at_the_operator(template):
    rendered = template()
    webhook = rendered.one("ValidatingWebhookConfiguration")["webhooks"][0]
    service = rendered.one("Service")
    assert webhook["clientConfig"]["service"]["name"] == service["metadata"]["name"]
    assert webhook["clientConfig"]["service"]["namespace"] == service["metadata"]["namespace"]
    assert {"name": "webhook", "port": 443, "targetPort": "webhook"} in service["spec"]["ports"]
    assert "caBundle" not in webhook["clientConfig"]
    assert f"--webhook-service-name={service['metadata']['name']}" in rendered.args


def test_without_the_webhook_nothing_of_it_is_left(template):
    rendered = template({"webhook": {"enabled": False}})
    assert not rendered.all("ValidatingWebhookConfiguration")
    assert not rendered.all("Secret")
    assert "--webhook=false" in rendered.args
    assert [port["name"] for port in rendered.one("Service")["spec"]["ports"]] == ["metrics"]
    assert "--webhook=false" in rendered.one("Pod")["spec"]["containers"][0]["args"]


def test_certificates_of_others_are_mounted_and_nothing_is_written(template):
    rendered = template(
        {"webhook": {"certificate": {"existingSecret": "mine", "caBundle": "QUJD"}, "annotations": {"a": "b"}}}
    )
    assert "--webhook-cert-dir=/etc/tensorfleet/certificate" in rendered.args
    assert not [a for a in rendered.args if "webhook-secret-name" in a]
    assert rendered.pod["volumes"] == [{"name": "certificate", "secret": {"secretName": "mine"}}]
    assert not rendered.all("Secret")
    config = rendered.one("ValidatingWebhookConfiguration")
    assert config["webhooks"][0]["clientConfig"]["caBundle"] == "QUJD"
    assert config["metadata"]["annotations"] == {"a": "b"}


# --- around it ---


def test_a_single_replica_does_not_block_a_drain(template):
    assert template().one("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert not template({"podDisruptionBudget": {"enabled": False}}).all("PodDisruptionBudget")


def test_the_network_policy_lets_in_the_three_ports_and_out_what_is_said(template):
    assert not template().all("NetworkPolicy")
    peers = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
    api = [{"ipBlock": {"cidr": "192.0.2.1/32"}}]
    rendered = template(
        {"networkPolicy": {"enabled": True, "metricsFrom": peers, "apiServer": api, "apiServerPorts": [6443]}}
    )
    spec = rendered.one("NetworkPolicy")["spec"]
    assert spec["ingress"][0]["from"] == peers
    assert {p["port"] for rule in spec["ingress"] for p in rule["ports"]} == {"metrics", "health", "webhook"}
    assert spec["egress"][1] == {"ports": [{"port": 6443, "protocol": "TCP"}], "to": api}


def test_monitoring_is_off_until_asked_for(template):
    assert not template().all("ServiceMonitor") + template().all("PrometheusRule") + template().all("ConfigMap")
    rendered = template({"metrics": {"serviceMonitor": {"enabled": True, "interval": "15s", "labels": {"release": "p"}},
                                     "alerts": {"enabled": True}, "dashboard": {"enabled": True}}})
    monitor = rendered.one("ServiceMonitor")
    assert monitor["metadata"]["labels"]["release"] == "p"
    assert monitor["spec"]["endpoints"] == [{"port": "metrics", "path": "/metrics", "interval": "15s"}]
    assert rendered.one("PrometheusRule")["spec"] == yaml.safe_load((ROOT / "deploy/alerts/tensorfleet.yaml").read_text())
    board = (ROOT / "deploy/dashboards/tensorfleet.json").read_text()
    assert rendered.one("ConfigMap")["data"]["tensorfleet.json"] == board
    assert rendered.one("ConfigMap")["metadata"]["labels"]["grafana_dashboard"] == "1"


# --- the pages ---


def test_the_pages_listen_to_the_pod_itself_alone(template):
    rendered = template({"ui": {"enabled": True}})
    deployment = rendered.one("Deployment", "tensorfleet-ui")
    pod = deployment["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert not list(faults_of_restricted(pod))
    assert container["args"] == ["ui", "--port=8090", "--all-namespaces"]  # the address is loopback unless it is said
    assert "ports" not in container
    assert deployment["spec"]["selector"]["matchLabels"].items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
    assert not rendered.one("Service")["spec"]["selector"].items() <= deployment["spec"]["template"]["metadata"]["labels"].items()


def test_the_pages_of_one_namespace_show_that(template):
    rendered = template({"ui": {"enabled": True}, "watchNamespace": "team-a"})
    pod = rendered.one("Deployment", "tensorfleet-ui")["spec"]["template"]["spec"]
    assert pod["containers"][0]["args"][-1] == "--namespace=team-a"
    assert rendered.one("Role", "tensorfleet-ui")["metadata"]["namespace"] == "team-a"
    assert "ClusterRole tensorfleet-ui.fleet" not in names(rendered)
