#!/usr/bin/env bash
# The Python package with the command.
set -euo pipefail
CMAKE_BUILD_PARALLEL_LEVEL=${CPU_COUNT:-2} "$PYTHON" -m pip install "$SRC_DIR" --no-deps --no-build-isolation \
  --config-settings=cmake.define.CORNERTURN_CUDA=OFF --config-settings=cmake.define.CORNERTURN_HIP=OFF
