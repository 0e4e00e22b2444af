// The headers of the two files of `cornerturn transpose`.
#pragma once

#include <string>

#include "commands.hpp"
#include "mapped_file.hpp"
#include "npy.hpp"

namespace cornerturn::cli {

// Effect  reads the header of an .npy file; `path` serves error sentences
// Errors  failure
[[nodiscard]] npy_header read_header(const mapped_file& file, const std::string& path);

// Effect  reads the header of the input, or makes it from --shape, --dtype and --offset
// Errors  failure: also if the file is too short for them
[[nodiscard]] npy_header input_header(const mapped_file& file, const transpose_options& options);

// Effect  returns the header of the output, whose data begin behind it. An output without one begins at byte 0
// Errors  failure: --metadata-only cannot express the axes
[[nodiscard]] npy_header output_header(const npy_header& in, std::span<const int> axes,
                                       const transpose_options& options, std::string& bytes);

}  // namespace cornerturn::cli
