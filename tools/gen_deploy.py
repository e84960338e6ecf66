#!/usr/bin/env python3
"""Writes what is generated below deploy/ and docs/, each from its one source:

  deploy/rbac/calls.yaml         -> the rules of the Helm chart and of kustomize
  deploy/crd                     -> the operator chart's crds/
  comments of a chart's values   -> the table in that chart's README.md
  a chart's values               -> its values.schema.json, where a line above a value may say more:
                                    `# @one-of A B`, `# @from 0 to 9`, `# @any`, or `# @NAME` of a definition below

  tools/gen_deploy.py            write
  tools/gen_deploy.py --check    exit 1, naming the files, when one is not what would be written
"""
import json
import re

import yaml

from generated import TOP, write_or_check

DEPLOY = TOP / "deploy"
OPERATOR_CHART = DEPLOY / "helm/kuberay-operator"
SOURCE = "Written by tools/gen_deploy.py from deploy/rbac/calls.yaml."


# --- rules -------------------------------------------------------------------------------------------

def verbs_of(entry):
    verbs = set(entry.get("calls", [])) | set(entry.get("held", []))
    if entry.get("cached"):
        verbs |= {"get", "list", "watch"}
    if not verbs:
        raise SystemExit(f"calls.yaml: {entry['resource']} asks for nothing")
    return tuple(sorted(verbs))


def rules_of(entries):
    """Resources of one group with the same verbs share a rule."""
    rules = {}
    for entry in entries:
        group, resource = entry["resource"].split("/", 1)
        rules.setdefault((group, verbs_of(entry)), []).append(resource)
    return [{"apiGroups": [group], "resources": sorted(resources), "verbs": list(verbs)}
            for (group, verbs), resources in sorted(rules.items(), key=lambda r: (r[0][0], sorted(r[1])))]


def user_rules(kind):
    """What people who edit, and people who view, RayJobs and the like may."""
    def rules(verbs):
        return [{"apiGroups": ["ray.io"], "resources": [kind + "s"], "verbs": verbs},
                {"apiGroups": ["ray.io"], "resources": [kind + "s/status"], "verbs": ["get"]}]
    return {f"{kind}-editor-role": rules(["create", "delete", "get", "list", "patch", "update", "watch"]),
            f"{kind}-viewer-role": rules(["get", "list", "watch"])}


def dump(value):
    return yaml.safe_dump(value, sort_keys=False, default_flow_style=False, width=200)


CONDITIONS = {  # when the chart has the rules of calls.yaml's `conditional`
    "RayClusterReplaceLostHead":
        'include "kuberay-operator.gateEnabled" (dict "root" . "gate" "RayClusterReplaceLostHead")',
    "RayJobKeepLog": 'include "kuberay-operator.gateEnabled" (dict "root" . "gate" "RayJobKeepLog")',
    "KubernetesWAS": 'include "kuberay-operator.gateEnabled" (dict "root" . "gate" "KubernetesWAS")',
    "volcano": 'include "kuberay-operator.usesScheduler" (dict "root" . "name" "volcano")',
    "scheduler-plugins": 'include "kuberay-operator.usesScheduler" (dict "root" . "name" "scheduler-plugins")',
}


def chart_rules(calls):
    text = f"{{{{/* {SOURCE} */}}}}\n"
    text += '{{- define "kuberay-operator.rules" -}}\n' + dump(rules_of(calls["operator"]))
    for part in calls["conditional"]:
        text += f"{{{{- if {CONDITIONS[part['name']]} }}}}\n{dump(rules_of(part['calls']))}{{{{- end }}}}\n"
    text += "{{- end -}}\n\n"
    text += '{{- define "kuberay-operator.leaderElectionRules" -}}\n'
    text += dump(rules_of(calls["leader_election"])) + "{{- end -}}\n"
    return text


def chart_user_roles(calls):
    text = f"{{{{- /* {SOURCE} */}}}}\n"
    text += ('{{- if and (include "kuberay-operator.on" .Values.rbacEnable) '
             '(not .Values.singleNamespaceInstall) }}\n')
    for kind in calls["users"]:
        for name, rules in user_rules(kind).items():
            text += f"""---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {name}
  labels:
    {{{{- include "kuberay-operator.labels" . | nindent 4 }}}}
rules:
{dump(rules)}"""
    return text + "{{- end }}\n"


def kustomize_roles(calls):
    def role(kind, name, rules):
        return f"# {SOURCE}\n" + dump({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
                                       "metadata": {"name": name}, "rules": rules})
    files = {"role.yaml": role("ClusterRole", "kuberay-operator", rules_of(calls["operator"])),
             "leader_election_role.yaml": role("Role", "kuberay-operator-leader-election",
                                               rules_of(calls["leader_election"]))}
    for kind in calls["users"]:
        for name, rules in user_rules(kind).items():
            files[name.replace("-", "_") + ".yaml"] = role("ClusterRole", name, rules)
    return {DEPLOY / "kustomize/rbac" / name: text for name, text in files.items()}


def was_patch(calls):
    rules = next(rules_of(p["calls"]) for p in calls["conditional"] if p["name"] == "KubernetesWAS")
    return f"# {SOURCE}\n" + dump([{"op": "add", "path": "/rules/-", "value": rule} for rule in rules])


# --- values ------------------------------------------------------------------------------------------

def documented_values(text):
    """(path, description) of every `# --` comment of a values.yaml, in its order."""
    out, path, comment = [], [], []
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith("# -- "):
            comment = [bare[5:]]
        elif bare.startswith("# @"):
            continue
        elif bare.startswith("# ") and comment:
            comment.append(bare[2:])
        elif match := re.match(r"^( *)([\w.-]+):", line):
            depth = len(match[1]) // 2
            path = path[:depth] + [match[2]]
            if comment:
                out.append((".".join(path), " ".join(comment)))
            comment = []
        else:
            comment = []
    return out


# A schema refuses only what no template takes, or no API server and no operator afterwards: values of a chart that works
# go on working. Keys that are not described, and whatever a template takes for unset, are always allowed.
def unless_unset(schema):
    return {"if": {"$ref": "#/definitions/unset"}, "else": schema}


# What Go's flags read as a boolean.
SWITCH = [True, False, 1, 0, *"1 0 t f T F true false TRUE FALSE True False".split()]
NAMES = {"type": ["string", "number"], "pattern": r"^\S*$"}
DEFINITIONS = {"unset": {"enum": [None, "", False, 0, [], {}]},
               "switch": {"enum": [None, "", *SWITCH]},
               "gates": unless_unset({"type": "array", "items": {
                   "type": "object", "required": ["name", "enabled"],
                   "properties": {"name": {"type": "string", "minLength": 1}, "enabled": {"enum": SWITCH}}}}),
               "namespaces": unless_unset({"anyOf": [NAMES, {"type": "array", "items": NAMES}]}),
               "text": unless_unset({"type": ["string", "number", "boolean"]}),
               "integer": unless_unset({"type": ["integer", "string"], "pattern": "^[-+]?[0-9]+$"}),
               "list": unless_unset({"type": "array"}),
               "map": unless_unset({"type": "object"})}


def annotations(text):
    """{path: words} of every `# @…` comment of a values.yaml."""
    out, path, words = {}, [], None
    for line in text.splitlines():
        if line.strip().startswith("# @"):
            words = line.strip()[3:].split()
        elif match := re.match(r"^( *)([\w.-]+):", line):
            path = path[:len(match[1]) // 2] + [match[2]]
            if words:
                out[".".join(path)] = words
            words = None
    return out


def value_schema(value, words):
    """Of one value, or nothing where anything goes."""
    if words and words[0] == "one-of":
        return unless_unset({"enum": words[1:]})
    if words and words[0] == "from":
        return unless_unset({"type": ["integer", "string"], "pattern": "^[+]?[0-9]+$",
                             "minimum": int(words[1]), "maximum": int(words[3])})
    if words and words[0] in DEFINITIONS:
        return {"$ref": "#/definitions/" + words[0]}
    if words == ["any"] or value is None or isinstance(value, bool):
        return None  # of other switches templates ask only whether they are set
    kinds = {int: "integer", str: "text", list: "list", dict: "map"}
    return {"$ref": "#/definitions/" + kinds[type(value)]}


def schema_of(values, described, words, path=()):
    properties = {}
    for key, value in values.items():
        here = ".".join((*path, key))
        if isinstance(value, dict) and here not in described:
            properties[key] = unless_unset(schema_of(value, described, words, (*path, key)))
        elif (schema := value_schema(value, words.get(here))) is not None:
            properties[key] = schema
    return {"type": "object", "properties": properties}


def chart_schema(chart):
    text = (chart / "values.yaml").read_text()
    described = {path for path, _ in documented_values(text)}
    schema = schema_of(yaml.safe_load(text), described, annotations(text))
    if "additionalWorkerGroups" in schema["properties"]:
        schema["properties"]["additionalWorkerGroups"] = unless_unset(
            {"type": "object", "additionalProperties": schema["properties"]["worker"]})
    schema = {"$schema": "http://json-schema.org/draft-07/schema#",
              "$comment": "Written by tools/gen_deploy.py from values.yaml.", "definitions": DEFINITIONS, **schema}
    return json.dumps(schema, indent=1) + "\n"


def shown(value):
    if value is None:
        return ""
    text = yaml.safe_dump(value, default_flow_style=True, width=10000).replace("\n...", "").strip()
    return f"`{text}`" if len(text) < 90 else "see values.yaml"


def chart_readme(chart):
    text = (chart / "values.yaml").read_text()
    values = yaml.safe_load(text)
    rows = ""
    for path, description in documented_values(text):
        value = values
        for key in path.split("."):
            value = value[key]
        rows += f"| `{path}` | {shown(value)} | {description} |\n"
    readme = (chart / "README.md").read_text()
    mark = "<!-- values, written by tools/gen_deploy.py -->"
    return readme.split(mark)[0] + mark + "\n\n| value | default | |\n|---|---|---|\n" + rows


# --- files -------------------------------------------------------------------------------------------

def wanted():
    calls = yaml.safe_load((DEPLOY / "rbac/calls.yaml").read_text())
    files = {OPERATOR_CHART / "templates/_rules.tpl": chart_rules(calls),
             OPERATOR_CHART / "templates/user_roles.yaml": chart_user_roles(calls),
             DEPLOY / "kustomize/overlays/kubernetes-was-v1alpha2/rules.yaml": was_patch(calls)}
    files |= kustomize_roles(calls)
    for crd in sorted((DEPLOY / "crd").glob("*.yaml")):
        files[OPERATOR_CHART / "crds" / crd.name] = crd.read_text()
    for chart in sorted((DEPLOY / "helm").iterdir()):
        files[chart / "README.md"] = chart_readme(chart)
        files[chart / "values.schema.json"] = chart_schema(chart)
    return files


if __name__ == "__main__":
    write_or_check(__doc__, wanted)
