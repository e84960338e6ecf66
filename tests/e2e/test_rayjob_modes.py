"""RayJobs with real Ray: each submission mode, to each end, and what users do to them in mid-run."""
import base64
import io
import json
import os
import signal
import subprocess
import textwrap
import zipfile

import pytest
import yaml
from conftest import SAMPLES, TOP, wait_for

NAME = "rayjob-sample"
SCRIPT = textwrap.dedent("""
    import os, sys, time, ray
    ray.init()
    print("the driver runs", flush=True)
    until = time.time() + float(os.environ.get("SECONDS_TO_RUN", "0"))
    while time.time() < until:
        time.sleep(0.2)
    sys.exit(int(os.environ.get("EXIT", "0")))
""")
MANAGER = os.environ.get("MANAGER_BIN", str(TOP / "build/bin/manager"))


def job(mode="K8sJobMode", seconds=0, exit_code=0, files=None, **spec):
    """The sample's RayJob with our script and more files (bytes by name), as a manifest with its ConfigMap."""
    documents = list(yaml.safe_load_all((SAMPLES / "ray-job.sample.yaml").read_text()))
    for document in documents:
        if document["kind"] == "ConfigMap":
            document["data"] = {key: SCRIPT for key in document["data"]}
            document["binaryData"] = {name: base64.b64encode(data).decode() for name, data in (files or {}).items()}
            continue
        for given in ("shutdownAfterJobFinishes", "ttlSecondsAfterFinished"):
            document["spec"].pop(given)
        document["spec"].update(
            submissionMode=mode,
            runtimeEnvYAML=yaml.safe_dump({"env_vars": {"SECONDS_TO_RUN": str(seconds), "EXIT": str(exit_code)}}))
        document["spec"].update({key: value for key, value in spec.items() if value is not None})
    return yaml.safe_dump_all(documents)


def status(up):
    return up.get("rayjob", NAME).get("status", {})


def ends(up, deployment, timeout=150):
    up.wait(f"rayjob/{NAME}", ".status.jobDeploymentStatus", deployment, timeout)
    return status(up)


def runs(up):
    up.wait(f"rayjob/{NAME}", ".status.jobStatus", "RUNNING", 150)


def head_of(up):
    return up.get("pod", "-l", "ray.io/node-type=head")["items"][0]["metadata"]["name"]


def driver_log(up, job_id):
    """What the driver printed, by Ray's own account."""
    return up.kubectl("exec", head_of(up), "--", "ray", "job", "logs", "--address", "http://127.0.0.1:8265", job_id).stdout


def zipped(**files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/").replace("_dot_", "."), text)
    return data.getvalue()


@pytest.mark.parametrize("mode", ["K8sJobMode", "HTTPMode", "SidecarMode"])
@pytest.mark.parametrize("code, result", [(0, "SUCCEEDED"), (3, "FAILED")])
def test_a_mode_to_its_end(up, mode, code, result):
    up.apply(job(mode, exit_code=code, submitterConfig={"backoffLimit": 0} if mode == "K8sJobMode" else None))
    end = ends(up, "Complete" if code == 0 else "Failed")
    assert end["jobStatus"] == result
    assert end.get("reason", "") == ("" if code == 0 else "AppFailed")


@pytest.mark.parametrize("code, result", [(0, "SUCCEEDED"), (3, "FAILED")])
def test_interactive_mode_follows_the_users_job(up, code, result):
    up.apply(job("InteractiveMode"))
    up.wait(f"rayjob/{NAME}", ".status.jobDeploymentStatus", "Waiting", 150)
    up.kubectl("exec", head_of(up), "--", "ray", "job", "submit", "--address", "http://127.0.0.1:8265", "--no-wait",
               "--submission-id", "by-hand", "--", "python", "-c", f"raise SystemExit({code})")
    up.kubectl("patch", "rayjob", NAME, "--type=merge", "-p", '{"spec":{"jobId":"by-hand"}}')
    assert ends(up, "Complete" if code == 0 else "Failed")["jobStatus"] == result


def test_suspend_stops_it_and_resume_starts_anew(up):
    up.apply(job(seconds=300, shutdownAfterJobFinishes=True))
    runs(up)
    first = status(up)["rayClusterName"]
    up.kubectl("patch", "rayjob", NAME, "--type=merge", "-p", '{"spec":{"suspend":true}}')
    ends(up, "Suspended")
    wait_for("no Pod to be left", lambda: not up.get("pods")["items"], 60)
    quick = {"spec": {"suspend": False, "runtimeEnvYAML": "env_vars: {SECONDS_TO_RUN: '0'}"}}
    up.kubectl("patch", "rayjob", NAME, "--type=merge", "-p", json.dumps(quick))
    assert ends(up, "Complete")["rayClusterName"] != first


def test_its_deadline_ends_it(up):
    up.apply(job(seconds=300))
    runs(up)
    up.kubectl("patch", "rayjob", NAME, "--type=merge", "-p", '{"spec":{"activeDeadlineSeconds":1}}')
    assert ends(up, "Failed")["reason"] == "DeadlineExceeded"


def test_a_deleted_submitter_pod_is_replaced_and_submits_nothing_again(up):
    up.apply(job(seconds=15))
    runs(up)
    first = up.get("pod", "-l", f"job-name={NAME}")["items"][0]["metadata"]["name"]
    up.kubectl("delete", "pod", first, "--wait=false")
    end = ends(up, "Complete")
    assert end["jobStatus"] == "SUCCEEDED"
    pods = [pod["metadata"]["name"] for pod in up.get("pod", "-l", f"job-name={NAME}")["items"]]
    assert pods and first not in pods
    assert "the driver runs" in up.kubectl("logs", "-l", f"job-name={NAME}").stdout


def test_a_restarted_operator_follows_the_job_on(manta, tmp_path):
    manta.up("--port", "0", "--no-operator")

    def operator():
        with open(tmp_path / "manager.log", "ab") as log:
            return subprocess.Popen(
                [MANAGER, f"--kubeconfig={manta.home}/kubeconfig", "--use-kubernetes-proxy",
                 "--enable-leader-election=false", "--metrics-addr=0", "--health-probe-bind-address=0"],
                stdout=log, stderr=log)

    first = operator()
    second = None
    try:
        manta.apply(job(seconds=15))
        runs(manta)
        before = status(manta)
        first.send_signal(signal.SIGKILL)
        second = operator()
        end = ends(manta, "Complete")
        assert end["jobStatus"] == "SUCCEEDED"
        assert (end["jobId"], end["rayClusterName"]) == (before["jobId"], before["rayClusterName"])
        (submitter,) = manta.get("pod", "-l", f"job-name={NAME}")["items"]
        assert submitter["status"]["phase"] == "Succeeded"
    finally:
        for process in filter(None, (first, second)):
            process.kill()
            process.wait()
        print((tmp_path / "manager.log").read_text()[-5000:])


@pytest.mark.parametrize("mode", ["K8sJobMode", "HTTPMode"])
def test_a_working_dir_comes_out_of_its_zip(up, mode):
    archive = zipped(main_dot_py="import helper, pathlib; print(helper.word, pathlib.Path('data/n.txt').read_text())",
                     helper_dot_py="word = 'unpacked'", data__n_dot_txt="42")
    up.apply(job(mode, files={"app.zip": archive}, entrypoint="python main.py", jobId="zipped",
                 runtimeEnvYAML="working_dir: file:///home/ray/job/app.zip"))
    assert ends(up, "Complete")["jobStatus"] == "SUCCEEDED"
    assert "unpacked 42" in driver_log(up, "zipped").splitlines()


# Quoted once, so that a shell between the RayJob and Ray changes nothing; what follows `&&` is that shell's.
ENTRYPOINT = """python -c 'import sys; print(sys.argv[1:])' "a b" '$HOME' '`x`' 'c && d' 'e"f' 'c\\d' 'g
h' && echo `echo second` "$((1+2))" # no word of the driver's
"""
ARGUMENTS = str(["a b", "$HOME", "`x`", "c && d", 'e"f', "c\\d", "g\nh"])


@pytest.mark.parametrize("mode, gate", [("K8sJobMode", ""), ("SidecarMode", ""), ("HTTPMode", ""),
                                        ("K8sJobMode", "RayJobVerbatimEntrypoint=true")])
def test_an_entrypoint_arrives_as_it_was_written(manta, mode, gate):
    """In K8sJobMode and SidecarMode a shell reads it first, as in the reference; in HTTPMode, and with the gate, Ray
    gets all of it (RJ-28)."""
    manta.up("--port", "0", *([f"--feature-gates={gate}"] if gate else []))
    # In a shell that goes on after the job's submission the comment would swallow what follows.
    whole = mode == "HTTPMode" or bool(gate)
    entrypoint = ENTRYPOINT if whole else ENTRYPOINT.split(" #")[0]
    manta.apply(job(mode, entrypoint=entrypoint, jobId="quoted"))
    assert ends(manta, "Complete")["jobStatus"] == "SUCCEEDED"
    told = driver_log(manta, "quoted").splitlines()
    assert ARGUMENTS in told, told
    assert ("second 3" in told) == whole, told
    if mode != "HTTPMode":
        submitter = ["-l", f"job-name={NAME}"] if mode == "K8sJobMode" else [head_of(manta), "-c", "ray-job-submitter"]
        said = manta.kubectl("logs", *submitter, "--tail=-1").stdout.splitlines()
        assert "second 3" in said, said  # its own, or the driver's log that it follows


def test_RJ_39_the_end_of_a_log_outlives_its_cluster(manta):
    manta.up("--port", "0", "--feature-gates=RayJobKeepLog=true")
    manta.apply(job("HTTPMode", shutdownAfterJobFinishes=True, entrypoint=(
        "python -c 'for n in range(40000): print(n, \"line of a long log \\u00e9\")'")))
    ends(manta, "Complete")
    wait_for("the cluster to go", lambda: not manta.get("raycluster")["items"], 60)
    (kept,) = manta.get("configmap", "-l", f"ray.io/originated-from-cr-name={NAME}")["items"]
    log = kept["data"]["driver.log"].encode()
    assert 65000 < len(log) <= 65536
    assert log.decode().splitlines()[-1] == "39999 line of a long log \u00e9"
    manta.kubectl("delete", "rayjob", NAME)
    wait_for("the log to go", lambda: not manta.get("configmap", "-l", f"ray.io/originated-from-cr-name={NAME}")["items"], 30)
