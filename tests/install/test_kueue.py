"""What a real Kueue does to Ray's objects, and the operator with it: scenarios in kueue/, each with a queue of its own."""
import json
import os
import threading
import time
from pathlib import Path

import pytest

import kueue
from conftest import CRDS, MANAGER
from rights import conform, grant

SCENARIOS = Path(__file__).parent / "kueue"
CPUS = {"raycluster": 4, "rayjob": 3, "rayservice": 4, "elastic": 3}

pytestmark = pytest.mark.skipif("CI" in os.environ or not kueue.BINARY.exists(),
                                reason="minutes, and no Kueue unless somebody built it (tests/install/kueue.py build)")


@pytest.fixture(scope="module")
def queues(cluster):
    for path in sorted(CRDS.glob("*.yaml")):
        cluster.kubectl("apply", "--server-side", "-f", path)
    with kueue.running(cluster) as log:
        cluster.apply([kueue.FLAVOR, kueue.URGENT, *(kueue.queue(name, cpus) for name, cpus in CPUS.items())])
        yield log


def scale_elastic(cluster, done):
    """One worker becomes two, then three, then one again. Replicas alone are patched, as Ray's autoscaler does: a patch
    of a scenario would replace the whole list, and with it what Kueue has written into the templates."""
    steps = [(2, lambda status: status.get("readyWorkerReplicas") == 1),
             (3, lambda status: status.get("readyWorkerReplicas") == 2),
             (1, lambda status: any(c["type"] == "QuotaExceeded" for c in status.get("conditions", [])))]
    while steps and not done.wait(0.5):
        for item in cluster.get("rayclusters", "--all-namespaces")["items"]:
            replicas, come = steps[0]
            if item["metadata"]["name"] == "c" and come(item.get("status", {})):
                patch = [{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": replicas}]
                if len(steps) == 1:
                    patch.append({"op": "add", "path": "/metadata/annotations/scaled", "value": "yes"})
                cluster.kubectl("patch", "raycluster", "c", "-n", item["metadata"]["namespace"], "--type=json",
                                "-p", json.dumps(patch))
                del steps[0]
                break


def used(cluster, queue):
    """What is taken of a ClusterQueue."""
    flavors = cluster.get("clusterqueue", queue)["status"]["flavorsUsage"]
    return {r["name"]: r["total"] for flavor in flavors for r in flavor["resources"] if r["total"] != "0"}


@pytest.mark.parametrize("name", CPUS)
def test_kueue(cluster, queues, name, tmp_path):
    operator = f"env KUBECONFIG={grant(cluster)} {MANAGER}"
    done = threading.Event()
    scaler = threading.Thread(target=scale_elastic, args=(cluster, done))
    if name == "elastic":
        scaler.start()
    try:
        passed, failed = conform(cluster, operator, tmp_path, SCENARIOS / f"{name}.yaml", "--record", tmp_path / "records")
    finally:
        done.set()
    (tmp_path / "kueue.log").write_text(queues.read_text())
    assert (passed, failed) == ([name], []), tmp_path
    deadline = time.monotonic() + 60
    while used(cluster, name) and time.monotonic() < deadline:
        time.sleep(1)
    assert used(cluster, name) == {}, "quota that nobody gave back"
