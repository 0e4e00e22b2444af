// Found before src/kernels/cuda/lang.cuh when the instances in src/kernels/cuda are compiled for the emulator.
#pragma once

#include "emulate/lang.cuh"
