"""What chart kuberay-apiserver renders for a table of values. Source: spec/09 §4."""
import pytest

from conftest import helm_template

RBAC = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
HOSTS = {"enabled": True, "hosts": [{"host": "a", "paths": [{"path": "/"}, {"path": "/x", "pathType": "Prefix"}]},
                                    {"host": "b", "paths": [{"path": "/"}]}]}


def render(values=None):
    return helm_template("kuberay-apiserver", values)


def containers(rendered):
    return {c["name"]: c for c in rendered.of("Deployment")["spec"]["template"]["spec"]["containers"]}


def test_default_deployment():
    rendered = render()
    spec = rendered.of("Deployment", "kuberay-apiserver")["spec"]
    assert spec["selector"]["matchLabels"] == {"app.kubernetes.io/component": "kuberay-apiserver",
                                              "app.kubernetes.io/name": "kuberay-apiserver"}
    server, proxy = containers(rendered).values()
    assert (server["name"], server["image"]) == ("kuberay-apiserver-container", "quay.io/kuberay/apiserver:nightly")
    assert server["args"] == ["--enable-api-server-v2=true"]
    assert server["livenessProbe"] == server["readinessProbe"] == {"httpGet": {"path": "/healthz", "port": "http"}}
    assert (proxy["name"], proxy["image"]) == ("security-proxy-container", "quay.io/kuberay/security-proxy:nightly")
    assert {p["name"]: p["containerPort"] for p in proxy["ports"]} == {"http": 8988, "grpc": 8987}
    assert {e["name"]: e["value"] for e in proxy["env"]} == {
        "HTTP_REMOTE_PORT": "8888", "GRPC_REMOTE_PORT": "8887", "HTTP_LOCAL_PORT": "8988",
        "GRPC_LOCAL_PORT": "8987", "SECURITY_PREFIX": "/", "ENABLE_GRPC": "true"}
    limits = {"limits": {"cpu": "500m", "memory": "500Mi"}, "requests": {"cpu": "300m", "memory": "300Mi"}}
    assert server["resources"] == proxy["resources"] == limits


@pytest.mark.parametrize("values, path, want", [
    ({"replicaCount": 0}, "spec.replicas", 0),
    ({"labels": {"l": "1"}}, "metadata.labels.l", "1"),
    ({"labels": {"l": "1"}}, "spec.template.metadata.labels.l", "1"),
    ({"annotations": {"a": "1"}}, "spec.template.metadata.annotations", {"a": "1"}),
    ({"nodeSelector": {"a": "b"}}, "spec.template.spec.nodeSelector", {"a": "b"}),
    ({"affinity": {"podAffinity": {}}}, "spec.template.spec.affinity", {"podAffinity": {}}),
    ({"tolerations": [{"operator": "Exists"}]}, "spec.template.spec.tolerations", [{"operator": "Exists"}]),
    ({"serviceAccount": {"name": "sa"}}, "spec.template.spec.serviceAccountName", "sa"),
    ({"name": "n"}, "metadata.name", "n"),
    ({"cors": {"allowOrigin": "*"}, "enableAPIServerV2": False}, "spec.template.spec.containers.0.args",
     ["--enable-api-server-v2=false", "--cors-allow-origin=*"]),
    ({"image": {"repository": "r", "tag": "t"}}, "spec.template.spec.containers.0.image", "r:t"),
    ({"security": {"proxy": {"pullPolicy": "Never"}}}, "spec.template.spec.containers.1.imagePullPolicy", "Never"),
    ({"sidecarContainers": [{"name": "s"}]}, "spec.template.spec.containers.2.name", "s"),
])
def test_deployment_value(values, path, want):
    at = render(values).of("Deployment")
    for key in path.split("."):
        at = at[int(key)] if isinstance(at, list) else at[key]
    assert at == want


def test_no_proxy():
    rendered = render({"security": None})
    assert list(containers(rendered)) == ["kuberay-apiserver-container"]
    assert [p["targetPort"] for p in rendered.of("Service")["spec"]["ports"]] == [8888, 8887]


def test_service():
    service = render().of("Service", "kuberay-apiserver-service")
    assert service["metadata"]["labels"]["app.kubernetes.io/component"] == "kuberay-apiserver"
    assert service["metadata"]["annotations"] == {"prometheus.io/path": "/metrics", "prometheus.io/scrape": "true",
                                                  "prometheus.io/port": "8888"}
    assert service["spec"]["ports"] == [{"name": "http", "port": 8888, "targetPort": 8988},
                                        {"name": "rpc", "port": 8887, "targetPort": 8987}]
    ports = [{"name": "http", "port": 1, "targetPort": 2, "nodePort": 31888}]
    changed = render({"service": {"type": "NodePort", "ports": ports}, "fullnameOverride": "f"}).of("Service", "f-service")
    assert changed["spec"]["type"] == "NodePort" and changed["spec"]["ports"][0]["nodePort"] == 31888


@pytest.mark.parametrize("values, service", [
    ({}, "kuberay-apiserver-service"), ({"fullnameOverride": "test-name"}, "test-name-service"),
    ({"nameOverride": "custom-api"}, "kuberay-apiserver-custom-api-service")])
def test_ingress_and_route_lead_to_the_service(values, service):
    rendered = render({**values, "ingress": HOSTS, "route": {"enabled": True}})
    for rule in rendered.of("Ingress")["spec"]["rules"]:
        for path in rule["http"]["paths"]:
            assert path["backend"]["service"] == {"name": service, "port": {"number": 8888}}
    assert rendered.of("Route")["spec"]["to"] == {"kind": "Service", "name": service, "weight": 100}


def test_ingress():
    assert not render().names("Ingress") and not render().names("Route")
    spec = render({"ingress": {**HOSTS, "className": "nginx", "annotations": {"a": "b"}, "tls": [{"hosts": ["a"]}]},
                   "service": {"ports": [{"name": "http", "port": 9999}]}}).of("Ingress")["spec"]
    assert [r["host"] for r in spec["rules"]] == ["a", "b"]
    assert [p["pathType"] for p in spec["rules"][0]["http"]["paths"]] == ["ImplementationSpecific", "Prefix"]
    assert spec["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"]["number"] == 9999
    assert (spec["ingressClassName"], spec["tls"]) == ("nginx", [{"hosts": ["a"]}])


def test_route():
    spec = render({"route": {"enabled": True, "tls": True, "annotations": {"a": "b"}}}).of("Route")["spec"]
    assert (spec["subdomain"], spec["port"], spec["tls"], spec["wildcardPolicy"]) == (
        "api-server-kuberay", {"targetPort": "http"}, {"termination": "edge"}, "None")


@pytest.mark.parametrize("values, want", [
    ({"rbacEnable": False}, []),
    ({}, [("ClusterRole", ""), ("ClusterRole", "-service-access"), ("ClusterRoleBinding", ""),
          ("ClusterRoleBinding", "-service-access")]),
    ({"enableAPIServerV2": False}, [("ClusterRole", ""), ("ClusterRoleBinding", "")]),
    ({"singleNamespaceInstall": True, "enableAPIServerV2": False}, [("Role", ""), ("RoleBinding", "")]),
    ({"singleNamespaceInstall": True}, [("ClusterRole", "-service-access"), ("ClusterRoleBinding", "-service-access"),
                                        ("Role", ""), ("RoleBinding", "")]),
])
def test_rights(values, want):
    rendered = render(values)
    have = sorted((o["kind"], o["metadata"]["name"]) for o in rendered if o["kind"] in RBAC)
    assert have == [(kind, "kuberay-apiserver" + suffix) for kind, suffix in want]
    for o in rendered:
        if o["kind"].endswith("Binding"):
            assert o["subjects"] == [{"kind": "ServiceAccount", "name": "kuberay-apiserver",
                                      "namespace": "kuberay-system"}]
            assert o["roleRef"]["kind"] + "Binding" == o["kind"]
            assert o["roleRef"]["name"] == o["metadata"]["name"]


def test_service_account():
    assert render().names("ServiceAccount") == ["kuberay-apiserver"]
    assert not render({"serviceAccount": {"create": False}}).names("ServiceAccount")
