"""The walk that every RayJob user takes first, point by point. test_rayjob_walk.py takes it with real Ray in local
mode, and with scripted Pods on a real API server. Both have kubectl(), get() and apply()."""
import base64
import datetime
import io
import textwrap
import zipfile

import yaml
from conftest import SAMPLES, wait_for

NAME = "rayjob-sample"
SCRIPT = textwrap.dedent("""
    import os
    import ray
    import walked  # comes with the runtime environment

    ray.init()

    @ray.remote
    class Counter:
        def __init__(self):
            self.name, self.count = os.environ["counter_name"], 0
        def inc(self):
            self.count += 1
            return f"{self.name} got {self.count}"

    counter = Counter.remote()
    for _ in range(5):
        print(ray.get(counter.inc.remote()))
    print(walked.WORD)
""")


def wheel():
    """A package of one line, so that pip needs no network."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("walked.py", "WORD = 'from a package of the runtime environment'\n")
        archive.writestr("walked-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: walked\nVersion: 1.0\n")
        archive.writestr("walked-1.0.dist-info/WHEEL",
                         "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("walked-1.0.dist-info/RECORD", "walked.py,,\nwalked-1.0.dist-info/RECORD,,\n")
    return base64.b64encode(data.getvalue()).decode()


def job(**spec):
    """RayJob and ConfigMap as a beginner has them: nothing is shut down unless `spec` says so."""
    code, package = "ray-job-code-sample", "walked-1.0-py3-none-any.whl"
    documents = list(yaml.safe_load_all((SAMPLES / "ray-job.sample.yaml").read_text()))
    (ray_job,) = [document for document in documents if document["kind"] == "RayJob"]
    for given in ("shutdownAfterJobFinishes", "ttlSecondsAfterFinished"):
        ray_job["spec"].pop(given)
    ray_job["spec"].update(
        entrypoint="python /home/ray/samples/sample_code.py",
        runtimeEnvYAML=f"pip:\n  - /home/ray/samples/{package}\nenv_vars:\n  counter_name: test_counter\n", **spec)
    groups = [ray_job["spec"]["rayClusterSpec"]["headGroupSpec"], *ray_job["spec"]["rayClusterSpec"]["workerGroupSpecs"]]
    for group in groups:  # the package is installed wherever the driver's tasks run
        pod = group["template"]["spec"]
        pod["volumes"] = [{"name": "code", "configMap": {"name": code}}]
        pod["containers"][0]["volumeMounts"] = [{"name": "code", "mountPath": "/home/ray/samples"}]
    return yaml.safe_dump_all([ray_job, {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": code},
        "data": {"sample_code.py": SCRIPT}, "binaryData": {package: wheel()}}])


def field(up, path):
    return up.kubectl("get", "rayjob", NAME, "-o", f"jsonpath={{.status.{path}}}").stdout


def ends(up):
    wait_for("the RayJob to end", lambda: field(up, "jobDeploymentStatus") in ("Complete", "Failed"), 240)
    assert (field(up, "jobDeploymentStatus"), field(up, "jobStatus")) == ("Complete", "SUCCEEDED"), up.get("rayjob")


def table(up, what):
    """kubectl's table of the one object there is: column -> value."""
    titles, row = up.kubectl("get", what).stdout.splitlines()
    starts = [at for at, c in enumerate(titles) if c != " " and (at == 0 or titles[at - 2:at] == "  ")]
    return {titles[a:b].strip(): row[a:b].strip() for a, b in zip(starts, [*starts[1:], None])}


def log(up):
    return up.kubectl("logs", f"-l=job-name={NAME}", "--tail=-1").stdout


def at(time):
    return datetime.datetime.fromisoformat(time)


def after_the_end(up, reason):
    """How many seconds after the job's end this event about its RayJob came."""
    uid = up.get("rayjob", NAME)["metadata"]["uid"]
    (event,) = wait_for(f"event {reason}", lambda: [
        e for e in up.get("events")["items"] if e["reason"] == reason and e["involvedObject"].get("uid") == uid], 20)
    return (at(event["eventTime"] or event["firstTimestamp"]) - at(field(up, "endTime"))).total_seconds()


def walk(up):
    """Without clean-up: everything stays until the RayJob is deleted."""
    up.apply(job())
    ends(up)
    row = table(up, "rayjob")
    assert list(row) == ["NAME", "JOB STATUS", "DEPLOYMENT STATUS", "RAY CLUSTER NAME", "START TIME", "END TIME", "AGE"]
    assert (row["NAME"], row["JOB STATUS"], row["DEPLOYMENT STATUS"]) == (NAME, "SUCCEEDED", "Complete")
    assert at(row["START TIME"]) <= at(row["END TIME"])
    cluster = table(up, "raycluster")
    assert list(cluster) == ["NAME", "DESIRED WORKERS", "AVAILABLE WORKERS", "CPUS", "MEMORY", "GPUS", "STATUS", "AGE"]
    assert cluster["NAME"] == row["RAY CLUSTER NAME"] and cluster["NAME"].startswith(NAME + "-")
    assert (cluster["DESIRED WORKERS"], cluster["AVAILABLE WORKERS"], cluster["STATUS"]) == ("1", "1", "ready")
    assert (cluster["CPUS"], cluster["MEMORY"], cluster["GPUS"]) == ("1", "1536Mi", "0")

    phases = sorted((pod["metadata"]["labels"].get("ray.io/node-type", "submitter"), pod["status"]["phase"])
                    for pod in up.get("pods")["items"])
    assert phases == [("head", "Running"), ("submitter", "Succeeded"), ("worker", "Running")]
    columns = up.kubectl("get", "pods", "-l", f"job-name={NAME}", "--no-headers").stdout.split()
    assert columns[2] == "Completed", columns

    said = log(up)
    for number in range(1, 6):
        assert f"test_counter got {number}" in said
    assert "from a package of the runtime environment" in said
    assert f"Job '{field(up, 'jobId')}' submitted successfully" in said
    assert f"Job '{field(up, 'jobId')}' succeeded" in said

    up.kubectl("delete", "rayjob", NAME)
    wait_for("everything to be gone", lambda: not up.get("raycluster,pod,job.batch")["items"]
             and not [s for s in up.get("service")["items"] if s["metadata"]["name"] != "kubernetes"], 60)


def shut_down_after_ten_seconds(up):
    up.apply(job(shutdownAfterJobFinishes=True, ttlSecondsAfterFinished=10))
    ends(up)
    wait_for("the cluster to go", lambda: not up.get("raycluster")["items"], 40)
    assert after_the_end(up, "DeletedRayCluster") >= 10
    wait_for("its Pods to go", lambda: not up.get("pod", "-l", "ray.io/node-type")["items"], 40)
    assert "test_counter got 5" in log(up)
    assert up.get("job.batch")["items"] and up.get("rayjob")["items"]
    up.kubectl("delete", "rayjob", NAME)
    wait_for("the submitter to go", lambda: not up.get("job.batch,pod")["items"], 60)


def clean_up_by_rules(up):
    def rule(policy, seconds):
        return {"policy": policy, "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": seconds}}
    up.apply(job(deletionStrategy={"deletionRules": [
        rule("DeleteWorkers", 0), rule("DeleteCluster", 30), rule("DeleteSelf", 60)]}))
    ends(up)
    wait_for("the workers to go", lambda: not up.get("pod", "-l", "ray.io/node-type=worker")["items"], 25)
    assert up.get("pod", "-l", "ray.io/node-type=head")["items"]
    wait_for("the cluster to go", lambda: not up.get("raycluster")["items"], 60)
    assert after_the_end(up, "DeletedRayCluster") >= 30
    assert up.get("rayjob")["items"] and up.get("job.batch")["items"]
    wait_for("the RayJob to go", lambda: not up.get("rayjob,job.batch")["items"], 60)
