"""The documentation: links lead somewhere, generated tables are what the code says."""
import re

import pytest

from conftest import DEPLOY, MANAGER, TOP, run

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


def test_configuration_is_what_the_code_says():
    if not MANAGER.exists():
        pytest.skip(f"no {MANAGER}")
    run(TOP / "tools/gen_config_docs.py", "--check", env={"MANAGER_BIN": str(MANAGER), "PATH": "/usr/bin:/bin"})
