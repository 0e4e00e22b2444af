// The shapes for checks of every rung, on a GPU and in the emulator.
#pragma once

#include "facts.hpp"

namespace cornerturn::ladder {

// Around tiles of 16, 32, 64 and 128: whole pieces on one side, on both sides, on no side; one row, one column;
// batches.
inline constexpr matrix_shape cases[] = {
    {1, 1},     {1, 33},    {33, 1},    {5, 5},      {5, 7},      {15, 17},      {16, 16},     {31, 33},     {32, 32},
    {33, 31},   {64, 48},   {65, 65},   {100, 36},   {127, 129},  {128, 128},    {129, 65},    {129, 127},   {200, 50},
    {272, 272}, {1000, 50}, {50, 1000}, {997, 991},  {640, 644},  {1024, 1024},  {1024, 2048}, {1000, 1000}, {999, 999},
    {65536, 3}, {2, 70001}, {7, 7, 3},  {32, 64, 5}, {20, 12, 5}, {50, 20, 100}, {1, 1, 300},  {96, 96, 7},
};

}  // namespace cornerturn::ladder
