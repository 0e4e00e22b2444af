#pragma once

#include "kernels/gpu/policy/tile_args.hpp"
