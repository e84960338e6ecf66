#!/usr/bin/env bash
# run.sh [--embedded] CONFORMANCE_DIR [REGEX]: our operator against the scenarios of passing.txt (or those
# matching REGEX) on a real kube-apiserver, or on the embedded one (`manta up --control-plane-only`), in a
# network namespace of its own.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd); top=$(cd "$here/../.." && pwd)
bin=${MANTA_BIN_DIR:-$top/build/bin}
embedded=
[ "${1:-}" = --embedded ] && { embedded=1; shift; }
conformance=$(cd "$1" && pwd) || exit 1
only=${2:-"^($(grep -vE '^(#|$)' "$here/passing.txt" | paste -sd'|'))\$"}
name=manta-$$
logs=${CONFORM_LOGS:-$(mktemp -d)}
lab() { (cd "$conformance" && python3 lab.py --name "$name" "$@"); }
real_server() {
  cluster() { lab exec "$@"; }
  trap 'lab down >/dev/null 2>&1; rm -rf "${KUBE_LAB_CACHE:-$HOME/.cache/kube-lab}/$name" "/etc/netns/$name"' EXIT
  lab up >/dev/null || { echo "the lab did not start"; exit 1; }
}
# The same surroundings as the lab's: Pods' addresses are local, and names resolve at once or not at all.
embedded_server() {
  export KUBECONFIG
  home=$(mktemp -d) KUBECONFIG=$home/kubeconfig
  cluster() { ip netns exec "$name" "$@"; }
  trap 'cluster "$bin/manta" down --data-dir "$home" >/dev/null 2>&1
        ip netns del "$name"; rm -rf "$home" "/etc/netns/$name"' EXIT
  mkdir -p "/etc/netns/$name"
  printf 'nameserver 10.77.0.1\noptions timeout:1 attempts:1\n' > "/etc/netns/$name/resolv.conf"
  ip netns add "$name" && cluster ip link set lo up && cluster ip addr add 10.77.0.1/16 dev lo &&
    cluster "$bin/manta" up --control-plane-only --data-dir "$home" >/dev/null ||
    { echo "the embedded server did not start"; exit 1; }
}
if [ "$embedded" ]; then embedded_server; else real_server; fi
conform() {  # conform REGEX JOBS
  cluster python3 "$conformance/conform.py" --crds "$top/deploy/crd" --operator "$bin/manager" \
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
