#!/usr/bin/env python3
"""Writes src/local/apiserver/builtin_types.inc and builtin_resources.inc: which fields, keys and resources
Kubernetes' built-in types have, one line a type. The facts are read from a running API server (its OpenAPI and
discovery, through `kubectl get --raw`) and, for what OpenAPI does not tell (field order, pointers, omitempty), from the
Go module k8s.io/api of the same version.

    cd ../shared/conformance && python3 lab.py exec python3 …/tools/gen_kube_types.py GOMODCACHE/k8s.io OUTPUT_FOLDER
"""
import json, pathlib, re, subprocess, sys

GROUPS = ["api/v1", "apis/apps/v1", "apis/batch/v1", "apis/networking.k8s.io/v1", "apis/rbac.authorization.k8s.io/v1",
          "apis/discovery.k8s.io/v1", "apis/coordination.k8s.io/v1", "apis/apiextensions.k8s.io/v1", "apis/policy/v1",
          "apis/scheduling.k8s.io/v1", "apis/authorization.k8s.io/v1", "apis/authentication.k8s.io/v1",
          "apis/events.k8s.io/v1", "apis/storage.k8s.io/v1", "apis/autoscaling/v1", "apis/autoscaling/v2",
          "apis/admissionregistration.k8s.io/v1"]
# Of these groups only what is of use on one machine.
ONLY = {"apis/storage.k8s.io/v1": {"storageclasses"},
        "apis/admissionregistration.k8s.io/v1": {"validatingwebhookconfigurations", "mutatingwebhookconfigurations"},
        "apis/networking.k8s.io/v1": {"ingresses", "ingressclasses", "networkpolicies"}}
PREFIXES = [("io.k8s.api.", ""), ("io.k8s.apimachinery.pkg.apis.", ""), ("io.k8s.apimachinery.pkg.", "pkg."),
            ("io.k8s.apiextensions-apiserver.pkg.apis.", "")]


def raw(path):
    return json.loads(subprocess.check_output(["kubectl", "get", "--raw", "/" + path]))


def short(ref):
    name = ref.rsplit("/", 1)[-1]
    for long, new in PREFIXES:
        if name.startswith(long):
            return new + name[len(long):]
    return name


def go_structs(folder):
    """type name -> [(json name, pointer, omitempty, inline type, protobuf number)]"""
    out = {}
    for f in folder.glob("*.go"):
        if f.name.startswith("zz_") or f.name.endswith("_test.go") or f.name.endswith(".pb.go"):
            continue
        text = re.sub(r"/\*.*?\*/", "", f.read_text(), flags=re.S)
        for m in re.finditer(r"^type (\w+) struct \{\n(.*?)^\}", text, re.S | re.M):
            fields = []
            for line in m.group(2).splitlines():
                g = re.match(r'\s*(?:(\w+)\s+)?([\w\.\*\[\]]+)\s+`.*?json:"([^"]*)"', line.split(" //")[0])
                if g:
                    tag = g.group(3).split(",")
                    number = re.search(r'protobuf:"\w+,(\d+),', line)
                    fields.append((tag[0], g.group(2).startswith("*"), "omitempty" in tag or "omitzero" in tag,
                                   g.group(2).lstrip("*").split(".")[-1] if "inline" in tag or not tag[0] else "",
                                   number.group(1) if number else ""))
            out[m.group(1)] = fields
    return out


def type_text(s):
    if "allOf" in s and len(s["allOf"]) == 1:
        s = {**s["allOf"][0], **{k: v for k, v in s.items() if k != "allOf"}}
    if "$ref" in s:
        n = short(s["$ref"])
        special = {"pkg.api.resource.Quantity": "q", "meta.v1.Time": "T", "meta.v1.MicroTime": "M", "pkg.util.intstr.IntOrString": "I",
                   "pkg.runtime.RawExtension": "o", "meta.v1.FieldsV1": "o", "meta.v1.Duration": "s",
                   "apiextensions.v1.JSON": "a", "apiextensions.v1.JSONSchemaPropsOrArray": "a",
                   "apiextensions.v1.JSONSchemaPropsOrBool": "a", "apiextensions.v1.JSONSchemaPropsOrStringArray": "a"}
        return special.get(n, "@" + n)
    t = s.get("type")
    if t == "array":
        return "[" + type_text(s["items"])
    if t == "object":
        return "{" + type_text(s["additionalProperties"]) if "additionalProperties" in s else "o"
    if t == "string":
        return "y" if s.get("format") == "byte" else "s"
    if t == "integer":
        return "l" if s.get("format") == "int64" else "i"
    return {"boolean": "b", "number": "n"}.get(t, "a")


def field_text(name, s, required, go):
    out = name + ":" + type_text(s)
    if required:
        out += "!"
    if go:
        out += "*" if go[1] else ""
        out += "" if go[2] else "e"
    if s.get("default") not in (None, {}, "", 0):
        out += "=" + json.dumps(s["default"])
    kind = s.get("x-kubernetes-list-type")
    if kind == "map":
        out += "&m(" + ",".join(s["x-kubernetes-list-map-keys"]) + ")"
    elif kind:
        out += "&" + kind[0]
    if s.get("x-kubernetes-map-type") == "atomic":
        out += "&a"
    strategy = s.get("x-kubernetes-patch-strategy", "")
    if "merge" in strategy.split(","):
        out += "+m(" + s.get("x-kubernetes-patch-merge-key", "") + ")"
    if "retainKeys" in strategy:
        out += "+r"
    if go and go[4]:
        out += "#" + go[4]
    return out


def main():
    modules, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    version = {m: next(modules.glob(m + "@v*")) for m in ("api", "apimachinery", "apiextensions-apiserver")}
    schemas, resources = {}, []
    for g in GROUPS:
        for n, s in raw("openapi/v3/" + g)["components"]["schemas"].items():
            schemas[short(n)] = s
        found = raw(g)
        for r in found["resources"]:
            if g in ONLY and r["name"].split("/")[0] not in ONLY[g]:
                continue
            resources.append((g, r))
    kinds = {}
    for n, s in schemas.items():
        for gvk in s.get("x-kubernetes-group-version-kind", []):
            kinds[(gvk["group"], gvk["version"], gvk["kind"])] = n
    go = {}

    def go_fields(name):
        pkg, t = name.rsplit(".", 1)
        if pkg not in go:
            if pkg.startswith("meta."):
                go[pkg] = go_structs(version["apimachinery"] / "pkg/apis" / pkg.replace(".", "/"))
            elif pkg.startswith("apiextensions."):
                go[pkg] = go_structs(version["apiextensions-apiserver"] / "pkg/apis" / pkg.replace(".", "/"))
            else:
                go[pkg] = go_structs(version["api"] / pkg.replace(".", "/"))
        flat = []
        for f in go[pkg].get(t, []):
            if f[3] and f[3] in ("TypeMeta",):
                flat += [("kind", False, True, "", ""), ("apiVersion", False, True, "", "")]
            elif f[3] and not f[0]:
                flat += [i[:4] + (f"{f[4]}.{i[4]}",) for i in go_fields(pkg + "." + f[3])] if f[3] in go[pkg] else []
            else:
                flat.append(f)
        return flat

    roots, lines, seen = [], [], set()
    table = []
    for g, r in resources:
        gv = g[4:] if g == "api/v1" else g[5:]
        group, ver = ("", gv) if "/" not in gv else gv.split("/")
        kg, kv = r.get("group", group), r.get("version", ver)
        t = kinds.get((kg, kv, r["kind"]), "")
        if t:
            roots.append(t)
        table.append((group, ver, r["name"], r["kind"], int(r["namespaced"]), r.get("singularName", ""),
                      ",".join(r.get("shortNames", [])), ",".join(r.get("categories", [])), ",".join(r["verbs"]), t,
                      kg if r.get("version") else "", r.get("version", "")))
    roots += ["meta.v1.DeleteOptions", "meta.v1.ObjectMeta"]
    while roots:
        n = roots.pop()
        if n in seen or n not in schemas:
            continue
        seen.add(n)
        s = schemas[n]
        order = {f[0]: (i, f) for i, f in enumerate(go_fields(n))}
        props = sorted(s.get("properties", {}).items(), key=lambda kv: order.get(kv[0], (999,))[0])
        fields = []
        for k, v in props:
            text = field_text(k, v, k in s.get("required", []), order.get(k, (0, None))[1])
            fields.append(text)
            # The flag "e" (always written) may follow a name directly.
            roots += [r if r in schemas else r.removesuffix("e") for r in re.findall(r"@([\w\.\-]+)", text)]
        head = n
        if s.get("x-kubernetes-map-type") == "atomic":
            head += "&a"
        if not props and s.get("type") != "object":
            print("odd type", n, s.get("type"), file=sys.stderr)
        lines.append(head + " " + " ".join(fields))
    note = "// Made by tools/gen_kube_types.py from Kubernetes " + version["api"].name.split("@")[1] + "; do not edit.\n"
    (out / "builtin_types.inc").write_text(note + "".join("R\"~(%s)~\",\n" % l for l in sorted(lines)))
    (out / "builtin_resources.inc").write_text(note + "".join("{" + ", ".join(
        (json.dumps(c) if isinstance(c, str) else ("true" if c else "false")) for c in row) + "},\n" for row in table))


main()
