"""Fixtures: a `manta` of its own for each test, with a data directory and ports of its own, which dies
with the test. Prepared images are shared, since making one takes a minute.

MANTA_BIN names the binary (default: build/bin/manta).
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BIN = os.environ.get("MANTA_BIN", str(TOP / "build/bin/manta"))
SAMPLES = TOP / "samples"


def pytest_configure(config):
    # Under nohup both are ignored, and what is ignored stays so in the programs that the tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    config.addinivalue_line("markers", "long: takes minutes; tools/test.sh long runs it, make test does not")


def wait_for(what, condition, timeout=60, interval=0.1):
    """Polls until condition() is true; its value. An exception counts as not yet."""
    deadline = time.monotonic() + timeout
    last = None
    while time.monotonic() < deadline:
        try:
            last = condition()
            if last:
                return last
        except Exception as error:  # the next look may find it
            last = error
        time.sleep(interval)
    raise AssertionError(f"waited {timeout} s for {what}; last: {last!r}")


class Manta:
    """One data directory, and the commands on it."""

    def __init__(self, home, images):
        self.home = pathlib.Path(home)
        self.env = {k: v for k, v in os.environ.items() if k not in ("KUBECONFIG", "XDG_DATA_HOME")}
        self.env.update(MANTA_HOME=str(home), MANTA_IMAGES=str(images))
        self.started = []

    def command(self, *args):
        return [BIN, *args]

    def __call__(self, *args, check=True, timeout=240, env=None, **kwargs):
        done = subprocess.run(self.command(*map(str, args)), env={**self.env, **(env or {})}, text=True,
                              capture_output=True, timeout=timeout, **kwargs)
        if check and done.returncode != 0:
            raise AssertionError(f"manta {args}: exit {done.returncode}\n{done.stdout}\n{done.stderr}\n"
                                 f"--- log\n{self.log()}")
        return done

    def start(self, *args, **kwargs):
        """Like a call, but does not wait. Ends with the test."""
        process = subprocess.Popen(self.command(*map(str, args)), env=self.env, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True, **kwargs)
        self.started.append(process)
        return process

    def up(self, *args):
        return self("up", *(args or ("--port", "0")))

    def state(self):
        return json.loads((self.home / "daemon.json").read_text())

    def is_running(self):
        return self("status", check=False).returncode == 0

    def log(self, lines=60):
        path = self.home / "manta.log"
        return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else ""

    def kubectl(self, *args, check=True, timeout=120, **kwargs):
        env = {**self.env, "KUBECONFIG": str(self.home / "kubeconfig")}
        done = subprocess.run(["kubectl", *map(str, args)], env=env, text=True, capture_output=True,
                              timeout=timeout, **kwargs)
        if check and done.returncode != 0:
            raise AssertionError(f"kubectl {args}: exit {done.returncode}\n{done.stdout}\n{done.stderr}\n"
                                 f"--- log\n{self.log()}")
        return done

    def popen_kubectl(self, *args):
        env = {**self.env, "KUBECONFIG": str(self.home / "kubeconfig")}
        process = subprocess.Popen(["kubectl", *map(str, args)], env=env, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        self.started.append(process)
        return process

    def apply(self, text):
        return self.kubectl("apply", "-f", "-", input=text)

    def make(self, kind, name, data=None):
        """A core object; kubectl's own `create KIND` speaks protobuf, which the server does not read."""
        return self.apply(json.dumps({"apiVersion": "v1", "kind": kind, "metadata": {"name": name},
                                      **({"data": data} if data else {})}))

    def get(self, *args):
        return json.loads(self.kubectl("get", *args, "-o", "json").stdout)

    def wait(self, what, jsonpath, value, timeout=120):
        """Until the object's field (a kubectl jsonpath) has this value."""
        return wait_for(f"{what} {jsonpath} = {value}", lambda: self.kubectl(
            "get", what, "-o", f"jsonpath={{{jsonpath}}}").stdout == value, timeout, 0.3)

    def stop(self):
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.communicate()
        try:
            self("down", check=False, timeout=90)
        finally:
            for pid in self.processes():
                os.kill(pid, signal.SIGKILL)

    def processes(self):
        """Processes that belong to this data directory, by command line or environment."""
        found = []
        for folder in pathlib.Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            try:
                text = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
            except OSError:
                continue
            if str(self.home).encode() in text:
                found.append(int(folder.name))
        return found

    def mounts(self):
        return [line for line in open("/proc/self/mountinfo") if str(self.home) in line]

    def marker(self):
        """What marks this manta's things among those of others on this machine; None before its first start."""
        file = self.home / "node/marker"
        return file.read_text().strip() if file.exists() else None

    def on_host(self):
        """What is on this machine under our marker: interfaces, nftables tables, cgroups, names of hosts."""
        marker = self.marker()
        if not marker:
            return []
        links = [name for name in os.listdir("/sys/class/net")
                 if name == f"manta{marker}" or name.startswith(f"mv{marker[:5]}")]
        tables = subprocess.run(["nft", "list", "tables"], text=True, capture_output=True).stdout.splitlines() \
            if shutil.which("nft") else []
        recorded = self.home / "node/cgroups"
        cgroups = recorded.read_text().splitlines() if recorded.exists() else []
        return (links + [line for line in tables if marker in line] + [c for c in cgroups if os.path.exists(c)]
                + [line for line in open("/etc/hosts") if marker in line])

    def assert_nothing_left(self):
        wait_for("every process to be gone", lambda: not self.processes(), 20)
        assert not self.mounts()
        assert not self.on_host()


def events_of(manta, thing):
    """The events about an object, as kubectl gave it."""
    return manta.get("events", "--field-selector", f"involvedObject.uid={thing['metadata']['uid']}")["items"]


@pytest.fixture(scope="session")
def images():
    folder = os.environ.get("MANTA_IMAGES") or str(
        pathlib.Path(os.environ.get("MANTA_HOME") or pathlib.Path.home() / ".local/share/manta") / "images")
    env = {**os.environ, "MANTA_IMAGES": folder}
    subprocess.run([BIN, "image", "pull", "--default", "--quiet"], env=env, check=True, capture_output=True)
    return folder


@pytest.fixture
def manta(images):
    home = tempfile.mkdtemp(prefix="manta-e2e-")
    instance = Manta(home, images)
    yield instance
    instance.stop()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def up(manta):
    manta.up()
    return manta
