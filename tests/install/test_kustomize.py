"""What the kustomizations build. Source: spec/09 §5."""
import json

import pytest

from conftest import DEPLOY, TOP, documents, helm_template, kustomize, run

OVERLAYS = ["default", "default-with-webhooks", "overlays/test-overrides", "overlays/kubernetes-was-v1alpha2"]
CRDS = ["rayclusters.ray.io", "raycronjobs.ray.io", "rayjobs.ray.io", "rayservices.ray.io"]


def args(rendered):
    (container,) = rendered.of("Deployment")["spec"]["template"]["spec"]["containers"]
    return container["args"]


def gates(rendered):
    (only,) = args(rendered)
    return dict(item.split("=") for item in only.removeprefix("--feature-gates=").split(","))


def test_generated_files_are_fresh():
    run(TOP / "tools/gen_deploy.py", "--check")


@pytest.mark.parametrize("folder", OVERLAYS)
def test_common_facts(folder):
    rendered = kustomize(folder)
    namespace = "ray-system" if "webhooks" in folder else "default"
    assert sorted(rendered.names("CustomResourceDefinition")) == CRDS
    for o in rendered:
        assert o["metadata"].get("namespace", namespace) == namespace
    spec = rendered.of("Deployment", "kuberay-operator")["spec"]
    labels = {"app.kubernetes.io/component": "kuberay-operator", "app.kubernetes.io/name": "kuberay"}
    assert spec["selector"]["matchLabels"] == labels and spec["strategy"] == {"type": "Recreate"}
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == "quay.io/kuberay/operator:nightly" and container["command"] == ["/manager"]
    assert pod["terminationGracePeriodSeconds"] == 10 and pod["securityContext"]["runAsNonRoot"] is True
    assert container["resources"]["limits"] == container["resources"]["requests"] == {"cpu": "100m", "memory": "512Mi"}
    service = rendered.of("Service", "kuberay-operator")
    assert service["spec"]["ports"] == [{"name": "monitoring-port", "port": 8080, "targetPort": 8080}]
    assert service["metadata"]["annotations"]["prometheus.io/port"] == "8080"
    binding = rendered.of("ClusterRoleBinding", "kuberay-operator")
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "kuberay-operator", "namespace": namespace}]


def test_gates():
    assert gates(kustomize("default")) == {"RayClusterStatusConditions": "true"}
    tests = gates(kustomize("overlays/test-overrides"))
    assert set(tests.values()) == {"true"} and {"RayCronJob", "RayClusterMTLS", "SidecarSubmitterRestart",
                                                "GCSFaultToleranceEmbeddedStorage"} <= set(tests)
    was = gates(kustomize("overlays/kubernetes-was-v1alpha2"))
    assert set(tests) - set(was) == {"GCSFaultToleranceEmbeddedStorage", "RayClusterMTLS"}
    assert was["KubernetesWAS"] == "true"


def test_HM_02_chart_and_kustomize_grant_the_same():
    chart = helm_template("kuberay-operator")
    plain = kustomize("default")
    for kind, name in [("ClusterRole", "kuberay-operator"), ("Role", "kuberay-operator-leader-election")]:
        assert chart.of(kind, name)["rules"] == plain.of(kind, name)["rules"]
    for path in (DEPLOY / "kustomize/rbac").glob("*_*er_role.yaml"):
        (role,) = documents(path.read_text())
        assert chart.of("ClusterRole", role["metadata"]["name"])["rules"] == role["rules"]
    was = helm_template("kuberay-operator", {"featureGates": [{"name": "KubernetesWAS", "enabled": True}]})
    overlay = kustomize("overlays/kubernetes-was-v1alpha2")
    assert was.of("ClusterRole", "kuberay-operator")["rules"] == overlay.of("ClusterRole", "kuberay-operator")["rules"]


def test_webhooks():
    rendered = kustomize("default-with-webhooks")
    configuration = rendered.of("ValidatingWebhookConfiguration", "kuberay-validating-webhook-configuration")
    assert configuration["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] == "ray-system/serving-cert"
    for webhook, kind in zip(configuration["webhooks"], ("raycluster", "rayjob", "rayservice"), strict=True):
        assert webhook["name"] == f"v{kind}.kb.io"
        assert webhook["clientConfig"]["service"] == {"name": "kuberay-webhook-service", "namespace": "ray-system",
                                                      "path": f"/validate-ray-io-v1-{kind}"}
        assert (webhook["failurePolicy"], webhook["sideEffects"]) == ("Fail", "None")
        (rule,) = webhook["rules"]
        assert (rule["operations"], rule["resources"]) == (["CREATE", "UPDATE"], [kind + "s"])
    certificate = rendered.of("Certificate", "serving-cert")["spec"]
    assert certificate["dnsNames"] == ["kuberay-webhook-service.ray-system.svc",
                                       "kuberay-webhook-service.ray-system.svc.cluster.local"]
    assert certificate["issuerRef"]["name"] == rendered.of("Issuer")["metadata"]["name"]
    pod = rendered.of("Deployment")["spec"]["template"]["spec"]
    assert pod["volumes"] == [{"name": "cert", "secret": {"secretName": certificate["secretName"], "defaultMode": 420}}]
    (container,) = pod["containers"]
    assert {"name": "ENABLE_WEBHOOKS", "value": "true"} in container["env"]
    assert container["volumeMounts"][0]["mountPath"] == "/tmp/k8s-webhook-server/serving-certs"
    service = rendered.of("Service", "kuberay-webhook-service")["spec"]
    assert service["ports"] == [{"port": 443, "protocol": "TCP", "targetPort": 9443}]
    assert rendered.of("Namespace")["metadata"]["labels"]["control-plane"] == "ray-operator"


def test_HM_07_crds_fit_into_the_annotation_of_client_side_apply():
    for path in (DEPLOY / "crd").glob("*.yaml"):
        (crd,) = documents(path.read_text())
        assert len(json.dumps(crd, separators=(",", ":"))) < 256 * 1024, path.name
