"""Every documented value of every chart has an effect, and every value is documented."""
import sys

import pytest
import yaml

from conftest import DEPLOY, TOP, helm_template

sys.path.insert(0, str(TOP / "tools"))
from gen_deploy import documented_values  # noqa: E402

CHARTS = [p.name for p in sorted((DEPLOY / "helm").iterdir())]
# What a value needs beside it to be seen.
BESIDE = {
    "nameOverride": {"fullnameOverride": ""},
    "serviceAccount.create": {}, "logging.fileName": {"logging.baseDir": "/l"}, "logging.baseDir": {"logging.fileName": "f"},
    "logging.sizeLimit": {"logging.baseDir": "/l", "logging.fileName": "f"},
    "crNamespacedRbacEnable": {"singleNamespaceInstall": True},
    **{f"configuration.{k}": {"configuration.enabled": True} for k in (
        "defaultContainerEnvs", "defaultPodAnnotations", "defaultPodLabels", "headSidecarContainers",
        "workerSidecarContainers")},
    **{f"metrics.serviceMonitor.{k}": {"metrics.serviceMonitor.enabled": True} for k in (
        "interval", "honorLabels", "additionalLabels", "namespace")},
    **{f"ingress.{k}": {"ingress.enabled": True} for k in ("annotations", "className", "tls")},
    "route.annotations": {"route.enabled": True},
}
# Values that only some content has an effect of.
CONTENT = {"gcsFaultTolerance.enabled": True, "featureGates": [{"name": "G", "enabled": True}],
           "containerPort": [{"name": "http", "containerPort": 9}], "env": [{"name": "A", "value": "1"}],
           "service.ports": [{"name": "http", "port": 1, "targetPort": 2}], "security": None,
           "additionalWorkerGroups": {"g": {}}, "kubeClient.qps": 7.5, "image.pullPolicy": "Always",
           "logging.stdoutEncoder": "console", "logging.fileEncoder": "console", "batchScheduler.name": "volcano",
           "useKubernetesProxy": True, "watchNamespace": ["a"],
           "service.type": "NodePort", "head.restartPolicy": "Always", "worker.restartPolicy": "Always"}


def load(chart):
    text = (DEPLOY / "helm" / chart / "values.yaml").read_text()
    return yaml.safe_load(text), documented_values(text)


def other_than(default):
    """A value of the same type."""
    if isinstance(default, bool):
        return not default
    if isinstance(default, (int, float)):
        return default + 2
    if isinstance(default, list):
        return [{"name": "other"}]
    return {"other": "x"} if isinstance(default, dict) else "other"


def nested(flat):
    out = {}
    for path, value in flat.items():
        *parents, last = path.split(".")
        at = out
        for key in parents:
            at = at.setdefault(key, {})
        at[last] = value
    return out


CASES = [(chart, path) for chart in CHARTS for path, _ in load(chart)[1]]


@pytest.mark.parametrize("chart, path", CASES)
def test_documented_value_has_an_effect(chart, path):
    default = load(chart)[0]
    for key in path.split("."):
        default = default[key]
    beside = BESIDE.get(path, {})
    changed = {**beside, path: CONTENT.get(path, other_than(default))}
    plain, other = (helm_template(chart, nested(v), release="r", check=False) for v in (beside, changed))
    assert not isinstance(other, str), other
    assert plain != other


@pytest.mark.parametrize("chart", CHARTS)
def test_every_value_is_documented(chart):
    values, documented = load(chart)
    known = {path for path, _ in documented}

    def undocumented(at, path=()):
        for key, value in at.items():
            here = ".".join((*path, key))
            if here in known:
                continue
            if isinstance(value, dict) and value:
                yield from undocumented(value, (*path, key))
            else:
                yield here
    assert set(undocumented(values)) <= {"cors"}


# --- schemas -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("chart, values, place", [
    ("kuberay-operator", {"replicas": "abc"}, "replicas"),
    ("kuberay-operator", {"replicas": 1.5}, "replicas"),
    ("kuberay-operator", {"replicas": [1]}, "replicas"),
    ("kuberay-operator", {"logging": {"stdoutEncoder": "xml"}}, "stdoutEncoder"),
    ("kuberay-operator", {"batchScheduler": {"name": "slurm"}}, "batchScheduler"),
    ("kuberay-operator", {"image": {"pullPolicy": "Sometimes"}}, "pullPolicy"),
    ("kuberay-operator", {"image": "my/image:1"}, "image"),
    ("kuberay-operator", {"service": {"type": "Balancer"}}, "type"),
    ("kuberay-operator", {"tolerations": "all"}, "tolerations"),
    ("kuberay-operator", {"replicas": -1}, "replicas"),
    ("kuberay-operator", {"replicas": "-1"}, "replicas"),
    ("kuberay-operator", {"livenessProbe": {"periodSeconds": -5}}, "periodSeconds"),
    ("kuberay-operator", {"readinessProbe": {"failureThreshold": 1 << 31}}, "failureThreshold"),
    ("kuberay-operator", {"service": {"port": 99999}}, "port"),
    ("kuberay-operator", {"metrics": {"enabled": "yes"}}, "enabled"),
    ("kuberay-operator", {"leaderElectionEnabled": "maybe"}, "leaderElectionEnabled"),
    ("kuberay-operator", {"useKubernetesProxy": [True]}, "useKubernetesProxy"),
    ("kuberay-operator", {"featureGates": [{"name": "RayCronJob"}]}, "featureGates"),
    ("kuberay-operator", {"featureGates": [{"enabled": True}]}, "featureGates"),
    ("kuberay-operator", {"featureGates": [{"name": "RayCronJob", "enabled": "on"}]}, "enabled"),
    ("kuberay-operator", {"featureGates": [{"name": "RayCronJob", "enabled": None}]}, "enabled"),
    ("kuberay-operator", {"featureGates": ["RayCronJob=true"]}, "featureGates"),
    ("kuberay-operator", {"watchNamespace": {"team-a": True}}, "watchNamespace"),
    ("kuberay-operator", {"watchNamespace": ["a", " b"]}, "watchNamespace"),
    ("kuberay-operator", {"watchNamespace": "a, b"}, "watchNamespace"),
    ("kuberay-apiserver", {"replicaCount": -2}, "replicaCount"),
    ("kuberay-operator", {"nodeSelector": ["a"]}, "nodeSelector"),
    ("kuberay-apiserver", {"replicaCount": "two"}, "replicaCount"),
    ("ray-cluster", {"worker": {"replicas": "many"}}, "replicas"),
    ("ray-cluster", {"additionalWorkerGroups": {"g": {"maxReplicas": "many"}}}, "maxReplicas"),
    ("ray-cluster", {"head": {"restartPolicy": "Maybe"}}, "restartPolicy"),
    ("ray-cluster", {"head": {"volumes": {"name": "v"}}}, "volumes"),
])
def test_what_cannot_work_is_refused_with_its_place(chart, values, place):
    refused = helm_template(chart, values, check=False)
    assert isinstance(refused, str) and "schema" in refused and place in refused


# What the reference's templates take, and an API server after them.
TAKEN = [("replicas", "3"), ("replicas", 0), ("replicas", None), ("replicas", ""), ("image.tag", 1.7),
         ("image.tag", None), ("image", None), ("logging", None), ("logging.stdoutEncoder", ""),
         ("batchScheduler", None), ("nodeSelector", None), ("nodeSelector", []), ("tolerations", {}),
         ("tolerations", ""), ("env", [{"name": "A", "value": "1"}]), ("useKubernetesProxy", "true"),
         ("rbacEnable", "false"), ("metrics.enabled", "true"), ("metrics.enabled", ""), ("metrics.enabled", 1),
         ("leaderElectionEnabled", "False"), ("useKubernetesProxy", None), ("watchNamespace", ["a"]),
         ("watchNamespace", "a,b"), ("watchNamespace", None), ("watchNamespace", [""]), ("service.port", "8081"),
         ("featureGates", [{"name": "RayCronJob", "enabled": "true", "unheardOf": 1}]), ("unheardOf", {"a": [1]}),
         ("image.unheardOf", 1), ("featureGates", []), ("serviceAccount.create", None), ("global", {"x": 1}),
         ("kubeClient.qps", "75.5"), ("livenessProbe.periodSeconds", "5"), ("resources", None), ("labels", {"a": "b"})]


@pytest.mark.parametrize("path, value", TAKEN)
def test_what_the_reference_takes_is_taken(path, value):
    rendered = helm_template("kuberay-operator", nested({path: value}), check=False)
    assert not isinstance(rendered, str), rendered


@pytest.mark.parametrize("path, value", [
    ("worker.replicas", "2"), ("worker.replicas", -1), ("worker", None), ("worker.groupName", 7), ("head.command", None),
    ("additionalWorkerGroups", None), ("additionalWorkerGroups.g", {"replicas": "1", "unheardOf": 1}),
    ("head.rayStartParams", {"num-cpus": 0}), ("head.image", {"tag": 2}), ("worker.maxReplicas", 1e9),
    ("head.restartPolicy", None), ("worker.priority", 5), ("head.unheardOf", [1])])
def test_what_the_reference_takes_of_a_cluster_is_taken(path, value):
    rendered = helm_template("ray-cluster", nested({path: value}), check=False)
    assert not isinstance(rendered, str), rendered
