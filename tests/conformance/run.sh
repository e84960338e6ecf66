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
conform() {  # conform REGEX JOBS
  lab exec python3 "$conformance/conform.py" --crds "$top/deploy/crd" --operator "$top/build/bin/manager" \
    --golden "$conformance/golden" --deviations "$here/deviations.yaml" --logs "$logs" --jobs "$2" \
    --only "$1" "$conformance/scenarios"
}
# Scenarios have time-outs of their own, so on a busy machine one may miss them: what failed runs once more,
# fewer at a time, and is named.
first=$(mktemp)
conform "$only" "${CONFORM_JOBS:-6}" | tee "$first"
rc=${PIPESTATUS[0]}
again=$(sed -nE 's/^FAIL ([a-z0-9-]+).*/\1/p' "$first" | paste -sd'|')
if [ "$rc" != 0 ] && [ -n "$again" ]; then
  echo "FLAKY if these pass now: $again"
  second=$(mktemp)
  conform "^($again)\$" 2 | tee "$second"
  rc=${PIPESTATUS[0]}
  echo "$(($(grep -c '^ok' "$first") + $(grep -c '^ok' "$second"))) passed, $(grep -c '^FAIL' "$second") failed"
fi
exit "$rc"
