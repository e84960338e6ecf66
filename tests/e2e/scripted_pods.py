"""What the lab lacks of a cluster, inside its network namespace: a node, a kubelet whose Pods run at once, the Job
controller, and a Ray that has done a job as soon as its submitter runs.

  scripted_pods.py CONFORMANCE_DIR KUBECONFIG

Pods and Ray are the conformance suite's. The kubelet serves the logs of submitters: what Ray's CLI prints, with the
prints of walk.py's driver.
"""
import http.server
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time

conformance, kubeconfig = sys.argv[1:]
sys.path.insert(0, conformance)
import conform  # noqa: E402
import fakeray  # noqa: E402

NAMESPACE, NODE = "default", "scripted"
LOG = """Job '{id}' submitted successfully
test_counter got 1
test_counter got 2
test_counter got 3
test_counter got 4
test_counter got 5
from a package of the runtime environment
Job '{id}' succeeded
"""
logs = {}  # Pod -> text


class Logs(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        match = re.match(r"/containerLogs/[^/]+/([^/?]+)/", self.path)
        text = logs.get(match[1], "").encode() if match else b""
        self.send_response(200 if match else 404)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass


def serve_logs():
    folder = pathlib.Path(tempfile.mkdtemp())
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={NODE}",
                    "-keyout", folder / "key", "-out", folder / "crt"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "crt", folder / "key")
    server = http.server.ThreadingHTTPServer(("0.0.0.0", 10250), Logs)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def make_node(api):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
    api.call("POST", "api/v1/nodes", node)
    api.call("PATCH", f"api/v1/nodes/{NODE}/status", {"status": {
        "addresses": [{"type": "InternalIP", "address": "10.77.0.3"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}}}}, "application/merge-patch+json")


def bind(api, pod):
    name = pod["metadata"]["name"]
    api.call("POST", f"api/v1/namespaces/{NAMESPACE}/pods/{name}/binding",
             {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
              "target": {"apiVersion": "v1", "kind": "Node", "name": NODE}}, ok=(201, 404, 409))


def environment(pod):
    return {entry["name"]: entry.get("value", "") for entry in pod["spec"]["containers"][0].get("env", [])}


class Cluster(conform.Kubelet):
    def round(self):
        for pod in self.api.list(NAMESPACE, "Pod"):
            if not pod["spec"].get("nodeName"):
                bind(self.api, pod)
        super().round()
        pods = self.api.list(NAMESPACE, "Pod")
        for job in self.api.list(NAMESPACE, "Job"):
            mine = [pod for pod in pods if pod["metadata"]["labels"].get("job-name") == job["metadata"]["name"]]
            if not mine and not job.get("status", {}).get("completionTime"):
                self.start(job)
            for pod in mine:
                if pod["status"]["phase"] == "Running":
                    self.submit(job, pod)

    def start(self, job):
        meta = job["metadata"]
        template = job["spec"]["template"]
        labels = {**template["metadata"].get("labels", {}), "job-name": meta["name"]}
        self.api.call("POST", f"api/v1/namespaces/{NAMESPACE}/pods", {
            "apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
            "metadata": {"generateName": f"{meta['name']}-", "labels": labels, "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": meta["name"], "uid": meta["uid"],
                 "controller": True, "blockOwnerDeletion": True}]}})

    def submit(self, job, pod):
        """Ray has done the job in no time, and its submitter ends."""
        job_id = environment(pod)["RAY_JOB_SUBMISSION_ID"]
        logs[pod["metadata"]["name"]] = LOG.format(id=job_id)
        millis = int(time.time() * 1000)
        world = fakeray.world(NAMESPACE)
        world.set({"jobs": {**world.jobs, job_id: {"status": "SUCCEEDED", "message": "Job finished successfully.",
                                                   "start_time": millis, "end_time": millis}}})
        self.set(pod, "succeeded")
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.api.call("PATCH", f"{self.api.collection(NAMESPACE, 'Job')}/{job['metadata']['name']}/status", {"status": {
            "startTime": now, "completionTime": now, "succeeded": 1, "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": now, "lastProbeTime": now,
                 "reason": "CompletionsReached"} for kind in ("SuccessCriteriaMet", "Complete")]}},
            "application/merge-patch+json")


api = conform.Api(kubeconfig)
fakeray.start()
serve_logs()
make_node(api)
Cluster(api, NAMESPACE).run()
