// A kernel that writes late, after the launches behind it in its stream may have begun.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace cornerturn::testing {

// Effect  sets count words to first, first + 1, ... after `microseconds`. The kernel lets the next launch begin at its own begin
cudaError_t write_slowly(std::uint32_t* words, std::uint32_t count, std::uint32_t first, int microseconds,
                         cudaStream_t stream);

// Effect  copies count words, and begins as a row does, but does not wait for the launches before it
cudaError_t copy_early(std::uint32_t* dst, const std::uint32_t* src, std::uint32_t count, cudaStream_t stream);

}  // namespace cornerturn::testing
