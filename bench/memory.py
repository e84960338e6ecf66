#!/usr/bin/env python3
"""Resident memory: the operator idle against a real kube-apiserver, and the embedded Kubernetes with the
operator in one process, both without Ray.

  memory.py [--conformance DIR] [--only manager|manta]

Prints VmRSS and its parts (MiB) 20 s after readiness, and its peak.
"""
import argparse
import os
import pathlib
import subprocess
import tempfile
import time

from lab import CONFORMANCE, TOP, Lab

SETTLE_SECONDS = 20


def rss(pid):
    fields = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status") if ":" in line)
    mib = {k: int(fields[k].split()[0]) / 1024 for k in ("VmRSS", "RssAnon", "RssFile", "VmHWM")}
    return "  ".join(f"{k} {v:5.1f}" for k, v in mib.items())


def measure_manager(conformance):
    with Lab(conformance) as lab, lab.operator(str(TOP / "build/bin/manager")) as manager:
        time.sleep(SETTLE_SECONDS)
        print("manager, idle, real kube-apiserver (MiB):  ", rss(manager.pid))


def measure_manta():
    with tempfile.TemporaryDirectory() as home:
        env = dict(os.environ, MANTA_HOME=home)
        manta = str(TOP / "build/bin/manta")
        subprocess.run([manta, "up"], env=env, check=True, stdout=subprocess.DEVNULL)
        try:
            time.sleep(SETTLE_SECONDS)
            pid = next(int(p.read_text()) for p in pathlib.Path(home).rglob("*.pid"))
            print("manta up, embedded Kubernetes + operator (MiB):", rss(pid))
        finally:
            subprocess.run([manta, "down"], env=env, stdout=subprocess.DEVNULL)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--conformance", type=pathlib.Path, default=CONFORMANCE)
    ap.add_argument("--only", choices=["manager", "manta"])
    a = ap.parse_args()
    if a.only != "manta":
        measure_manager(a.conformance)
    if a.only != "manager":
        measure_manta()


if __name__ == "__main__":
    main()
