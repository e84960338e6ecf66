"""A real Kueue beside the operator, on the API server of cluster.py.

    tests/install/kueue.py build            Kueue and its manifests from its Go module, into ~/.cache/manta-tools
    python3 -m pytest tests/install/test_kueue.py

Not part of `make setup`: the build takes ten minutes of two cores. test_kueue.py is skipped where it was not built.
"""
import base64
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import yaml

VERSION = "v0.17.0"
FRAMEWORKS = ["ray.io/rayjob", "ray.io/raycluster", "ray.io/rayservice", "batch/job"]
TOOLS = pathlib.Path(os.environ.get("MANTA_TOOLS", pathlib.Path.home() / ".cache/manta-tools"))
BINARY = TOOLS / "bin/kueue"
MANIFESTS = TOOLS / "kueue"
WEBHOOK_PORT = 19443
PROBE_PORT = 19081


def build():
    """The manager, and of the module's folder config the definitions and the webhooks."""
    with tempfile.TemporaryDirectory() as folder:
        def go(*command):
            return subprocess.run(["go", *command], cwd=folder, env={**os.environ, "CGO_ENABLED": "0"}, check=True,
                                  text=True, stdout=subprocess.PIPE).stdout
        go("mod", "init", "kueue-tool")
        go("get", f"sigs.k8s.io/kueue/cmd/kueue@{VERSION}")
        go("build", "-mod=mod", "-trimpath", "-ldflags=-s -w", "-o", "kueue", "sigs.k8s.io/kueue/cmd/kueue")
        module = pathlib.Path(go("list", "-mod=mod", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kueue").strip())
        BINARY.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(pathlib.Path(folder) / "kueue", BINARY)
    MANIFESTS.mkdir(parents=True, exist_ok=True)
    components = module / "config/components"
    for path in [*(components / "crd/bases").glob("*.yaml"), components / "webhook/manifests.yaml"]:
        (MANIFESTS / path.name).write_bytes(path.read_bytes())


def wanted_webhook(hook):
    """Those of the kinds that are there, and of frameworks that are on."""
    return all(group in ("kueue.x-k8s.io", "ray.io") or (group == "batch" and "jobs" in rule["resources"])
               for rule in hook["rules"] for group in rule["apiGroups"])


def webhooks(certificate):
    """Kueue's webhook configurations, reached at this machine's loopback."""
    bundle = base64.b64encode(certificate.read_bytes()).decode()
    for configuration in yaml.safe_load_all((MANIFESTS / "manifests.yaml").read_text()):
        hooks = [hook for hook in configuration["webhooks"] if wanted_webhook(hook)]
        for hook in hooks:
            path = hook["clientConfig"]["service"]["path"]
            hook["clientConfig"] = {"url": f"https://127.0.0.1:{WEBHOOK_PORT}{path}", "caBundle": bundle}
        name = "kueue-" + configuration["metadata"]["name"]
        yield {**configuration, "metadata": {"name": name}, "webhooks": hooks}


def queue(name, cpu):
    """A ClusterQueue of so many CPUs, in which whoever has the higher priority comes first."""
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": name}, "spec": {
        "namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [{"name": "pool-a", "resources": [
            {"name": "cpu", "nominalQuota": cpu}, {"name": "memory", "nominalQuota": "100Gi"}]}]}]}}


FLAVOR = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "pool-a"},
          "spec": {"nodeLabels": {"pool": "a"}, "tolerations": [{"key": "pool", "operator": "Exists"}]}}
URGENT = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": "urgent"},
          "value": 1000}


# Kueue reads the certificate of its metrics in /etc, whether it serves them or not.
UNDER_ETC = """
mkdir -p "$0/etc/kueue/metrics/certs" "$0/work"
cp "$0/tls.crt" "$0/tls.key" "$0/etc/kueue/metrics/certs"
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$0/etc,workdir=$0/work" /etc
exec "$@"
"""


@contextlib.contextmanager
def running(cluster):
    """Kueue, started and answering; its log is in cluster.folder."""
    folder = cluster.folder / "kueue"
    folder.mkdir()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9", "-subj", "/CN=kueue",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "tls.key", "-out", folder / "tls.crt"],
                   check=True, capture_output=True)
    config = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
              "health": {"healthProbeBindAddress": f"127.0.0.1:{PROBE_PORT}"}, "metrics": {"bindAddress": "0"},
              "webhook": {"host": "127.0.0.1", "port": WEBHOOK_PORT, "certDir": str(folder)},
              "leaderElection": {"leaderElect": False}, "internalCertManagement": {"enable": False},
              "integrations": {"frameworks": FRAMEWORKS}}
    (folder / "config.yaml").write_text(json.dumps(config))
    for path in sorted(MANIFESTS.glob("kueue.x-k8s.io_*.yaml")):
        cluster.kubectl("apply", "--server-side", "-f", path)
    cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    cluster.kubectl("create", "namespace", "kueue-system", check=False)
    log = open(folder / "kueue.log", "wb")
    process = subprocess.Popen(
        cluster.command("unshare", "--mount", "sh", "-ec", UNDER_ETC, folder, BINARY, "--config", folder / "config.yaml",
                        "--feature-gates=VisibilityOnDemand=false,ElasticJobsViaWorkloadSlices=true"),
        env=cluster.environment(POD_NAMESPACE="kueue-system"), stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 120
        while cluster.run("curl", "-sf", f"http://127.0.0.1:{PROBE_PORT}/readyz", check=False).returncode:
            assert process.poll() is None and time.monotonic() < deadline, (folder / "kueue.log").read_text()[-3000:]
            time.sleep(0.5)
        cluster.apply(list(webhooks(folder / "tls.crt")), "--validate=ignore")
        yield folder / "kueue.log"
    finally:
        for configuration in webhooks(folder / "tls.crt"):  # nobody answers them any more
            cluster.kubectl("delete", configuration["kind"], configuration["metadata"]["name"], check=False)
        process.terminate()
        process.wait(30)
        log.close()


if __name__ == "__main__":
    if sys.argv[1:] != ["build"]:
        sys.exit(__doc__)
    build()
