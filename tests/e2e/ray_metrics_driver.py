"""Runs inside of Ray's own environment: a head that does a little of everything, and the names of the series that it
exports.

    python ray_metrics_driver.py FOLDER NAME…      # FOLDER/result.json has {"version", "names", "own"} once each NAME was
                                                   # seen, or after two minutes

`own` are the dashboards that this Ray makes for itself. Needs Ray's loopback ports, so a network namespace of its own.
"""
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request

FOLDER, WANTED = sys.argv[1], set(sys.argv[2:])
PORTS = {"METRICS": 8080, "AUTOSCALER": 44217, "DASHBOARD": 44227}
os.environ.update(RAY_AUTH_MODE="disabled", HOME=FOLDER)

import ray  # noqa: E402  (reads the environment)
from ray import serve  # noqa: E402
from ray.dashboard.modules.metrics import grafana_dashboard_factory as factory  # noqa: E402
from ray.util.placement_group import placement_group  # noqa: E402


@ray.remote(num_cpus=0.1)
def task():
    return len(ray.get(ray.put(bytes(1 << 20))))


@ray.remote(num_cpus=0.1)
class Actor:
    def call(self):
        return 1


@serve.deployment(ray_actor_options={"num_cpus": 0.1})
class App:
    @serve.multiplexed(max_num_models_per_replica=1)
    async def model(self, name):
        return name

    async def __call__(self, request):
        if request.query_params.get("fail"):
            raise ValueError("asked for")
        return await self.model(serve.get_multiplexed_model_id())


def ask(model, query=""):
    request = urllib.request.Request(f"http://127.0.0.1:8000/{query}", headers={"serve_multiplexed_model_id": model})
    try:
        urllib.request.urlopen(request, timeout=10).read()
    except urllib.error.HTTPError:
        pass


def names():
    found = set()
    for port in PORTS.values():
        try:
            text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
        except (OSError, urllib.error.URLError):
            continue  # not yet
        found.update(re.findall(r"^([a-zA-Z_:]\w*)[ {]", text, re.MULTILINE))
    return found


def own_dashboards():
    makers = [n for n in dir(factory) if n.startswith("generate_") and n.endswith("_grafana_dashboard")]
    return [json.loads(getattr(factory, n)()[0]) for n in makers]


ray.init(num_cpus=4, include_dashboard=True, _metrics_export_port=PORTS["METRICS"], _temp_dir=FOLDER,
         _node_ip_address="127.0.0.1", log_to_driver=False)
actor = Actor.remote()
ray.get([actor.call.remote(), task.remote()])
ray.get(placement_group([{"CPU": 0.1}]).ready())
serve.run(App.bind(), name="app", route_prefix="/")
seen, end = set(), time.monotonic() + 120
while time.monotonic() < end and not WANTED <= seen:
    for i in range(4):
        ask(f"m{i % 2}")
    ask("m0", "?fail=1")
    ray.get(task.remote())
    seen |= names()
    time.sleep(1)
with open(os.path.join(FOLDER, "result.json"), "w") as file:
    json.dump({"version": ray.__version__, "names": sorted(seen), "own": own_dashboards()}, file)
serve.shutdown()
ray.shutdown()
