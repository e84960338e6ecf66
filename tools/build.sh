#!/usr/bin/env bash
# build.sh PRESET TARGET…: configures once, builds the targets.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1; shift
dir=build; [ "$preset" = release ] || dir=build/$preset
export CCACHE_SLOPPINESS=time_macros CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1
[ -f "$dir/build.ninja" ] || cmake --preset "$preset" >/dev/null
exec cmake --build "$dir" -j "${JOBS:-$(nproc)}" --target "$@"
