"""Rendering charts and kustomizations, and a real API server where a test asks for one.

Tools are looked for in $MANTA_TOOLS/bin (default ~/.cache/manta-tools/bin), where tools/setup.sh puts helm,
prometheus and promtool, then on the path. LAB names the folder with lab.py (default: ../shared/conformance); tests
that need it are skipped where it is not. MANAGER_BIN names the operator (default:
build/bin/manager), MANTA_CRDS the folder of its CRDs (default: deploy/crd).
"""
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest
import yaml

from cluster import FOREIGN, Cluster

TOP = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = TOP / "deploy"
CONFORMANCE = pathlib.Path(os.environ.get("LAB", TOP.parent / "shared/conformance"))
CRDS = pathlib.Path(os.environ.get("MANTA_CRDS", DEPLOY / "crd"))
MANAGER = pathlib.Path(os.environ.get("MANAGER_BIN", TOP / "build/bin/manager")).resolve()
TOOLS = pathlib.Path(os.environ.get("MANTA_TOOLS", pathlib.Path.home() / ".cache/manta-tools")) / "bin"
os.environ["PATH"] = f"{TOOLS}:{os.environ['PATH']}"


def run(*command, check=True, **kwargs):
    done = subprocess.run([str(c) for c in command], text=True, capture_output=True, timeout=300, **kwargs)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


def documents(text):
    return [d for d in yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if d]


def values_file(folder, values):
    path = pathlib.Path(folder) / "values.yaml"
    path.write_text(json.dumps(values))
    return path


class Rendered(list):
    """The objects of a rendering."""

    def of(self, kind, name=None):
        found = [o for o in self if o["kind"] == kind and name in (None, o["metadata"]["name"])]
        assert len(found) == 1, f"{len(found)} objects {kind} {name or ''}"
        return found[0]

    def names(self, kind):
        return [o["metadata"]["name"] for o in self if o["kind"] == kind]


def helm(chart, values, release, namespace, check):
    with tempfile.TemporaryDirectory() as folder:
        return run("helm", "template", release or chart, DEPLOY / "helm" / chart, "--namespace", namespace,
                   "--values", values_file(folder, values or {}), check=check)


def helm_template(chart, values=None, release=None, namespace="kuberay-system", check=True):
    done = helm(chart, values, release, namespace, check)
    return Rendered(documents(done.stdout)) if done.returncode == 0 else done.stderr


def helm_text(chart, values=None, release=None, namespace="kuberay-system"):
    return helm(chart, values, release, namespace, check=True).stdout


@functools.cache
def kustomize(folder):
    """Of CRDs, which take seconds to read, only what they are."""
    out = Rendered()
    for text in run("kubectl", "kustomize", DEPLOY / "kustomize" / folder).stdout.split("\n---\n"):
        name = re.search(r"^  name: (\S+\.ray\.io)$", text, re.M)
        if "\nkind: CustomResourceDefinition\n" in text and name:
            out.append({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                        "metadata": {"name": name[1]}})
        else:
            out += documents(text)
    return out


@pytest.fixture(scope="session")
def cluster():
    if os.geteuid() != 0 or not (CONFORMANCE / "lab.py").exists():
        pytest.skip("needs root, and lab.py")
    with Cluster(CONFORMANCE) as running:
        running.apply(FOREIGN)
        running.kubectl("apply", "--server-side", "-f", CONFORMANCE / "crds/thirdparty.yaml")
        yield running


def pytest_configure(config):
    config.addinivalue_line("markers", "server: needs a real API server, and minutes")


def pytest_collection_modifyitems(items):
    for item in items:
        if "cluster" in item.fixturenames:
            item.add_marker("server")
    if shutil.which("helm") is None:
        for item in items:
            item.add_marker(pytest.mark.skip(reason="no helm (tools/setup.sh builds it)"))
