"""The daemon: starting, stopping, dying, and what stands in the way."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess

import pytest
from conftest import SAMPLES, Manta, wait_for


def test_up_is_idempotent_and_down_leaves_nothing(manta):
    first = manta.up()
    assert f"export KUBECONFIG={manta.home}/kubeconfig" in first.stdout
    assert "already" in manta("up").stdout
    assert manta.kubectl("get", "nodes", "-o", "name").stdout.strip() == "node/manta"
    assert (manta.get("node", "manta")["status"]["nodeInfo"]["kubeletVersion"]
            == json.loads(manta.kubectl("get", "--raw", "/version").stdout)["gitVersion"])
    assert (manta.home / "kubeconfig").stat().st_mode & 0o077 == 0
    assert "manta is down" in manta("down").stdout
    assert manta("status", check=False).returncode == 3
    assert "not running" in manta("down").stdout
    manta.assert_nothing_left()


def test_two_ups_at_once_are_one(manta):
    both = [manta.start("up", "--port", "0") for _ in range(2)]
    for up in both:
        out, err = up.communicate(timeout=60)
        assert up.returncode == 0, err
        assert "manta is up" in out


def test_mantas_that_start_at_once_get_a_port_each(images, tmp_path):
    mantas = [Manta(tmp_path / str(number), images) for number in range(6)]
    try:
        for up in [manta.start("up", "--control-plane-only") for manta in mantas]:
            _, err = up.communicate(timeout=60)
            assert up.returncode == 0, err
        assert len({manta.state()["port"] for manta in mantas}) == len(mantas)
    finally:
        for manta in mantas:
            manta.stop()


def test_objects_survive_a_restart_and_not_a_purge(manta):
    manta.up()
    manta.make("ConfigMap", "mine", {"a": "b"})
    manta("down")
    manta.up()
    assert manta.get("configmap", "mine")["data"] == {"a": "b"}
    manta("down", "--purge")
    manta.up()
    assert manta.kubectl("get", "configmap", "mine", check=False).returncode == 1


def test_port_taken_is_a_message(manta):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = manta("up", "--port", port, check=False, timeout=30)
        assert done.returncode == 1
        assert f"port {port} on 127.0.0.1 is taken" in done.stderr
        assert not manta.is_running()


def test_other_options_than_the_running_one(manta):
    manta.up()
    for option in ("--control-plane-only", "--no-operator", "--feature-gates=RayJobPatience=true"):
        done = manta("up", option, check=False)
        assert done.returncode == 1 and "manta down first" in done.stderr


def test_a_gate_that_is_none_is_named(manta):
    done = manta("up", "--port", "0", "--feature-gates=RayJobHaste=true", check=False)
    assert done.returncode == 1 and "unrecognized feature gate: RayJobHaste" in done.stderr


CRON_JOB = """
apiVersion: ray.io/v1
kind: RayCronJob
metadata: {name: nightly}
spec: {schedule: "0 2 * * *", jobTemplate: {entrypoint: "true"}}
"""


def test_a_cron_job_whose_gate_is_off_says_so(manta):
    manta.up()
    applied = manta.kubectl("apply", "-f", "-", input=CRON_JOB)
    assert "Warning: the operator runs without its feature gate RayCronJob" in applied.stderr
    wait_for("the event", lambda: "RayCronJobGateOff" in manta.kubectl("describe", "raycronjob", "nightly").stdout)
    manta("down")
    manta("up", "--port", "0", "--feature-gates", "RayCronJob=true")
    applied = manta.kubectl("apply", "-f", "-", input=CRON_JOB.replace("nightly", "weekly"))
    assert "Warning" not in applied.stderr


def test_data_directory_that_is_no_directory(manta, tmp_path):
    (tmp_path / "file").write_text("")
    done = manta("up", "--data-dir", tmp_path / "file", check=False, timeout=30)
    assert done.returncode == 1 and "data directory" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")
def test_full_disk_is_a_message(manta, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
    try:
        (disk / "filler").write_bytes(b"x" * 60 * 1024)
        done = manta("up", "--data-dir", disk, "--port", 0, check=False, timeout=60)
        assert done.returncode == 1
        assert "disk" in done.stderr.lower() or "space" in done.stderr.lower(), done.stderr
    finally:
        manta("down", "--data-dir", disk, check=False)
        subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.parametrize("name", ["server.crt", "server.key", "token"])
def test_garbage_in_pki_is_named_with_its_remedy(manta, name):
    manta("up", "--port", "0", "--control-plane-only")
    manta("down")
    (manta.home / "pki" / name).write_text("gar bage\n")
    done = manta("up", "--port", "0", check=False, timeout=30)
    assert done.returncode == 1
    assert str(manta.home / "pki" / name) in done.stderr
    assert f"delete the folder {manta.home}/pki" in done.stderr
    shutil.rmtree(manta.home / "pki")
    manta("up", "--port", "0", "--control-plane-only")


def test_stale_state_of_a_killed_daemon_misleads_nobody(manta):
    manta.up()
    pid = manta.state()["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for("its end", lambda: not pathlib.Path(f"/proc/{pid}").exists())
    assert manta("status", check=False).returncode == 3
    manta.up()
    assert manta.state()["pid"] != pid


@pytest.mark.parametrize("purge", [[], ["--purge"]])
def test_down_removes_what_a_killed_daemon_left(manta, purge):
    manta.up()
    manta.apply("""
apiVersion: v1
kind: Pod
metadata: {name: sleeper}
spec: {containers: [{name: c, image: "rayproject/ray:2.60.0", command: [sleep, "1000"]}]}
""")
    manta.wait("pod/sleeper", ".status.phase", "Running")
    pid = manta.state()["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for("its end", lambda: not pathlib.Path(f"/proc/{pid}").exists())
    left = manta.on_host()
    if os.geteuid() == 0:
        assert left, "this test sees what it is about"
        assert "has left" in manta("status", check=False).stdout
        assert json.loads(manta("status", "--json", check=False).stdout)["leftovers"]
    said = manta("down", *purge).stdout
    assert "removed what a killed manta had left" in said or not left, said
    assert not list(manta.home.glob("node/pods/*" if purge else "node/pods/*/containers"))
    assert not (manta.home / "daemon.json").exists()
    manta.assert_nothing_left()
    assert "has left" not in manta("status", check=False).stdout
    assert manta("down").stdout == "manta was not running\n"
    manta.up()
    assert manta.kubectl("get", "pod", "sleeper", check=False).returncode == (1 if purge else 0)


def test_control_plane_only_has_no_node_and_no_operator(manta):
    manta("up", "--port", "0", "--control-plane-only")
    assert manta.kubectl("get", "nodes", "-o", "name").stdout == ""
    manta.kubectl("apply", "-f", SAMPLES / "ray-cluster.sample.yaml")
    manta.apply("""
apiVersion: batch/v1
kind: Job
metadata: {name: idle}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: none}]}}}
""")
    manta.make("ConfigMap", "owner")
    uid = manta.get("configmap", "owner")["metadata"]["uid"]
    manta.apply(f"""
apiVersion: v1
kind: ConfigMap
metadata:
  name: owned
  ownerReferences: [{{apiVersion: v1, kind: ConfigMap, name: owner, uid: {uid}}}]
""")
    manta.kubectl("delete", "configmap", "owner")
    wait_for("garbage collection", lambda: manta.kubectl(
        "get", "configmap", "owned", check=False).returncode == 1)
    assert manta.kubectl("get", "pods", "-o", "name").stdout == ""
    manta.make("Namespace", "gone")
    manta.kubectl("delete", "namespace", "gone", "--timeout=30s")


def test_help_has_examples_everywhere(manta):
    top = manta("--help").stdout
    for command in ("up", "down", "status", "run", "image", "kubeconfig", "doctor", "completion", "version"):
        assert command in top
        assert manta(command, "--help").returncode == 0
    assert "Examples:" in manta("run", "--help").stdout


def test_words_of_the_command_line(manta):
    for words, said in ((["frobnicate"], 'manta has no command "frobnicate"; there are up, run,'),
                        (["stats", "--json"], 'is "status" meant?'),
                        (["--data-dir", "/nowhere", "image", "frobnicate"], 'manta image has no command "frobnicate"'),
                        (["run", "--timeout", "soon", "x.yaml"], '"soon" is no time to wait; allowed are seconds')):
        done = manta(*words, check=False)
        assert done.returncode == 2 and said in done.stderr, (words, done.stderr)
    assert manta("--version").stdout == manta("version").stdout
    assert manta("image", "list").stdout == manta("image", "ls").stdout


def test_doctor_knows_this_machine(manta):
    done = manta("doctor", check=False)
    for word in ("namespaces", "cgroups", "disk", "port", "python", "ray"):
        assert word in done.stdout
    names = [line[8:].split()[0] for line in done.stdout.splitlines()]
    assert len(names) == len(set(names)), "one check, one name"
    assert done.returncode == (1 if "MISSING" in done.stdout else 0)
