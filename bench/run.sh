#!/usr/bin/env bash
# Every measurement of bench/RESULTS.md, one after the other. Each prints the lines that stand there.
set -uo pipefail
cd "$(dirname "$0")/.."
python3 bench/memory.py
python3 bench/run_overhead.py
python3 bench/rayjobs.py
python3 bench/metrics.py
python3 bench/rayclusters.py
