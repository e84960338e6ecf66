"""RayServices with real Ray Serve: deployed, changed in place, replaced under load."""
import json

import pytest
import yaml
from conftest import SAMPLES, wait_for

SLOW = 300
NAME = "rayservice-sample"

# Asks once a tenth of a second and prints what failed; ends when /tmp/stop is there.
LOAD = f"""
import json, os, time, urllib.request
asked = failed = 0
kinds = set()
while not os.path.exists("/tmp/stop"):
    try:
        request = urllib.request.Request("http://{NAME}-serve-svc:8000/fruit", data=b'"mango"')
        with urllib.request.urlopen(request, timeout=10) as answer:
            kinds.add(answer.read().decode())
    except Exception as error:
        failed += 1
        print("failed:", repr(error), flush=True)
    asked += 1
    time.sleep(0.1)
print(json.dumps(dict(asked=asked, failed=failed, kinds=sorted(kinds))), flush=True)
"""


@pytest.fixture
def up(manta):
    manta.up()
    return manta


def sample():
    return list(yaml.safe_load_all((SAMPLES / "ray-service.sample.yaml").read_text()))


def service(manta):
    return manta.get("rayservice", NAME)


def serves(manta):
    status = service(manta).get("status", {})
    return status.get("serviceStatus") == "Running"


def applications(manta):
    return service(manta)["status"]["activeServiceStatus"].get("applicationStatuses", {})


def ask(manta, pod, path, body):
    code = (f"import urllib.request as u;print(u.urlopen(u.Request('http://{NAME}-serve-svc:8000{path}',"
            f"data={body.encode()!r}),timeout=10).read().decode())")
    return json.loads(manta.kubectl("exec", pod, "--", "python", "-c", code, timeout=SLOW).stdout)


def client(manta, code="import time; time.sleep(3600)"):
    manta.apply(json.dumps({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "client"},
        "spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "rayproject/ray:2.60.0", "command": ["python", "-u", "-c", code]}]}}))
    manta.wait("pod/client", ".status.phase", "Running", SLOW)
    return "client"


def test_sample_answers_and_is_changed_in_place(up):
    up.kubectl("apply", "-f", SAMPLES / "ray-service.sample.yaml")
    wait_for("the sample to serve", lambda: serves(up), SLOW, 1)
    pod = client(up)
    assert ask(up, pod, "/fruit", '"mango"') == {"price": 3}
    assert ask(up, pod, "/sum", "[1, 2, 3]") == {"sum": 6}
    cluster = service(up)["status"]["activeServiceStatus"]["rayClusterName"]

    config = yaml.safe_load(service(up)["spec"]["serveConfigV2"])
    config["applications"][1]["route_prefix"] = "/total"
    up.kubectl("patch", "rayservice", NAME, "--type=merge", "-p",
               json.dumps({"spec": {"serveConfigV2": yaml.safe_dump(config)}}))
    wait_for("the new route", lambda: ask(up, pod, "/total", "[4, 5]") == {"sum": 9}, SLOW, 1)
    assert service(up)["status"]["activeServiceStatus"]["rayClusterName"] == cluster
    assert ask(up, pod, "/fruit", '"orange"') == {"price": 2}


def test_a_cluster_is_replaced_under_load_without_a_failed_request(up):
    documents = sample()
    documents[1]["spec"]["rayClusterDeletionDelaySeconds"] = 15
    up.apply(yaml.safe_dump_all(documents))
    wait_for("the sample to serve", lambda: serves(up), SLOW, 1)
    old = service(up)["status"]["activeServiceStatus"]["rayClusterName"]
    client(up, LOAD)
    head = documents[1]["spec"]["rayClusterConfig"]["headGroupSpec"]
    head["template"]["spec"]["containers"][0]["env"].append({"name": "VERSION", "value": "2"})
    up.apply(yaml.safe_dump(documents[1]))
    wait_for("the replacement", lambda: service(up)["status"]["activeServiceStatus"]["rayClusterName"] != old,
             SLOW, 1)
    wait_for("the old cluster to go", lambda: len(up.get("rayclusters")["items"]) == 1, SLOW, 1)
    up.kubectl("exec", "client", "--", "touch", "/tmp/stop")
    up.wait("pod/client", ".status.phase", "Succeeded", SLOW)
    log = up.kubectl("logs", "client").stdout
    counted = json.loads(log.strip().splitlines()[-1])
    assert counted["failed"] == 0, log
    assert counted["asked"] > 50
    assert {a["status"] for a in applications(up).values()} == {"RUNNING"}
