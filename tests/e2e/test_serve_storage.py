"""RayServices whose control store is in Redis: what one of them has stored, another of its name must not find."""
import pytest
import yaml
from conftest import SAMPLES, wait_for
from test_raycluster_real import REDIS

SLOW = 300
NAME = "rayservice-sample"


def service(manta):
    return manta.get("rayservice", NAME)


def applications(manta):
    return service(manta).get("status", {}).get("activeServiceStatus", {}).get("applicationStatuses", {})


def serves(manta, *names):
    found = applications(manta)
    return set(found) == set(names) and {a["status"] for a in found.values()} == {"RUNNING"}


def listed_by_serve(manta):
    """The applications that Ray Serve itself knows."""
    name = service(manta)["status"]["activeServiceStatus"]["rayClusterName"]
    heads = manta.get("pods", "-l", f"ray.io/cluster={name},ray.io/node-type=head")["items"]
    code = ("import json, urllib.request as u;"
            "print(*json.load(u.urlopen('http://127.0.0.1:8265/api/serve/applications/'))['applications'])")
    said = manta.kubectl("exec", heads[0]["metadata"]["name"], "-c", "ray-head", "--", "python", "-c", code, timeout=SLOW)
    return said.stdout.split()


@pytest.mark.long
def test_FT_10_applications_of_a_deleted_rayservice_do_not_come_back_from_redis(manta):
    manta.up()
    manta.apply(REDIS)
    manta.kubectl("wait", "--for=condition=Ready", "pod/redis", "--timeout=60s")
    redis = lambda *words: manta.kubectl("exec", "redis", "--", "redis-cli", "-a", "open", "--no-auth-warning",
                                         *words).stdout.split()
    code, document = yaml.safe_load_all((SAMPLES / "ray-service.sample.yaml").read_text())
    document["spec"]["rayClusterConfig"]["gcsFaultToleranceOptions"] = {
        "redisAddress": "redis:6379", "redisPassword": {"value": "open"}}
    config = yaml.safe_load(document["spec"]["serveConfigV2"])
    first, second = config["applications"]
    seen = []
    for app in (first, second):
        document["spec"]["serveConfigV2"] = yaml.safe_dump({**config, "applications": [app]})
        manta.apply(yaml.safe_dump_all([code, document]))
        wait_for(f"{app['name']} alone to serve", lambda: serves(manta, app["name"]), SLOW, 1)
        assert listed_by_serve(manta) == [app["name"]]
        seen.append(set(redis("keys", "*")))
        assert seen[-1]
        manta.kubectl("delete", "rayservice", NAME, "--timeout=180s")
        wait_for("the cluster to go", lambda: not manta.get("rayclusters")["items"], SLOW, 1)
        assert redis("dbsize") == ["0"], "Redis grows with no upgrade"
    assert not seen[0] & seen[1], "each cluster has a storage namespace of its own"
