#!/usr/bin/env bash
# install.sh [--auto-load-dashboard true|false]: kube-prometheus-stack as Helm release `prometheus` in namespace
# prometheus-system, the monitors and rules beside this file, and with true (default: false) the dashboards.
# Can be run again.
set -euo pipefail
cd "$(dirname "$0")"
namespace=prometheus-system version=48.2.1 dashboards=false
while [ $# -gt 0 ]; do
  case "$1 ${2:-}" in
    "--auto-load-dashboard true" | "--auto-load-dashboard false") dashboards=$2; shift 2 ;;
    *) echo "usage: $0 [--auto-load-dashboard true|false]" >&2; exit 1 ;;
  esac
done

# Server-side: a dashboard is larger than what client-side apply may keep in an annotation.
apply() { kubectl apply --server-side "$@"; }
kubectl create namespace "$namespace" --dry-run=client -o yaml | apply -f -
if [ "$dashboards" = true ]; then
  for file in ../grafana/*.json; do
    name=$(basename "$file" .json | tr '[:upper:]_' '[:lower:]-')
    kubectl create configmap "grafana-dashboard-$name" --namespace "$namespace" --from-file="$file" --dry-run=client -o yaml |
      kubectl label --local -f - grafana_dashboard=1 --dry-run=client -o yaml | apply -f -
  done
fi
helm upgrade --install prometheus kube-prometheus-stack --version "$version" --namespace "$namespace" \
  --repo https://prometheus-community.github.io/helm-charts --values overrides.yaml
apply -f ray-monitors.yaml -f operator-monitor.yaml -f apiserver-monitor.yaml -f rules
