#!/usr/bin/env bash
# Runs every fuzzer of tests/fuzz for a bounded number of inputs. Ends with one line
# "N passed, N failed, 0 skipped"; what a failing one was given is kept in build/fuzz/failures.
#   tools/fuzz.sh [NAME…]                 (default: all; NAME as base_json)
#   FUZZ_RUNS=20000 FUZZ_SECONDS=5        per fuzzer, whichever ends first
#   FUZZ_SKIP_BUILD=1                     the fuzzers are built already
set -uo pipefail
cd "$(dirname "$0")/.."
runs=${FUZZ_RUNS:-20000} seconds=${FUZZ_SECONDS:-5}
if [ $# -gt 0 ]; then names=("$@"); else
  mapfile -t names < <(basename -s .cc -a tests/fuzz/*.cc)
fi

if [ -z "${FUZZ_SKIP_BUILD:-}" ]; then
  tools/build.sh fuzz "${names[@]/#/fuzz_}" || exit 1
fi

passed=0 failed=0
export UBSAN_OPTIONS=print_stacktrace=1
for name in "${names[@]}"; do
  work=$(mktemp -d) failures=build/fuzz/failures/$name
  mkdir -p "$failures" "$work/corpus"
  seeds=(); [ ! -d "tests/fuzz/corpus/$name" ] || seeds=("tests/fuzz/corpus/$name")
  if "build/fuzz/bin/fuzz_$name" -runs="$runs" -max_total_time="$seconds" -max_len=2048 -len_control=0 -timeout=20 \
      -seed=1 -artifact_prefix="$failures/" "$work/corpus" "${seeds[@]}" >"$work/log" 2>&1; then
    passed=$((passed + 1))
    printf '%-24s ok    %s\n' "$name" "$(grep -aE '^Done' "$work/log" | tail -1)"
  else
    failed=$((failed + 1))
    printf '%-24s FAILED\n' "$name"
    grep -aE -A6 'broken:|ERROR:|runtime error:' "$work/log" | cut -c1-2000 | head -40
    echo "  again: build/fuzz/bin/fuzz_$name $(find "$failures" -type f -newer "$work/corpus" | head -1)"
  fi
  rm -rf "$work"
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
