"""The dashboards and rules about Ray name series that a real Ray exports: one of the installed version is started and asked.

What it does not export here has to be in one of the dashboards that this Ray makes for itself, and is listed with its
reason; where Ray has dropped a series that we still name, too.
"""
import json
import pathlib
import re
import subprocess
import tempfile

import pytest
import yaml

from conftest import TOP

DRIVER = pathlib.Path(__file__).with_name("ray_metrics_driver.py")
# Regular expression on the name: why a head of one node does not export it.
ELSEWHERE = {
    r"gpu|gram": "needs a GPU",
    r"_tpu_": "needs a TPU",
    r"^ray_data_": "Ray Data, which needs pyarrow",
    r"^ray_train_": "Ray Train, which needs a training framework",
    r"^ray_vllm_": "a language model",
    r"^ray_serve_.*grpc": "Serve's gRPC proxy, which is off unless asked for",
    r"^ray_memory_manager_worker_eviction_total$": "from the first worker on that ran out of memory",
    r"^ray_node_manager_unexpected_worker_failure_total$": "from the first worker on that failed",
    r"^autoscaler_recently_failed_nodes$": "from the first node on that failed",
}
# KubeRay's rule, whose alert is silent where the series never was (deploy/prometheus/rules/ray-gcs.yaml).
DROPPED = {"ray_gcs_update_resource_usage_time_bucket", "ray_gcs_update_resource_usage_time_count"}


def names_in(expression):
    """The series of a PromQL expression that are Ray's. Labels and texts are not."""
    text = re.sub(r"\{[^}]*\}", "", expression)
    text = re.sub(r"\b(by|on|without|ignoring|group_left|group_right)\s*\([^)]*\)", "", text)
    return set(re.findall(r"\b(?:ray|autoscaler)_\w+", re.sub(r'"[^"]*"', "", text)))


def names_of(dashboard):
    found = set()
    for panel in dashboard["panels"]:
        for one in (panel, *panel.get("panels", [])):
            for target in one.get("targets", []):
                found |= names_in(target["expr"])
    return found


def in_dashboards():
    """{name: file} of what our dashboards about Ray ask for."""
    return {name: path.name for path in sorted((TOP / "deploy/grafana").glob("*_grafana_dashboard.json"))
            for name in names_of(json.loads(path.read_text()))}


def in_rules():
    found, own = {}, set()
    for path in (TOP / "deploy/prometheus/rules").glob("*.yaml"):
        for group in yaml.safe_load(path.read_text())["spec"]["groups"]:
            for rule in group["rules"]:
                own.add(rule.get("record"))
                found.update({name: path.name for name in names_in(rule["expr"])})
    return {name: file for name, file in found.items() if name not in own}


def is_elsewhere(name):
    return any(re.search(pattern, name) for pattern in ELSEWHERE)


@pytest.fixture(scope="module")
def ray(images):
    python = next(pathlib.Path(images).glob("envs/*/bin/python"))
    expected = [n for n in in_dashboards() if not is_elsewhere(n)]
    with tempfile.TemporaryDirectory(prefix="ray-") as folder:  # a short one: Ray has sockets in it
        done = subprocess.run(["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh",
                               python, DRIVER, folder, *expected], text=True, capture_output=True, timeout=400)
        result = pathlib.Path(folder) / "result.json"
        assert result.exists(), done.stdout[-3000:] + done.stderr[-3000:]
        return json.loads(result.read_text())


def test_dashboards_name_series_that_ray_exports(ray):
    own = set().union(*map(names_of, ray["own"]))
    exported = set(ray["names"])
    wrong = {name: file for name, file in in_dashboards().items()
             if name not in exported and not (is_elsewhere(name) and name in own)}
    assert not wrong, f"Ray {ray['version']} has no such series"


def test_exceptions_are_needed(ray):
    missing = {name for name in in_dashboards() if name not in ray["names"]}
    for pattern in ELSEWHERE:
        assert any(re.search(pattern, name) for name in missing), f"{pattern}: everything is exported after all"


def test_rules_name_series_that_ray_exports_or_has_dropped(ray):
    named = set(in_rules())
    assert named - set(ray["names"]) == DROPPED
