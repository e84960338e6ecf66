"""manta as a user without any privilege, made for the test."""
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import BIN, Manta, wait_for
from outside import OUR_SIDE, OUTSIDE, outside, run  # noqa: F401 (a fixture)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a user")


class Rootless(Manta):
    """The same commands, run as somebody else with the same environment."""

    def __init__(self, user, home):
        super().__init__(home / "data", home / "images")
        self.user = user
        self.env.update(HOME=str(home), PATH="/usr/local/bin:/usr/bin:/bin")
        self.bin = str(home / "manta")
        # Some machines keep this device for root; users have it on most.
        self.tun = home / "tun"
        os.mknod(self.tun, 0o020666, os.makedev(10, 200))
        os.chmod(self.tun, 0o666)
        shutil.copy(BIN, self.bin)
        os.chmod(self.bin, 0o755)

    def command(self, *args):
        return ["unshare", "-m", "sh", "-ec", 'test ! -e /dev/net/tun || mount --bind "$0" /dev/net/tun; exec "$@"',
                self.tun, "setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups", self.bin, *args]


@pytest.fixture
def rootless():
    user = f"manta{os.getpid()}"
    run("useradd", "--create-home", user)
    home = pathlib.Path(f"/home/{user}")
    instance = Rootless(user, home)
    try:
        check = subprocess.run(["setpriv", f"--reuid={user}", "--clear-groups", "unshare", "-Urn", "true"],
                               capture_output=True, text=True)
        if check.returncode != 0:
            pytest.skip(f"no unprivileged user namespaces here: {check.stderr}")
        run("runuser", "-u", user, "--", "/usr/bin/python3", "-m", "venv", "--without-pip", home / "venv")
        instance("image", "add", "example.com/python:1", "--venv", home / "venv")
        yield instance
    finally:
        instance.stop()
        run("userdel", "--force", "--remove", user)


POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME, labels: {app: NAME}}
spec:
  restartPolicy: Never
  containers:
  - name: c
    image: example.com/python:1
    command: [sh, -ec, 'COMMAND']
---
"""
SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: server}, ports: [{port: 80, targetPort: 8000}]}
"""


def make_pod(manta, name, command):
    manta.apply(POD.replace("NAME", name).replace("COMMAND", command))


def log_of(manta, name):
    wait_for(f"the end of {name}", lambda: manta.kubectl(
        "get", "pod", name, "-o", "jsonpath={.status.phase}").stdout in ("Succeeded", "Failed"))
    return manta.kubectl("logs", name).stdout


def test_pods_run_as_the_user_and_reach_each_other(rootless):
    rootless.up()
    assert pathlib.Path(f"/proc/{rootless.state()['pid']}").owner() == rootless.user
    make_pod(rootless, "server", "echo from the server > index.html; exec python -m http.server 8000")
    rootless.apply(SERVICE)
    rootless.wait("pod/server", ".status.phase", "Running")
    make_pod(rootless, "client", "until wget -q -O- http://web/index.html; do sleep 0.1; done; hostname; id -u")
    assert log_of(rootless, "client").split("\n")[:3] == ["from the server", "client", "0"]
    assert rootless.kubectl("exec", "server", "--", "cat", "index.html").stdout == "from the server\n"
    forward = rootless.popen_kubectl("port-forward", "pod/server", ":8000")
    address = forward.stdout.readline().split()[2]
    assert run("curl", "-sf", f"http://{address}/index.html") == "from the server\n"
    rootless("down")
    rootless.assert_nothing_left()


@pytest.mark.skipif(not shutil.which("slirp4netns"), reason="slirp4netns is not installed")
def test_pods_without_root_reach_the_world(rootless, outside):  # noqa: F811
    rootless.up()
    make_pod(rootless, "out", f"wget -q -O- http://{OUTSIDE}:8000/ || echo no way")
    assert log_of(rootless, "out") == OUR_SIDE
    rootless("down")
    rootless.assert_nothing_left()
