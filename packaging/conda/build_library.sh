#!/usr/bin/env bash
# The library alone: the Python package brings the command, and two packages may not install one file.
set -euo pipefail
# shellcheck disable=SC2086  # CMAKE_ARGS has one argument for each word
cmake -S "$SRC_DIR" -B "$SRC_DIR/build/conda" -G Ninja ${CMAKE_ARGS:-} -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=ON -DCORNERTURN_CLI=OFF \
  -DCORNERTURN_TESTS=OFF -DCORNERTURN_EXAMPLES=OFF -DCORNERTURN_LADDER=OFF -DCORNERTURN_CUDA=OFF -DCORNERTURN_HIP=OFF
cmake --build "$SRC_DIR/build/conda" -j "${CPU_COUNT:-2}"
cmake --install "$SRC_DIR/build/conda"
