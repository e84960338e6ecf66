#!/usr/bin/env bash
# run.sh CONFORMANCE_DIR [REGEX]: our operator against the scenarios of passing.txt (or those matching
# REGEX) on a real kube-apiserver in a network namespace of its own.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd); top=$(cd "$here/../.." && pwd)
conformance=$(cd "$1" && pwd) || exit 1
only=${2:-"^($(grep -vE '^(#|$)' "$here/passing.txt" | paste -sd'|'))\$"}
name=manta-$$
logs=${CONFORM_LOGS:-$(mktemp -d)}
lab() { (cd "$conformance" && python3 lab.py --name "$name" "$@"); }
trap 'lab down >/dev/null 2>&1; rm -rf "${KUBE_LAB_CACHE:-$HOME/.cache/kube-lab}/$name" "/etc/netns/$name"' EXIT
lab up >/dev/null || { echo "the lab did not start"; exit 1; }
lab exec python3 "$conformance/conform.py" --crds "$top/deploy/crd" --operator "$top/build/bin/manager" \
  --golden "$conformance/golden" --deviations "$here/deviations.yaml" --logs "$logs" --jobs "${CONFORM_JOBS:-6}" \
  --only "$only" "$conformance/scenarios"
