#!/usr/bin/env bash
# Unit tests under ASan+UBSan, integration tests, charts and docs, end-to-end tests with real Ray. Ends with one line
# "N passed, N failed, N skipped" over all of them. Tests with real processes depend on how busy the machine
# is, so what failed runs once more; what only then passes is named on a line that starts with FLAKY.
#   tools/test.sh [unit] [integration] [install] [e2e]     (default: these)
#   tools/test.sh server    what people install, on a real API server
#   tools/test.sh long      the end-to-end tests that take minutes each
set -uo pipefail
cd "$(dirname "$0")/.."
parts=("$@"); [ ${#parts[@]} -gt 0 ] || parts=(unit integration install e2e)
passed=0 failed=0 skipped=0

# Adds up what a gtest binary says of itself; a crash counts as a failure.
run_gtest() {
  local out rc again; out=$(mktemp)
  "$@" --gtest_brief=1 >"$out" 2>&1; rc=$?
  again=$(sed -nE 's/^\[  FAILED  \] ([^ ,]+)$/\1/p; s/^\[  FAILED  \] ([^ ,]+), where.*/\1/p' "$out" | sort -u | paste -sd:)
  if [ $rc != 0 ] && [ -n "$again" ]; then
    cat "$out"
    if "$@" --gtest_brief=1 --gtest_filter="$again" >"$out.again" 2>&1; then
      echo "FLAKY $(basename "$1"): $again"; rc=0
      sed -i -E '/^\[  FAILED  \]/d' "$out"
    fi
    rm -f "$out.again"
  fi
  local ok bad skip
  ok=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?.*/\1/p' "$out" | tail -1)
  skip=$(sed -nE 's/^\[  SKIPPED \] ([0-9]+) tests?.*/\1/p' "$out" | tail -1)
  bad=$(sed -nE 's/^\[  FAILED  \] ([0-9]+) tests?, listed.*/\1/p' "$out" | tail -1)
  [ $rc = 0 ] || [ -n "$bad" ] || bad=1
  if [ $rc != 0 ]; then cat "$out"; elif [ -n "$skip" ]; then grep -A2 'SKIPPED' "$out"; fi
  printf '%-28s %5s passed %3s failed %3s skipped\n' "$(basename "$1")" "${ok:-0}" "${bad:-0}" "${skip:-0}"
  passed=$((passed + ${ok:-0})) failed=$((failed + ${bad:-0})) skipped=$((skipped + ${skip:-0}))
  rm -f "$out"
}

# Adds up what pytest says of itself; no result at all counts as a failure.
run_pytest() {
  local out first ok bad err skip; out=$(mktemp)
  python3 -m pytest -q -rsf "$@" 2>&1 | tee "$out"
  if [ "${PIPESTATUS[0]}" = 1 ]; then
    first=$(grep -oE '[0-9]+ passed' "$out" | tail -1 | cut -d' ' -f1)
    echo "FLAKY if these pass now:"; python3 -m pytest -q --last-failed "$@" 2>&1 | tee "$out"
    [ "${PIPESTATUS[0]}" != 0 ] || passed=$((passed + ${first:-0}))
  fi
  count() { grep -oE "[0-9]+ $1" "$out" | tail -1 | cut -d' ' -f1; }
  ok=$(count passed) bad=$(count failed) err=$(count error) skip=$(count skipped)
  [ -n "$ok$bad$err$skip" ] || err=1
  passed=$((passed + ${ok:-0})) failed=$((failed + ${bad:-0} + ${err:-0})) skipped=$((skipped + ${skip:-0}))
  rm -f "$out"
}

for part in "${parts[@]}"; do
  case $part in
    unit)
      mapfile -t tests < <(find src -name '*_test.cc' | cut -d/ -f2 | sort -u | sed 's/$/_test/')
      tools/build.sh asan "${tests[@]}" || exit 1
      for t in "${tests[@]}"; do run_gtest "build/asan/bin/$t"; done ;;
    integration)
      # Optimised: its laws run the operator through thousands of faulty lives.
      tools/build.sh release integration_test || exit 1
      run_gtest build/bin/integration_test ;;
    install) run_pytest tests/install -m 'not server' ;;
    server) run_pytest tests/install -m server ;;  # minutes, and ../shared/conformance: for .ci/run
    e2e | long)
      export MANTA_BIN="$PWD/build/bin/manta"
      marked=long; [ "$part" = long ] || marked="not long"
      run_pytest tests/e2e -m "$marked" ;;
    *) echo "test.sh: unknown part '$part' (unit, integration, install, server, e2e, long)" >&2; exit 2 ;;
  esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
