#!/usr/bin/env python3
"""Many RayJobs at once (HTTPMode) on a real control plane, with a scripted dashboard that hangs for a tenth of them:
the healthy ones are to finish as fast as without the hanging ones.

  rayjobs.py [--jobs 500] [--rounds 3]     turn by turn: only the healthy jobs, then the same with the hanging ones

A healthy job's dashboard takes the submission, says RUNNING twice, then SUCCEEDED. A hanging one takes the connection and
the request, and never answers. Time is from the first creation to the healthy jobs' SUCCEEDED in their status.
"""
import argparse
import asyncio
import json
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time

from lab import CONFORMANCE, TOP, Lab

NAMESPACE = "default"


async def read_request(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = re.search(r"(?i)content-length: (\d+)", head)
    body = await reader.readexactly(int(length[1])) if length else b""
    method, path = head.split(" ", 2)[:2]
    return method, path, re.search(r"(?i)host: ([^.\s]+)", head)[1], body


class Dashboards:
    """Ray's job API of every cluster, told apart by the Host header. Lives in the lab's namespace."""

    def __init__(self):
        self.asked = {}  # submission id -> how often its state was asked

    async def serve(self, reader, writer):
        try:
            while True:
                method, path, host, body = await read_request(reader)
                if host.startswith("hang-"):
                    await asyncio.sleep(3600)
                code, answer = self.answer(method, path, json.loads(body or "null"))
                data = json.dumps(answer).encode()
                writer.write(b"HTTP/1.1 %d x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (code, len(data), data))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def answer(self, method, path, body):
        if method == "POST" and path == "/api/jobs/":
            self.asked[body["submission_id"]] = 0
            return 200, {"job_id": body["submission_id"], "submission_id": body["submission_id"]}
        job = path.removeprefix("/api/jobs/")
        if job not in self.asked:
            return 404, {}
        self.asked[job] += 1
        status = "SUCCEEDED" if self.asked[job] > 2 else "RUNNING"
        return 200, {"type": "SUBMISSION", "submission_id": job, "job_id": "01000000", "status": status, "entrypoint": "x",
                     "message": "", "metadata": {}, "runtime_env": {}, "start_time": 1, "end_time": 2 if status == "SUCCEEDED" else None}


def start_dashboards(conformance):
    sys.path.insert(0, str(conformance))
    import socketserver

    import fakeray  # its DNS: every Service name leads here
    dns = socketserver.ThreadingUDPServer(("10.77.0.1", 53), fakeray.Dns)
    threading.Thread(target=dns.serve_forever, daemon=True).start()
    up = threading.Event()

    async def main():
        async with await asyncio.start_server(Dashboards().serve, "0.0.0.0", 8265, backlog=1024):
            up.set()
            await asyncio.Event().wait()

    threading.Thread(target=asyncio.run, args=(main(),), daemon=True).start()
    up.wait()


def job(name):
    container = {"image": "rayproject/ray:2.52.0", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"submissionMode": "HTTPMode", "entrypoint": "python x.py", "rayClusterSpec": {
                "rayVersion": "2.52.0",
                "headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [{"name": "head", **container}]}}},
                "workerGroupSpecs": [{"groupName": "w", "replicas": 1, "minReplicas": 0, "maxReplicas": 1, "rayStartParams": {},
                                      "template": {"spec": {"containers": [{"name": "w", **container}]}}}]}}}


def kubectl(*args, **kw):
    return subprocess.run(["kubectl", *args], check=True, text=True, stdout=subprocess.PIPE, **kw).stdout


def round_of(names):
    """Seconds until half and until all of the healthy jobs have SUCCEEDED."""
    healthy = {n for n in names if n.startswith("ok-")}
    start, ends, creator = time.monotonic(), {}, None
    manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": [job(n) for n in names]})
    creator = threading.Thread(target=kubectl, args=("create", "-f", "-"), kwargs={"input": manifest})
    creator.start()
    while len(ends) < len(healthy) and time.monotonic() < start + 600:
        time.sleep(0.5)
        rows = kubectl("get", "rayjobs", "--no-headers", "-o", "custom-columns=NAME:.metadata.name,STATUS:.status.jobStatus")
        for name, *status in (row.split() for row in rows.splitlines()):
            if status == ["SUCCEEDED"]:
                ends.setdefault(name, time.monotonic() - start)
    creator.join()
    kubectl("delete", "rayjobs", "--all", "--wait=false")
    while kubectl("get", "rayjobs,rayclusters,pods", "-o", "name"):
        time.sleep(0.5)
    if len(ends) < len(healthy):
        sys.exit(f"only {len(ends)} of {len(healthy)} healthy jobs ended within 600 s")
    return statistics.median(ends.values()), max(ends.values())


def inside(a):
    start_dashboards(a.conformance)
    tenth = a.jobs // 10
    healthy = [f"ok-{i}" for i in range(a.jobs - tenth)]
    hanging = [f"hang-{i}" for i in range(tenth)]
    mixed = [hanging[i // 10] if i % 10 == 0 and i // 10 < tenth else healthy[i - min(i // 10 + 1, tenth)] for i in range(a.jobs)]
    alone, beside = [], []
    for _ in range(a.rounds):
        alone.append(round_of(healthy))
        beside.append(round_of(mixed))
    for name, rounds in (("alone", alone), (f"beside {tenth} that hang", beside)):
        print(f"{len(healthy)} healthy jobs {name}: " + ", ".join(f"half {half:.1f} s, all {whole:.1f} s" for half, whole in rounds))
    ratio = [statistics.median(r[i] for r in beside) / statistics.median(r[i] for r in alone) for i in (0, 1)]
    print(f"ratio beside/alone: half {ratio[0]:.2f}, all {ratio[1]:.2f}")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--jobs", type=int, default=500)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--conformance", type=pathlib.Path, default=CONFORMANCE)
    ap.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    a = ap.parse_args()
    if a.inside:
        return inside(a)
    with Lab(a.conformance) as lab, lab.operator(str(TOP / "build/bin/manager")):
        lab.play_nodes()
        subprocess.run(lab.command(sys.executable, __file__, "--inside", "--jobs", str(a.jobs), "--rounds", str(a.rounds),
                                   "--conformance", str(lab.conformance)), check=True)


if __name__ == "__main__":
    main()
