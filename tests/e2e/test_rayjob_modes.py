"""RayJobs with real Ray: each submission mode, to each end, and what users do to them in mid-run."""
import json
import textwrap

import pytest
import yaml
from conftest import SAMPLES, wait_for

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


def job(mode="K8sJobMode", seconds=0, exit_code=0, **spec):
    """The sample's RayJob with our script, as a manifest with its ConfigMap."""
    documents = list(yaml.safe_load_all((SAMPLES / "ray-job.sample.yaml").read_text()))
    for document in documents:
        if document["kind"] == "ConfigMap":
            document["data"] = {key: SCRIPT for key in document["data"]}
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


@pytest.mark.parametrize("mode", ["K8sJobMode", "HTTPMode", "SidecarMode"])
@pytest.mark.parametrize("code, result", [(0, "SUCCEEDED"), (3, "FAILED")])
def test_a_mode_to_its_end(up, mode, code, result):
    up.apply(job(mode, exit_code=code, submitterConfig={"backoffLimit": 0} if mode == "K8sJobMode" else None))
    end = ends(up, "Complete" if code == 0 else "Failed")
    assert end["jobStatus"] == result
    assert end.get("reason", "") == ("" if code == 0 else "AppFailed")


@pytest.mark.long
def test_interactive_mode_follows_the_users_job(up):
    up.apply(job("InteractiveMode"))
    up.wait(f"rayjob/{NAME}", ".status.jobDeploymentStatus", "Waiting", 150)
    head = up.get("pod", "-l", "ray.io/node-type=head")["items"][0]["metadata"]["name"]
    up.kubectl("exec", head, "--", "ray", "job", "submit", "--address", "http://127.0.0.1:8265", "--no-wait",
               "--submission-id", "by-hand", "--", "python", "-c", "print(1)")
    up.kubectl("patch", "rayjob", NAME, "--type=merge", "-p", '{"spec":{"jobId":"by-hand"}}')
    assert ends(up, "Complete")["jobStatus"] == "SUCCEEDED"


@pytest.mark.long
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


@pytest.mark.long
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


@pytest.mark.parametrize("mode", ["HTTPMode", "SidecarMode"])
def test_an_entrypoint_arrives_as_it_was_written(up, mode):
    # In SidecarMode a shell reads it first, as in the reference: quoted text only. HTTPMode takes all.
    entrypoint = ("python -c 'import sys; print(sys.argv[1:])' \"a b\" '$HOME' c\\d"
                  if mode == "SidecarMode" else
                  "echo one && echo `echo two` \"$((1+2))\" 'it is' # not this\necho last")
    up.apply(job(mode, entrypoint=entrypoint, jobId="quoted"))
    assert ends(up, "Complete")["jobStatus"] == "SUCCEEDED"
    head = up.get("pod", "-l", "ray.io/node-type=head")["items"][0]["metadata"]["name"]
    told = up.kubectl("exec", head, "--", "ray", "job", "logs", "--address", "http://127.0.0.1:8265", "quoted").stdout
    wanted = ["$HOME"] if mode == "SidecarMode" else ["one", "two 3 it is", "last"]
    assert all(text in told for text in wanted), told


def test_the_walk_that_every_user_takes_first(up):
    up.apply(job())
    ends(up, "Complete")
    columns = up.kubectl("get", "rayjob").stdout.splitlines()[0]
    for title in ("JOB STATUS", "DEPLOYMENT STATUS", "RAY CLUSTER NAME", "START TIME", "END TIME", "AGE"):
        assert title in columns
    columns = up.kubectl("get", "raycluster").stdout.splitlines()[0]
    for title in ("DESIRED WORKERS", "AVAILABLE WORKERS", "CPUS", "MEMORY", "GPUS", "STATUS", "AGE"):
        assert title in columns
    jsonpath = up.kubectl("get", "rayjob", NAME, "-o", "jsonpath={.status.jobStatus}/{.status.jobDeploymentStatus}")
    assert jsonpath.stdout == "SUCCEEDED/Complete"
    phases = {pod["metadata"]["labels"].get("ray.io/node-type", "submitter"): pod["status"]["phase"]
              for pod in up.get("pods")["items"]}
    assert phases == {"head": "Running", "worker": "Running", "submitter": "Succeeded"}
    log = up.kubectl("logs", "-l", f"job-name={NAME}", "--tail=-1").stdout
    assert "the driver runs" in log and "succeeded" in log
    up.kubectl("delete", "rayjob", NAME)
    wait_for("everything to be gone",
             lambda: not up.get("raycluster,pod,job.batch,service", "-l", "ray.io/cluster")["items"]
             and not up.get("pods")["items"], 60)


@pytest.mark.long
def test_shutdown_leaves_the_submitters_log(up):
    up.apply(job(shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=10))
    ends(up, "Complete")
    assert up.get("raycluster")["items"], "for ten seconds"
    wait_for("the cluster to go", lambda: not up.get("raycluster")["items"], 40)
    assert "the driver runs" in up.kubectl("logs", "-l", f"job-name={NAME}", "--tail=-1").stdout
    up.kubectl("delete", "rayjob", NAME)
    wait_for("the submitter to go", lambda: not up.get("job.batch")["items"], 60)


@pytest.mark.long
def test_deletion_rules_act_in_turn(up):
    rule = lambda policy, seconds: {"policy": policy, "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": seconds}}
    up.apply(job(deletionStrategy={"deletionRules": [
        rule("DeleteWorkers", 0), rule("DeleteCluster", 15), rule("DeleteSelf", 30)]}))
    ends(up, "Complete")
    wait_for("the workers to go", lambda: not up.get("pod", "-l", "ray.io/node-type=worker")["items"], 14)
    assert up.get("pod", "-l", "ray.io/node-type=head")["items"]
    wait_for("the cluster to go", lambda: not up.get("raycluster")["items"], 40)
    assert up.get("rayjob")["items"]
    wait_for("the RayJob to go", lambda: not up.get("rayjob")["items"], 40)
