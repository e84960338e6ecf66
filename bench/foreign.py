#!/usr/bin/env python3
"""What other people's objects cost: the operator's resident memory beside an empty cluster and beside thousands of Secrets,
Services and EndpointSlices that are not Ray's, on a real control plane. PF-04.

  foreign.py [--count 50000] [--secret-kib 20] [--manager PATH]

A RayCluster with token authentication and a RayService are there in both, so that every cache is in use. etcd and the API
server need about 2.5 GiB for the full number; --count 5000 shows the same in two minutes.
"""
import argparse
import base64
import concurrent.futures
import json
import os
import pathlib
import subprocess
import time

from lab import TOP, Lab
from memory import rss

SETTLE_SECONDS = 20
BATCH = 200


def ours():
    groups = {"headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [
        {"name": "ray", "image": "rayproject/ray:2.54.0"}]}}}}
    return [{"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "c"},
             "spec": {**groups, "rayVersion": "2.54.0", "authOptions": {"mode": "token"}}},
            {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "s"},
             "spec": {"serveConfigV2": "applications: []", "rayClusterConfig": groups}}]


def foreign(i, kib):
    meta = {"name": f"web-{i}", "labels": {"app": f"web-{i}"}}
    payload = base64.b64encode(os.urandom(kib * 768)).decode()  # as the wire has it
    return [{"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": {"token": payload}},
            {"apiVersion": "v1", "kind": "Service", "metadata": meta,
             "spec": {"clusterIP": "None", "selector": {"app": "web"}, "ports": [{"port": 80}]}},
            {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
             "metadata": {**meta, "labels": {"kubernetes.io/service-name": f"web-{i}"}},
             "endpoints": [{"addresses": ["10.1.1.1"], "conditions": {"ready": True}}], "ports": [{"port": 80}]}]


def create(lab, objects):
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    subprocess.run(lab.command("kubectl", "create", "--namespace", "default", "-f", "-"), input=text, text=True, check=True,
                   stdout=subprocess.DEVNULL)


def crowd(lab, count, kib):
    def some(first):
        create(lab, [o for i in range(first, min(first + BATCH, count)) for o in foreign(i, kib)])
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(some, range(0, count, BATCH)))


def pid_of(process):
    """The operator itself, below whatever runs it inside of the namespace."""
    pid = process.pid
    while children := pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        pid = int(children[0])
    return pid


def measure(lab, manager):
    with lab.operator(manager) as process:
        time.sleep(SETTLE_SECONDS)
        return rss(pid_of(process))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--count", type=int, default=50_000)
    ap.add_argument("--secret-kib", type=int, default=20)
    ap.add_argument("--manager", default=str(TOP / "build/bin/manager"))
    a = ap.parse_args()
    with Lab() as lab:
        create(lab, ours())
        print("beside nothing:             ", measure(lab, a.manager), flush=True)
        crowd(lab, a.count, a.secret_kib)
        print(f"beside {a.count} of each:", measure(lab, a.manager), flush=True)


if __name__ == "__main__":
    main()
