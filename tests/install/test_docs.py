"""The documentation: links lead somewhere, generated tables are what the code says."""
import re
import shutil
import sys
import textwrap

import pytest

from conftest import DEPLOY, MANAGER, TOP, documents, run

sys.path.insert(0, str(TOP / "tools"))
from gen_config_docs import gates  # noqa: E402

PAGES = [*sorted((TOP / "docs").glob("*.md")), *sorted(DEPLOY.rglob("README.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(TOP).as_posix())
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(TOP).as_posix())
def test_named_paths_exist(page):
    for path in re.findall(r"`?\b((?:deploy|docs|tools|samples|tests)/[\w./-]*[\w-])", page.read_text()):
        assert (TOP / path).exists(), f"{page.name}: {path}"


def listed_gates():
    """Of docs/configuration.md: KubeRay's, and ours."""
    text = (TOP / "docs/configuration.md").read_text()
    section = text.split("\n## Feature gates\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.M), re.findall(r"^- `(\w+)` \(", section, re.M)


def test_every_gate_of_ours_is_explained():
    explained = re.findall(r"^\| (Ray\w+) \| [^|]+ \| [^|]+ \|$", (TOP / "docs/differences.md").read_text(), re.M)
    assert sorted(explained) == sorted(listed_gates()[1])


def test_listed_gates_are_the_code_s():
    """Needs no built operator, as test_configuration_is_what_the_code_says does."""
    kuberay, ours = listed_gates()
    known = list(gates())
    assert (kuberay, ours) == ([n for n, _, stage in known if stage != "Ours"],
                               [n for n, _, stage in known if stage == "Ours"])


@pytest.mark.skipif(not MANAGER.exists(), reason=f"no {MANAGER}")
def test_operator_knows_every_listed_gate():
    def says(names):
        return run(MANAGER, "--kubeconfig=/nonexistent", "--enable-leader-election=false",
                   "--feature-gates=" + ",".join(f"{n}=false" for n in names), check=False).stderr
    everyone = [name for part in listed_gates() for name in part]
    assert "unrecognized feature gate: NoSuchGate" in says([*everyone, "NoSuchGate"])
    assert "unrecognized" not in says(everyone)


INSTALLS = [(p, command) for p in [*PAGES, TOP / "README.md", DEPLOY / "helm/kuberay-operator/templates/NOTES.txt"]
            for command in re.findall(r"^ +(helm (?:install|upgrade)(?:.*\\\n)*.*)$", p.read_text(), re.M)
            if "kuberay-operator" in command]


@pytest.mark.parametrize("page, command", INSTALLS, ids=[p.relative_to(TOP).as_posix() for p, _ in INSTALLS])
def test_helm_commands_name_the_image(page, command):
    """The chart's default is KubeRay's image."""
    assert "image.repository=" in command and "image.tag=" in command


@pytest.mark.parametrize("page", [p for p in PAGES if "metrics.serviceMonitor.enabled" in p.read_text()],
                         ids=lambda p: p.relative_to(TOP).as_posix())
def test_service_monitor_gets_the_label_that_prometheus_selects_by(page):
    """The one that deploy/prometheus/install.sh installs looks at monitors of its release only."""
    (release,) = set(re.findall(r"helm upgrade --install (\S+)", (DEPLOY / "prometheus/install.sh").read_text()))
    assert f"additionalLabels.release={release}" in page.read_text()


def test_fields_that_kuberay_lacks_are_listed():
    """crd_check.cc starts without them, so it knows which they are."""
    code = (TOP / "src/operator/crd_check.cc").read_text()
    names = re.findall(r'"(\w+)"', re.search(r"extra : \{([^}]*)\}", code)[1])
    shared = {"Ray" + kind[:-1] for kind in re.findall(r"ray::kRay(\w+)", re.search(r"has_conditions = (.*);", code)[1])}

    def extra(schema, path=""):
        for name, field in schema.get("properties", {}).items():
            if name in names or (f"{path}{name}" == "status.conditions" and kind not in shared):
                yield f"{path}{name}"
            yield from extra(field, f"{path}{name}.")
    wanted = {}
    for file in DEPLOY.glob("crd/ray.io_*.yaml"):
        (crd,) = documents(file.read_text())
        kind = crd["spec"]["names"]["kind"]
        wanted[kind] = {path for version in crd["spec"]["versions"] if version["name"] == "v1"
                        for path in extra(version["schema"]["openAPIV3Schema"])}
    table = re.search(r"\| kind \| fields of ours \|\n.*\n((?:\|.*\n)+)", (TOP / "docs/upgrade.md").read_text())[1]
    listed = {row.split("|")[1].strip(): set(re.findall(r"`([\w.]+)`", row)) for row in table.splitlines()}
    assert listed == {kind: fields for kind, fields in wanted.items() if fields}


def test_overlay_of_the_installation_page_names_the_image(tmp_path):
    text = (TOP / "docs/install.md").read_text()
    overlay = re.search(r"^    resources:\n(?:    .*\n)+", text, re.M)[0]
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    (tmp_path / "my-operator").mkdir()
    (tmp_path / "my-operator/kustomization.yaml").write_text(textwrap.dedent(overlay))
    built = run("kubectl", "kustomize", tmp_path / "my-operator").stdout
    assert re.findall(r"^ +image: (\S+)$", built, re.M) == ["REGISTRY/operator:TAG"]


def test_configuration_is_what_the_code_says():
    if not MANAGER.exists():
        pytest.skip(f"no {MANAGER}")
    run(TOP / "tools/gen_config_docs.py", "--check", env={"MANAGER_BIN": str(MANAGER), "PATH": "/usr/bin:/bin"})
