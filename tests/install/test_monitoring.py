"""Dashboards and rules: Prometheus understands every query, and a live operator answers those about itself."""
import http.server
import json
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
import yaml

from conftest import CRDS, DEPLOY, MANAGER, TOOLS, TOP, documents, run
from rights import grant, ray_cluster

DASHBOARDS = sorted((DEPLOY / "grafana").glob("*.json"))
RULES = sorted((DEPLOY / "prometheus/rules").glob("*.yaml"))
# What Grafana puts in place of a variable where a dashboard is open.
VARIABLES = {"$__rate_interval": "1m", "$__range": "30m", "$interval": "1m", "$job": "operator"}
# Series of others: the API server for clients, kube-state-metrics.
NOT_OURS = re.compile(r"\b(grpc_server_|kube_pod_)")

pytestmark = pytest.mark.skipif(not (TOOLS / "promtool").exists(), reason="no promtool (tools/setup.sh fetches it)")


def panels(dashboard):
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


def queries(path):
    """{panel title: expressions} as Prometheus would be asked them."""
    out = {}
    for panel in panels(json.loads(path.read_text())):
        for target in panel.get("targets", []):
            expr = target["expr"]
            for name, value in VARIABLES.items():
                expr = expr.replace(name, value)
            out.setdefault(panel["title"], []).append(re.sub(r"\$\w+", ".*", expr))
    return out


def groups(path):
    (rule,) = documents(path.read_text())
    return {"groups": rule["spec"]["groups"]}


def test_generated_dashboards_are_fresh():
    run(TOP / "tools/gen_dashboards.py", "--check")


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda p: p.stem)
def test_queries_parse(path, tmp_path):
    rules = [{"record": "q", "expr": expr, "labels": {"n": str(i)}}
             for i, expr in enumerate(e for es in queries(path).values() for e in es)]
    assert len(rules) >= 14
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": path.stem, "rules": rules}]}))
    assert f"SUCCESS: {len(rules)} rules found" in run("promtool", "check", "rules", file).stdout


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda p: p.stem)
def test_panels_are_placed_and_named_once(path):
    dashboard = json.loads(path.read_text())
    ids = [p["id"] for p in panels(dashboard)]
    assert len(ids) == len(set(ids))
    for panel in panels(dashboard):
        grid = panel["gridPos"]
        assert 0 <= grid["x"] and grid["x"] + grid["w"] <= 24
        names = {v["name"] for v in dashboard["templating"]["list"]}
        for target in panel.get("targets", []):
            assert set(re.findall(r"\$(\w+)", target["expr"])) <= names | {"__rate_interval", "__range"}


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda p: p.stem)
def test_HM_04_dashboards_fit_into_config_maps(path):
    assert path.stat().st_size < 1 << 20


@pytest.mark.parametrize("path", RULES, ids=lambda p: p.stem)
def test_rules_parse(path, tmp_path):
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump(groups(path)))
    run("promtool", "check", "rules", file)


RECONCILE_ERRORS = 'controller_runtime_reconcile_errors_total{controller="raycluster"}'
ALERTS = [  # alert, series that make it fire, series that do not
    ("KubeRayOperatorAbsent", {"up": "1x99"}, {'controller_runtime_active_workers{controller="raycluster"}': "0x99"}),
    ("KubeRayOperatorSeveralLeaders",
     {'controller_runtime_active_workers{controller="raycluster", namespace="n", pod="a"}': "0x99",
      'controller_runtime_active_workers{controller="raycluster", namespace="n", pod="b"}': "0x99"},
     {'controller_runtime_active_workers{controller="raycluster", namespace="n", pod="a"}': "0x99"}),
    ("KubeRayReconcileErrors", {'controller_runtime_reconcile_errors_total{controller="rayjob"}': "0+60x99"},
     {'controller_runtime_reconcile_errors_total{controller="rayjob"}': "5x99"}),
    # One object whose write never succeeds, tried each 17 minutes; a failure that went by; failures with more than half an hour between them.
    ("KubeRayReconcileErrors", {RECONCILE_ERRORS: "1+0x16 2+0x16 3+0x16 4+0x16 5+0x16 6+0x16"},
     {RECONCILE_ERRORS: "1+0x20 2+0x80"}),
    ("KubeRayReconcileErrors", {RECONCILE_ERRORS: "1+0x16 2+0x16 3+0x16 4+0x16 5+0x16 6+0x16"},
     {RECONCILE_ERRORS: "1+0x30 2+0x40 3+0x30"}),
    ("KubeRayWorkqueueBacklog", {'workqueue_depth{controller="rayjob"}': "101x99"},
     {'workqueue_depth{controller="rayjob"}': "99x99"}),
    ("RayClusterNotProvisioned", {'kuberay_cluster_condition_provisioned{condition="false", name="c"}': "1x99"},
     {'kuberay_cluster_condition_provisioned{condition="true", name="c"}': "1x99"}),
    ("RayServiceNotReady", {'kuberay_service_condition_ready{condition="false", name="s"}': "1x99"},
     {'kuberay_service_condition_ready{condition="true", name="s"}': "1x99"}),
    ("RayJobFailed", {'kuberay_job_deployment_status{deployment_status="Failed", name="j"}': "1x99"},
     {'kuberay_job_deployment_status{deployment_status="Complete", name="j"}': "1x99"}),
    ("MissingMetricRayGlobalControlStore", {"ray_gcs_update_resource_usage_time_bucket": "1x60 _x39"},
     {"ray_gcs_update_resource_usage_time_bucket": "1x99"}),
    ("MissingMetricRayGlobalControlStore", {"ray_gcs_update_resource_usage_time_bucket": "1x60 _x39"},
     {"up": "1x99"}),  # a Ray that never had the series
]


@pytest.mark.parametrize("alert, firing, silent", ALERTS)
def test_alert(alert, firing, silent, tmp_path):
    files = []
    for path in RULES:
        files.append(tmp_path / path.name)
        files[-1].write_text(yaml.safe_dump(groups(path)))

    def fires(series):
        test = {"interval": "1m", "input_series": [{"series": s, "values": v} for s, v in series.items()],
                "alert_rule_test": [{"eval_time": "95m", "alertname": alert, "exp_alerts": []}]}
        file = tmp_path / "test.yaml"
        file.write_text(yaml.safe_dump({"rule_files": [str(f) for f in files], "tests": [test]}))
        done = run("promtool", "test", "rules", file, check=False)
        assert done.returncode == 0 or "exp:[" in done.stdout + done.stderr, done.stdout + done.stderr
        return done.returncode != 0
    assert fires(firing) and not fires(silent)


# --- a real Prometheus, a live operator --------------------------------------------------------------

@pytest.fixture(scope="module")
def prometheus(cluster, tmp_path_factory):
    """Asks a Prometheus that scrapes an operator with some objects: a function from expression to samples."""
    folder = tmp_path_factory.mktemp("prometheus")
    cluster.kubectl("apply", "--server-side", "-f", CRDS)
    cluster.kubectl("create", "namespace", "scraped", check=False)
    cluster.apply([ray_cluster("c")], "--namespace", "scraped")
    spec = ray_cluster("x")["spec"]
    cluster.apply([
        {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "j"},
         "spec": {"entrypoint": "true", "rayClusterSpec": spec}},
        {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "s"}, "spec": {"rayClusterConfig": spec}}],
        "--namespace", "scraped")
    (folder / "config.yaml").write_text(yaml.safe_dump({
        "global": {"scrape_interval": "1s"},
        "scrape_configs": [{"job_name": "operator", "honor_labels": True, "static_configs": [
            {"targets": ["127.0.0.1:18080"], "labels": {"namespace": "kuberay-system", "pod": "operator-0"}}]}]}))
    log = open(folder / "log", "w")
    processes = [
        subprocess.Popen(cluster.command(
            "env", f"KUBECONFIG={grant(cluster)}", MANAGER, "--enable-metrics=true",
            "--leader-election-namespace=kuberay-system", "--metrics-addr=:18080",
            "--health-probe-bind-address=:18082"), stdout=log, stderr=log),
        subprocess.Popen(cluster.command(
            "prometheus", f"--config.file={folder}/config.yaml", f"--storage.tsdb.path={folder}/data",
            "--web.listen-address=127.0.0.1:19090", "--log.level=warn"), stdout=log, stderr=log)]

    def ask(expr):
        url = "http://127.0.0.1:19090/api/v1/query?" + urllib.parse.urlencode({"query": expr})
        answer = json.loads(cluster.run("curl", "-sS", url).stdout)
        assert answer["status"] == "success", f"{expr}: {answer}"
        return answer["data"]["result"]

    def until(expr):
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline and not any(p.poll() is not None for p in processes):
            try:
                if ask(expr):
                    return
            except AssertionError:
                pass  # not up yet
            time.sleep(0.5)
        raise AssertionError(f"no samples for {expr}; {(folder / 'log').read_text()[-3000:]}")
    try:
        # Two scrapes after the operator worked, so that rates have something to say.
        until('count_over_time(controller_runtime_reconcile_total{controller="raycluster"}[1m]) > 3')
        yield ask
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(40)
        for kind in ("rayjobs.ray.io", "rayservices.ray.io", "rayclusters.ray.io"):
            cluster.kubectl("delete", "--wait=false", "--all", "--namespace", "scraped", kind)


# These have no series in the state that the fixture makes: nothing was provisioned, ended or is being upgraded.
QUIET = {"Provisioned Duration", "Execution Duration", "UpgradeInProgress (true)",
         "Deployment Status (Failed / Suspending / Suspended / Retrying / Waiting)"}


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda p: p.stem)
def test_prometheus_evaluates_every_query(prometheus, path):
    silent = []
    for title, exprs in queries(path).items():
        for expr in exprs:
            samples = prometheus(expr)
            if not samples and not NOT_OURS.search(expr) and title not in QUIET and path.stem == "KubeRay-Operator":
                silent.append(f"{title}: {expr}")
    assert not silent, "no samples from a live operator:\n" + "\n".join(silent)


@pytest.mark.parametrize("path", RULES, ids=lambda p: p.stem)
def test_prometheus_evaluates_every_rule(prometheus, path):
    for group in groups(path)["groups"]:
        for rule in group["rules"]:
            prometheus(rule["expr"])


# --- a Ray of our own making -------------------------------------------------------------------------

RAY_DASHBOARDS = [path for path in DASHBOARDS if path.name.endswith("_grafana_dashboard.json")]
SELECTOR = re.compile(r"\b((?:ray|autoscaler)_\w+)\{([^}]*)\}")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')


def matching(op, pattern):
    """A label's value that the matcher takes."""
    if op == "=":
        return pattern
    wanted = pattern.split("|")[0].replace(".*", "")
    return wanted if op == "=~" and wanted else "x"


def series_of(exprs):
    """{metric: [labels]}: for every selector of the expressions a series that it finds, with all labels that any of
    them groups or joins by."""
    found, labels = {}, {}
    for expr in exprs:
        grouped = {name for group in re.findall(r"\b(?:by|on|group_left) ?\(([^)]*)\)", expr)
                   for name in re.split(r"[ ,]+", group) if name}
        for metric, matchers in SELECTOR.findall(expr):
            exact = {name: matching(op, pattern) for name, op, pattern in MATCHER.findall(matchers)}
            found.setdefault(metric, []).append(exact)
            labels.setdefault(metric, set()).update(exact, grouped)
    out = {}
    for metric, wanted in found.items():
        for exact in wanted:
            full = {name: "x" for name in labels[metric] - {"le"}} | exact
            # An empty label is none; a bucket needs its bound.
            full = {name: value for name, value in full.items() if value and name != "le"}
            for bound in (["1", "+Inf"] if metric.endswith("_bucket") else [None]):
                series = {**full, **({"le": bound} if bound else {})}
                if series not in out.setdefault(metric, []):
                    out[metric].append(series)
    return out


@pytest.fixture(scope="module")
def ray_prometheus(tmp_path_factory):
    """Asks a Prometheus that scrapes what the Ray dashboards ask for, every number growing."""
    folder = tmp_path_factory.mktemp("ray-prometheus")
    series = series_of(e for path in RAY_DASHBOARDS for es in queries(path).values() for e in es)
    began = time.monotonic()

    class Exporter(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            number = 1 + 10 * (time.monotonic() - began)
            lines = [f"{metric}{{{','.join(f'{n}={json.dumps(v)}' for n, v in sorted(one.items()))}}} {number}"
                     for metric, several in series.items() for one in several]
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(("\n".join(lines) + "\n").encode())

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "config.yaml").write_text(yaml.safe_dump({
        "global": {"scrape_interval": "1s"}, "scrape_configs": [{"job_name": "ray", "honor_labels": True, "static_configs": [
            {"targets": [f"127.0.0.1:{server.server_port}"]}]}]}))
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(["prometheus", f"--config.file={folder}/config.yaml", f"--storage.tsdb.path={folder}/data",
                                    f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn"], stdout=log, stderr=log)

    def ask(expr):
        url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": expr})
        try:
            with urllib.request.urlopen(url) as answer:
                return json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as refused:
            if refused.code == 503:  # it is starting
                raise
            raise AssertionError(f"{expr}: {refused.read().decode()}") from None
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            try:
                if ask("count_over_time(up[1m]) > 3"):
                    break
            except OSError:
                pass  # not up yet
            time.sleep(0.2)
        else:
            raise AssertionError((folder / "log").read_text())
        yield ask
    finally:
        process.terminate()
        process.wait(40)
        server.shutdown()


# Its subquery looks at whole minutes, of which none has passed.
MINUTES = "Peak Tokens Per Second Per Model Last 24 Hours"


@pytest.mark.skipif(not (TOOLS / "prometheus").exists(), reason="no prometheus (tools/setup.sh fetches it)")
@pytest.mark.parametrize("path", RAY_DASHBOARDS, ids=lambda p: p.stem)
def test_prometheus_answers_every_query_of_ray(ray_prometheus, path):
    silent = [f"{title}: {expr}" for title, exprs in queries(path).items() for expr in exprs
              if not ray_prometheus(expr) and title != MINUTES]
    assert not silent, "no samples:\n" + "\n".join(silent)


def test_ray_dashboards_are_the_seven_that_ray_makes():
    """Panels by dashboard, as a Ray head makes them; links and bookmarks go by uid."""
    found = {}
    for path in RAY_DASHBOARDS:
        dashboard = json.loads(path.read_text())
        found[dashboard["uid"]] = sum(p["type"] != "row" for p in panels(dashboard))
    assert found == {"rayDefaultDashboard": 41, "rayDataDashboard": 85, "rayDataLlmDashboard": 12, "rayServeDashboard": 22,
                     "rayServeDeploymentDashboard": 15, "rayServeLlmDashboard": 44, "rayTrainDashboard": 15}


# --- install.sh --------------------------------------------------------------------------------------

def test_install_script_refuses_what_it_does_not_know():
    for args in (["--auto-load-dashboard", "maybe"], ["--other"]):
        done = run(DEPLOY / "prometheus/install.sh", *args, check=False)
        assert done.returncode == 1 and "usage:" in done.stderr


def test_HM_04_install_script_loads_dashboards_and_can_be_run_again(cluster, tmp_path):
    """Everything but the chart itself, which comes from the network."""
    (tmp_path / "helm").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n')
    (tmp_path / "helm").chmod(0o755)
    script = ("env", f"PATH={tmp_path}:/usr/local/bin:/usr/bin:/bin", DEPLOY / "prometheus/install.sh")
    for _ in range(2):
        cluster.run(*script, "--auto-load-dashboard", "true")
    maps = cluster.get("configmaps", "--namespace", "prometheus-system", "--selector", "grafana_dashboard=1")["items"]
    assert {m["metadata"]["name"] for m in maps} == {
        f"grafana-dashboard-{p.stem.lower().replace('_', '-')}" for p in DASHBOARDS}
    for m in maps:
        (text,) = m["data"].values()
        assert json.loads(text)["uid"] and len(text) < 1 << 20
    for kind, names in {"podmonitors": {"ray-head-monitor", "ray-workers-monitor"},
                        "prometheusrules": {"ray-cluster-gcs-rules", "kuberay-operator-rules"}}.items():
        found = cluster.get(f"{kind}.monitoring.coreos.com", "--namespace", "prometheus-system")["items"]
        assert {o["metadata"]["name"] for o in found} == names
    assert "--values overrides.yaml" in (tmp_path / "calls").read_text()
