"""`helm upgrade --reuse-values` brings the values of the chart that was installed, which may know less than today's."""
import pytest
import yaml

from conftest import DEPLOY, helm_template
from test_values import CHARTS, nested

# Without them the object says less, or something of its own; all others' absence means the default.
OTHERWISE = {
    "kuberay-operator": {
        "nameOverride", "fullnameOverride", "featureGates", "kubeClient", "kubeClient.qps", "kubeClient.burst",
        "leaderElectionEnabled", "reconcileConcurrency", "metrics", "metrics.enabled", "livenessProbe",
        "readinessProbe", "resources", "securityContext", "logging", "logging.stdoutEncoder", "logging.fileEncoder"},
    "ray-cluster": {
        "nameOverride", "service", "service.type", "head", "worker", "worker.replicas", "worker.minReplicas",
        "worker.maxReplicas"},
    "kuberay-apiserver": {"resources", "security", "security.env"},
}


def paths(values, above=()):
    """Every key of the chart that has a fixed name, with those above it."""
    for key, value in values.items():
        yield ".".join((*above, key))
        if isinstance(value, dict) and key != "additionalWorkerGroups":
            yield from paths(value, (*above, key))


def values_of(chart):
    return yaml.safe_load((DEPLOY / "helm" / chart / "values.yaml").read_text())


def otherwise(chart, path):
    inside = ("livenessProbe.", "readinessProbe.", "resources.", "securityContext.", "head.", "worker.", "security.env.")
    return path in OTHERWISE[chart] or path.startswith(inside)


@pytest.mark.parametrize("chart", CHARTS)
def test_every_key_may_be_missing(chart):
    whole = helm_template(chart, release="r")
    for path in paths(values_of(chart)):
        rendered = helm_template(chart, nested({path: None}), release="r", check=False)
        assert not isinstance(rendered, str), f"{path}: {rendered}"
        text = yaml.safe_dump_all(rendered)
        assert "<nil>" not in text and "no value" not in text, path
        if not otherwise(chart, path):
            assert rendered == whole, f"{path} missing is not {path} as it is by default"


@pytest.mark.parametrize("chart", CHARTS)
def test_all_keys_may_be_missing(chart):
    rendered = helm_template(chart, dict.fromkeys(values_of(chart)), release="r")
    kinds = {o["kind"] for o in helm_template(chart, release="r")}
    assert {o["kind"] for o in rendered} == kinds


@pytest.mark.parametrize("configured", [False, True])
@pytest.mark.parametrize("key", values_of("kuberay-operator"))
def test_operator_with_features_on(key, configured):
    """The parts that are off by default look at the other values too."""
    on = {"configuration": {"enabled": configured}, "metrics": {"serviceMonitor": {"enabled": True}},
          "singleNamespaceInstall": True, "batchScheduler": {"name": "volcano"},
          "logging": {"baseDir": "/logs", "fileName": "f"}}
    rendered = helm_template("kuberay-operator", {**on, key: None}, release="r", check=False)
    assert not isinstance(rendered, str), rendered
