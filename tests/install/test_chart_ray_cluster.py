"""What chart ray-cluster renders for a table of values. Source: spec/09 §3."""
import pytest
import yaml

from conftest import DEPLOY, helm_template, helm_text

GROUPS = ("head", "worker", "smallGroup")
LABELS = {"helm.sh/chart": "ray-cluster-1.1.0", "app.kubernetes.io/instance": "test",
          "app.kubernetes.io/managed-by": "Helm"}


def render(values=None, release="test"):
    (cluster,) = helm_template("ray-cluster", values, release=release, namespace="ray")
    return cluster


def values_of(group, values):
    """The chart's values where one group has `values`; the additional group takes part."""
    if group == "smallGroup":
        return {"additionalWorkerGroups": {"smallGroup": {"disabled": False, **values}}}
    return {group: values}


def group_spec(cluster, group):
    if group == "head":
        return cluster["spec"]["headGroupSpec"]
    name = {"worker": "workergroup"}.get(group, group)
    (found,) = [g for g in cluster["spec"]["workerGroupSpecs"] if g["groupName"] == name]
    return found


def rendered_group(group, values, common=None):
    return group_spec(render({**values_of(group, values), **(common or {})}), group)


def ray_container(spec):
    return spec["template"]["spec"]["containers"][0]


def test_default_cluster():
    cluster = render()
    assert cluster["metadata"] == {"name": "test-kuberay", "namespace": "ray", "labels": LABELS}
    assert set(cluster["spec"]) == {"headGroupSpec", "workerGroupSpecs"}
    head, (worker,) = cluster["spec"]["headGroupSpec"], cluster["spec"]["workerGroupSpecs"]
    assert head["serviceType"] == "ClusterIP" and "rayStartParams" not in head
    assert {k: v for k, v in worker.items() if k != "template"} == {
        "groupName": "workergroup", "replicas": 1, "minReplicas": 1, "maxReplicas": 5, "numOfHosts": 1}
    for group, name, memory in ((head, "ray-head", "5Gi"), (worker, "ray-worker", "1Gi")):
        both = {"cpu": "1", "memory": memory}
        assert group["template"] == {"metadata": {"labels": LABELS}, "spec": {
            "containers": [{"name": name, "image": "rayproject/ray:2.52.0", "imagePullPolicy": "IfNotPresent",
                            "resources": {"limits": both, "requests": both},
                            "volumeMounts": [{"mountPath": "/tmp/ray", "name": "log-volume"}]}],
            "volumes": [{"name": "log-volume", "emptyDir": {}}]}}


@pytest.mark.parametrize("release, values, name", [
    ("test", {}, "test-kuberay"), ("my-kuberay", {}, "my-kuberay"),
    ("test", {"nameOverride": "x"}, "test-x"), ("test", {"fullnameOverride": "full"}, "full"),
    ("t" * 53, {"nameOverride": "n" * 20}, "t" * 53 + "-" + "n" * 9),
])
def test_name(release, values, name):
    assert render(values, release)["metadata"]["name"] == name


AUTOSCALER = {"upscalingMode": "Default", "idleTimeoutSeconds": 60, "imagePullPolicy": "IfNotPresent",
              "env": [{"name": "A", "value": "1"}], "envFrom": [{"secretRef": {"name": "s"}}],
              "resources": {"limits": {"cpu": "500m"}}, "securityContext": {"runAsUser": 1000}}
REDIS = {"redisAddress": "test-redis:6379", "externalStorageNamespace": "ns",
         "redisPassword": {"valueFrom": {"secretKeyRef": {"name": "redis", "key": "password"}}},
         "redisUsername": {"value": "ray"}}


@pytest.mark.parametrize("values, path, want", [
    ({"head": {"rayVersion": "2.52.0"}}, "rayVersion", "2.52.0"),
    ({"head": {"rayVersion": 2.52}}, "rayVersion", "2.52"),
    ({"head": {"enableInTreeAutoscaling": True}}, "enableInTreeAutoscaling", True),
    ({"head": {"autoscalerOptions": AUTOSCALER}}, "autoscalerOptions", AUTOSCALER),
    ({"gcsFaultTolerance": {"enabled": True, **REDIS}}, "gcsFaultToleranceOptions", REDIS),
    ({"head": {"headService": {"metadata": {"name": "h"}}}}, "headGroupSpec.headService", {"metadata": {"name": "h"}}),
    ({"service": {"type": "LoadBalancer"}}, "headGroupSpec.serviceType", "LoadBalancer"),
])
def test_cluster_value(values, path, want):
    at = render(values)["spec"]
    for key in path.split("."):
        at = at[key]
    assert at == want


def test_left_out():
    spec = render({"gcsFaultTolerance": REDIS, "head": {"enableInTreeAutoscaling": False}})["spec"]
    assert "gcsFaultToleranceOptions" not in spec and "enableInTreeAutoscaling" not in spec
    assert render({"annotations": {"a": "b"}})["metadata"]["annotations"] == {"a": "b"}


ENV = [{"name": "A", "value": "1"}, {"name": "P", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
       {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]
CONTAINER = [{"name": "c", "image": "i"}]
AFFINITY = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
    {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}]}}

IN_CONTAINER = [  # value, field of the Ray container, content
    ("command", "command", ["bash"]), ("args", "args", ["-c", "x"]), ("containerEnv", "env", ENV),
    ("envFrom", "envFrom", [{"configMapRef": {"name": "c"}}]),
    ("volumeMounts", "volumeMounts", [{"name": "v", "mountPath": "/v"}]),
    ("ports", "ports", [{"name": "p", "containerPort": 1}]),
    ("resources", "resources", {"limits": {"cpu": "7", "memory": "7Gi"}, "requests": {"cpu": "6", "memory": "6Gi"}}),
    ("lifecycle", "lifecycle", {"preStop": {"exec": {"command": ["x"]}}}),
    ("securityContext", "securityContext", {"runAsUser": 7}),
]
IN_POD = [  # value, field of the Pod's spec, content
    ("initContainers", "initContainers", CONTAINER), ("volumes", "volumes", [{"name": "v", "emptyDir": {}}]),
    ("dnsConfig", "dnsConfig", {"nameservers": ["8.8.8.8"]}), ("nodeSelector", "nodeSelector", {"a": "b"}),
    ("affinity", "affinity", AFFINITY), ("tolerations", "tolerations", [{"key": "k", "operator": "Exists"}]),
    ("priorityClassName", "priorityClassName", "high"), ("priority", "priority", 100),
    ("topologySpreadConstraints", "topologySpreadConstraints", [{"maxSkew": 1, "topologyKey": "z",
                                                                "whenUnsatisfiable": "DoNotSchedule"}]),
    ("restartPolicy", "restartPolicy", "Always"), ("runtimeClassName", "runtimeClassName", "gvisor"),
    ("serviceAccountName", "serviceAccountName", "sa"),
    ("podSecurityContext", "securityContext", {"runAsUser": 1, "runAsGroup": 2, "fsGroup": 3}),
    ("resourceClaims", "resourceClaims", [{"name": "gpu", "resourceClaimName": "g"}]),
]


@pytest.mark.parametrize("group", GROUPS[1:])
@pytest.mark.parametrize("field", ["replicas", "minReplicas", "maxReplicas", "numOfHosts"])
def test_large_numbers_are_as_written(group, field):
    """A values file is JSON to Helm, with floating point numbers."""
    number = (1 << 31) - 1
    found = helm_text("ray-cluster", values_of(group, {field: number}))
    assert f"{field}: {number}\n" in found


@pytest.mark.parametrize("group", GROUPS)
class TestGroup:
    @pytest.mark.parametrize("value, field, content", IN_CONTAINER, ids=[v[0] for v in IN_CONTAINER])
    def test_container_value(self, group, value, field, content):
        assert ray_container(rendered_group(group, {value: content}))[field] == content

    @pytest.mark.parametrize("value, field, content", IN_POD, ids=[v[0] for v in IN_POD])
    def test_pod_value(self, group, value, field, content):
        assert rendered_group(group, {value: content})["template"]["spec"][field] == content

    def test_metadata(self, group):
        metadata = rendered_group(group, {"labels": {"l": "1"}, "annotations": {"a": "2"}})["template"]["metadata"]
        assert metadata == {"labels": {**LABELS, "l": "1"}, "annotations": {"a": "2"}}

    @pytest.mark.parametrize("values, want", [
        ({"rayStartParams": {"num-cpus": 4, "block": True}}, {"num-cpus": "4", "block": "true"}),
        ({"initArgs": {"num-cpus": "4"}}, {"num-cpus": "4"}),
        ({"rayStartParams": {"a": "1"}, "initArgs": {"b": "2"}}, {"a": "1", "b": "2"}),
        ({"rayStartParams": {"a": "new"}, "initArgs": {"a": "old"}}, {"a": "new"}),
        ({"rayStartParams": {"object-store-memory": 3000000000}}, {"object-store-memory": "3000000000"}),
    ])
    def test_start_params(self, group, values, want):
        assert rendered_group(group, values)["rayStartParams"] == want

    def test_own_image_wins_whole(self, group):
        own = {"image": {"repository": "r", "tag": "t", "pullPolicy": "Never"}}
        assert ray_container(rendered_group(group, own))["image"] == "r:t"
        assert ray_container(rendered_group(group, own))["imagePullPolicy"] == "Never"
        common = {"image": {"repository": "g", "tag": "u", "pullPolicy": "Always"}}
        assert ray_container(rendered_group(group, {"image": {}}, common))["image"] == "g:u"

    def test_common_environment_comes_first(self, group):
        spec = rendered_group(group, {"containerEnv": ENV}, {"common": {"containerEnv": [{"name": "C", "value": "0"}]}})
        assert ray_container(spec)["env"] == [{"name": "C", "value": "0"}, *ENV]
        nulls = rendered_group(group, {"containerEnv": None}, {"common": {"containerEnv": None}})
        assert "env" not in ray_container(nulls)

    def test_sidecars_follow_the_ray_container(self, group):
        containers = rendered_group(group, {"sidecarContainers": CONTAINER})["template"]["spec"]["containers"]
        assert [c["name"] for c in containers] == ["ray-head" if group == "head" else "ray-worker", "c"]

    def test_pull_secrets(self, group):
        spec = rendered_group(group, {}, {"imagePullSecrets": [{"name": "s"}]})
        assert spec["template"]["spec"]["imagePullSecrets"] == [{"name": "s"}]

    def test_empty_values_leave_no_key(self, group):
        spec = rendered_group(group, {})
        assert set(spec["template"]["spec"]) == {"containers", "volumes"}
        assert set(ray_container(spec)) == {"name", "image", "imagePullPolicy", "resources", "volumeMounts"}


def test_worker_bounds():
    group = group_spec(render({"worker": {"replicas": 2, "minReplicas": None, "maxReplicas": 0, "numOfHosts": 4}}),
                       "worker")
    assert (group["replicas"], group["minReplicas"], group["maxReplicas"], group["numOfHosts"]) == (2, 0, 2147483647, 4)


def test_groups_by_name_and_disabled():
    cluster = render({"worker": {"disabled": True}, "additionalWorkerGroups": {"b": {}, "a": {"replicas": 2}}})
    assert [g["groupName"] for g in cluster["spec"]["workerGroupSpecs"]] == ["a", "b"]
    assert render({"worker": {"disabled": True}})["spec"]["workerGroupSpecs"] == []


def test_additional_group_has_bounded_resources():
    small = {"cpu": "1", "memory": "1Gi"}
    spec = rendered_group("smallGroup", {"resources": None})
    assert ray_container(spec)["resources"] == {"limits": small, "requests": small}


# --- HM-05: every field of the CRD can be set --------------------------------------------------------

def crd_spec():
    crd = yaml.safe_load((DEPLOY / "crd/ray.io_rayclusters.yaml").read_text())
    (v1,) = [v for v in crd["spec"]["versions"] if v["name"] == "v1"]
    return v1["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]


def sample(schema):
    """Some value of this type, to be found again."""
    return {"string": "x", "integer": 7, "boolean": True, "array": [], "object": {"probe": "x"}}.get(
        schema.get("type"), "x")


def test_HM_05_every_field_of_the_crd_can_be_set():
    spec = crd_spec()
    head = spec["headGroupSpec"]["properties"]
    worker = spec["workerGroupSpecs"]["items"]["properties"]
    pod = head["template"]["properties"]["spec"]["properties"]
    container = pod["containers"]["items"]["properties"]

    def samples(schemas, but=()):
        return {k: sample(v) for k, v in schemas.items() if k not in but}
    wanted = samples(spec, ("headGroupSpec", "workerGroupSpecs"))
    wanted_pod, wanted_container = samples(pod, ("containers",)), samples(container)

    def group(schemas):
        return {"extraGroupSpec": samples(schemas, ("template",)), "extraPodSpec": wanted_pod,
                "extraContainerSpec": wanted_container}
    cluster = render({"extraSpec": wanted, "head": group(head), "worker": group(worker)})["spec"]
    for have, want in [(cluster, wanted), (cluster["headGroupSpec"], samples(head, ("template",))),
                       (cluster["workerGroupSpecs"][0], samples(worker, ("template",)))]:
        for field, value in want.items():
            if field == "headService":
                continue
            assert have.get(field) == value, field
    for g in (cluster["headGroupSpec"], cluster["workerGroupSpecs"][0]):
        for have, want in [(g["template"]["spec"], wanted_pod), (ray_container(g), wanted_container)]:
            for field, value in want.items():
                assert have[field] == value or value.items() <= have[field].items(), field


def test_HM_05_no_extra_leaves_the_rendering_as_it_is():
    empty = {"extraGroupSpec": {}, "extraPodSpec": None, "extraContainerSpec": {}}
    assert render({"extraSpec": {}, "head": empty, "worker": empty}) == render()
