"""RayClusters with real Ray whose processes come, go and die: the autoscaler, a lost head, who may connect."""
import hashlib
import json
import subprocess
import textwrap

import pytest
import yaml
from conftest import SAMPLES, events_of, wait_for

RAY = "rayproject/ray:2.60.0"
SLOW = 300  # a Ray start is ten seconds of two cores, and a test may start several at once


def cluster(name, head=None, group=None, spec=None):
    """The sample's cluster with no CPUs on its head, changed by these mappings."""
    document = yaml.safe_load((SAMPLES / "ray-cluster.sample.yaml").read_text())
    document["metadata"]["name"] = name
    whole = document["spec"]
    whole["headGroupSpec"]["rayStartParams"] = {"num-cpus": "0"}
    whole["headGroupSpec"].update(head or {})
    whole["workerGroupSpecs"][0].update(group or {})
    whole.update(spec or {})
    return document


def containers(document):
    """The first container of the head and of each group."""
    groups = [document["spec"]["headGroupSpec"], *document["spec"]["workerGroupSpecs"]]
    return [group["template"]["spec"]["containers"][0] for group in groups]


def pods(manta, name, kind):
    return [pod for pod in manta.get("pods", "-l", f"ray.io/cluster={name},ray.io/node-type={kind}")["items"]
            if "deletionTimestamp" not in pod["metadata"]]


def head_of(manta, name):
    return pods(manta, name, "head")[0]["metadata"]["name"]


def python(manta, pod, code, prefix=(), check=True, timeout=SLOW):
    """Runs Python in a Pod's Ray container; `prefix`: a command that runs it."""
    return manta.kubectl("exec", pod, "-c", "ray-head", "--", *prefix, "python", "-c", textwrap.dedent(code),
                         check=check, timeout=timeout)


def start(manta, document):
    manta.apply(yaml.safe_dump(document))
    manta.wait(f"raycluster/{document['metadata']['name']}", ".status.state", "ready", SLOW)


USE_CPUS = """
    import ray, sys
    ray.init(address="auto", logging_level="ERROR", log_to_driver=False)

    @ray.remote(num_cpus=1)
    class Busy:
        def where(self):
            return ray.util.get_node_ip_address()

    actors = [Busy.remote() for _ in range({count})]
    print("at", *sorted(ray.get([a.where.remote() for a in actors])))
"""


def use_cpus(manta, name, count):
    """Runs an actor of one CPU each; the addresses of the nodes they ran on. Ray writes between the lines."""
    said = python(manta, head_of(manta, name), USE_CPUS.format(count=count)).stdout
    return next(line.split()[1:] for line in said.splitlines() if line.startswith("at "))


@pytest.mark.long
def test_LM_06_autoscaler_v2_follows_the_work_and_returns_to_none(up):
    """Five times up and down, to four workers at most; the first time from none to two."""
    start(up, cluster("scaled", group={"replicas": 0, "minReplicas": 0, "maxReplicas": 4}, spec={
        "enableInTreeAutoscaling": True,
        "autoscalerOptions": {"version": "v2", "idleTimeoutSeconds": 2}}))
    assert pods(up, "scaled", "worker") == []
    for count in (2, 4, 1, 3, 2):
        addresses = use_cpus(up, "scaled", count)
        assert len(set(addresses)) == count, f"one worker for each: {addresses}"
        # The work has ended with its driver; so do the workers.
        wait_for("no worker", lambda: not pods(up, "scaled", "worker"), SLOW, 1)
        up.wait("raycluster/scaled", ".spec.workerGroupSpecs[0].replicas", "0", SLOW)
    restarts = [c["restartCount"] for c in pods(up, "scaled", "head")[0]["status"]["containerStatuses"]]
    assert restarts == [0, 0], "neither Ray nor the autoscaler had to start again"


# The autoscaler looks at the Pods, decides, and sends a patch. This holds each patch that names workers in between.
HOLD_PATCHES = """
import json, pathlib, time
import requests

held, send = pathlib.Path("/held"), requests.patch

def hold(url, data=None, **more):
    changes = [change["value"] for change in json.loads(data) if isinstance(change, dict)]
    named = [name for value in changes if isinstance(value, dict) for name in value.get("workersToDelete", [])]
    if named and (held / "armed").exists():
        (held / "named.new").write_text(json.dumps(named))
        (held / "named.new").rename(held / "named")
        while (held / "armed").exists() and not (held / "go").exists():
            time.sleep(0.05)
        (held / "go").unlink(missing_ok=True)
    return send(url, data, **more)

requests.patch = hold
"""


@pytest.mark.long
def test_AS_11_workers_that_die_while_the_autoscaler_names_them_leave_no_survivor(up, tmp_path):
    """Fifty times: a worker goes, and its successor comes, between the autoscaler's look at it and its patch."""
    (tmp_path / "sitecustomize.py").write_text(HOLD_PATCHES)
    tmp_path.chmod(0o777)  # the container's user is another
    document = cluster("raced", group={"replicas": 0, "minReplicas": 0, "maxReplicas": 4}, spec={
        "enableInTreeAutoscaling": True,
        "autoscalerOptions": {"version": "v2", "idleTimeoutSeconds": 2,
                              "env": [{"name": "PYTHONPATH", "value": "/held"}],
                              "volumeMounts": [{"name": "held", "mountPath": "/held"}]}})
    document["spec"]["headGroupSpec"]["template"]["spec"]["volumes"] = [
        {"name": "held", "hostPath": {"path": str(tmp_path)}}]
    start(up, document)
    armed, named, go = (tmp_path / name for name in ("armed", "named", "go"))
    names = lambda: [pod["metadata"]["name"] for pod in pods(up, "raced", "worker")]
    replicas = lambda: up.get("raycluster", "raced")["spec"]["workerGroupSpecs"][0]["replicas"]
    killed = 0
    while killed < 50:
        if not names():
            armed.unlink(missing_ok=True)  # to scale up it must not be held
            use_cpus(up, "raced", 4)
            named.unlink(missing_ok=True)
            armed.touch()
        wait_for("workers to be named, or gone", lambda: named.exists() or not names(), SLOW)
        if not named.exists():
            continue
        victims = set(json.loads(named.read_text())) & set(names())
        named.unlink()
        if victims:
            up.kubectl("delete", "pod", *victims, "--grace-period=0", "--force")
        wait_for("their successors", lambda: not victims & set(names()) and len(names()) >= replicas())
        killed += len(victims)
        go.touch()
    armed.unlink()
    wait_for("no worker", lambda: not names(), SLOW, 1)
    up.wait("raycluster/raced", ".spec.workerGroupSpecs[0].replicas", "0", SLOW)
    raced = up.get("raycluster", "raced")
    assert not [event["message"] for event in events_of(up, raced) if event["reason"].startswith("FailedToDelete")]
    assert len(use_cpus(up, "raced", 1)) == 1, "and it goes on scaling"


@pytest.mark.long
def test_killed_head_comes_back_and_its_workers_join_it(up):
    start(up, cluster("killed"))
    first = pods(up, "killed", "head")[0]["metadata"]["uid"]
    up.kubectl("delete", "pod", head_of(up, "killed"), "--grace-period=0", "--force")
    wait_for("another head", lambda: [p for p in pods(up, "killed", "head")
                                      if p["metadata"]["uid"] != first], SLOW)
    up.wait("raycluster/killed", ".status.conditions[?(@.type=='HeadPodReady')].status", "True", SLOW)
    assert len(use_cpus(up, "killed", 1)) == 1


REDIS = f"""
apiVersion: v1
kind: Pod
metadata: {{name: redis, labels: {{app: redis}}}}
spec:
  containers:
  - name: redis
    image: {RAY}
    command: [redis-server, --requirepass, open, --save, "", --bind, 0.0.0.0, --dir, /tmp]
    ports: [{{containerPort: 6379}}]
    readinessProbe: {{tcpSocket: {{port: 6379}}}}
---
apiVersion: v1
kind: Service
metadata: {{name: redis}}
spec: {{selector: {{app: redis}}, ports: [{{port: 6379}}]}}
"""


def test_detached_actor_survives_its_head_with_redis(up):
    up.apply(REDIS)
    up.kubectl("wait", "--for=condition=Ready", "pod/redis", "--timeout=60s")
    redis = lambda *words: up.kubectl("exec", "redis", "--", "redis-cli", "-a", "open", "--no-auth-warning",
                                      *words).stdout.strip()
    start(up, cluster("durable", spec={"gcsFaultToleranceOptions": {
        "redisAddress": "redis:6379", "redisPassword": {"value": "open"}}}))
    python(up, head_of(up, "durable"), """
        import ray
        ray.init(address="auto", namespace="kept", logging_level="ERROR", log_to_driver=False)

        @ray.remote(num_cpus=1, max_restarts=-1)
        class Counter:
            count = 0
            def add(self):
                self.count += 1
                return self.count

        counter = Counter.options(name="counter", lifetime="detached").remote()
        assert ray.get(counter.add.remote()) == 1
        """)
    assert int(redis("dbsize")) > 0
    worker = pods(up, "durable", "worker")[0]["metadata"]["uid"]
    first = pods(up, "durable", "head")[0]["metadata"]["uid"]
    up.kubectl("delete", "pod", head_of(up, "durable"), "--grace-period=0", "--force")
    wait_for("another head", lambda: [p for p in pods(up, "durable", "head")
                                      if p["metadata"]["uid"] != first], SLOW)
    up.wait("raycluster/durable", ".status.conditions[?(@.type=='HeadPodReady')].status", "True", SLOW)
    said = python(up, head_of(up, "durable"), """
        import ray
        ray.init(address="auto", namespace="kept", logging_level="ERROR", log_to_driver=False)
        print(ray.get(ray.get_actor("counter").add.remote(), timeout=120))
        """).stdout
    assert said.strip() == "2", "the same actor, with what it had counted"
    assert pods(up, "durable", "worker")[0]["metadata"]["uid"] == worker
    up.kubectl("delete", "raycluster", "durable", "--timeout=120s")
    assert redis("dbsize") == "0", "what the cluster had stored goes with it"


PASSWORD = "p'a\"s$s\\`w"  # passes through a shell and a Python text


def redis_over_tls(up, folder):
    """Service redis speaks TLS only and lets in user u with PASSWORD only; calls it as that user."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=redis",
                    "-addext", "subjectAltName=DNS:redis", "-keyout", folder / "tls.key", "-out", folder / "tls.crt"],
                   check=True, capture_output=True)
    digest = hashlib.sha256(PASSWORD.encode()).hexdigest()
    (folder / "users").write_text(f"user default off\nuser u on #{digest} ~* &* +@all\n")
    up.apply(yaml.safe_dump({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "redis-tls"}, "stringData": {
        name: (folder / name).read_text() for name in ("tls.key", "tls.crt", "users")}}))
    pod, service = yaml.safe_load_all(REDIS)
    container = pod["spec"]["containers"][0]
    container["command"] = ["redis-server", "--port", "0", "--tls-port", "6379", "--tls-auth-clients", "no",
                            "--tls-cert-file", "/tls/tls.crt", "--tls-key-file", "/tls/tls.key", "--aclfile",
                            "/tls/users", "--save", "", "--bind", "0.0.0.0", "--dir", "/tmp"]
    container["volumeMounts"] = [{"name": "tls", "mountPath": "/tls"}]
    pod["spec"]["volumes"] = [{"name": "tls", "secret": {"secretName": "redis-tls"}}]
    up.apply(yaml.safe_dump_all([pod, service]))
    up.kubectl("wait", "--for=condition=Ready", "pod/redis", "--timeout=60s")
    return lambda *words: up.kubectl("exec", "redis", "--", "redis-cli", "--tls", "--cacert", "/tls/tls.crt", "--user", "u",
                                     "--pass", PASSWORD, "--no-auth-warning", *words).stdout.strip()


def test_FT_11_a_password_of_shell_characters_opens_redis_to_head_and_clean_up(up, tmp_path):
    redis = redis_over_tls(up, tmp_path)
    document = cluster("guarded", spec={"gcsFaultToleranceOptions": {
        "redisAddress": "rediss://redis:6379", "redisUsername": {"value": "u"}, "redisPassword": {"value": PASSWORD}}})
    head = document["spec"]["headGroupSpec"]["template"]["spec"]
    head["volumes"] = [{"name": "redis-tls", "secret": {"secretName": "redis-tls"}}]
    head["containers"][0]["volumeMounts"] = [{"name": "redis-tls", "mountPath": "/redis-tls"}]
    head["containers"][0]["env"] = [{"name": "RAY_REDIS_CA_CERT", "value": "/redis-tls/tls.crt"}]
    start(up, document)
    assert int(redis("dbsize")) > 0
    everything = pods(up, "guarded", "head") + pods(up, "guarded", "worker")
    logs = [up.kubectl("logs", pod["metadata"]["name"], "--all-containers").stdout for pod in everything]
    up.kubectl("delete", "raycluster", "guarded", "--wait=false")
    cleanup = wait_for("the clean-up", lambda: pods(up, "guarded", "redis-cleanup"), SLOW)[0]
    logs.append(up.kubectl("logs", "-f", cleanup["metadata"]["name"]).stdout)
    wait_for("the cluster to go", lambda: not up.get("rayclusters")["items"], SLOW)
    assert redis("dbsize") == "0", "the clean-up was let in, too"
    for container in (c for pod in [*everything, cleanup] for c in pod["spec"]["containers"]):
        assert PASSWORD not in "\n".join(container["command"] + container["args"])
    assert PASSWORD not in "\n".join(logs) + up.log(lines=1_000_000)


CONNECT = """
    import ray
    ray.init(address="auto", logging_level="ERROR", log_to_driver=False)
    print("connected", len([n for n in ray.nodes() if n["Alive"]]))
"""


def test_token_auth_refuses_who_has_none(up):
    start(up, cluster("guarded", spec={"authOptions": {"mode": "token"}}))
    head = head_of(up, "guarded")
    assert "connected 2" in python(up, head, CONNECT).stdout
    refused = python(up, head, CONNECT, ("timeout", "60", "env", "-u", "RAY_AUTH_TOKEN", "-u", "RAY_AUTH_MODE"),
                     check=False)
    assert refused.returncode != 0 and "connected" not in refused.stdout
    wrong = python(up, head, CONNECT, ("timeout", "60", "env", "RAY_AUTH_TOKEN=" + "0" * 32), check=False)
    assert wrong.returncode != 0 and "connected" not in wrong.stdout
    said = python(up, head, """
        import json, os, urllib.error, urllib.request
        def status(headers):
            try:
                return urllib.request.urlopen(urllib.request.Request(
                    "http://127.0.0.1:8265/api/jobs/", headers=headers)).status
            except urllib.error.HTTPError as error:
                return error.code
        print(json.dumps([status({}), status({"Authorization": "Bearer " + os.environ["RAY_AUTH_TOKEN"]})]))
        """).stdout
    without, with_token = json.loads(said)
    assert without in (401, 403) and with_token == 200


# As Ray's documentation has it: each Pod signs a certificate for its own address with the cluster's authority.
MAKE_CERTIFICATE = """
set -e
openssl req -newkey rsa:2048 -nodes -subj /CN=ray -keyout /tls/tls.key -out /tls/request
printf 'subjectAltName=DNS:localhost,DNS:%s,IP:127.0.0.1,IP:%s\\n' "${FQ_RAY_IP:-localhost}" "$POD_IP" > /tls/names
openssl x509 -req -in /tls/request -CA /ca/ca.crt -CAkey /ca/ca.key -CAcreateserial -CAserial /tls/serial \\
  -days 2 -extfile /tls/names -out /tls/tls.crt
cp /ca/ca.crt /tls/
"""


@pytest.mark.long
def test_tls_between_nodes(up, tmp_path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test-ca",
                    "-keyout", tmp_path / "ca.key", "-out", tmp_path / "ca.crt"], check=True, capture_output=True)
    up.apply(yaml.safe_dump({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ca"}, "stringData": {
        name: (tmp_path / name).read_text() for name in ("ca.key", "ca.crt")}}))
    document = cluster("private")
    address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    for group in (document["spec"]["headGroupSpec"], *document["spec"]["workerGroupSpecs"]):
        pod = group["template"]["spec"]
        pod["volumes"] = [{"name": "tls", "emptyDir": {}}, {"name": "ca", "secret": {"secretName": "ca"}}]
        pod["initContainers"] = [{
            "name": "make-certificate", "image": RAY, "command": ["sh", "-c", MAKE_CERTIFICATE], "env": [address],
            "volumeMounts": [{"name": "tls", "mountPath": "/tls"}, {"name": "ca", "mountPath": "/ca"}]}]
        ray = pod["containers"][0]
        ray["env"] = [{"name": "RAY_USE_TLS", "value": "1"}, *(
            {"name": f"RAY_TLS_{name}", "value": f"/tls/{file}"} for name, file in (
                ("SERVER_CERT", "tls.crt"), ("SERVER_KEY", "tls.key"), ("CA_CERT", "ca.crt")))]
        ray["volumeMounts"] = [{"name": "tls", "mountPath": "/tls"}]
    start(up, document)
    head = head_of(up, "private")
    wait_for("both nodes", lambda: "connected 2" in python(up, head, CONNECT).stdout, SLOW)
    assert len(use_cpus(up, "private", 1)) == 1
    plain = python(up, head, CONNECT, ("timeout", "60", "env", "RAY_USE_TLS=0"), check=False)
    assert plain.returncode != 0 and "connected" not in plain.stdout


def test_LM_01_sample_on_a_small_machine_runs_and_too_small_a_limit_is_said(up):
    """The sample as it is; and one whose head may have less memory than Ray needs at all."""
    small = cluster("small", group={"replicas": 0})
    for container in containers(small):
        container["resources"] = {"limits": {"cpu": "1", "memory": "300Mi"}}
    up.kubectl("apply", "-f", SAMPLES / "ray-cluster.sample.yaml")
    start(up, small)
    up.wait("raycluster/raycluster-sample", ".status.state", "ready", SLOW)
    for name in ("small", "raycluster-sample"):
        head = pods(up, name, "head")[0]
        assert [c["restartCount"] for c in head["status"]["containerStatuses"]] == [0]
        said = [e["message"] for e in events_of(up, head) if e["reason"] == "MemoryLimitRaised"]
        assert bool(said) == (name == "small"), said
        if said:
            assert "ray-head may have 300 MiB" in said[0] and "`ray start --head` needs" in said[0]
