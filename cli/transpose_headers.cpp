#include "transpose_headers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "text.hpp"

namespace cornerturn::cli {
namespace {

// The header of an input without one: the names of numpy's numbers, or a dtype text such as <f4.
npy_header raw_header(const mapped_file& file, const transpose_options& options) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 14> names{{{"bool", "|b1"},
                                                                                        {"int8", "|i1"},
                                                                                        {"uint8", "|u1"},
                                                                                        {"int16", "<i2"},
                                                                                        {"uint16", "<u2"},
                                                                                        {"int32", "<i4"},
                                                                                        {"uint32", "<u4"},
                                                                                        {"int64", "<i8"},
                                                                                        {"uint64", "<u8"},
                                                                                        {"float16", "<f2"},
                                                                                        {"float32", "<f4"},
                                                                                        {"float64", "<f8"},
                                                                                        {"complex64", "<c8"},
                                                                                        {"complex128", "<c16"}}};
  std::string descr = options.raw_dtype;
  for (const auto& [name, code] : names) {
    if (name == descr) descr = code;
  }
  if (descr.size() > 1 && std::isalpha(static_cast<unsigned char>(descr[0])) != 0) {
    descr.insert(0, descr.substr(1) == "1" ? "|" : "<");  // u1, f4
  }
  npy_header header;
  header.descr = fmt::format("'{}'", descr);
  try {
    header.itemsize = npy_itemsize(header.descr);
  } catch (const npy_error& fault) {
    throw failure(fmt::format("--dtype is \"{}\", wanted a name such as float32, or a text such as <f4: {}",
                              options.raw_dtype, fault.what()),
                  exit_usage);
  }
  header.shape = options.raw_shape;
  header.data_offset = options.raw_offset;
  header.data_bytes = header.itemsize;
  std::int64_t end = 0;
  bool fits = true;
  for (const std::int64_t extent : header.shape) {
    fits = fits && !__builtin_mul_overflow(header.data_bytes, extent, &header.data_bytes);
  }
  fits = fits && !__builtin_add_overflow(header.data_bytes, header.data_offset, &end);
  if (!fits || end > file.size()) {
    throw failure(fmt::format("{}: has {}, but --offset {} and --shape {} of {} end {}", options.input,
                              bytes_text(file.size()), options.raw_offset, shape_text(header.shape), options.raw_dtype,
                              fits ? "at byte " + std::to_string(end) : "behind 2^63 bytes"));
  }
  return header;
}

// Returns the order for unchanged data bytes. Axes with extents above 1 must stay in order or be reversed.
// Reversed axes exchange C order and Fortran order.
bool order_of_same_bytes(const npy_header& in, std::span<const int> axes, const std::string& path) {
  if (in.data_bytes == 0) return in.fortran_order;
  std::vector<int> long_axes;
  for (const int k : axes) {
    if (in.shape[static_cast<std::size_t>(k)] > 1) long_axes.push_back(k);
  }
  if (std::is_sorted(long_axes.begin(), long_axes.end())) return in.fortran_order;
  if (std::is_sorted(long_axes.rbegin(), long_axes.rend())) return !in.fortran_order;
  throw failure(
      fmt::format("{}: --metadata-only cannot express axes {} of shape {}: a header can only express C or Fortran "
                  "order, wanted axes in order or all reversed (axes of extent 1 may be anywhere)",
                  path, axes_text(axes), tuple_text(in.shape)));
}

}  // namespace

npy_header read_header(const mapped_file& file, const std::string& path) {
  try {
    return parse_npy_header(file.bytes(), file.size());
  } catch (const npy_error& fault) {
    throw failure(fmt::format("{}: {}", path, fault.what()));
  }
}

npy_header input_header(const mapped_file& file, const transpose_options& options) {
  return options.raw_dtype.empty() ? read_header(file, options.input) : raw_header(file, options);
}

npy_header output_header(const npy_header& in, std::span<const int> axes, const transpose_options& options,
                         std::string& bytes) {
  npy_header out = in;
  for (std::size_t k = 0; k < out.shape.size(); ++k) out.shape[k] = in.shape[static_cast<std::size_t>(axes[k])];
  out.fortran_order = options.metadata_only ? order_of_same_bytes(in, axes, options.input) : options.order == "F";
  const bool has_header = options.raw_dtype.empty() || options.output.ends_with(".npy");
  bytes = has_header ? npy_header_bytes(out) : "";
  out.data_offset = static_cast<std::int64_t>(bytes.size());
  return out;
}

}  // namespace cornerturn::cli
