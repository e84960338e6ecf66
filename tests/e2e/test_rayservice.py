"""RayServices with real Ray Serve: deployed, changed in place, replaced and rolled back under load, scaled by
load, and served while a head or a worker goes."""
import copy
import json

import pytest
import yaml
from conftest import SAMPLES, wait_for
from test_raycluster_real import REDIS

SLOW = 300
NAME = "rayservice-sample"

MANGO = """b'"mango"'"""

# Asks once a tenth of a second, on a connection of its own and once only, and prints what failed; ends when
# /tmp/stop is there. It is patient: how long an answer takes depends on the machine, and Ray Serve holds requests back
# while a controller that was lost finds its replicas again. Where /tmp/route says so ({service: weight}), other
# Services are asked, as a Gateway would.
LOAD = f"""
import json, os, random, time, urllib.request
asked = failed = 0
kinds = set()
while not os.path.exists("/tmp/stop"):
    service = "{NAME}-serve-svc"
    if os.path.exists("/tmp/route"):
        weights = json.load(open("/tmp/route"))
        service = random.choices(list(weights), list(weights.values()))[0]
    try:
        request = urllib.request.Request("http://" + service + ":8000/fruit", data={MANGO})
        with urllib.request.urlopen(request, timeout=120) as answer:
            kinds.add(answer.read().decode())
        open("/tmp/asked", "w").close()
    except Exception as error:
        failed += 1
        os.write(1, ("failed: " + repr(error) + "\\n").encode())  # whole lines: several may write
    asked += 1
    time.sleep(0.1)
os.write(1, (json.dumps(dict(asked=asked, failed=failed, kinds=sorted(kinds))) + "\\n").encode())
"""


@pytest.fixture
def up(manta):
    manta.up()
    return manta


SLOW_FRUIT = """
import asyncio

from ray import serve

@serve.deployment
class Fruit:
    async def __call__(self, request):
        await asyncio.sleep(await request.json())
        return {}

app = Fruit.bind()
"""


# Answers when it is let go, by a file in its Pod, where another says that it is asked.
HELD_FRUIT = """
import asyncio, os

from ray import serve

@serve.deployment
class Fruit:
    async def __call__(self, request):
        open("/tmp/held", "w").close()
        while not os.path.exists("/tmp/release"):
            await asyncio.sleep(0.2)
        return {}

app = Fruit.bind()
"""


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
            f"data={body.encode()!r}),timeout=60).read().decode())")
    return json.loads(manta.kubectl("exec", pod, "--", "python", "-c", code, timeout=SLOW).stdout)


def client(manta, code="import time; time.sleep(3600)"):
    manta.apply(json.dumps({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "client"},
        "spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "rayproject/ray:2.60.0", "command": ["python", "-u", "-c", code]}]}}))
    manta.wait("pod/client", ".status.phase", "Running", SLOW)
    return "client"


def answered(manta):
    """Waits until LOAD has been answered once more."""
    manta.kubectl("exec", "client", "--", "rm", "-f", "/tmp/asked")
    wait_for("an answer", lambda: manta.kubectl("exec", "client", "--", "ls", "/tmp/asked"), SLOW)


def stop_load(manta, loads=1, asked=50):
    """What LOAD counted, each of so many: none of many requests has failed."""
    manta.kubectl("exec", "client", "--", "touch", "/tmp/stop")
    manta.wait("pod/client", ".status.phase", "Succeeded", SLOW)
    log = manta.kubectl("logs", "client").stdout
    counted = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert len(counted) == loads and all(one["failed"] == 0 and one["asked"] > asked for one in counted), log


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
    stop_load(up)
    assert {a["status"] for a in applications(up).values()} == {"RUNNING"}


def change_head(document, version):
    """Another spec for the cluster."""
    head = document["spec"]["rayClusterConfig"]["headGroupSpec"]
    head["template"]["spec"]["containers"][0]["env"].append({"name": "VERSION", "value": version})


def active(manta):
    return service(manta)["status"]["activeServiceStatus"].get("rayClusterName", "")


def pending(manta):
    return service(manta)["status"].get("pendingServiceStatus", {}).get("rayClusterName", "")


def condition(manta, kind):
    return next((c["status"] for c in service(manta)["status"]["conditions"] if c["type"] == kind), None)


def test_a_change_that_never_serves_is_taken_back_without_a_failed_request(up):
    documents = sample()
    documents[1]["spec"]["rayClusterDeletionDelaySeconds"] = 0
    up.apply(yaml.safe_dump_all(documents))
    wait_for("the sample to serve", lambda: serves(up), SLOW, 1)
    old = active(up)
    client(up, LOAD)
    broken = copy.deepcopy(documents[1])
    change_head(broken, "2")
    broken["spec"]["rayClusterConfig"]["headGroupSpec"]["template"]["spec"]["containers"][0]["env"][0]["value"] = \
        "/nowhere"  # PYTHONPATH: the applications' code is not found
    up.apply(yaml.safe_dump(broken))
    wait_for("Serve to say what is wrong", lambda: "fruit" in json.dumps(
        [c["message"] for c in service(up)["status"]["conditions"] if "DEPLOY_FAILED" in c["message"]]), SLOW, 1)
    assert active(up) == old
    failed = pending(up)
    up.apply(yaml.safe_dump(documents[1]))
    wait_for("a cluster of the spec that was good", lambda: active(up) not in (old, failed) and not pending(up),
             SLOW, 1)
    wait_for("the others to go", lambda: len(up.get("rayclusters")["items"]) == 1, SLOW, 1)
    stop_load(up)


# Of the Gateway API only that the objects are stored: this test is the Gateway.
GATEWAY_API = "---".join(f"""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.gateway.networking.k8s.io}}
spec:
  group: gateway.networking.k8s.io
  scope: Namespaced
  names: {{plural: {plural}, singular: {kind.lower()}, kind: {kind}}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {{status: {{}}}}
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
""" for kind, plural in (("Gateway", "gateways"), ("HTTPRoute", "httproutes")))


def route(manta):
    """{Service: weight} of the HTTPRoute."""
    rules = manta.get("httproute", f"{NAME}-httproute")["spec"]["rules"]
    return {backend["name"]: backend["weight"] for backend in rules[0]["backendRefs"]}


def say_ready(manta, kind, name, status):
    manta.kubectl("patch", kind, name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))


def conditions(*kinds):
    return {"conditions": [{"type": kind, "status": "True"} for kind in kinds]}


def test_an_upgrade_in_steps_is_rolled_back_half_way_without_a_failed_request(up):
    up.apply(GATEWAY_API)
    documents = sample()
    spec = documents[1]["spec"]
    spec["rayClusterConfig"]["enableInTreeAutoscaling"] = True
    add_group(spec["rayClusterConfig"], 0, maxReplicas=1)  # without one Ray's autoscaler does not start
    spec["rayClusterDeletionDelaySeconds"] = 40  # what a Gateway may be late, this one on a busy machine too
    spec["upgradeStrategy"] = {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": {
        "maxSurgePercent": 100, "stepSizePercent": 10, "intervalSeconds": 2, "gatewayClassName": "here"}}
    up.apply(yaml.safe_dump_all(documents))
    wait_for("a Gateway to be asked for", lambda: up.get("gateway", f"{NAME}-gateway"), SLOW, 1)
    say_ready(up, "gateway", f"{NAME}-gateway", conditions("Accepted", "Programmed"))
    wait_for("a route", lambda: route(up), SLOW, 1)
    say_ready(up, "httproute", f"{NAME}-httproute", {"parents": [
        {"parentRef": {"name": f"{NAME}-gateway"}, "controllerName": "here/test",
         **conditions("Accepted", "ResolvedRefs")}]})
    wait_for("the sample to serve", lambda: serves(up), SLOW, 1)
    old = f"{active(up)}-serve-svc"
    client(up, f"import json; json.dump({{{old!r}: 100}}, open('/tmp/route', 'w'))\n" + LOAD)
    seen = []

    def follow():
        weights = route(up)
        if not seen or seen[-1] != weights:
            seen.append(weights)
            up.kubectl("exec", "client", "--", "sh", "-c",
                       f"echo '{json.dumps(weights)}' > /tmp/route.new && mv /tmp/route.new /tmp/route")
        return weights

    change_head(documents[1], "2")
    up.apply(yaml.safe_dump(documents[1]))
    wait_for("a third of the traffic to move", lambda: follow()[old] <= 70, SLOW, 0.2)
    assert condition(up, "UpgradeInProgress") == "True" and pending(up)
    documents[1]["spec"]["rayClusterConfig"]["headGroupSpec"]["template"]["spec"]["containers"][0]["env"].pop()
    up.apply(yaml.safe_dump(documents[1]))
    wait_for("the rollback to end", lambda: follow() == {old: 100} and not pending(up), SLOW, 0.2)
    assert f"{active(up)}-serve-svc" == old
    assert condition(up, "RollbackInProgress") is None and condition(up, "UpgradeInProgress") == "False"
    assert all(sum(weights.values()) == 100 for weights in seen)
    assert len(seen) > 4, seen
    wait_for("the new cluster to go", lambda: len(up.get("rayclusters")["items"]) == 1, SLOW, 1)
    assert service(up)["status"]["activeServiceStatus"]["targetCapacity"] == 100
    stop_load(up)


def add_group(config, replicas, **more):
    """Workers that look like the head."""
    template = copy.deepcopy(config["headGroupSpec"]["template"])
    container = template["spec"]["containers"][0]
    container["name"] = "ray-worker"
    del container["ports"]
    config["workerGroupSpecs"] = [{"groupName": "g", "replicas": replicas, "minReplicas": replicas,
                                   "maxReplicas": replicas, "rayStartParams": {}, "template": template, **more}]


def with_workers(replicas, group=None, deployment=None, **spec):
    """The sample with its replicas on workers of one CPU each, and none on the head."""
    documents = sample()
    whole = documents[1]["spec"]
    whole.update(spec)
    config = whole["rayClusterConfig"]
    config["headGroupSpec"]["rayStartParams"] = {"num-cpus": "0"}
    add_group(config, replicas, **(group or {}))
    whole["serveConfigV2"] = yaml.safe_dump({"applications": [
        {"name": "fruit", "route_prefix": "/fruit", "import_path": "fruit:app",
         "deployments": [{"name": "Fruit", "ray_actor_options": {"num_cpus": 1}, **(deployment or {})}]}]})
    return documents


def workers(manta):
    return [pod["metadata"] for pod in manta.get("pods", "-l", "ray.io/node-type=worker")["items"]
            if "deletionTimestamp" not in pod["metadata"]]


def head(manta):
    return next(iter(pod["metadata"] for pod in manta.get("pods", "-l", "ray.io/node-type=head")["items"]
                     if "deletionTimestamp" not in pod["metadata"]), None)


def test_a_worker_answers_while_the_head_is_away(up):
    """With fault tolerance, and the head kept out of the Service."""
    up.apply(REDIS)
    up.kubectl("wait", "--for=condition=Ready", "pod/redis", "--timeout=60s")
    documents = with_workers(1, deployment={"num_replicas": 1}, excludeHeadPodFromServeSvc=True)
    documents[1]["spec"]["rayClusterConfig"]["gcsFaultToleranceOptions"] = {
        "redisAddress": "redis:6379", "redisPassword": {"value": "open"}}
    up.apply(yaml.safe_dump_all(documents))
    wait_for("the service to serve", lambda: serves(up), SLOW, 1)
    cluster, worker, first = active(up), workers(up)[0]["uid"], head(up)
    client(up, LOAD)
    for _ in range(10):
        answered(up)  # Ray's processes have met
    node = up.get("nodes")["items"][0]["metadata"]["name"]
    up.kubectl("cordon", node)  # the next head has to wait
    up.kubectl("delete", "pod", first["name"], "--grace-period=0", "--force")
    wait_for("another head", lambda: head(up)["uid"] != first["uid"], SLOW)
    up.wait(f"raycluster/{cluster}", ".status.conditions[?(@.type=='HeadPodReady')].status", "False", SLOW)
    for _ in range(20):
        answered(up)
    assert up.get("pod", head(up)["name"])["status"]["phase"] == "Pending"
    up.kubectl("uncordon", node)
    up.wait(f"raycluster/{cluster}", ".status.conditions[?(@.type=='HeadPodReady')].status", "True", SLOW)
    wait_for("Serve to know its applications again",
             lambda: {a["status"] for a in applications(up).values()} == {"RUNNING"}, SLOW, 1)
    stop_load(up, asked=25)
    assert active(up) == cluster and workers(up)[0]["uid"] == worker
    up.kubectl("delete", "rayservice", NAME, "--timeout=120s")


def test_load_grows_a_deployment_and_its_worker_group(up):
    documents = with_workers(1, group={"minReplicas": 1, "maxReplicas": 2}, deployment={
        "max_ongoing_requests": 2,
        "autoscaling_config": {"min_replicas": 1, "max_replicas": 2, "target_ongoing_requests": 1, "upscale_delay_s": 1,
                               "downscale_delay_s": 600, "metrics_interval_s": 1, "look_back_period_s": 2}})
    documents[0]["data"]["fruit.py"] = SLOW_FRUIT
    documents[1]["spec"]["rayClusterConfig"]["enableInTreeAutoscaling"] = True
    up.apply(yaml.safe_dump_all(documents))
    wait_for("the service to serve", lambda: serves(up), SLOW, 1)
    cluster = active(up)
    assert len(workers(up)) == 1
    client(up, f"""
import os, threading, urllib.request
def ask():
    while not os.path.exists("/tmp/stop"):
        try:
            urllib.request.urlopen("http://{NAME}-serve-svc:8000/fruit", data=b"0.5", timeout=30).read()
        except Exception as error:
            print("failed:", repr(error), flush=True)
for _ in range(4):
    threading.Thread(target=ask).start()
""")
    up.wait(f"raycluster/{cluster}", ".spec.workerGroupSpecs[0].replicas", "2", SLOW)
    wait_for("two workers that serve", lambda: service(up)["status"]["numServeEndpoints"] == 3, SLOW, 1)
    assert len(workers(up)) == 2
    assert active(up) == cluster and not pending(up)
    assert service(up)["spec"]["rayClusterConfig"]["workerGroupSpecs"][0]["replicas"] == 1
    up.kubectl("exec", "client", "--", "touch", "/tmp/stop")


@pytest.mark.long
def test_RS_24_a_request_outlives_the_deletion_of_its_worker(manta):
    """As a drained node does it: the Pod is deleted, with its grace. Ray's own drain at its SIGTERM is cut to a second,
    so that only the hook keeps the request, which lasts until the worker's replacement serves."""
    manta.up("--port", "0", "--feature-gates", "RayServiceDrainWorkers=true")
    documents = with_workers(2, excludeHeadPodFromServeSvc=True, deployment={
        "num_replicas": 2, "max_replicas_per_node": 1, "graceful_shutdown_timeout_s": 900})
    documents[0]["data"]["fruit.py"] = HELD_FRUIT
    pod = documents[1]["spec"]["rayClusterConfig"]["workerGroupSpecs"][0]["template"]["spec"]
    pod["terminationGracePeriodSeconds"] = 600
    pod["containers"][0].setdefault("env", []).append({"name": "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S", "value": "1"})
    manta.apply(yaml.safe_dump_all(documents))
    serving = lambda: service(manta)["status"]["numServeEndpoints"] == 2 and len(workers(manta)) == 2
    wait_for("both workers to serve", serving, SLOW, 1)
    client(manta, f"""
import urllib.request
request = urllib.request.Request("http://{NAME}-serve-svc:8000/fruit", data=b"1")
print("answered", urllib.request.urlopen(request, timeout=900).read().decode(), flush=True)
""")
    def holds_it(pod):
        return manta.kubectl("exec", pod["name"], "--", "test", "-e", "/tmp/held", check=False).returncode == 0
    held = []
    wait_for("the request to be under way", lambda: held.extend(filter(holds_it, workers(manta))) or held, SLOW, 1)
    old = held[0]
    manta.kubectl("delete", "pod", old["name"], "--wait=false")
    wait_for("its replacement to serve", lambda: serving() and old["uid"] not in [w["uid"] for w in workers(manta)],
             SLOW, 1)
    manta.kubectl("exec", old["name"], "--", "touch", "/tmp/release")
    manta.wait("pod/client", ".status.phase", "Succeeded", SLOW)
    wait_for("the old worker to go", lambda: manta.kubectl("get", "pod", old["name"], check=False).returncode != 0,
             SLOW, 1)


def test_RS_25_the_old_cluster_stays_until_its_last_request_is_answered_and_no_longer(manta):
    manta.up("--port", "0", "--feature-gates", "RayServiceDeleteIdle=true")
    documents = sample()
    documents[0]["data"]["fruit.py"] = HELD_FRUIT
    documents[1]["spec"]["rayClusterDeletionDelaySeconds"] = 900
    manta.apply(yaml.safe_dump_all(documents))
    wait_for("the sample to serve", lambda: serves(manta), SLOW, 1)
    old, old_head = active(manta), head(manta)["name"]
    client(manta, f"""
import urllib.request
request = urllib.request.Request("http://{NAME}-serve-svc:8000/fruit", data=b"1")
print("answered", urllib.request.urlopen(request, timeout=900).read().decode(), flush=True)
""")
    change_head(documents[1], "2")
    manta.apply(yaml.safe_dump(documents[1]))
    wait_for("the replacement", lambda: active(manta) != old, SLOW, 1)
    in_flight = "import urllib.request as u; print(u.urlopen('http://localhost:8080/metrics').read().decode())"
    in_old = ("exec", old_head, "-c", "ray-head", "--")
    wait_for("the request to show in Serve's metrics", lambda: [
        line for line in manta.kubectl(*in_old, "python", "-c", in_flight).stdout.splitlines()
        if line.startswith("ray_serve_num_ongoing_http_requests{") and line.endswith(" 1.0")], SLOW, 1)
    assert old in [c["metadata"]["name"] for c in manta.get("rayclusters")["items"]]
    manta.kubectl(*in_old, "touch", "/tmp/release")
    manta.wait("pod/client", ".status.phase", "Succeeded", SLOW)
    wait_for("the old cluster to go, long before its delay",
             lambda: len(manta.get("rayclusters")["items"]) == 1, SLOW, 1)
