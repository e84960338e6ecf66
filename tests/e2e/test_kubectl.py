"""kubectl against `manta up`: a RayCluster's whole life, several side by side, crashes."""
import http.client
import os
import re
import signal

import pytest
import yaml
from conftest import SAMPLES, wait_for

CLUSTER = (SAMPLES / "ray-cluster.sample.yaml").read_text()


def cluster(name, workers=1):
    document = yaml.safe_load(CLUSTER)
    document["metadata"]["name"] = name
    group = document["spec"]["workerGroupSpecs"][0]
    group["replicas"] = workers
    return yaml.safe_dump(document)


def head_of(manta, name):
    items = manta.get("pods", "-l", f"ray.io/cluster={name},ray.io/node-type=head")["items"]
    return items[0]["metadata"]["name"]


def run_python(manta, pod, code, timeout=120):
    return manta.kubectl("exec", pod, "--", "python", "-c", code, timeout=timeout).stdout


COUNT_NODES = ("import ray; ray.init(address='auto', logging_level='ERROR'); "
               "print('nodes', len([n for n in ray.nodes() if n['Alive']]))")


def test_what_get_writes_can_be_applied(up):
    up.make("ConfigMap", "one", {"a": "b"})
    up.make("ConfigMap", "two", {"a": "b"})
    text = up.kubectl("get", "configmap", "one", "two", "-o", "yaml").stdout
    assert "kind: List" in text
    up.kubectl("delete", "configmap", "one", "two")
    up.kubectl("create", "-f", "-", input=text)
    assert up.get("configmap", "two")["data"] == {"a": "b"}


def test_explain_says_what_fields_are_for(up):
    described = up.kubectl("explain", "raycluster.spec").stdout
    assert "A Ray cluster: one head and groups of workers." in described
    assert re.search(r"authOptions\s+<Object>\s+Who may talk to the cluster\.", described)


def test_cluster_by_hand(up):
    up.kubectl("apply", "-f", SAMPLES / "ray-cluster.sample.yaml")
    up.wait("raycluster/raycluster-sample", ".status.state", "ready")
    pod = head_of(up, "raycluster-sample")

    assert re.search(r"raycluster-sample\s", up.kubectl("get", "raycluster").stdout)
    described = up.kubectl("describe", "pod", pod).stdout
    assert "Successfully assigned" in described and "Started" in described
    assert "Ray runtime started" in up.kubectl("logs", pod).stdout
    assert "nodes 2" in run_python(up, pod, COUNT_NODES)
    failed = up.kubectl("exec", pod, "--", "sh", "-c", "exit 7", check=False)
    assert failed.returncode == 7 or "exit code 7" in failed.stderr

    forward = up.popen_kubectl("port-forward", f"pod/{pod}", ":8265")
    port = int(re.search(r"127\.0\.0\.1:(\d+)", forward.stdout.readline()).group(1))

    def version():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", "/api/version")
        return connection.getresponse().read().decode()
    assert "ray_version" in wait_for("the dashboard", version)

    up.kubectl("delete", "raycluster", "raycluster-sample", "--timeout=60s")
    wait_for("its Pods to be gone", lambda: up.kubectl("get", "pods", "-o", "name").stdout == "")


def test_three_clusters_side_by_side(up):
    names = ["one", "two", "three"]
    for name in names:
        up.apply(cluster(name))
    for name in names:
        up.wait(f"raycluster/{name}", ".status.state", "ready", timeout=240)
    addresses = {p["status"]["podIP"] for p in up.get("pods")["items"]}
    assert len(addresses) == 6, "an address of its own for each Pod"
    for name in names:
        pod = head_of(up, name)
        assert "nodes 2" in run_python(up, pod, COUNT_NODES), "its own nodes only"
        # The Service's short name leads to this cluster's own head.
        own = up.get("pod", pod)["status"]["podIP"]
        resolved = run_python(up, pod, f"import socket; print(socket.gethostbyname('{name}-head-svc'))").strip()
        service = up.get("service", f"{name}-head-svc")["spec"]["clusterIP"]
        assert resolved in (own, service)
        # What the head listens on is no other Pod's localhost.
    other = head_of(up, "two")
    reached = run_python(up, other, "import socket; s = socket.create_connection(('one-head-svc.default', 8265), 5); "
                                    "print('reached', s.getpeername()[0])")
    assert "reached" in reached


def test_scaling_follows_the_spec(up):
    up.apply(cluster("scaled", workers=1))
    up.wait("raycluster/scaled", ".status.state", "ready")
    for replicas in (2, 0):
        up.kubectl("patch", "raycluster", "scaled", "--type=json", "-p",
                   f'[{{"op":"replace","path":"/spec/workerGroupSpecs/0/replicas","value":{replicas}}}]')
        wait_for(f"{replicas} workers", lambda: len(
            up.get("pods", "-l", "ray.io/node-type=worker")["items"]) == replicas)


def test_kill_9_in_mid_job_leaves_nothing_after_the_next_up(up):
    up.apply(cluster("survivor"))
    up.wait("raycluster/survivor", ".status.state", "ready")
    before = up.get("raycluster", "survivor")["metadata"]["uid"]
    os.kill(up.state()["pid"], signal.SIGKILL)
    wait_for("its end", lambda: not up.is_running())
    up.up()
    assert up.get("raycluster", "survivor")["metadata"]["uid"] == before
    up.wait("raycluster/survivor", ".status.state", "ready")
    heads = up.get("pods", "-l", "ray.io/node-type=head")["items"]
    assert len([p for p in heads if "deletionTimestamp" not in p["metadata"]]) == 1
    up("down")
    up.assert_nothing_left()


def test_namespace_deletion_takes_its_cluster_along(up):
    up.make("Namespace", "team")
    up.kubectl("apply", "-n", "team", "-f", SAMPLES / "ray-cluster.sample.yaml")
    wait_for("a head", lambda: up.get("pods", "-n", "team")["items"])
    up.kubectl("delete", "namespace", "team", "--timeout=90s", timeout=100)
    assert up.kubectl("get", "pods", "-A", "-o", "name").stdout == ""


def test_job_controller_runs_plain_jobs(up):
    up.apply("""
apiVersion: batch/v1
kind: Job
metadata: {name: three}
spec:
  completions: 3
  parallelism: 2
  template:
    spec:
      restartPolicy: Never
      containers: [{name: c, image: "rayproject/ray:2.60.0", command: [sh, -c, "echo done"]}]
""")
    up.kubectl("wait", "--for=condition=Complete", "job/three", "--timeout=60s")
    job = up.get("job", "three")
    assert job["status"]["succeeded"] == 3
    assert "done" in up.kubectl("logs", "job/three").stdout
    up.kubectl("delete", "job", "three", "--timeout=30s")
    wait_for("its Pods to be gone", lambda: not up.get("pods")["items"])


@pytest.mark.parametrize("limit", [0, 1])
def test_failing_job_stops_at_its_backoff_limit(up, limit):
    up.apply(f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: bad}}
spec:
  backoffLimit: {limit}
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: c, image: "rayproject/ray:2.60.0", command: [sh, -c, "exit 3"]}}]
""")
    up.kubectl("wait", "--for=condition=Failed", "job/bad", "--timeout=60s")
    status = up.get("job", "bad")["status"]
    assert status["failed"] == limit + 1
    assert any(c["reason"] == "BackoffLimitExceeded" for c in status["conditions"])
