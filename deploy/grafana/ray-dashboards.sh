#!/usr/bin/env bash
# ray-dashboards.sh NAMESPACE/HEAD_POD FOLDER: copies the Grafana dashboards that a running Ray made for itself.
set -euo pipefail
[ $# = 2 ] && [[ $1 == */* ]] || { echo "usage: $0 NAMESPACE/HEAD_POD FOLDER" >&2; exit 2; }
made=/tmp/ray/session_latest/metrics/grafana/dashboards
mkdir -p "$2"
kubectl exec --namespace "${1%%/*}" "${1##*/}" --container ray-head -- tar -C "$made" -cf - . | tar -C "$2" -xf -
ls "$2"
