"""What chart kuberay-operator renders for a table of values. Source: spec/09 §2."""
import pytest
import yaml

from conftest import DEPLOY, helm_template

DEFAULT_FLAGS = [
    "--log-stdout-encoder", "json", "--log-file-encoder", "json", "--enable-leader-election=true",
    "--enable-metrics=true", "--reconcile-concurrency=1", "--qps=100", "--burst=200",
    "--feature-gates=RayClusterStatusConditions=true,RayJobDeletionPolicy=true,RayMultiHostIndexing=true,"
    "RayServiceIncrementalUpgrade=true,RayCronJob=false,RayClusterMTLS=false,RayClusterNetworkPolicy=false,"
    "RayClusterHistoryServer=false"]


def render(values=None, **kwargs):
    return helm_template("kuberay-operator", values, **kwargs)


def pod(rendered):
    return rendered.of("Deployment")["spec"]["template"]


def container(rendered):
    (only,) = pod(rendered)["spec"]["containers"]
    return only


def args(values):
    return container(render(values))["args"]


def test_default_objects():
    rendered = render()
    assert sorted((o["kind"], o["metadata"]["name"]) for o in rendered) == sorted([
        ("ServiceAccount", "kuberay-operator"), ("Deployment", "kuberay-operator"), ("Service", "kuberay-operator"),
        ("ClusterRole", "kuberay-operator"), ("ClusterRoleBinding", "kuberay-operator"),
        ("Role", "kuberay-operator-leader-election"), ("RoleBinding", "kuberay-operator-leader-election"),
        *(("ClusterRole", f"{kind}-{right}-role") for kind in ("rayjob", "rayservice", "raycronjob")
          for right in ("editor", "viewer"))])
    for o in rendered:
        labels = o["metadata"]["labels"]
        assert labels == {"app.kubernetes.io/name": "kuberay-operator", "helm.sh/chart": "kuberay-operator-1.1.0",
                          "app.kubernetes.io/instance": "kuberay-operator", "app.kubernetes.io/managed-by": "Helm"}


def test_default_deployment():
    rendered = render()
    deployment, c = rendered.of("Deployment"), container(rendered)
    selector = {"app.kubernetes.io/name": "kuberay-operator", "app.kubernetes.io/instance": "kuberay-operator"}
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    assert deployment["spec"]["selector"]["matchLabels"] == selector
    assert pod(rendered)["metadata"] == {"labels": {**selector, "app.kubernetes.io/component": "kuberay-operator"}}
    assert (c["name"], c["command"], c["image"], c["imagePullPolicy"]) == (
        "kuberay-operator", ["/manager"], "quay.io/kuberay/operator:nightly", "IfNotPresent")
    assert c["args"] == DEFAULT_FLAGS
    assert c["ports"] == [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]
    probe = {"httpGet": {"path": "/metrics", "port": "http"}, "initialDelaySeconds": 10, "periodSeconds": 5,
             "failureThreshold": 5}
    assert c["livenessProbe"] == c["readinessProbe"] == probe
    assert c["resources"] == {"limits": {"cpu": "100m", "memory": "512Mi"}}
    assert c["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert "volumes" not in pod(rendered)["spec"] and "env" not in c
    assert "terminationGracePeriodSeconds" not in pod(rendered)["spec"]


ENV = [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
AFFINITY = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
    {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]}}}
TOLERATION = [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}]


@pytest.mark.parametrize("values, path, want", [
    ({"labels": {"team": "a"}}, "metadata.labels.team", "a"),
    ({"labels": {"team": "a"}}, "spec.template.metadata.labels.team", "a"),
    ({"annotations": {"x": "y"}}, "spec.template.metadata.annotations", {"x": "y"}),
    ({"componentOverride": "c"}, "spec.template.metadata.labels.app!kubernetes!io/component", "c"),
    ({"nameOverride": "n"}, "spec.selector.matchLabels.app!kubernetes!io/name", "n"),
    ({"fullnameOverride": "f"}, "metadata.name", "f"),
    ({"replicas": 3}, "spec.replicas", 3),
    ({"replicas": 0}, "spec.replicas", 1),
    ({"imagePullSecrets": [{"name": "s"}]}, "spec.template.spec.imagePullSecrets", [{"name": "s"}]),
    ({"serviceAccount": {"name": "sa"}}, "spec.template.spec.serviceAccountName", "sa"),
    ({"serviceAccount": {"name": "", "create": False}}, "spec.template.spec.serviceAccountName", "default"),
    ({"serviceAccount": {"name": ""}, "fullnameOverride": "f"}, "spec.template.spec.serviceAccountName", "f"),
    ({"podSecurityContext": {"fsGroup": 1}}, "spec.template.spec.securityContext", {"fsGroup": 1}),
    ({"nodeSelector": {"a": "b"}}, "spec.template.spec.nodeSelector", {"a": "b"}),
    ({"affinity": AFFINITY}, "spec.template.spec.affinity", AFFINITY),
    ({"tolerations": TOLERATION}, "spec.template.spec.tolerations", TOLERATION),
    ({"priorityClassName": "high"}, "spec.template.spec.priorityClassName", "high"),
    ({"image": {"repository": "r", "tag": "t", "pullPolicy": "Never"}},
     "spec.template.spec.containers.0.image", "r:t"),
    ({"image": {"pullPolicy": "Never"}}, "spec.template.spec.containers.0.imagePullPolicy", "Never"),
    ({"securityContext": {"runAsUser": 7}}, "spec.template.spec.containers.0.securityContext.runAsUser", 7),
    ({"env": ENV}, "spec.template.spec.containers.0.env", ENV),
    ({"resources": {"limits": {"cpu": "2"}}}, "spec.template.spec.containers.0.resources.limits.cpu", "2"),
    ({"operatorCommand": "/other"}, "spec.template.spec.containers.0.command", ["/other"]),
    ({"livenessProbe": {"periodSeconds": 9}}, "spec.template.spec.containers.0.livenessProbe.periodSeconds", 9),
    ({"readinessProbe": {"failureThreshold": 9}},
     "spec.template.spec.containers.0.readinessProbe.failureThreshold", 9),
])
def test_deployment_value(values, path, want):
    at = render(values).of("Deployment")
    for key in path.split("."):
        at = at[int(key)] if isinstance(at, list) else at[key.replace("!", ".")]
    assert at == want


@pytest.mark.parametrize("values, want", [
    ({"batchScheduler": {"enabled": True}}, ["--enable-batch-scheduler"]),
    ({"batchScheduler": {"name": "volcano"}}, ["--batch-scheduler=volcano"]),
    ({"watchNamespace": ["a", "b"]}, ["--watch-namespace", "a,b"]),
    ({"watchNamespace": "a,b"}, ["--watch-namespace", "a,b"]),
    ({"singleNamespaceInstall": True}, ["--watch-namespace", "kuberay-system"]),
    ({"singleNamespaceInstall": True, "watchNamespace": ["n1"]}, ["--watch-namespace", "n1"]),
    ({"logging": {"baseDir": "/logs", "fileName": "op.log"}}, ["--log-file-path", "/logs/op.log"]),
    ({"logging": {"stdoutEncoder": "console"}}, ["--log-stdout-encoder", "console"]),
    ({"useKubernetesProxy": True}, ["--use-kubernetes-proxy=true"]),
    ({"useKubernetesProxy": False}, ["--use-kubernetes-proxy=false"]),
    ({"leaderElectionEnabled": False}, ["--enable-leader-election=false"]),
    ({"metrics": {"enabled": False}}, ["--enable-metrics=false"]),
    ({"metrics": {"enabled": "0"}}, ["--enable-metrics=false"]),
    ({"useKubernetesProxy": "T"}, ["--use-kubernetes-proxy=true"]),
    ({"reconcileConcurrency": 5}, ["--reconcile-concurrency=5"]),
    ({"kubeClient": {"qps": 75.5, "burst": 150}}, ["--qps=75.5", "--burst=150"]),
    ({"kubeClient": {"qps": 2000000, "burst": 3000000}}, ["--qps=2000000", "--burst=3000000"]),
    ({"featureGates": [{"name": "KubernetesWAS", "enabled": True}]}, ["--feature-gates=KubernetesWAS=true"]),
])
def test_flag(values, want):
    have = args(values)
    assert any(have[i:i + len(want)] == want for i in range(len(have))), have


@pytest.mark.parametrize("values, gone", [
    ({"leaderElectionEnabled": None}, "--enable-leader-election"),
    ({"reconcileConcurrency": None}, "--reconcile-concurrency"),
    ({"kubeClient": {"qps": None}}, "--qps"),
    ({"logging": {"stdoutEncoder": ""}}, "--log-stdout-encoder"),
    ({"logging": {"baseDir": "/logs"}}, "--log-file-path"),
    ({}, "--watch-namespace"),
    ({}, "--use-kubernetes-proxy"),
    ({"useKubernetesProxy": None}, "--use-kubernetes-proxy"),
    ({"metrics": {"enabled": ""}}, "--enable-metrics"),
    ({}, "--batch-scheduler"),
    ({"batchScheduler": None}, "--batch-scheduler"),
    ({}, "--config"),
])
def test_flag_left_out(values, gone):
    assert not [a for a in args(values) if a.startswith(gone)]


def test_flags_come_in_order():
    assert args({"batchScheduler": {"enabled": True, "name": "volcano"}, "watchNamespace": ["a"],
                 "logging": {"baseDir": "/l", "fileName": "f"}, "useKubernetesProxy": True}) == [
        "--enable-batch-scheduler", "--batch-scheduler=volcano", "--watch-namespace", "a", "--log-file-path", "/l/f",
        *DEFAULT_FLAGS[:4], "--use-kubernetes-proxy=true", *DEFAULT_FLAGS[4:]]


def test_no_gates_is_an_empty_last_argument():
    assert args({"featureGates": []})[-1] == ""


@pytest.mark.parametrize("configured", [False, True])
@pytest.mark.parametrize("values, message", [
    ({"reconcileConcurrency": 0}, 'values.reconcileConcurrency must be a positive integer, got "0"'),
    ({"reconcileConcurrency": "many"}, 'values.reconcileConcurrency must be a positive integer, got "many"'),
    ({"kubeClient": {"qps": "fast"}}, 'values.kubeClient.qps must be a valid float number, got "fast"'),
    ({"kubeClient": {"qps": -1}}, 'values.kubeClient.qps must be a valid float number, got "-1"'),
    ({"kubeClient": {"burst": 1.5}}, 'values.kubeClient.burst must be a non-negative integer, got "1.5"'),
])
def test_refused(values, message, configured):
    assert message in render({**values, "configuration": {"enabled": configured}}, check=False)


def test_log_file_gets_a_volume():
    spec = pod(render({"logging": {"baseDir": "/logs", "fileName": "f", "sizeLimit": "1Gi"}}))["spec"]
    assert spec["volumes"] == [{"name": "kuberay-logs", "emptyDir": {"sizeLimit": "1Gi"}}]
    assert spec["containers"][0]["volumeMounts"] == [{"name": "kuberay-logs", "mountPath": "/logs"}]


# --- the ConfigMap -----------------------------------------------------------------------------------

def configuration(values):
    values.setdefault("configuration", {})["enabled"] = True
    return render(values, namespace="default").of("ConfigMap", "kuberay-operator-config")["data"]["config.yaml"]


def test_no_config_map_by_default():
    assert not render().names("ConfigMap")
    assert not render({"configuration": {"enabled": False, "defaultContainerEnvs": ENV}}).names("ConfigMap")


def test_config_map_is_mounted_and_replaces_flags():
    rendered = render({"configuration": {"enabled": True}, "labels": {"team": "a"}})
    spec = pod(rendered)["spec"]
    assert spec["volumes"] == [{"name": "operator-config", "configMap": {"name": "kuberay-operator-config"}}]
    assert spec["containers"][0]["volumeMounts"] == [
        {"name": "operator-config", "mountPath": "/etc/kuberay", "readOnly": True}]
    assert container(rendered)["args"] == ["--config", "/etc/kuberay/config.yaml", DEFAULT_FLAGS[-1]]
    assert rendered.of("ConfigMap")["metadata"]["labels"]["team"] == "a"


SIDECAR = [{"name": "fluentbit", "image": "fluent/fluent-bit:1.9.6"}]


def test_config_keys_come_in_order():
    text = configuration({
        "useKubernetesProxy": True, "watchNamespace": ["namespace1", "namespace2"],
        "logging": {"baseDir": "/var/log", "fileName": "operator.log", "stdoutEncoder": "console"},
        "batchScheduler": {"enabled": True, "name": "volcano"}, "leaderElectionEnabled": False,
        "metrics": {"enabled": False}, "reconcileConcurrency": 5, "kubeClient": {"qps": 200, "burst": 400},
        "configuration": {"headSidecarContainers": SIDECAR, "workerSidecarContainers": SIDECAR,
                          "defaultContainerEnvs": [{"name": "RAY_enable_open_telemetry", "value": "true"}],
                          "defaultPodAnnotations": {"monitoring.example.com/scrape": "true"},
                          "defaultPodLabels": {"team": "a"}}})
    assert list(yaml.safe_load(text).items()) == [
        ("apiVersion", "config.ray.io/v1alpha1"), ("kind", "Configuration"), ("enableLeaderElection", False),
        ("enableMetrics", False), ("reconcileConcurrency", 5), ("useKubernetesProxy", True), ("qps", 200),
        ("burst", 400), ("watchNamespace", "namespace1,namespace2"), ("logFile", "/var/log/operator.log"),
        ("logStdoutEncoder", "console"), ("logFileEncoder", "json"), ("enableBatchScheduler", True),
        ("batchScheduler", "volcano"), ("headSidecarContainers", SIDECAR), ("workerSidecarContainers", SIDECAR),
        ("defaultContainerEnvs", [{"name": "RAY_enable_open_telemetry", "value": "true"}]),
        ("defaultPodAnnotations", {"monitoring.example.com/scrape": "true"}), ("defaultPodLabels", {"team": "a"})]
    for line in ('watchNamespace: "namespace1,namespace2"', 'logFile: "/var/log/operator.log"',
                 'batchScheduler: "volcano"', 'monitoring.example.com/scrape: "true"', "qps: 200"):
        assert line in text


def test_default_config_has_what_is_set_only():
    assert list(yaml.safe_load(configuration({}))) == [
        "apiVersion", "kind", "enableLeaderElection", "enableMetrics", "reconcileConcurrency", "qps", "burst",
        "logStdoutEncoder", "logFileEncoder"]


def test_config_says_of_a_switch_true_or_false():
    config = yaml.safe_load(configuration({"metrics": {"enabled": "1"}, "leaderElectionEnabled": "F", "useKubernetesProxy": None}))
    assert (config["enableMetrics"], config["enableLeaderElection"]) == (True, False)
    assert "useKubernetesProxy" not in config


def test_config_watches_the_release_namespace_of_a_single_namespace_install():
    assert 'watchNamespace: "default"' in configuration({"singleNamespaceInstall": True})


# --- Service, ServiceAccount, ServiceMonitor ---------------------------------------------------------

def test_service():
    service = render().of("Service")["spec"]
    assert service["ports"] == [{"name": "http", "port": 8080, "targetPort": "http", "protocol": "TCP"}]
    assert service["selector"] == {"app.kubernetes.io/name": "kuberay-operator",
                                   "app.kubernetes.io/instance": "kuberay-operator"}
    changed = render({"service": {"type": "NodePort", "port": 18080}}).of("Service")["spec"]
    assert (changed["type"], changed["ports"][0]["port"]) == ("NodePort", 18080)


def test_service_account_may_be_there_already():
    assert not render({"serviceAccount": {"create": False}}).names("ServiceAccount")


def test_service_monitor():
    assert not render().names("ServiceMonitor")
    monitor = render({"metrics": {"serviceMonitor": {"enabled": True}}}).of("ServiceMonitor")
    assert monitor == {
        "apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor",
        "metadata": {"name": "kuberay-operator", "namespace": "kuberay-system"},
        "spec": {"endpoints": [{"path": "/metrics", "targetPort": "http", "interval": "30s", "honorLabels": True}],
                 "namespaceSelector": {"matchNames": ["kuberay-system"]},
                 "selector": {"matchLabels": {"app.kubernetes.io/name": "kuberay-operator"}}}}
    other = render({"metrics": {"serviceMonitor": {
        "enabled": True, "interval": "5s", "honorLabels": False, "additionalLabels": {"release": "prometheus"},
        "namespace": "monitoring"}}}).of("ServiceMonitor")
    assert other["metadata"] == {"name": "kuberay-operator", "namespace": "monitoring",
                                 "labels": {"release": "prometheus"}}
    assert other["spec"]["endpoints"][0]["interval"] == "5s"
    assert other["spec"]["endpoints"][0]["honorLabels"] is False


# --- rights ------------------------------------------------------------------------------------------

RBAC = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
LEADER = [("RoleBinding", "kuberay-system"), ("Role", "kuberay-system")]


def rights(values):
    return [(o["kind"], o["metadata"].get("namespace", "")) for o in render(values) if o["kind"] in RBAC]


@pytest.mark.parametrize("values, want", [
    ({"rbacEnable": False}, []),
    ({"rbacEnable": False, "singleNamespaceInstall": True}, []),
    ({}, [("ClusterRole", "")] * 7 + [("ClusterRoleBinding", "")] + LEADER),
    ({"crNamespacedRbacEnable": False}, [("ClusterRole", "")] * 7 + [("ClusterRoleBinding", "")] + LEADER),
    ({"singleNamespaceInstall": True}, LEADER * 2),
    ({"singleNamespaceInstall": True, "watchNamespace": ["a", "b"]},
     LEADER + [("Role", "a"), ("RoleBinding", "a"), ("Role", "b"), ("RoleBinding", "b")]),
    ({"singleNamespaceInstall": True, "watchNamespace": "a,b"},
     LEADER + [("Role", "a"), ("RoleBinding", "a"), ("Role", "b"), ("RoleBinding", "b")]),
    ({"singleNamespaceInstall": True, "crNamespacedRbacEnable": False, "watchNamespace": ["n1"]}, LEADER),
])
def test_rights_by_mode(values, want):
    assert sorted(rights(values)) == sorted(want)


def test_binding_names_the_service_account():
    binding = render({"serviceAccount": {"name": "sa"}}).of("ClusterRoleBinding")
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                                  "name": "kuberay-operator"}
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "sa", "namespace": "kuberay-system"}]


def groups(rules):
    return {g for rule in rules for g in rule["apiGroups"]}


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("values, group", [
    ({"featureGates": [{"name": "KubernetesWAS", "enabled": True}]}, "scheduling.k8s.io"),
    ({"batchScheduler": {"name": "volcano"}}, "scheduling.volcano.sh"),
    ({"batchScheduler": {"name": "scheduler-plugins"}}, "scheduling.x-k8s.io"),
])
def test_scheduler_rules(values, group, single):
    def rules(v):
        kind = "Role" if single else "ClusterRole"
        return render({**v, "singleNamespaceInstall": single}).of(kind, "kuberay-operator")["rules"]
    everyday = rules({})
    assert group not in groups(everyday)
    assert rules(values)[:len(everyday)] == everyday
    assert groups(rules(values)[len(everyday):]) == {group}


@pytest.mark.parametrize("values", [
    {"batchScheduler": {"name": "yunikorn"}}, {"batchScheduler": {"name": "kai-scheduler"}}, {"batchScheduler": None},
    {"featureGates": [{"name": "KubernetesWAS", "enabled": False}]},
    {"featureGates": [{"name": "KubernetesWAS", "enabled": "false"}]}])
def test_no_scheduler_rules(values):
    assert render(values).of("ClusterRole", "kuberay-operator") == render().of("ClusterRole", "kuberay-operator")


def test_deprecated_switch_brings_both_schedulers_rules():
    rules = render({"batchScheduler": {"enabled": True}}).of("ClusterRole", "kuberay-operator")["rules"]
    assert {"scheduling.volcano.sh", "scheduling.x-k8s.io"} <= groups(rules)


def test_HM_04_no_label_key_is_empty():
    for rendered in (render({"metrics": {"serviceMonitor": {"enabled": True}}}), render({"labels": {}})):
        for o in rendered:
            assert o["metadata"].get("labels", "absent") not in (None, {})
            assert o["metadata"].get("annotations", "absent") not in (None, {})


def test_crds_are_the_generated_ones():
    ours = {p.name: p.read_text() for p in (DEPLOY / "helm/kuberay-operator/crds").iterdir()}
    assert ours == {p.name: p.read_text() for p in (DEPLOY / "crd").glob("*.yaml")}
