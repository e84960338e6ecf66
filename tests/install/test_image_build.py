"""The image as a builder makes it, and a runtime starts it. Builds the Containerfile's last stage with buildah from the root
that its first stage would make (make_root.sh, of the operator that is tested), and runs that with runc: 65532, no
capabilities, read-only root. Skipped where buildah or runc is missing (Debian's packages of that name).

The first stage compiles for minutes, and its base image is a registry's: deploy/images/README.md says how to build the
whole file without one.
"""
import json
import os
import pathlib
import re
import shutil

import pytest

from conftest import DEPLOY, MANAGER, run

LIMIT = 30 * 1000 * 1000
ENVIRONMENT = {**os.environ, "STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}
pytestmark = pytest.mark.skipif(not (shutil.which("buildah") and shutil.which("runc")) or os.geteuid() != 0,
                                reason="needs buildah, runc and root")


def last_stage():
    text = (DEPLOY / "images/Containerfile").read_text()
    stage = text[text.rindex("FROM "):]
    assert stage.startswith("FROM scratch\n"), "nothing but what is copied in"
    return stage.replace("COPY --from=build /root-of-image /", "COPY root-of-image /")


class Image:
    def __init__(self, folder):
        self.folder = folder
        run(DEPLOY / "images/make_root.sh", MANAGER, folder / "root-of-image")
        (folder / "Containerfile").write_text(last_stage())
        self.buildah("bud", "--tag", "operator:test", "--file", folder / "Containerfile", folder)
        self.container = self.buildah("from", "--pull-never", "localhost/operator:test").strip()
        self.root = pathlib.Path(self.buildah("mount", self.container).strip())

    def buildah(self, *args):
        return run("buildah", "--root", self.folder / "store", "--runroot", self.folder / "run", *args, env=ENVIRONMENT).stdout

    def config(self):
        return json.loads(self.buildah("inspect", "--type", "image", "localhost/operator:test"))["OCIv1"]["config"]

    def start(self, *args, check=True):
        """As a Deployment with the chart's securityContext starts it."""
        user, group = map(int, self.config()["User"].split(":"))
        bundle = self.folder / "bundle"
        bundle.mkdir(exist_ok=True)
        (bundle / "config.json").write_text(json.dumps({
            "ociVersion": "1.0.2", "root": {"path": str(self.root), "readonly": True},
            "process": {"user": {"uid": user, "gid": group}, "args": [*self.config()["Entrypoint"], *args], "cwd": "/",
                        "env": ["HOME=/"], "noNewPrivileges": True, "capabilities": {}},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
            "linux": {"namespaces": [{"type": t} for t in ("mount", "pid", "ipc", "uts", "network")]}}))
        return run("runc", "--root", self.folder / "runc", "run", "--bundle", bundle, f"t{os.getpid()}", check=check)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    if not MANAGER.exists():
        pytest.skip(f"no {MANAGER}")
    made = Image(tmp_path_factory.mktemp("build"))
    yield made
    made.buildah("umount", made.container)
    made.buildah("rm", made.container)


def test_image_is_one_program_for_a_user_without_rights(image):
    config = image.config()
    assert config["Entrypoint"] == ["/manager"] and config["User"] == "65532:65532"
    assert "Cmd" not in config and "ExposedPorts" not in config


def test_image_is_small(image):
    (size,) = [i["size"] for i in json.loads(image.buildah("images", "--json"))]
    number, unit = re.match(r"([\d.]+) (\w+)", size).groups()
    assert float(number) * {"KB": 1e3, "MB": 1e6, "GB": 1e9}[unit] < LIMIT, size


def test_image_starts_with_a_read_only_root(image):
    assert "Usage of /manager" in image.start("--help").stderr
    alone = image.start("--enable-leader-election=false", check=False)
    assert alone.returncode == 1 and "kubeconfig" in alone.stderr
    logs = image.start("--log-file-path=/logs/operator.log", "--enable-leader-election=false", check=False)
    assert logs.returncode == 1 and "cannot make folder /logs" in logs.stderr
    assert "Read-only file system" in logs.stderr
