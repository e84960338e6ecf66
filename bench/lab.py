"""A real control plane for a measurement (the conformance lab, in a network namespace of its own), and our operator on it."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
CONFORMANCE = TOP.parent / "shared/conformance"


class Lab:
    """`with Lab(conformance) as lab:` etcd, kube-apiserver and garbage collector with our CRDs; gone at the end."""

    def __init__(self, conformance=CONFORMANCE, crds=TOP / "deploy/crd"):
        self.conformance, self.crds = pathlib.Path(conformance).resolve(), crds
        self.base = [sys.executable, str(self.conformance / "lab.py"), "--name", f"bench{os.getpid()}"]

    def __enter__(self):
        subprocess.run([*self.base, "up"], check=True, stdout=subprocess.DEVNULL)
        try:
            self.run("kubectl", "create", "-f", str(self.crds))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        subprocess.run([*self.base, "down"])

    def command(self, *command):
        return [*self.base, "exec", *command]

    def run(self, *command):
        subprocess.run(self.command(*command), check=True, stdout=subprocess.DEVNULL)

    def play_nodes(self):
        """Every Pod turns Running and Ready by itself."""
        subprocess.run([*self.base, "kubelet"], check=True)

    @contextlib.contextmanager
    def operator(self, *command):
        """The operator's process, ready; `command` is its path and flags."""
        process = subprocess.Popen(
            self.command(*command, "--enable-leader-election=false", "--metrics-addr=:18080", "--health-probe-bind-address=:18082"),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            probe = self.command("curl", "-sf", "http://127.0.0.1:18082/readyz")
            for _ in range(100):
                if subprocess.run(probe, capture_output=True).returncode == 0:
                    break
                time.sleep(0.1)
            else:
                sys.exit("the operator never became ready")
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(15)
