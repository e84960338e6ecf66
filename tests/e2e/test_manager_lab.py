"""The manager on a real kube-apiserver: leader election, outages, webhooks, stored definitions, metrics.

Time bounds are unit tests on virtual time (src/kube/leader_election_test.cc). Here two managers must never
write at the same time, and what must happen must happen.
"""
import base64
import json
import os
import re
import signal
import subprocess
import threading

import pytest

from lab import Lab, cluster


@pytest.fixture(scope="module")
def lab():
    lab = Lab()
    try:
        lab.up()
        yield lab
    finally:
        lab.down()


@pytest.fixture(autouse=True)
def clean(lab):
    yield
    for process in lab.processes:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.wait()
    lab.processes.clear()
    for kind in ("rayclusters", "validatingwebhookconfigurations", "leases"):
        lab.kubectl("delete", kind, "--all", "--wait=false", check=False)
    lab.wait("the RayClusters to go", lambda: not lab.get("rayclusters")["items"])
    # The collector of garbage asks less and less often for an owner after an outage: it may take minutes.
    lab.kubectl("delete", "pods", "--all", "--force", check=False)
    lab.wait("the Pods to go", lambda: not lab.get("pods")["items"])


class Users:
    """Makes RayClusters all the time, so that whoever leads has something to write."""

    def __init__(self, lab):
        self.lab, self.stop, self.made = lab, threading.Event(), 0
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.stop.wait(0.3):
            self.lab.apply(cluster(f"c{self.made}"), check=False)
            self.made += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def holder(lab):
    found = lab.kubectl("get", "lease", "ray-operator-leader", "-o", "jsonpath={.spec.holderIdentity}", check=False)
    return found.stdout


def take_over(lab, tmp_path, leader, end_leader):
    """Starts a follower, ends the leader in some way, and waits until the follower has written."""
    lab.wait("the first leader to write", lambda: lab.writes("mgr-a"))
    first = holder(lab)
    lab.manager(tmp_path, "--leader-election-namespace=default", user="mgr-b")
    before = len(lab.writes("mgr-a"))
    lab.wait("the leader to go on", lambda: len(lab.writes("mgr-a")) > before)
    assert not lab.writes("mgr-b")
    end_leader(leader)
    lab.wait("the follower to write", lambda: lab.writes("mgr-b"))
    assert holder(lab) != first


def never_two_writers(lab, since):
    old = [time for time in lab.writes("mgr-a") if time > since[0]]
    new = [time for time in lab.writes("mgr-b") if time > since[1]]
    assert old and new and max(old) < min(new)


@pytest.fixture
def fresh_audit(lab):
    """The log of this test alone."""
    lab.audit.write_text("")
    return ("", "")


def test_leader_killed(lab, tmp_path, fresh_audit):
    leader = lab.manager(tmp_path, "--leader-election-namespace=default")
    with Users(lab):
        take_over(lab, tmp_path, leader, lambda process: process.kill())
    never_two_writers(lab, fresh_audit)


def test_leader_stopped(lab, tmp_path, fresh_audit):
    leader = lab.manager(tmp_path, "--leader-election-namespace=default")
    with Users(lab):
        take_over(lab, tmp_path, leader, lambda process: process.send_signal(signal.SIGSTOP))
        leader.send_signal(signal.SIGCONT)
        assert leader.wait(30) == 1
        written = len(lab.writes("mgr-b"))
        lab.wait("the new leader to go on", lambda: len(lab.writes("mgr-b")) > written)
    never_two_writers(lab, fresh_audit)
    assert "leader election lost" in leader.log.read_text()


def test_leader_partitioned(lab, tmp_path, fresh_audit):
    far, wire = f"{lab.name}f", f"v{os.getpid()}"

    def ip(*args):
        subprocess.run(["ip", *args], check=True, capture_output=True)

    ip("netns", "add", far)
    try:
        ip("link", "add", f"{wire}a", "netns", lab.name, "type", "veth", "peer", "name", f"{wire}b", "netns", far)
        for netns, end, address in ((lab.name, "a", "10.99.0.1/24"), (far, "b", "10.99.0.2/24")):
            ip("-n", netns, "addr", "add", address, "dev", f"{wire}{end}")
            ip("-n", netns, "link", "set", f"{wire}{end}", "up")
        ip("-n", far, "link", "set", "lo", "up")
        config = lab.kubeconfig(tmp_path, server="https://10.99.0.1:6443", **{"tls-server-name": "localhost"})
        leader = lab.manager(tmp_path, "--leader-election-namespace=default", netns=far, kubeconfig=config)
        with Users(lab):
            take_over(lab, tmp_path, leader, lambda _: ip("-n", far, "link", "set", f"{wire}b", "down"))
            assert leader.wait(30) == 1  # by itself, cut off as it is
            ip("-n", far, "link", "set", f"{wire}b", "up")
        never_two_writers(lab, fresh_audit)
    finally:
        subprocess.run(["ip", "netns", "del", far], capture_output=True)


def cpu_seconds(process):
    fields = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_outage(lab, tmp_path):
    """The API server goes away, for longer than back-offs stay short, and comes back."""
    manager = lab.manager(tmp_path, "--enable-leader-election=false")
    lab.apply(cluster("before"))
    lab.wait("the first head", lambda: lab.get("pods", "-l", "ray.io/cluster=before")["items"])
    lab.stop_apiserver()
    used = cpu_seconds(manager)
    with pytest.raises(subprocess.TimeoutExpired):
        manager.wait(40)
    assert cpu_seconds(manager) - used < 4  # of forty
    lab.start_apiserver()
    lab.apply(cluster("after"))
    lab.wait("the second head", lambda: lab.get("pods", "-l", "ray.io/cluster=after")["items"], 20)
    manager.terminate()
    assert manager.wait(30) == 0


@pytest.mark.parametrize("wrong, text", [("token", "Unauthorized"), ("certificate-authority", "TLS with")])
def test_wrong_credentials(lab, tmp_path, wrong, text):
    certificate(tmp_path, "another")
    changes = {wrong: "expired" if wrong == "token" else str(tmp_path / "tls.crt")}
    manager = lab.manager(tmp_path, "--enable-leader-election=false", kubeconfig=lab.kubeconfig(tmp_path, **changes))
    assert manager.wait(30) == 1
    line = json.loads(manager.log.read_text().splitlines()[-1])
    assert line["msg"] == "unable to detect cluster type (OpenShift vs Kubernetes)"
    assert text in line["error"]


def test_HM_01(lab, tmp_path):
    """A stored definition without a field of ours: refused before any object is touched."""
    lab.apply(cluster("c"))
    whole = lab.get("crd", "rayclusters.ray.io")
    pruned = json.loads(json.dumps(whole))
    for version in pruned["spec"]["versions"]:
        groups = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["workerGroupSpecs"]
        groups["items"]["properties"].pop("numOfHosts", None)
    put = ("replace", "-f", "-")
    lab.kubectl(*put, input=json.dumps(pruned))
    try:
        lab.audit.write_text("")

        def refused():
            manager = lab.manager(tmp_path, "--enable-leader-election=false")
            try:
                return manager.wait(5) == 1 and manager
            except subprocess.TimeoutExpired:  # the API server still serves the old schema
                manager.kill()
                return None

        manager = lab.wait("the manager to refuse", refused)
        error = json.loads(manager.log.read_text().splitlines()[-1])["error"]
        assert "rayclusters.ray.io lacks 1 field" in error and "numOfHosts" in error
        assert "kubectl apply --server-side --force-conflicts -f deploy/crd/ray.io_rayclusters.yaml" in error
    finally:
        fresh = lab.get("crd", "rayclusters.ray.io")
        whole["metadata"] = fresh["metadata"]
        lab.kubectl(*put, input=json.dumps(whole))
        lab.wait("the whole definition to be served", lambda: lab.kubectl(
            "create", "--dry-run=server", "--validate=strict", "-f", "-", check=False,
            input=json.dumps(cluster("x", workerGroupSpecs=[{**group("g"), "numOfHosts": 1}]))).returncode == 0)


def certificate(folder, name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-addext",
                    "subjectAltName=IP:127.0.0.1", "-keyout", folder / "tls.key", "-out", folder / "tls.crt"],
                   check=True, capture_output=True)
    return base64.b64encode((folder / "tls.crt").read_bytes()).decode()


def webhooks(ca):
    def one(kind):
        return {"name": f"v{kind}.kb.io", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Fail", "timeoutSeconds": 10,
                "clientConfig": {"url": f"https://127.0.0.1:9443/validate-ray-io-v1-{kind}", "caBundle": ca},
                "rules": [{"apiGroups": ["ray.io"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                           "resources": [f"{kind}s"]}]}
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "ours"}, "webhooks": [one(kind) for kind in ("raycluster", "rayjob", "rayservice")]}


def group(name):
    return {"groupName": name, "replicas": 1, "minReplicas": 0, "maxReplicas": 1, "rayStartParams": {},
            "template": {"spec": {"containers": [{"name": "w", "image": "i"}]}}}


def job(name):
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name, "namespace": "default"},
            "spec": {"entrypoint": "x", "rayClusterSpec": cluster("c")["spec"]}}


def service(name, **annotations):
    return {"apiVersion": "ray.io/v1", "kind": "RayService",
            "metadata": {"name": name, "namespace": "default", "annotations": annotations},
            "spec": {"rayClusterConfig": cluster("c")["spec"]}}


REFUSED = {
    "cluster name": (cluster("1c"), "metadata.name: Invalid value: \"1c\""),
    "long cluster name": (cluster("c" * 54), "RayCluster name should be no more than 53 characters"),
    "equal groups": (cluster("c", workerGroupSpecs=[group("g"), group("g")]),
                     "worker group names must be unique"),
    "job name": (job("j" * 48), "metadata.name: Invalid value"),
    "service name": (service("1s"), "metadata.name: Invalid value: \"1s\""),
    "service timeout": (service("s", **{"ray.io/initializing-timeout": "soon"}), "metadata.name: Invalid value"),
}


def test_webhooks(lab, tmp_path):
    folder = tmp_path / "k8s-webhook-server/serving-certs"
    folder.mkdir(parents=True)
    ca = certificate(folder, "first")
    lab.manager(tmp_path, "--leader-election-namespace=default", ports=(18080, 18082),
                env={"ENABLE_WEBHOOKS": "true", "TMPDIR": str(tmp_path)})
    lab.wait("the manager", lambda: lab_get(lab, 18082, "/readyz") == "ok")
    lab.apply(webhooks(ca))

    def dry(document):
        return lab.kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(document), check=False)

    lab.wait("the webhook to be asked", lambda: dry(cluster("1c")).returncode != 0)
    for document in (cluster("c", workerGroupSpecs=[group("g"), group("h")]), job("j"), service("s")):
        done = dry(document)
        assert done.returncode == 0, done.stderr
    for name, (document, text) in REFUSED.items():
        done = dry(document)
        assert done.returncode != 0 and "is invalid" in done.stderr and text in done.stderr, (name, done.stderr)
    assert "spec.workerGroupSpecs[1]" in dry(REFUSED["equal groups"][0]).stderr

    lab.apply(cluster("c"))
    patch = json.dumps({"spec": {"workerGroupSpecs": [group("g"), group("g")]}})
    done = lab.kubectl("patch", "raycluster", "c", "--type=merge", "-p", patch, check=False)
    assert done.returncode != 0 and "worker group names must be unique" in done.stderr

    # Another certificate, by another authority: the next connection has it.
    lab.apply(webhooks(certificate(folder, "second")))
    lab.wait("the new certificate", lambda: dry(cluster("d")).returncode == 0)
    metrics = lab_get(lab, 18080, "/metrics")
    assert 'controller_runtime_webhook_requests_total{code="200",webhook="/validate-ray-io-v1-raycluster"}' in metrics
    assert "certwatcher_read_certificate_total 2" in metrics


def lab_get(lab, port, path):
    command, _ = lab.exec("curl", "-s", f"http://127.0.0.1:{port}{path}")
    return subprocess.run(command, text=True, capture_output=True, timeout=30).stdout


def test_PF_07(lab, tmp_path):
    """A restart writes nothing to what has not changed, and goes on at once."""
    first = lab.manager(tmp_path, "--enable-leader-election=false", ports=(18080, 18082))
    for number in range(20):
        lab.apply(cluster(f"c{number}", workerGroupSpecs=[group("g")]))
    lab.wait("all Pods", lambda: len(lab.get("pods")["items"]) == 40)
    lab.wait("rest", lambda: at_rest(lab))
    first.terminate()
    assert first.wait(30) == 0
    lab.audit.write_text("")
    lab.manager(tmp_path, "--enable-leader-election=false", user="mgr-b", ports=(18080, 18082))
    lab.apply(cluster("new"))
    lab.wait("the new head", lambda: lab.get("pods", "-l", "ray.io/cluster=new")["items"])
    lab.wait("rest", lambda: at_rest(lab))
    about = {entry["objectRef"]["name"] for entry in lab.entries("mgr-b") if entry["verb"] != "create"}
    assert about <= {"new"}
    made = [entry for entry in lab.entries("mgr-b") if entry["verb"] == "create"]
    assert 0 < len(made) < 10  # of the new cluster's objects


def at_rest(lab):
    """Every cluster's status is of its present spec and Pods, and no controller has an object to look at."""
    told = all(c.get("status", {}).get("observedGeneration") == c["metadata"]["generation"] and c["status"].get("head")
               and c["status"].get("desiredWorkerReplicas", 0) == len(c["spec"].get("workerGroupSpecs", []))
               for c in lab.get("rayclusters")["items"])
    busy = re.findall(r"^(?:workqueue_depth|controller_runtime_active_workers)\{[^}]*\} (\S+)$", lab_get(lab, 18080, "/metrics"), re.M)
    return told and busy and not any(map(float, busy))


def test_metrics(lab, tmp_path):
    lab.manager(tmp_path, "--leader-election-namespace=default", "--enable-metrics=true", ports=(18080, 18082))
    lab.apply(cluster("c"))
    info = 'kuberay_cluster_info{name="c",namespace="default",owner_kind="None",uid="'
    page = lab.wait("the cluster's series", lambda: (text := lab_get(lab, 18080, "/metrics")) and info in text and text)
    for line in ('leader_election_master_status{name="ray-operator-leader"} 1',
                 'controller_runtime_reconcile_total{controller="raycluster",result="success"}',
                 'workqueue_depth{controller="rayjob",name="rayjob",priority="0"} 0',
                 'rest_client_requests_total{code="201",host="127.0.0.1:6443",method="POST"}',
                 'rest_client_request_duration_seconds_bucket{host="127.0.0.1:6443",verb="GET",le="0.005"}',
                 "process_resident_memory_bytes", "certwatcher_read_certificate_total 0"):
        assert line in page, line
    lab.kubectl("delete", "raycluster", "c")
    lab.wait("the series to end", lambda: info not in lab_get(lab, 18080, "/metrics"))
