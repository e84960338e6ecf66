"""What image names mean: prepared environments, whole roots, machines that lack tools."""
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import BIN, SAMPLES, wait_for


def run(*words):
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout


def small_root(folder):
    """A root file system of one program with its libraries."""
    shell = pathlib.Path("/bin/sh").resolve()
    files = [shell] + [pathlib.Path(word) for word in run("ldd", shell).split() if word.startswith("/")]
    for file in files:
        (folder / file.relative_to("/").parent).mkdir(parents=True, exist_ok=True)
        shutil.copy(file.resolve(), folder / file.relative_to("/"))
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin/sh").unlink(missing_ok=True)
    shutil.copy(shell, folder / "bin/sh")
    for name in ("etc", "proc", "sys", "dev", "tmp"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "etc/release").write_text("small\n")
    folder.chmod(0o755)


POD = """
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  restartPolicy: Never
  containers: [{name: c, image: "example.com/small:1", command: [/bin/sh, -c, COMMAND]}]
"""


def test_root_images_are_shared_and_writable_copies(up, tmp_path):
    """Each container writes to a layer of its own over the image's folder, which stays as it was."""
    root = tmp_path / "root"
    root.mkdir()
    small_root(root)
    up("image", "add", "example.com/small:1", "--root", root)
    try:
        for name in ("one", "two"):
            up.apply(POD.replace("NAME", name).replace(
                "COMMAND", '"read line < /etc/release; echo $line; echo mine > /etc/release; '
                           'read line < /etc/release; echo $line"'))
            up.wait(f"pod/{name}", ".status.phase", "Succeeded")
            assert up.kubectl("logs", name).stdout.split() == ["small", "mine"]
        assert (root / "etc/release").read_text() == "small\n"
        up.kubectl("delete", "pod", "one", "two")
        wait_for("their layers to go", lambda: not list(up.home.glob("node/pods/*")))
    finally:
        up("image", "rm", "example.com/small:1")  # the folder of names is shared with others


def test_a_prepared_environment_has_pip(manta):
    """Ray clones it for `runtime_env: {pip: …}`, and runs that pip."""
    python = next(pathlib.Path(manta.env["MANTA_IMAGES"]).glob("envs/*/bin/python"))
    assert run(python, "-m", "pip", "--version").startswith("pip ")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to hide tools")
def test_LM_04_probes_and_submitter_without_wget_bash_and_python(manta, tmp_path):
    """A machine whose only Python is the environment's: the tools are hidden from manta and its Pods."""
    pythons = list(pathlib.Path("/usr/bin").glob("python*")) + list(pathlib.Path("/usr/local/bin").glob("python*"))
    env = manta.env
    base = next(pathlib.Path(env["MANTA_IMAGES"]).glob("envs/*/bin/python")).resolve()
    hidden = [pathlib.Path(p) for p in ("/usr/bin/wget", "/usr/bin/bash", "/bin/bash", "/usr/bin/curl")]
    if base.parent not in (pathlib.Path("/usr/bin"), pathlib.Path("/usr/local/bin")):
        hidden += pythons  # else the environment's own Python is one of them
    layer = tmp_path / "layer"
    for path in hidden:
        below = path.parent.resolve() / path.name
        if below.is_relative_to("/usr") and os.path.lexists(below):
            whiteout = layer / below.relative_to("/usr")
            whiteout.parent.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(whiteout):
                os.mknod(whiteout, 0o600 | 0o020000, os.makedev(0, 0))
    hide = f'mount -t overlay overlay -o "lowerdir={layer}:/usr" /usr; exec "$@"'
    check = subprocess.run(["unshare", "-m", "sh", "-ec", hide, "sh", "sh", "-c", "command -v wget bash"],
                           capture_output=True, text=True)
    if check.stderr:
        pytest.skip(f"no overlay to hide tools with: {check.stderr}")
    assert check.stdout == ""
    done = subprocess.run(["unshare", "-m", "sh", "-ec", hide, "sh", BIN, "run", "--timeout", "200",
                           SAMPLES / "ray-job.sample.yaml"], env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{manta.log()}"
    assert "SUCCEEDED" in done.stderr
    manta.assert_nothing_left()


@pytest.mark.parametrize("tag, says", [
    ("nosuch", '"nosuch" is no release of Ray'),
    ("9.9.9", "there is no Ray 9.9.9"),
    pytest.param("2.0.0-py311", "Ray 2.0.0 has no package for Python 3.11", marks=pytest.mark.skipif(
        shutil.which("uv") is None, reason="pip does not tell why")),
])
def test_a_tag_that_cannot_be_pulled_is_explained(tag, says, tmp_path):
    done = subprocess.run([BIN, "--data-dir", tmp_path, "image", "pull", "-q", f"rayproject/ray:{tag}"],
                          env={**os.environ, "MANTA_IMAGES": str(tmp_path / "images")}, capture_output=True, text=True)
    assert done.returncode == 1
    assert says in done.stderr and "manta image ls" in done.stderr, done.stderr
    assert "unsatisfiable" not in done.stderr


def test_a_venv_without_ray_is_taken_with_a_warning(tmp_path):
    run("python3", "-m", "venv", "--without-pip", tmp_path / "venv")
    done = subprocess.run([BIN, "--data-dir", tmp_path, "image", "add", "mine:1", "--venv", tmp_path / "venv"],
                          env={**os.environ, "MANTA_IMAGES": str(tmp_path / "images")}, capture_output=True, text=True)
    assert done.returncode == 0 and f"{tmp_path}/venv holds no Ray" in done.stderr, done.stderr
