"""What rights.py cannot see called: rights that the API server wants held, and who makes them."""
import json

import pytest

from conftest import CRDS, helm_template
from rights import RIGHTS, grant, granted, ray_cluster

KINDS = ["raycluster", "rayjob", "rayservice", "raycronjob"]


@pytest.fixture(scope="module")
def account(cluster):
    cluster.kubectl("apply", "--server-side", "-f", CRDS)
    cluster.kubectl("create", "namespace", "rights", check=False)
    return grant(cluster)


def as_operator(cluster, account, *args, objects=(), check=True):
    return cluster.kubectl("--kubeconfig", account, "--namespace", "rights", *args, check=check,
                           input="\n".join(map(json.dumps, objects)))


def without(cluster, group, resource, verb):
    """The operator's rights but for one."""
    (role,) = [o for o in helm_template("kuberay-operator") if o["metadata"]["name"] == "kuberay-operator"
               and o["kind"] == "ClusterRole"]
    rules = []
    for rule in role["rules"]:
        for r in rule["resources"]:
            verbs = [v for v in rule["verbs"] if (rule["apiGroups"], r, v) != ([group], resource, verb)]
            if verbs:
                rules.append({"apiGroups": rule["apiGroups"], "resources": [r], "verbs": verbs})
    cluster.apply([{**role, "rules": rules}])


def role_of_the_autoscaler():
    rules = [("", "pods", ["get", "list", "watch", "patch"]), ("", "pods/resize", ["patch"]),
             ("ray.io", "rayclusters", ["get", "patch"])]
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "autoscaler"},
            "rules": [{"apiGroups": [g], "resources": [r], "verbs": v} for g, r, v in rules]}


def owned_by(kind, uid):
    owner = {"apiVersion": "ray.io/v1", "kind": kind, "name": "owner", "uid": uid, "controller": True,
             "blockOwnerDeletion": True}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"of-{kind.lower()}", "ownerReferences": [owner]},
            "spec": {"clusterIP": "None"}}


def owner_of(kind):
    spec = ray_cluster("owner")["spec"]
    job = {"entrypoint": "true", "rayClusterSpec": spec}
    specs = {"RayCluster": spec, "RayJob": job, "RayService": {"rayClusterConfig": spec},
             "RayCronJob": {"schedule": "* * * * *", "jobTemplate": job}}
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": "owner"}, "spec": specs[kind]}


def test_autoscalers_role_may_be_made_with_the_right_to_resize_only(cluster, account):
    dry = ("create", "--dry-run=server", "-f", "-")
    grant(cluster)
    as_operator(cluster, account, *dry, objects=[role_of_the_autoscaler()])
    without(cluster, "", "pods/resize", "patch")
    refused = as_operator(cluster, account, *dry, objects=[role_of_the_autoscaler()], check=False)
    assert refused.returncode != 0 and "attempting to grant RBAC permissions not currently held" in refused.stderr
    grant(cluster)


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob", "RayService", "RayCronJob"])
def test_owners_that_children_block_need_the_right_to_their_finalizers(cluster, account, kind):
    cluster.apply([owner_of(kind)], "--namespace", "rights")
    uid = cluster.get("--namespace", "rights", f"{kind.lower()}s.ray.io", "owner")["metadata"]["uid"]
    dry = ("create", "--dry-run=server", "-f", "-")
    grant(cluster)
    as_operator(cluster, account, *dry, objects=[owned_by(kind, uid)])
    without(cluster, "ray.io", f"{kind.lower()}s/finalizers", "update")
    refused = as_operator(cluster, account, *dry, objects=[owned_by(kind, uid)], check=False)
    assert refused.returncode != 0 and "blockOwnerDeletion" in refused.stderr
    grant(cluster)


def test_HM_02_chart_grants_what_calls_yaml_says_and_no_more():
    roles = [o for o in helm_template("kuberay-operator", {"batchScheduler": {"enabled": True}, "featureGates": [
        {"name": "KubernetesWAS", "enabled": True}]})
        if o["kind"] in RIGHTS and o["metadata"]["name"].startswith("kuberay-operator")]
    have = {(g, r, v) for role in roles for rule in role.get("rules", []) for g in rule["apiGroups"]
            for r in rule["resources"] for v in rule["verbs"]}
    assert have == set(granted())
    assert not [right for right in have if "*" in right]


def test_SEC_04_a_namespaced_installation_needs_no_cluster_role(cluster, account):
    rendered = helm_template("kuberay-operator", {"singleNamespaceInstall": True, "watchNamespace": ["rights"]})
    assert not rendered.names("ClusterRole") and not rendered.names("ClusterRoleBinding")


@pytest.mark.parametrize("kind", KINDS[1:])
def test_people_may_be_given_what_the_roles_for_people_say(cluster, account, kind):
    for role, verb, allowed in [("editor", "create", True), ("viewer", "list", True), ("viewer", "create", False)]:
        name = f"{kind}-{role}"
        cluster.apply([{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                        "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                                                                "kind": "ClusterRole", "name": f"{name}-role"},
                        "subjects": [{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}]}])
        answer = cluster.kubectl("auth", "can-i", verb, f"{kind}s.ray.io", "--as", name, check=False)
        assert answer.stdout.strip() == ("yes" if allowed else "no")
