"""A real API server in a network namespace of its own, whose audit log tells what one ServiceAccount called.

    with Cluster(conformance_folder) as cluster:
        cluster.kubectl("get", "pods")

It is the lab of the conformance scenarios, with an audit log, and with the admission plugin that asks for rights
to an owner's finalizers, as OpenShift has it.
"""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

ACCOUNT = "system:serviceaccount:kuberay-system:kuberay-operator"
POLICY = {
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "users": [ACCOUNT]}, {"level": "None"}]}


def load_lab(conformance):
    spec = importlib.util.spec_from_file_location("lab", pathlib.Path(conformance) / "lab.py")
    lab = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lab)
    return lab


class Cluster:
    def __init__(self, conformance):
        self.conformance = pathlib.Path(conformance).resolve()
        self.lab = load_lab(self.conformance)
        self.name = f"install{os.getpid()}"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="manta-install-"))
        self.audit_log = self.folder / "audit.log"
        self.kubeconfig = self.lab.CACHE / self.name / "kubeconfig"

    def __enter__(self):
        policy = self.folder / "policy.yaml"
        policy.write_text(json.dumps(POLICY))
        plain = self.lab.spawn

        def spawn(name, d, tool, *args):
            if tool == "kube-apiserver":
                args += (f"--audit-policy-file={policy}", f"--audit-log-path={self.audit_log}",
                         "--enable-admission-plugins=OwnerReferencesPermissionEnforcement")
            return plain(name, d, tool, *args)
        self.lab.spawn = spawn
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                self.lab.up(self.name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.lab.down(self.name)
        for folder in (self.lab.CACHE / self.name, pathlib.Path("/etc/netns") / self.name, self.folder):
            shutil.rmtree(folder, ignore_errors=True)

    def command(self, *command):
        """To be run inside of the namespace."""
        return [*self.lab.netns(self.name), *map(str, command)]

    def environment(self, **more):
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), **more}

    def run(self, *command, check=True, timeout=300, **kwargs):
        done = subprocess.run(self.command(*command), env=self.environment(), text=True, capture_output=True,
                              timeout=timeout, **kwargs)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def kubectl(self, *args, **kwargs):
        return self.run("kubectl", *args, **kwargs)

    def get(self, *args):
        return json.loads(self.kubectl("get", *args, "-o", "json").stdout)

    def apply(self, objects, *args, **kwargs):
        """Server-side, refusing fields that the server does not know."""
        text = "\n".join(json.dumps(o) for o in objects)
        return self.kubectl("apply", "--server-side", "--force-conflicts", "--validate=strict", *args, "-f", "-",
                            input=text, **kwargs)

    def login(self, account=ACCOUNT):
        """Path of a kubeconfig that is the ServiceAccount."""
        _, _, namespace, name = account.split(":")
        token = self.kubectl("create", "token", name, "--namespace", namespace, "--duration=24h").stdout.strip()
        config = json.loads(self.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": token}
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(json.dumps(config))
        return path

    def calls(self):
        """(group, resource with subresource, verb, allowed) of every call that the ServiceAccount made."""
        out = set()
        for line in self.audit_log.read_text().splitlines() if self.audit_log.exists() else []:
            event = json.loads(line)
            ref = event.get("objectRef")
            if not ref or not ref.get("resource"):
                continue  # discovery, /version
            resource = "/".join(filter(None, (ref["resource"], ref.get("subresource"))))
            allowed = event.get("annotations", {}).get("authorization.k8s.io/decision") == "allow"
            out.add((ref.get("apiGroup", ""), resource, event["verb"], allowed))
        return out


def definition(plural, kind, group, version="v1"):
    """A CRD that takes anything, for kinds that belong to others."""
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
                     "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                         "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


FOREIGN = [definition(kind.lower() + "s", kind, group) for kind, group in [
    ("ServiceMonitor", "monitoring.coreos.com"), ("PodMonitor", "monitoring.coreos.com"),
    ("PrometheusRule", "monitoring.coreos.com"), ("Route", "route.openshift.io")]]
