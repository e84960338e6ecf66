#!/usr/bin/env python3
"""The conformance scenarios, and those in scenarios/ beside this file, with the operator as its own ServiceAccount under
the shipped rights, and then whether what was granted and what was called are the same.

  rights.py CONFORMANCE [--only REGEX] [--operator build/bin/manager] [--jobs N] [--logs DIR]

Fails when a scenario of passing.txt does, when a call was refused, and, without --only, when a right was never used;
scenarios that are not in passing.txt then run for their calls alone.
What it cannot see used: `held` rights and `get` (see deploy/rbac/calls.yaml); test_rights.py and the runtime's own tests
look after those. Ends with "N passed, N failed".
"""
import argparse
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import yaml

from cluster import FOREIGN, Cluster
from conftest import CRDS, DEPLOY, MANAGER, TOP, helm_template

RIGHTS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
# Everything at once: each scenario starts the operator with other flags.
EVERY_SCHEDULER = {"batchScheduler": {"enabled": True}, "featureGates": [{"name": "KubernetesWAS", "enabled": True},
                                                                         {"name": "RayClusterReplaceLostHead",
                                                                          "enabled": True},
                                                                         {"name": "RayJobKeepLog", "enabled": True}]}
# The lab's API server does not serve this group.
UNSERVED = {"scheduling.k8s.io"}


def grant(cluster, values=None):
    """The ServiceAccount and its rights, as the chart has them; a kubeconfig that is it."""
    cluster.kubectl("create", "namespace", "kuberay-system", check=False)
    cluster.apply([o for o in helm_template("kuberay-operator", values) if o["kind"] in RIGHTS])
    return cluster.login()


def granted():
    """(group, resource, verb) -> whether a run must show it called."""
    calls = yaml.safe_load((DEPLOY / "rbac/calls.yaml").read_text())
    out = {}
    for entry in [*calls["operator"], *calls["leader_election"], *(e for p in calls["conditional"] for e in p["calls"])]:
        group, resource = entry["resource"].split("/", 1)
        for verb in entry.get("calls", []):
            out[group, resource, verb] = group not in UNSERVED
        for verb in ("list", "watch") if entry.get("cached") else ():
            out[group, resource, verb] = group not in UNSERVED
        for verb in [*entry.get("held", []), *(["get"] if entry.get("cached") else [])]:
            out.setdefault((group, resource, verb), False)
    return out


def conform(cluster, operator, logs, scenarios, *args):
    """Names of the scenarios that passed and that failed."""
    command = ["python3", cluster.conformance / "conform.py", "--crds", CRDS, "--operator", operator, "--logs", logs,
               *args, scenarios]
    process = subprocess.Popen(cluster.command(*command), env=cluster.environment(), text=True, stdout=subprocess.PIPE)
    text = ""
    for line in process.stdout:
        print(line, end="", flush=True)
        text += line
    process.wait()
    return re.findall(r"^(?:ok|recorded) +(\S+)", text, re.M), re.findall(r"^FAIL ([a-z0-9-]+)", text, re.M)


def ray_cluster(name, **spec):
    template = {"spec": {"containers": [{"name": "ray-head", "image": "rayproject/ray:2.52.0"}]}}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name},
            "spec": {"rayVersion": "2.52.0", "headGroupSpec": {"rayStartParams": {}, "template": template, **spec}}}


def beyond_the_scenarios(cluster, operator, logs):
    """Leader election, and OpenShift's Routes: to serve them makes any cluster OpenShift."""
    cluster.apply(FOREIGN)
    cluster.kubectl("create", "namespace", "beyond", check=False)
    with open(pathlib.Path(logs) / "beyond.log", "ab") as log:
        process = subprocess.Popen(cluster.command(
            *operator.split(), "--leader-election-namespace=kuberay-system", "--metrics-addr=:18080",
            "--feature-gates=RayClusterFollowEdits=true",
            "--health-probe-bind-address=:18082"), env=cluster.environment(), stdout=log, stderr=log)

    def until_called(*wanted):
        deadline = time.monotonic() + 60
        while set(wanted) - {c[:3] for c in cluster.calls()} and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.5)

    try:
        cluster.apply([ray_cluster("routed", enableIngress=True)], "--namespace", "beyond")
        until_called(("route.openshift.io", "routes", "create"), ("coordination.k8s.io", "leases", "update"),
                     ("", "events", "create"))
        cluster.apply([ray_cluster("routed", enableIngress=False)], "--namespace", "beyond")
        until_called(("route.openshift.io", "routes", "delete"))
    finally:
        process.terminate()
        process.wait(40)


def compare(calls, whole):
    """Complaints about what was called and granted."""
    rights = granted()
    shown = "{0[2]} {0[0]}/{0[1]}".format
    out = [f"refused: {shown(c)}" for c in sorted(calls) if not c[3]]
    used = {c[:3] for c in calls}
    out += [f"called, though calls.yaml does not say so: {shown(c)}" for c in sorted(used - set(rights))]
    unused = [f"granted, never called: {shown(r)}" for r, must in sorted(rights.items()) if must and r not in used]
    if not whole:
        print(*unused, sep="\n")
    return out + (unused if whole else [])


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("conformance")
    ap.add_argument("--only")
    ap.add_argument("--operator", default=MANAGER, type=pathlib.Path)
    ap.add_argument("--jobs", default=6)
    ap.add_argument("--logs", default=tempfile.mkdtemp(prefix="manta-rights-"))
    a = ap.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the API server goes with us
    passing = [line for line in (TOP / "tests/conformance/passing.txt").read_text().splitlines()
               if line and not line.startswith("#")]
    with Cluster(a.conformance) as cluster:
        operator = f"env KUBECONFIG={grant(cluster, EVERY_SCHEDULER)} {a.operator.resolve()}"
        theirs = (cluster.conformance / "scenarios", "--golden", cluster.conformance / "golden", "--deviations",
                  TOP / "tests/conformance/deviations.yaml")
        passed, failed = conform(cluster, operator, a.logs, *theirs, "--jobs", a.jobs, "--only",
                                 a.only or f"^({'|'.join(passing)})$")
        if failed:
            print("FLAKY if these pass now:", *failed)
            again, failed = conform(cluster, operator, a.logs, *theirs, "--jobs", 2, "--only", f"^({'|'.join(failed)})$")
            passed += again
        ours = conform(cluster, operator, a.logs, pathlib.Path(__file__).parent / "scenarios", "--record", f"{a.logs}/ours")
        passed, failed = passed + ours[0], failed + ours[1]
        if not a.only:
            others = {p.stem for p in (cluster.conformance / "scenarios").rglob("*.yaml")} - set(passing)
            if others:
                print("=== for their calls only:")
                conform(cluster, operator, a.logs, cluster.conformance / "scenarios", "--record", f"{a.logs}/others",
                        "--jobs", a.jobs, "--only", f"^({'|'.join(sorted(others))})$")
        beyond_the_scenarios(cluster, operator, a.logs)
        complaints = compare(cluster.calls(), whole=not a.only)
    print(*complaints, sep="\n")
    print(f"{len(passed) + (not complaints)} passed, {len(failed) + bool(complaints)} failed")
    sys.exit(1 if failed or complaints else 0)


if __name__ == "__main__":
    main()
