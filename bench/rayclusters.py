#!/usr/bin/env python3
"""Many RayClusters on a real control plane whose nodes are played: time to ready, the operator's CPU and memory, and its
writes, beside the bare loop (tools/bare in shared/bench: the same writes with no logic at all), turn by turn.

  rayclusters.py [--clusters 1000] [--rounds 3] [--operator build/bin/manager]

Prints a line a turn and the medians. Each turn has a control plane of its own.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

from lab import CONFORMANCE, TOP, Lab

BENCH = CONFORMANCE.parent / "bench"
BARE = pathlib.Path.home() / ".cache/kube-lab/bin/bare"


def bare_seconds(clusters):
    with Lab() as lab:
        lab.play_nodes()
        begin = time.monotonic()
        lab.run(str(BARE), "-clusters", str(clusters))
        return time.monotonic() - begin


def measure(operator, clusters):
    with Lab() as lab:
        lab.play_nodes()
        command = lab.command(sys.executable, str(BENCH / "scale.py"), "--operator", str(operator), "--name", "manta",
                              "--clusters", str(clusters), "--restart")
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--operator", type=pathlib.Path, default=TOP / "build/bin/manager")
    options = parser.parse_args()
    bare, turns = [], []
    for number in range(options.rounds):
        print(f"turn {number + 1}, load {pathlib.Path('/proc/loadavg').read_text().split()[0]}")
        bare.append(bare_seconds(options.clusters))
        print(f"  bare loop: {bare[-1]:.1f} s")
        turns.append(measure(options.operator.resolve(), options.clusters))
        print(f"  operator: {json.dumps(turns[-1])}")
    middle = {key: statistics.median(turn[key] for turn in turns)
              for key in ("all_ready_s", "op_cpu_ms_per_cluster", "peak_mib", "rss_ready_mib", "idle_cpu_s_per_min", "delete_s")}
    print(json.dumps({"bare_s": statistics.median(bare), **middle,
                      "ready_by_bare": round(middle["all_ready_s"] / statistics.median(bare), 2)}))


if __name__ == "__main__":
    main()
