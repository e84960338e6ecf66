#!/usr/bin/env python3
"""Sends the same requests to two API servers and compares the answers: status codes and bodies, less what must differ
(uids, times, versions, addresses, managedFields, field order).

    same_answers.py REAL_KUBECONFIG OURS_KUBECONFIG

A kubeconfig of the real one comes from lab.py up (run this inside its network namespace with lab.py exec, and let ours
listen there too). Exit status 1 when an answer differs."""
import json, re, sys

import requests, urllib3, yaml

urllib3.disable_warnings()
NS = "same-answers"
P = f"/api/v1/namespaces/{NS}"
CRD = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "probes.same.manta.dev"},
       "spec": {"group": "same.manta.dev", "scope": "Namespaced", "names": {"kind": "Probe", "plural": "probes"}, "versions": [{
           "name": "v1", "served": True, "storage": True, "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}},
           "schema": {"openAPIV3Schema": {"type": "object", "properties": {
               "spec": {"type": "object", "required": ["need"], "properties": {
                   "need": {"type": "string"}, "n": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 10, "default": 2},
                   "text": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^a+$"}, "choice": {"type": "string", "enum": ["A", "B"]},
                   "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                   "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
                       "type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "v": {"type": "integer"}}}},
                   "port": {"x-kubernetes-int-or-string": True}, "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                   "fixed": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "fixed is immutable"}]},
                   "pair": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                            "x-kubernetes-validations": [{"rule": "!has(self.b) || self.a <= self.b", "message": "a must not exceed b"}]}}},
               "status": {"type": "object", "properties": {"n": {"type": "integer"}}}}}}}]}}
X = f"/apis/same.manta.dev/v1/namespaces/{NS}/probes"


def pod(**spec):
    return {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}], **spec}}


def probe(name="x", **spec):
    return {"apiVersion": "same.manta.dev/v1", "kind": "Probe", "metadata": {"name": name}, "spec": {"need": "a", **spec}}


def box(**c):
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i:1", **c}]}}


MERGE, SMP, JP, APPLY = ("application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json",
                         "application/apply-patch+yaml")
STEPS = [
    ("POST", P + "/pods", pod()), ("POST", P + "/pods", pod()), ("GET", P + "/pods/p"), ("GET", P + "/pods/none"),
    ("PATCH", P + "/pods/p", {"metadata": {"labels": {"c": "d"}}}, MERGE), ("PATCH", P + "/pods/p", {"spec": {"hostname": "x"}}, MERGE),
    ("PATCH", P + "/pods/p", {"spec": {"containers": [{"name": "c", "image": "i:2"}]}}, SMP),
    ("PATCH", P + "/pods/p", [{"op": "test", "path": "/spec/hostname", "value": "q"}], JP),
    ("PATCH", P + "/pods/p/status", {"status": {"phase": "Running", "podIP": "1.2.3.4"}}, MERGE),
    ("GET", P + "/pods?labelSelector=c%3Dd&limit=1"), ("GET", P + "/pods?fieldSelector=spec.foo%3D1"), ("GET", P + "/pods?fieldSelector=status.phase%3DRunning"),
    ("POST", P + "/pods/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}), ("POST", P + "/pods/p/binding", {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}),
    ("DELETE", P + "/pods/p", {"preconditions": {"uid": "zz"}}), ("DELETE", P + "/pods/p"), ("DELETE", P + "/pods/p", {"gracePeriodSeconds": 0}),
    ("DELETE", P + "/pods/p"),
    *[("POST", P + "/pods", o) for o in [
        {"metadata": {"name": "p"}, "spec": {}}, {"metadata": {"name": "P_"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}, {"metadata": {}, "spec": {}},
        box(name="A_b"), box(image=""), box(ports=[{"containerPort": 70000}]), box(env=[{"name": "a", "value": 1}]), box(env=[{"name": "A=B", "value": "1"}]),
        box(resources={"limits": {"cpu": "abc"}}), box(resources={"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}), box(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
        box(ports=[{"containerPort": 1, "name": "toolongforaportname"}]), box(livenessProbe={}), pod(restartPolicy="No"), pod(priorityClassName="none"),
        pod(volumes=[{"name": "v"}, {"name": "v", "emptyDir": {}}]), pod(containers=[{"name": "a", "image": "i"}, {"name": "a", "image": "i"}]), pod(containers="x")]],
    ("POST", P + "/pods?fieldValidation=Strict", pod(foo=1)), ("POST", P + "/pods?dryRun=All", pod(foo=1)), ("POST", P + "/pods?dryRun=None", pod()),
    *[("POST", P + "/services", {"metadata": {"name": n}, "spec": s}) for n, s in [
        ("a", {"ports": [{"port": 80}]}), ("b", {"type": "NodePort", "ports": [{"port": 80, "name": "x"}, {"port": 81, "name": "z"}]}), ("c", {"clusterIP": "None", "selector": {"a": "b"}}),
        ("d", {}), ("e", {"ports": [{"port": 80}, {"port": 81}]}), ("f", {"ports": [{"port": 0}]}), ("a", {"ports": [{"port": 80}]}), ("1a", {"ports": [{"port": 80}]})]],
    ("PATCH", P + "/services/a", {"spec": {"type": "NodePort"}}, MERGE), ("PATCH", P + "/services/a", {"spec": {"clusterIP": "10.96.0.77"}}, MERGE), ("DELETE", P + "/services/a"),
    ("POST", P + "/configmaps", {"metadata": {"name": "m", "finalizers": ["a.io/b"]}, "data": {"k": "v"}}), ("POST", P + "/configmaps", {"metadata": {"name": "n"}, "data": {"a/b": "v"}}),
    ("DELETE", P + "/configmaps/m"), ("PATCH", P + "/configmaps/m", {"metadata": {"finalizers": ["a.io/b", "c.io/d"]}}, MERGE),
    ("PATCH", P + "/configmaps/m", {"metadata": {"finalizers": None}}, MERGE), ("GET", P + "/configmaps/m"),
    ("POST", P + "/secrets", {"metadata": {"name": "s"}, "stringData": {"a": "b"}}), ("PATCH", P + "/secrets/s", {"type": "x"}, MERGE),
    ("POST", f"/apis/batch/v1/namespaces/{NS}/jobs", {"metadata": {"name": "j"}, "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}),
    ("POST", f"/apis/batch/v1/namespaces/{NS}/jobs", {"metadata": {"name": "k"}, "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}}),
    ("PATCH", f"/apis/batch/v1/namespaces/{NS}/jobs/j", {"spec": {"completions": 3}}, MERGE),
    ("DELETE", f"/apis/batch/v1/namespaces/{NS}/jobs/j", {"propagationPolicy": "Background"}),
    ("POST", f"/apis/apps/v1/namespaces/{NS}/deployments", {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"x": "y"}}, "spec": {"containers": []}}}}),
    ("POST", f"/apis/coordination.k8s.io/v1/namespaces/{NS}/leases", {"metadata": {"name": "l"}, "spec": {"holderIdentity": "x"}}),
    ("POST", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NS}/rolebindings", {"metadata": {"name": "r:b"}, "roleRef": {"kind": "Role", "name": "x"}, "subjects": [{"kind": "Foo", "name": "x"}]}),
    ("POST", X, probe()), *[("POST", X, probe("y", **s)) for s in [
        {"need": None}, {"need": 1}, {"n": 0}, {"n": 11}, {"n": "1"}, {"n": 1.5}, {"text": "a"}, {"text": "aaaaa"}, {"text": "bb"}, {"choice": "C"}, {"set": ["a", "a"]},
        {"map": [{"name": "a"}, {"name": "a"}]}, {"map": [{"v": 1}]}, {"port": True}, {"pair": {"a": 2, "b": 1}}, {"pair": {"a": 2}}, {"set": "x"}]],
    ("POST", X + "?fieldValidation=Strict", probe("z", foo=1, map=[{"name": "a", "q": 1}])), ("POST", X, probe("z", foo=1, open={"any": [1, {"x": None}]})),
    ("POST", X, {**probe("q"), "kind": "Foo"}), ("POST", X, {**probe("q"), "apiVersion": "same.manta.dev/v2"}), ("POST", X, {}), ("POST", X, probe("Bad_Name")),
    ("PATCH", X + "/x", {"spec": {"fixed": "1"}}, MERGE), ("PATCH", X + "/x", {"spec": {"fixed": "2"}}, MERGE), ("PATCH", X + "/x", {"status": {"n": 3}}, MERGE),
    ("PATCH", X + "/x/status", {"status": {"n": 3}, "spec": {"need": "zz"}}, MERGE), ("GET", X + "/x/scale"), ("PATCH", X + "/x/scale", {"spec": {"replicas": 4}}, MERGE),
    ("PATCH", X + "/x", {"spec": {}}, SMP), ("PUT", X + "/x", probe()), ("PUT", X + "/other", probe()), ("GET", X + "?resourceVersion=999999999"),
    ("PATCH", X + "/applied?fieldManager=one", probe("applied", n=3), APPLY), ("PATCH", X + "/applied?fieldManager=two", probe("applied", n=4), APPLY),
    ("PATCH", X + "/applied?fieldManager=two&force=true", probe("applied", n=4), APPLY), ("DELETE", X + "/x"), ("GET", "/apis/same.manta.dev/v1/nothing"),
    ("GET", "/api/v1/nothing"), ("POST", "/api/v1/namespaces/none/pods", pod()), ("DELETE", X),
]


def strip(o):
    if isinstance(o, list):
        return [strip(v) for v in o]
    if not isinstance(o, dict):
        return o
    drop = {"managedFields", "uid", "resourceVersion", "creationTimestamp", "nodePort", "clusterIP", "clusterIPs", "deletionTimestamp", "selfLink",
            "continue", "startTime", "lastTransitionTime"}
    out = {k: strip(v) for k, v in o.items() if k not in drop}
    if str(out.get("kind", "")).endswith("List"):  # typed lists leave these out of their items; ours does not
        out["items"] = [{k: v for k, v in i.items() if k not in ("kind", "apiVersion")} for i in out.get("items") or []]
    if "causes" in out:
        out["causes"] = sorted({json.dumps(c, sort_keys=True) for c in out["causes"]})
    return out


def normal(text):
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID", text)
    text = re.sub(r"current: \d+", "current: N", text)
    # Several field errors come in no order.
    def sort(m):
        return "[" + ", ".join(sorted(re.split(r", (?=[\w<][\w\[\]\.<>-]*: )", m.group(1)))) + "]"
    return re.sub(r"\[((?:[\w<][\w\[\]\.<>-]*: ).*)\]$", sort, text)


class Server:
    def __init__(self, kubeconfig):
        kc = yaml.safe_load(open(kubeconfig))
        self.base, self.s = kc["clusters"][0]["cluster"]["server"].rstrip("/"), requests.Session()
        self.s.verify, self.s.trust_env = False, False
        self.s.headers["Authorization"] = "Bearer " + kc["users"][0]["user"]["token"]

    def send(self, method, path, body=None, kind="application/json"):
        r = self.s.request(method, self.base + path, data=None if body is None else json.dumps(body), headers={"Content-Type": kind}, timeout=30)
        try:
            answer = strip(r.json())
            if isinstance(answer, dict) and "message" in answer:
                answer["message"] = normal(answer["message"])
        except ValueError:
            answer = r.text
        return r.status_code, normal(json.dumps(answer, sort_keys=True)), sorted(r.headers.get("Warning", "").split(", "))


def main():
    import time
    servers = [Server(p) for p in sys.argv[1:3]]
    for s in servers:
        s.send("POST", "/api/v1/namespaces", {"metadata": {"name": NS}})
        s.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
    time.sleep(2)  # the real server serves a new kind a moment later
    differ = 0
    for step in STEPS:
        real, ours = [s.send(*step) for s in servers]
        if real != ours:
            differ += 1
            print(f"{step[0]} {step[1]} {json.dumps(step[2]) if len(step) > 2 else ''}\n  real {real}\n  ours {ours}")
    for s in servers:
        s.send("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + CRD["metadata"]["name"])
        s.send("DELETE", "/api/v1/namespaces/" + NS)
    print(f"{len(STEPS) - differ} of {len(STEPS)} answers are the same")
    sys.exit(1 if differ else 0)


main()
