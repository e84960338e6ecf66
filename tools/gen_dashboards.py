#!/usr/bin/env python3
"""Writes the Grafana dashboards in deploy/grafana from dashboards.yaml and ray-dashboards.yaml there.

  tools/gen_dashboards.py            write
  tools/gen_dashboards.py --check    exit 1, naming the files, when one is not what would be written
"""
import json
import re

import yaml

from generated import TOP, write_or_check

FOLDER = TOP / "deploy/grafana"
SOURCES = ("dashboards.yaml", "ray-dashboards.yaml")
PROMETHEUS = {"type": "prometheus", "uid": "${datasource}"}
PANEL_HEIGHT = 8
WIDTH = 24


def queries_of(panel):
    """(expression, legend) of each query."""
    for expr, legend in panel["queries"].items():
        for quantile in panel.get("quantiles", [None]):
            shown = "" if quantile is None else f"{quantile:.2f}"
            yield expr.replace("QUANTILE", shown), legend.replace("QUANTILE", f"p{float(quantile or 0) * 100:.0f}")


def with_macros(d):
    """@X in a query is macro X of its dashboard."""
    for panel in (p for row in d["rows"] for p in row["panels"]):
        panel["queries"] = {re.sub(r"@(\w+)", lambda m: d["macros"][m[1]], expr): legend
                            for expr, legend in panel["queries"].items()} if "macros" in d else panel["queries"]
    return d


def variable(v):
    if "values" in v:
        options = [{"text": x, "value": x, "selected": i == 0} for i, x in enumerate(v["values"])]
        return {"name": v["name"], "type": "interval", "query": ",".join(v["values"]), "options": options,
                "current": options[0]}
    current = {}
    if "default" in v:
        current = {"text": [v["default"]], "value": [v["default"]]}
    elif v.get("all"):
        current = {"text": ["All"], "value": ["$__all"]}
    return {"name": v["name"], "type": "query", "datasource": PROMETHEUS, "refresh": 2, "sort": 1,
            "query": {"query": v["query"], "refId": v["name"]}, "definition": v["query"],
            "multi": v.get("all", False), "includeAll": v.get("all", False), "current": current}


def panel_json(panel, x, y):
    table = panel["kind"] == "table"
    targets = [{"refId": chr(ord("A") + i), "datasource": PROMETHEUS, "expr": expr, "legendFormat": legend,
                "instant": table, "range": not table, **({"format": "table"} if table else {})}
               for i, (expr, legend) in enumerate(queries_of(panel))]
    out = {"id": panel["id"], "title": panel["title"], "type": panel["kind"], "datasource": PROMETHEUS,
           "gridPos": {"x": x, "y": y, "w": panel["width"], "h": PANEL_HEIGHT}, "targets": targets,
           "fieldConfig": {"defaults": {"unit": panel.get("unit", "short")}, "overrides": []}, "options": {}}
    if panel["kind"] == "timeseries":
        out["fieldConfig"]["defaults"]["custom"] = {"fillOpacity": 10, "showPoints": "never"}
        out["options"] = {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}
    if panel["kind"] == "piechart":
        out["options"] = {"legend": {"displayMode": "list", "placement": "right"},
                          "reduceOptions": {"calcs": ["lastNotNull"]}}
    if table:
        columns = panel["columns"]
        out["transformations"] = [
            {"id": "filterFieldsByName", "options": {"include": {"names": list(columns)}}},
            {"id": "organize", "options": {"renameByName": columns,
                                           "indexByName": {c: i for i, c in enumerate(columns)}}}]
    return out


def place(panels, y):
    """Panels from left to right; those without a width share a line."""
    unsized = [p for p in panels if "width" not in p]
    for p in unsized:
        p["width"] = WIDTH // min(len(unsized), 3)
    out, x = [], 0
    for p in panels:
        if x + p["width"] > WIDTH:
            x, y = 0, y + PANEL_HEIGHT
        out.append(panel_json(p, x, y))
        x += p["width"]
    return out, y + PANEL_HEIGHT


def dashboard(d):
    panels, y = [], 0
    for i, row in enumerate(d["rows"]):
        collapsed = row.get("collapsed", False)
        inside, end = place(row["panels"], y + 1)
        panels.append({"id": 1000 + i, "type": "row", "title": row["title"], "collapsed": collapsed,
                       "gridPos": {"x": 0, "y": y, "w": WIDTH, "h": 1}, "panels": inside if collapsed else []})
        panels += [] if collapsed else inside
        y = y + 1 if collapsed else end
    source = {"name": "datasource", "type": "datasource", "query": "prometheus", "current": {}}
    return {"title": d["title"], "uid": d["uid"], "tags": d["tags"], "refresh": d["refresh"], "schemaVersion": 38,
            "time": {"from": d["since"], "to": "now"}, "timezone": "browser", "editable": True,
            "templating": {"list": [source, *(variable(v) for v in d["variables"])]}, "panels": panels}


def wanted():
    return {FOLDER / d["file"]: json.dumps(dashboard(with_macros(d)), indent=1) + "\n"
            for source in SOURCES for d in yaml.safe_load((FOLDER / source).read_text())}


if __name__ == "__main__":
    write_or_check(__doc__, wanted)
