#!/usr/bin/env python3
"""Writes the tables of docs/configuration.md: flags from what the operator says of itself, keys of the configuration
file, feature gates and environment variables from the source. Words for the last three are in config_words.yaml.

  tools/gen_config_docs.py            write
  tools/gen_config_docs.py --check    exit 1 when the file is not what would be written

Needs a built operator: build/bin/manager, or MANAGER_BIN.
"""
import os
import re
import subprocess

import yaml

from generated import TOP, write_or_check

MANAGER = os.environ.get("MANAGER_BIN", TOP / "build/bin/manager")
PAGE = TOP / "docs/configuration.md"
MARK = "<!-- below: written by tools/gen_config_docs.py -->"
# Set by others than the administrator.
PRIVATE = {"KUBERNETES_EXEC_INFO"}


def source(path):
    return (TOP / "src" / path).read_text()


def flags():
    usage = subprocess.run([str(MANAGER), "--help"], text=True, capture_output=True, check=True).stderr
    for name, kind, text in re.findall(r"^  -(\S+)(?: (\S+))?\n    \t(.*)$", usage, re.M):
        match = re.match(r"(.*?)(?: \(default (.*)\))?$", text)
        yield name, kind or "bool", (match[2] or "").strip('"'), match[1]


def keys():
    kinds = {"text": "string", "flag": "bool", "whole": "int", "number": "float", "strings": "map of strings"}
    for kind, name, listed in re.findall(r'reader\.(\w+)\("(\w+)"[^;]*?(?:"(\[\][\w.]+)")?\);',
                                         source("operator/config_file.cc")):
        yield name, listed.replace("[]v1.", "list of ") if listed else kinds[kind]


def gates():
    for name, default, stage in re.findall(r'\{"(\w+)", (true|false), Stage::(\w+)\}', source("operator/gates.cc")):
        yield name, "on" if default == "true" else "off", stage


def environment():
    found = set(re.findall(r'kOperatorEnv\w+ =\s*"(\w+)"', source("ray/labels.h")))
    for folder in ("operator", "kube"):
        for path in (TOP / "src" / folder).rglob("*.cc"):
            if not path.name.endswith("_test.cc"):
                text = path.read_text()
                found |= set(re.findall(r'\benvironment\("([A-Z_]+)"\)', text))
                found |= set(re.findall(r'"(KUBE[A-Z_]+|HOME|TMPDIR|TZ|HTTPS?_PROXY|NO_PROXY)"', text))
    return sorted(found - PRIVATE)


def described(part, names, words):
    names, words = list(names), words[part]
    missing, gone = sorted(set(names) - set(words)), sorted(set(words) - set(names))
    if missing or gone:
        raise SystemExit(f"tools/config_words.yaml, {part}: missing {missing}, no longer in the code {gone}")
    return words


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(str(c).replace("|", "\\|") for c in line) + " |\n" for line in lines) + "\n"


def tables():
    words = yaml.safe_load((TOP / "tools/config_words.yaml").read_text())
    listed = list(gates())
    if not listed:
        raise SystemExit("tools/gen_config_docs.py finds no gates in src/operator/gates.cc")
    reference, ours = ([g for g in listed if (g[2] == "Ours") == own] for own in (False, True))
    text = "## Flags\n\n" + table(["flag", "type", "default", ""], [
        [f"`--{n}`", kind, f"`{default}`" if default else "", usage] for n, kind, default, usage in flags()])
    said = described("keys", (n for n, _ in keys()), words)
    text += "## Configuration file\n\n" + table(["key", "type", ""], [[f"`{n}`", kind, said[n]] for n, kind in keys()])
    said = described("gates", (g[0] for g in reference), words)
    text += "## Feature gates\n\n" + table(["gate", "default", "stage", ""], [
        [f"`{n}`", default, stage, said[n]] for n, default, stage in reference])
    if ours:
        text += ("Ours, which `AllAlpha` and `AllBeta` do not move; [differences.md](differences.md) says what each does:\n\n"
                 + "".join(f"- `{n}` ({default})\n" for n, default, _ in ours) + "\n")
    names = environment()
    said = described("environment", names, words)
    return text + "## Environment\n\n" + table(["variable", ""], [[f"`{n}`", said[n]] for n in names])


def wanted():
    return {PAGE: PAGE.read_text().split(MARK)[0] + MARK + "\n\n" + tables().rstrip("\n") + "\n"}


if __name__ == "__main__":
    write_or_check(__doc__, wanted)
