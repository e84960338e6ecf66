#!/usr/bin/env python3
"""What `manta run` adds to Ray itself: the sample job by hand (`ray start` twice, `ray job submit`, `ray stop`)
and through `manta run`, turn by turn on the same machine, with the same Ray.

  run_overhead.py [--rounds N] [--warm]

By hand: two ray processes, one host, no Pods. manta: daemon start, two Pods, submission, clean-up and stop
(--warm: a daemon that runs already). The first round of each is left out: it fills the page cache.
"""
import argparse
import os
import pathlib
import socket
import statistics
import subprocess
import tempfile
import time

import yaml

TOP = pathlib.Path(__file__).resolve().parent.parent
MANTA = os.environ.get("MANTA_BIN", str(TOP / "build/bin/manta"))
SAMPLE = TOP / "samples/ray-job.sample.yaml"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def images_folder():
    home = os.environ.get("MANTA_HOME") or pathlib.Path.home() / ".local/share/manta"
    return os.environ.get("MANTA_IMAGES") or str(pathlib.Path(home) / "images")


def find_ray(env):
    subprocess.run([MANTA, "image", "pull", "--default", "--quiet"], env=env, check=True, capture_output=True)
    lines = subprocess.check_output([MANTA, "image", "ls"], env=env, text=True).splitlines()
    return pathlib.Path(next(line.split()[-1] for line in lines if " yes " in line)) / "bin/ray"


def run(command, env):
    done = subprocess.run([str(c) for c in command], env=env, text=True, capture_output=True)
    if done.returncode != 0:
        raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done


def by_hand(ray, env, script):
    gcs, dashboard = free_port(), free_port()
    env = dict(env, RAY_ADDRESS=f"http://127.0.0.1:{dashboard}", PATH=f"{ray.parent}:{env['PATH']}")
    start = time.monotonic()
    try:
        run([ray, "start", "--head", "--port", gcs, "--dashboard-port", dashboard, "--num-cpus=1",
             "--disable-usage-stats"], env)
        run([ray, "start", "--address", f"127.0.0.1:{gcs}", "--num-cpus=1", "--disable-usage-stats"], env)
        out = run([ray, "job", "submit", "--", "python", script], env).stdout
        assert "a task ran on" in out, out
        ended = time.monotonic() - start
    finally:
        subprocess.run([str(ray), "stop", "--force"], env=env, capture_output=True)
    return ended, time.monotonic() - start


def through_manta(env):
    start = time.monotonic()
    process = subprocess.Popen([MANTA, "run", str(SAMPLE)], env=env, text=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    ended, lines = None, []
    for line in process.stderr:
        lines.append(line)
        if "SUCCEEDED" in line and ended is None:
            ended = time.monotonic() - start
    if process.wait() != 0:
        raise SystemExit("manta run failed:\n" + "".join(lines))
    return ended, time.monotonic() - start


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--warm", action="store_true")
    a = ap.parse_args()
    script_text = next(d for d in yaml.safe_load_all(SAMPLE.read_text()) if d["kind"] == "ConfigMap")["data"]["where.py"]
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "MANTA_HOME": home, "MANTA_IMAGES": images_folder()}
        ray = find_ray(env)
        script = pathlib.Path(home) / "where.py"
        script.write_text(script_text)
        if a.warm:
            run([MANTA, "up", "--port", "0"], env)
        hand, manta = [], []
        try:
            for _ in range(a.rounds + 1):
                hand.append(by_hand(ray, env, script))
                manta.append(through_manta(env))
        finally:
            subprocess.run([MANTA, "down"], env=env, capture_output=True)
    for name, rounds in (("by hand", hand[1:]), ("manta run", manta[1:])):
        for what, values in zip(("to SUCCEEDED", "with clean-up"), zip(*rounds)):
            print(f"{name:10} {what:14} {statistics.median(values):6.1f} s   (each: {', '.join(f'{v:.1f}' for v in values)})")
    extra = statistics.median(m[0] for m in manta[1:]) - statistics.median(h[0] for h in hand[1:])
    print(f"manta adds {extra:.1f} s to Ray's own time to SUCCEEDED")


main()
