"""`manta run FILE`: one command from a manifest to the job's end."""
import contextlib
import os
import signal
import subprocess
import textwrap

import pytest
import yaml
from conftest import SAMPLES, wait_for

SAMPLE = SAMPLES / "ray-job.sample.yaml"


def edited(tmp_path, change, source=SAMPLE):
    """The sample with its RayJob changed by change(job)."""
    documents = list(yaml.safe_load_all(source.read_text()))
    change(next(d for d in documents if d["kind"] == "RayJob"))
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    return path


def head(job):
    return job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]


def test_LM_03_sample_succeeds_and_leaves_nothing(manta):
    done = manta("run", SAMPLE)
    assert done.stdout.count("a task ran on") == 2
    assert "2 nodes, 2 addresses" in done.stdout
    assert "rayjob/rayjob-sample SUCCEEDED" in done.stderr
    assert not manta.is_running()
    manta.assert_nothing_left()


def test_keep_leaves_objects_and_daemon(manta):
    manta("run", "--keep", SAMPLE)
    assert manta.is_running()
    assert manta.get("rayjob", "rayjob-sample")["status"]["jobStatus"] == "SUCCEEDED"
    # The same file once more: the ended job makes room for the new one, and that is said.
    again = manta("run", SAMPLE).stderr
    assert "replaced the finished rayjob/rayjob-sample" in again and "SUCCEEDED" in again
    assert manta.is_running(), "a daemon that was there before stays"
    assert manta.kubectl("get", "rayjob", "-o", "name").stdout == ""


def test_failing_script_gives_exit_1_and_its_traceback(manta):
    done = manta("run", SAMPLES / "ray-job.failing.yaml", check=False)
    assert done.returncode == 1, done.stderr
    assert "Traceback (most recent call last)" in done.stdout
    assert "ValueError: this job is meant to fail" in done.stdout
    assert "rayjob/rayjob-failing failed" in done.stderr
    assert done.stderr.count("ValueError: this job is meant to fail") == 1, done.stderr  # and not as what it waits for
    assert "deleted again: rayjob/rayjob-failing with its cluster and Pods (--keep" in done.stderr


def test_unprepared_image_says_what_to_do(manta, tmp_path):
    def nobody(job):
        workers = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
        for spec in [head(job), *(group["template"]["spec"] for group in workers)]:
            spec["containers"][0]["image"] = "example.com/nobody:1"
    path = edited(tmp_path, nobody)
    done = manta("run", "--timeout", 15, path, check=False)
    assert done.returncode == 124, done.stderr
    assert done.stderr.count("manta image add example.com/nobody:1 --root DIR | --venv DIR") == 1, done.stderr


def test_unprepared_ray_tag_runs_on_the_default_with_a_warning(manta, tmp_path):
    path = edited(tmp_path, lambda job: head(job)["containers"][0].update(image="rayproject/ray:2.41.0-py39"))
    done = manta("run", path)
    assert "warning:" in done.stderr and "manta image pull rayproject/ray:2.41.0-py39" in done.stderr


def test_job_that_never_fits_says_why(manta, tmp_path):
    path = edited(tmp_path, lambda job: head(job)["containers"][0].update(
        resources={"requests": {"cpu": "4000"}}))
    done = manta("run", "--timeout", 10, path, check=False)
    assert done.returncode == 124
    assert "0/1 nodes are available: 1 Insufficient cpu" in done.stderr


def test_a_crashed_container_shows_the_end_of_its_log(manta, tmp_path):
    script = "for i in $(seq 100); do echo line $i; done; echo 'HTTP 403: no access to the model' >&2; exit 3"

    def failing(job):
        head(job)["initContainers"] = [{"name": "fetch", "image": head(job)["containers"][0]["image"],
                                        "command": ["bash", "-c", script]}]
    done = manta("run", "--timeout", 12, edited(tmp_path, failing), check=False)
    assert done.returncode == 124, done.stderr
    shown = [line for line in done.stderr.splitlines() if line.startswith("    | ")]
    assert shown[-1] == "    | HTTP 403: no access to the model", done.stderr
    assert len(shown) == 20 and "    | line 81" not in shown, "its last twenty lines, once"
    assert "container fetch: exit code 3 (Error); its log ends with" in done.stderr


def test_interrupt_cleans_up_at_once(manta):
    run = manta.start("run", SAMPLE)
    wait_for("a head Pod", lambda: "-head-" in manta.kubectl("get", "pods", "-o", "name").stdout)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=30)
    assert run.returncode == 130, err
    assert "interrupted" in err
    assert not manta.is_running()
    manta.assert_nothing_left()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupt_while_the_daemon_starts(manta, number):
    run = manta.start("run", SAMPLE)
    wait_for("the daemon's lock", (manta.home / "daemon.lock").exists)
    run.send_signal(number)
    _, err = run.communicate(timeout=30)
    assert run.returncode == 130, err
    assert not manta.is_running()
    manta.assert_nothing_left()


def test_a_killed_run_takes_its_job_and_daemon_along(manta):
    run = manta.start("run", SAMPLE)
    wait_for("a head Pod", lambda: "-head-" in manta.kubectl("get", "pods", "-o", "name").stdout)
    run.kill()
    run.communicate()
    wait_for("the daemon's end", lambda: not manta.is_running(), 60)
    manta.assert_nothing_left()
    manta("up", "--port", "0", "--control-plane-only")
    assert manta.kubectl("get", "rayjob,raycluster,pods", "-o", "name").stdout == ""
    assert not list(manta.home.glob("runs/*"))


def test_closed_output_does_not_leave_the_daemon(manta):
    run = manta.start("run", "--timeout", 8, SAMPLE)
    run.stderr.close()
    run.stdout.close()
    assert run.wait(timeout=60) == 124
    assert not manta.is_running()
    manta.assert_nothing_left()
    run.stdout = run.stderr = None


def test_two_runs_share_a_daemon_and_the_last_one_stops_it(manta, tmp_path):
    path = edited(tmp_path, lambda job: job["metadata"].update(name="second"))
    first = manta.start("run", SAMPLE)
    second = manta.start("run", path)
    wait_for("both heads", lambda: manta.kubectl("get", "pods", "-o", "name").stdout.count("-head-") == 2)
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=30)
    assert manta.is_running(), "the other run still needs it"
    second.send_signal(signal.SIGINT)
    second.communicate(timeout=30)
    assert not manta.is_running()
    manta.assert_nothing_left()


def test_runs_leave_no_files_of_their_pods(manta):
    for _ in range(2):
        manta("run", "--timeout", 3, SAMPLE, check=False)
    manta.up()
    wait_for("the sweep", lambda: not list(manta.home.glob("node/pods/*")) + list(manta.home.glob("node/logs/*")))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")
def test_disk_that_fills_up_is_not_waited_for(manta, tmp_path):
    """Nothing can be stored any more, so nothing can be cleaned up: that is said, and it ends."""
    path = edited(tmp_path, lambda job: head(job)["containers"][0].update(image="example.com/nobody:1"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", manta.home], check=True)
    try:
        run = manta.start("run", "--timeout", 20, path)
        wait_for("a head Pod", lambda: "-head-" in manta.kubectl("get", "pods", "-o", "name").stdout)
        with open(manta.home / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(b"x" * 4096)
        _, err = run.communicate(timeout=60)
        assert run.returncode == 124, err
        assert "full" in err and "what is stored of the job stays" in err, err
        assert not manta.is_running()
    finally:
        manta("down", check=False)
        subprocess.run(["umount", "-l", manta.home], check=True)


def write(tmp_path, text):
    path = tmp_path / "job.yaml"
    path.write_text(textwrap.dedent(text))
    return path


def test_broken_yaml_gives_line_and_column_and_starts_nothing(manta, tmp_path):
    path = write(tmp_path, "apiVersion: ray.io/v1\nkind: RayJob\nspec: [1, 2\nmetadata: {}\n")
    done = manta("run", path, check=False)
    assert done.returncode == 1
    assert f"{path}:4:" in done.stderr or f"{path}:3:" in done.stderr
    assert not manta.is_running()


def test_unknown_field_wrong_type_and_missing_containers_give_their_place(manta, tmp_path):
    manta.up()
    unknown = write(tmp_path, SAMPLE.read_text().replace("  entrypoint:", "  entrypiont: x\n  entrypoint:"))
    done = manta("run", unknown, check=False)
    assert done.returncode == 1
    line = next(i for i, t in enumerate(unknown.read_text().splitlines(), 1) if "entrypiont" in t)
    assert f"{unknown}:{line}:3: " in done.stderr and "entrypiont" in done.stderr

    wrong = write(tmp_path, SAMPLE.read_text().replace("replicas: 1", "replicas: many", 1))
    done = manta("run", wrong, check=False)
    line = next(i for i, t in enumerate(wrong.read_text().splitlines(), 1) if "replicas: many" in t)
    assert done.returncode == 1 and f"{wrong}:{line}:" in done.stderr, done.stderr

    missing = edited(tmp_path, lambda job: head(job).pop("containers"))
    done = manta("run", missing, check=False)
    assert done.returncode == 1 and "containers" in done.stderr, done.stderr
    assert manta.kubectl("get", "rayjob,pods,configmaps", "-o", "name").stdout.split() == [
        "configmap/kube-root-ca.crt"], "nothing of a file with a mistake is applied"


def test_mistakes_are_found_before_anything_is_started(manta, tmp_path):
    unknown = write(tmp_path, SAMPLE.read_text().replace("  entrypoint:", "  entrypiont: x\n  entrypoint:"))
    done = manta("run", unknown, check=False)
    assert done.returncode == 1 and "entrypiont" in done.stderr
    missing = edited(tmp_path, lambda job: head(job).pop("containers"))
    done = manta("run", missing, check=False)
    assert done.returncode == 1 and "containers" in done.stderr, done.stderr
    assert not (manta.home / "manta.log").exists(), "no daemon was started"


def test_a_job_without_an_entrypoint_is_refused_at_once(manta, tmp_path):
    path = edited(tmp_path, lambda job: job["spec"].pop("entrypoint"))
    done = manta("run", path, check=False)
    assert done.returncode == 1
    place = path.read_text().splitlines()[:int(done.stderr.split("job.yaml:")[1].split(":")[0])][-1]
    assert place.strip() == "spec:" and "spec.entrypoint: Required value" in done.stderr
    assert not manta.is_running()


def test_file_without_a_ray_job(manta, tmp_path):
    done = manta("run", SAMPLES / "ray-cluster.sample.yaml", check=False)
    assert done.returncode == 1 and "exactly one RayJob" in done.stderr
    done = manta("run", tmp_path / "missing.yaml", check=False)
    assert done.returncode == 1 and "missing.yaml" in done.stderr
