"""The image's root file system: small, without a shell, and enough to run in."""
import json
import os
import re
import signal
import subprocess
import time

import pytest

from conftest import CRDS, DEPLOY, MANAGER, run
from rights import grant

LIMIT = 30 * 1000 * 1000


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    if not MANAGER.exists():
        pytest.skip(f"no {MANAGER}")
    folder = tmp_path_factory.mktemp("image") / "root"
    run(DEPLOY / "images/make_root.sh", MANAGER, folder)
    return folder


@pytest.fixture
def contained(root):
    """Command line of the image's program as a container runtime starts it: its own read-only root, 65532:65532."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    enter = ('mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && '
             'exec setpriv --no-new-privs chroot --userspec=65532:65532 "$0" /manager "$@"')
    return ["unshare", "--mount", "sh", "-c", enter, str(root)]


def files(root):
    return [p for p in root.rglob("*") if p.is_file()]


def test_small(root):
    assert sum(p.stat().st_size for p in files(root)) < LIMIT


def test_holds_one_program(root):
    programs = [p for p in files(root) if os.access(p, os.X_OK) and ".so" not in p.name]
    assert [p.relative_to(root).as_posix() for p in programs] == ["manager"]
    assert not [p for p in files(root) if p.stat().st_mode & 0o6000], "no set-uid programs"


def test_starts(contained):
    done = run(*contained, "--help")
    assert "Usage of /manager" in done.stderr
    done = run(*contained, "--enable-leader-election=false", check=False, env={"PATH": os.environ["PATH"]})
    assert done.returncode == 1 and "kubeconfig" in done.stderr


def fetch(cluster, url):
    return cluster.run("curl", "-sS", "-m", "2", url, check=False).stdout


def test_leads_in_a_cluster(cluster, root, contained):
    """As the Deployment runs it: ServiceAccount, read-only root, leader election."""
    cluster.kubectl("apply", "--server-side", "-f", CRDS)
    kubeconfig = json.loads(grant(cluster).read_text())
    account = root / "var/run/secrets/kubernetes.io/serviceaccount"
    account.mkdir(parents=True, exist_ok=True)
    (account / "token").write_text(kubeconfig["users"][0]["user"]["token"])
    (account / "namespace").write_text("kuberay-system")
    (account / "ca.crt").write_bytes(open(kubeconfig["clusters"][0]["cluster"]["certificate-authority"], "rb").read())
    cluster.kubectl("delete", "lease", "ray-operator-leader", "--namespace", "kuberay-system", "--ignore-not-found")
    environment = {"PATH": os.environ["PATH"], "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}
    process = subprocess.Popen(cluster.command(*contained, "--metrics-addr=:18080", "--health-probe-bind-address=:18082",
                                               "--enable-metrics=true"),
                               env=environment, text=True, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        holder = ""
        while not holder and time.monotonic() < deadline and process.poll() is None:
            lease = cluster.kubectl("get", "lease", "ray-operator-leader", "--namespace", "kuberay-system", "-o", "json",
                                    check=False)
            holder = json.loads(lease.stdout)["spec"].get("holderIdentity") if lease.returncode == 0 else ""
            time.sleep(0.2)
        assert holder, process.stderr.read() if process.poll() is not None else "no leader"
        assert fetch(cluster, "http://127.0.0.1:18082/readyz") == "ok"
        assert "process_resident_memory_bytes" in fetch(cluster, "http://127.0.0.1:18080/metrics")
    finally:
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=40)
    assert process.returncode == 0, log
    assert not re.search("forbidden", log, re.I), log


# --- what it is made of ------------------------------------------------------------------------------

def test_sbom_lists_what_was_linked(root):
    document = json.loads((root / "sbom.spdx.json").read_text())
    assert document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0"
    for key in ("SPDXID", "name", "documentNamespace", "creationInfo"):
        assert document[key]
    by_id = {p["SPDXID"]: p for p in document["packages"]}
    for package in by_id.values():
        assert package["name"] and package["versionInfo"] and package["downloadLocation"]
    assert len(by_id) == len(document["packages"])
    bonds = {}
    for r in document["relationships"]:
        assert {r["spdxElementId"], r["relatedSpdxElement"]} <= by_id.keys() | {"SPDXRef-DOCUMENT"}
        bonds.setdefault(r["relationshipType"], set()).add(by_id[r["relatedSpdxElement"]]["name"])
    assert {"libssl-dev", "libnghttp2-dev", "libyaml-cpp-dev"} <= bonds["STATIC_LINK"]
    assert "libc6" in bonds["DYNAMIC_LINK"]
    for package in document["packages"][1:]:
        assert run("dpkg-query", "-W", "-f", "${Version}", package["name"]).stdout == package["versionInfo"]
