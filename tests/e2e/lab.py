"""A real kube-apiserver for a test session, with an audit log and a user for each manager. It is the
conformance suite's lab (lab.py there); where that cannot be had, tests that need it are skipped and say why.
"""
import contextlib
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
MANAGER = os.environ.get("MANAGER_BIN", str(TOP / "build/bin/manager"))
CONFORMANCE = pathlib.Path(os.environ.get("CONFORMANCE_DIR", TOP.parent / "shared/conformance"))
USERS = {name: f"{name}-token" for name in ("mgr-a", "mgr-b")}


def load_lab():
    if not (CONFORMANCE / "lab.py").exists():
        pytest.skip(f"no lab.py in {CONFORMANCE} (set CONFORMANCE_DIR)")
    if os.geteuid() != 0:
        pytest.skip("the lab needs root")
    spec = importlib.util.spec_from_file_location("kube_lab", CONFORMANCE / "lab.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Lab:
    def __init__(self):
        self.kube = load_lab()
        self.name = f"mgr{os.getpid()}"
        self.folder = self.kube.CACHE / self.name
        self.audit = self.folder / "audit.log"
        self.processes = []
        plain_certs, plain_spawn = self.kube.certs, self.kube.spawn

        def certs(folder):
            plain_certs(folder)
            with open(folder / "tokens.csv", "a") as file:
                for user, token in USERS.items():
                    file.write(f'{token},{user},{user},"system:masters"\n')
            (folder / "audit.yaml").write_text(json.dumps({
                "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
                "rules": [{"level": "None", "verbs": ["get", "list", "watch"]}, {"level": "Metadata"}]}))

        def spawn(name, folder, tool, *args):
            if tool == "kube-apiserver":
                args = (*args, f"--audit-log-path={self.audit}", f"--audit-policy-file={folder}/audit.yaml")
                self.apiserver_args = args
            process = plain_spawn(name, folder, tool, *args)
            if tool == "kube-apiserver":
                self.apiserver = process
            return process

        self.kube.certs, self.kube.spawn = certs, spawn

    def up(self):
        try:
            self.kube.up(self.name)
        except (Exception, SystemExit) as error:  # whatever it is, the test cannot be run here
            pytest.skip(f"the lab cannot be built or started: {error}")
        self.kubectl("apply", "--server-side", "-f", TOP / "deploy/crd")

    def down(self):
        self.kube.down(self.name)
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(f"/etc/netns/{self.name}", ignore_errors=True)

    def stop_apiserver(self):
        os.killpg(self.apiserver.pid, signal.SIGKILL)
        self.apiserver.wait()

    def start_apiserver(self):
        self.apiserver = self.kube.spawn(self.name, self.folder, "kube-apiserver", *self.apiserver_args[:-2])
        self.wait("the API server", lambda: self.kubectl("get", "--raw", "/readyz", check=False).stdout == "ok")

    def exec(self, *command, netns=None, **kwargs):
        return ["ip", "netns", "exec", netns or self.name, *map(str, command)], kwargs

    def kubectl(self, *args, check=True, **kwargs):
        command, kwargs = self.exec("kubectl", "--kubeconfig", self.folder / "kubeconfig", *args, **kwargs)
        done = subprocess.run(command, text=True, capture_output=True, timeout=60, **kwargs)
        if check and done.returncode != 0:
            raise AssertionError(f"kubectl {args}: {done.stdout}{done.stderr}")
        return done

    def apply(self, document, **kwargs):
        return self.kubectl("apply", "-f", "-", input=json.dumps(document), **kwargs)

    def get(self, *args):
        return json.loads(self.kubectl("get", *args, "-o", "json").stdout)

    def wait(self, what, condition, timeout=60):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if value := condition():
                return value
            time.sleep(0.2)
        there = self.kubectl("get", "rayclusters,pods", "-A", check=False).stdout
        logs = "".join(f"--- {process.log}\n" + "\n".join(process.log.read_text(errors="replace").splitlines()[-20:]) + "\n"
                       for process in self.processes)
        raise AssertionError(f"waited {timeout} s for {what}\n{there}{logs}")

    def kubeconfig(self, folder, user="mgr-a", **changes):
        """A kubeconfig file for one user; `changes` go into its cluster or user."""
        config = json.loads((self.folder / "kubeconfig").read_text())
        config["users"][0]["user"] = {"token": changes.pop("token", USERS[user])}
        config["clusters"][0]["cluster"].update(changes)
        path = pathlib.Path(folder) / f"{user}.kubeconfig"
        path.write_text(json.dumps(config))
        return path

    def manager(self, folder, *flags, user="mgr-a", netns=None, env=None, kubeconfig=None, ports=(0, 0)):
        """Starts one; its log is folder/USER.log."""
        metrics, probe = ports
        command, _ = self.exec(
            MANAGER, f"--kubeconfig={kubeconfig or self.kubeconfig(folder, user)}",
            f"--metrics-addr=:{metrics}" if metrics else "--metrics-addr=0",
            f"--health-probe-bind-address=:{probe}" if probe else "--health-probe-bind-address=0", *flags, netns=netns)
        log = pathlib.Path(folder) / f"{user}.log"
        process = subprocess.Popen(command, stdout=open(log, "ab"), stderr=subprocess.STDOUT,
                                   env={**os.environ, **(env or {})})
        process.log = log
        self.processes.append(process)
        return process

    def entries(self, user):
        """This user's writes in the audit log, but for Leases, Events and dry runs."""
        entries = map(json.loads, self.audit.read_text().splitlines())
        return [entry for entry in entries if entry["user"]["username"] == user and "dryRun" not in entry["requestURI"]
                and entry.get("objectRef", {}).get("resource") not in ("leases", "events")]

    def writes(self, user):
        """When this user wrote."""
        return sorted(entry["requestReceivedTimestamp"] for entry in self.entries(user))


def cluster(name, **spec):
    container = {"name": "ray", "image": "rayproject/ray:2.54.0"}
    template = {"spec": {"containers": [container]}}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name, "namespace": "default"},
            "spec": {"headGroupSpec": {"rayStartParams": {}, "template": template}, **spec}}
