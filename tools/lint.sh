#!/usr/bin/env bash
# Formatting, house rules, clang-tidy on what changed (LINT_ALL=1: on everything).
set -uo pipefail
cd "$(dirname "$0")/.."
bad=0
complain() { printf '%s\n' "$*"; bad=1; }

mapfile -t sources < <(git ls-files --cached --others --exclude-standard '*.cc' '*.h')  # new ones, too
clang-format-19 --dry-run -Werror "${sources[@]}" 2>&1 | head -20
[ "${PIPESTATUS[0]}" = 0 ] || complain "lint: run make fmt"

# The layers' arrows (ARCHITECTURE.md): what each folder may not include.
may_not() {
  local folder=$1; shift
  for other in "$@"; do
    grep -rnE "#include \"$other/" "src/$folder" 2>/dev/null && complain "lint: src/$folder may not include $other/"
  done
}
may_not base kube ray controllers local operator cli sim
may_not kube ray controllers local operator cli sim
may_not ray controllers local operator cli sim
may_not controllers local operator cli sim
may_not local ray controllers operator cli sim
may_not operator local cli sim
may_not cli sim
may_not sim cli

# Planners are pure: no clock, chance, environment or log.
grep -rnE 'getenv|system_clock::now|steady_clock::now|std::random|log::(debug|info|warn|error)' src/controllers src/ray --include='*.cc' --include='*.h' |
  grep -vE '_test\.cc|os\.getenv' && complain "lint: src/ray and src/controllers are pure"  # os.getenv: a script for Pods

# Nothing of this machine in what is or will be tracked.
git grep --untracked -nE '(^|[^a-z.])/(w[o]rk|f[a]rm|h[o]me/[a-z]+/[a-z])/' -- ':!*.md' | grep -vE '/h[o]me/ray/' && complain "lint: a path of this machine"

if [ "${LINT_TIDY:-1}" = 1 ]; then
  [ -f build/compile_commands.json ] || cmake --preset release >/dev/null
  if [ "${LINT_ALL:-0}" = 1 ]; then mapfile -t tidy < <(git ls-files --cached --others --exclude-standard 'src/*.cc' 'cmd/*.cc' | grep -vE '_(test|bench|fuzz)\.cc$')
  else mapfile -t tidy < <({ git diff --name-only --diff-filter=AM HEAD~1 -- 'src/*.cc' 'cmd/*.cc'; git ls-files --others --exclude-standard 'src/*.cc' 'cmd/*.cc'; } | grep -vE '_(test|bench|fuzz)\.cc$'); fi
  if [ ${#tidy[@]} -gt 0 ]; then
    printf '%s\n' "${tidy[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy-19 -p build --quiet 2>/dev/null || complain "lint: clang-tidy"
  fi
fi
[ $bad = 0 ] && echo "lint: clean"
exit $bad
