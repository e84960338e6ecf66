#!/usr/bin/env python3
"""How long a scrape of /metrics takes while the operator holds many RayClusters, on a real control plane.

  metrics.py [--clusters 5000] [--scrapes 50] [--manager PATH]

The clusters are suspended, so there are no Pods. Median and worst of the scrapes, and the page's size; as a monitor scrapes
(gzip, OpenMetrics) and as plain text. The first line is the same operator with no cluster: what is left is theirs.
"""
import argparse
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import sys
import time

from lab import TOP, Lab

URL = "http://127.0.0.1:18080/metrics"


def suspended(names):
    container = {"name": "ray", "image": "rayproject/ray:2.54.0"}
    return {"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name, "namespace": "default"},
         "spec": {"suspend": True, "headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [container]}}}}}
        for name in names]}


def create(lab, count):
    def some(first):
        names = [f"c{i}" for i in range(first, min(first + 250, count))]
        subprocess.run(lab.command("kubectl", "create", "-f", "-"), input=json.dumps(suspended(names)), text=True, check=True,
                       stdout=subprocess.DEVNULL)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(some, range(0, count, 250)))


# Runs inside the namespace, so that starting a process is not in the figures.
SCRAPE = """
import json, sys, time, urllib.request
url, count, headers = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
times, size, series = [], 0, 0
for _ in range(count):
    began = time.perf_counter()
    answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers)).read()
    times.append((time.perf_counter() - began) * 1000)
    size = len(answer)
plain = urllib.request.urlopen(url).read().decode()
print(json.dumps([times, size, sum(not line.startswith("#") for line in plain.splitlines())]))
"""


def scrape(lab, count, headers):
    done = subprocess.run(lab.command(sys.executable, "-c", SCRAPE, URL, str(count), json.dumps(headers)), check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def report(lab, what, count):
    for how, headers in (("plain", {}), ("gzip, OpenMetrics", {
            "Accept": "application/openmetrics-text;version=1.0.0,text/plain;q=0.5", "Accept-Encoding": "gzip"})):
        times, size, series = scrape(lab, count, headers)
        print(f"{what}, {how}: median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms; {series} series, "
              f"{size / 1024:.0f} KiB", flush=True)


def series_of_clusters(lab):
    done = subprocess.run(lab.command("curl", "-s", URL), capture_output=True, text=True)
    return done.stdout.count("\nkuberay_cluster_info{")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--clusters", type=int, default=5000)
    ap.add_argument("--scrapes", type=int, default=50)
    ap.add_argument("--manager", type=pathlib.Path, default=TOP / "build/bin/manager")
    a = ap.parse_args()
    with Lab() as lab, lab.operator(str(a.manager), "--enable-metrics=true"):
        report(lab, "no cluster", a.scrapes)
        create(lab, a.clusters)
        while series_of_clusters(lab) < a.clusters:
            time.sleep(1)
        time.sleep(5)  # their statuses are written
        report(lab, f"{a.clusters} clusters", a.scrapes)


if __name__ == "__main__":
    main()
