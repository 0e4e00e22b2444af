// Reading: 1 magic and version  2 header length  3 the dict  4 dtype  5 shape  6 the data's size against the file's.
#include "npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "python_literal.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

// numpy.load() refuses 10,000 bytes by default. A dtype of 10,000 fields has 300 kB. A byte can take 60 of memory.
constexpr std::int64_t max_header_bytes = 1 << 20;

using kind = python_value::kind;

bool multiply(std::int64_t a, std::int64_t b, std::int64_t& product) { return !__builtin_mul_overflow(a, b, &product); }

// Text of a header for a sentence: at most 80 bytes, escaped.
std::string clipped(std::string_view text) {
  const bool is_long = text.size() > 80;
  text = text.substr(0, 80);
  // A character that is cut at the end is no fault of the text.
  if (const std::size_t whole = utf8_length(text); is_long && whole + 3 >= text.size()) text = text.substr(0, whole);
  return one_line(text) + (is_long ? "..." : "");
}

// Other formats that are often named in place of an .npy file, by their first bytes.
std::string_view format_named_by(std::string_view front) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 21> formats{{
      {"PK\3\4", "a zip archive, as .npz files are. Unzip it and transpose its .npy members"},
      {"PK\5\6", "an empty zip archive, as an .npz file without arrays is"},
      {"\x89HDF\r\n\x1a\n", "an HDF5 file. Its data sets can be saved with numpy.save"},
      {"CDF\1", "a netCDF file"},
      {"CDF\2", "a netCDF file"},
      {"CDF\5", "a netCDF file"},
      {"MATLAB 5.0 MAT-file", "a MATLAB file"},
      {"SIMPLE  =", "a FITS file"},
      {"PAR1", "a Parquet file"},
      {"ARROW1", "an Arrow file"},
      {"II*\0", "a TIFF image"},
      {std::string_view("MM\0*", 4), "a TIFF image"},
      {"\x89PNG", "a PNG image"},
      {"\xff\xd8\xff", "a JPEG image"},
      {"\x1f\x8b", "compressed by gzip. Decompress it"},
      {"\x28\xb5\x2f\xfd", "compressed by zstd. Decompress it"},
      {"\xfd"
       "7zXZ",
       "compressed by xz. Decompress it"},
      {"BZh", "compressed by bzip2. Decompress it"},
      {"\x80\2", "a Python pickle. Load it and use numpy.save"},
      {"\x80\4", "a Python pickle. Load it and use numpy.save"},
      {"\x80\5", "a Python pickle. Load it and use numpy.save"},
  }};
  for (const auto& [magic, name] : formats) {
    if (front.starts_with(magic)) return name;
  }
  return {};
}

std::string not_npy(std::string_view front) {
  if (const auto name = format_named_by(front); !name.empty()) return fmt::format("is no .npy file, but {}", name);
  std::string begin;
  front = front.substr(0, front.find_first_of("\r\n"));
  const auto is_text = [](char c) { return (c >= 0x20 && c < 0x7F) || c == '\t'; };
  if (std::ranges::all_of(front.substr(0, 8), is_text) && front.size() >= 2) {
    begin = fmt::format("the text \"{}\"", clipped(front.substr(0, 20)));
  } else {
    for (const char c : front.substr(0, npy_magic.size())) {
      begin += fmt::format("{}{:02x}", begin.empty() ? "" : " ", static_cast<unsigned char>(c));
    }
  }
  return fmt::format("not an .npy file: it begins with {}, wanted 93 4e 55 4d 50 59 (\"\\x93NUMPY\")", begin);
}

[[noreturn]] void bad_field(std::string_view field, const python_value& found, std::string_view wanted) {
  throw npy_error(fmt::format("header field '{}' is {}, wanted {}", field, clipped(found.source), wanted));
}

// "[ns]", "[25s]", "[7D/3]"
bool is_unit_of_time(std::string_view text) {
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  const auto digits = [&text] { return std::min(text.find_first_not_of("0123456789"), text.size()); };
  text.remove_prefix(digits());
  const std::string_view unit = text.substr(0, text.find('/'));
  static constexpr std::array<std::string_view, 14> units{"Y",  "M",  "W",  "D",  "h",  "m",  "s",
                                                          "ms", "us", "ns", "ps", "fs", "as", "generic"};
  if (std::find(units.begin(), units.end(), unit) == units.end()) return false;
  text.remove_prefix(unit.size());
  if (text.empty()) return true;
  text.remove_prefix(1);
  return !text.empty() && digits() == text.size();
}

// Returns the element size of a dtype string that numpy.dtype() accepts, or nothing. Sizes are for 64-bit Linux.
std::optional<std::int64_t> scalar_bytes(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, int>, 34> names{{
      {"bool", 1},   {"int8", 1},    {"uint8", 1}, {"int16", 2},  {"uint16", 2},  {"float16", 2},   {"int32", 4},
      {"uint32", 4}, {"float32", 4}, {"int64", 8}, {"uint64", 8}, {"float64", 8}, {"complex64", 8}, {"complex128", 16},
      {"?", 1},      {"b", 1},       {"B", 1},     {"h", 2},      {"H", 2},       {"i", 4},         {"I", 4},
      {"l", 8},      {"L", 8},       {"q", 8},     {"Q", 8},      {"e", 2},       {"f", 4},         {"d", 8},
      {"g", 16},     {"F", 8},       {"D", 16},    {"G", 32},     {"float", 8},   {"int", 8},
  }};
  if (!text.empty() && std::string_view("<>|=").find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  for (const auto& [name, bytes] : names) {
    if (text == name) return bytes;
  }
  if (text.size() < 2) return std::nullopt;
  const char letter = text.front();
  std::int64_t size = 0;
  const auto [end, fault] = std::from_chars(text.data() + 1, text.data() + text.size(), size);
  if (fault != std::errc{} || size < 0) return std::nullopt;
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  const bool time = letter == 'M' || letter == 'm';
  if (!rest.empty() && !(time && is_unit_of_time(rest))) return std::nullopt;
  const auto one_of = [size](std::initializer_list<std::int64_t> sizes) -> std::optional<std::int64_t> {
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) return std::nullopt;
    return size;
  };
  switch (letter) {
    case 'b':
      return one_of({1});
    case 'i':
    case 'u':
      return one_of({1, 2, 4, 8, 16});
    case 'f':
      return one_of({1, 2, 4, 8, 10, 12, 16});
    case 'c':
      return one_of({4, 8, 16, 24, 32});
    case 'M':
    case 'm':
      return one_of({8});
    case 'S':
    case 'a':
    case 'V':
      return size;
    case 'U':
      return multiply(size, 4, size) ? std::optional(size) : std::nullopt;
    default:
      return std::nullopt;
  }
}

bool is_object(std::string_view text) {
  if (!text.empty() && std::string_view("<>|=").find(text.front()) != std::string_view::npos) text.remove_prefix(1);
  return text == "O" || text == "O8" || text == "O4" || text == "object";
}

std::int64_t count_of(const python_value& shape) {
  std::int64_t count = 1;
  const auto times = [&](const python_value& extent) {
    if (extent.is != kind::integer || !extent.fits || extent.number < 0 || !multiply(count, extent.number, count)) {
      bad_field("descr", shape, "a subarray shape of integers >= 0 whose product fits 63 bits");
    }
  };
  if (shape.is == kind::integer) {
    times(shape);
  } else if (shape.is == kind::tuple || shape.is == kind::list) {
    for (const python_value& extent : shape.items) times(extent);
  } else {
    bad_field("descr", shape, "a subarray shape: an integer or a tuple of them");
  }
  return count;
}

std::int64_t bytes_of(const python_value& descr) {
  if (descr.is == kind::string) {
    if (is_object(descr.text)) {
      throw npy_error(fmt::format(
          "header field 'descr' is {}, an object dtype: its elements are pickled Python objects, wanted a dtype "
          "of fixed size",
          clipped(descr.source)));
    }
    const auto bytes = scalar_bytes(descr.text);
    if (!bytes) bad_field("descr", descr, "a dtype of fixed size such as '<f4', '>i8', '|b1', '<U10' or '|V12'");
    return *bytes;
  }
  std::int64_t bytes = 0;
  if (descr.is == kind::tuple && descr.items.size() == 2) {  // (dtype, shape)
    if (!multiply(bytes_of(descr.items[0]), count_of(descr.items[1]), bytes)) {
      bad_field("descr", descr, "an element of fewer than 2^63 bytes");
    }
    return bytes;
  }
  if (descr.is != kind::list) bad_field("descr", descr, "a string or a list of fields");
  for (const python_value& field : descr.items) {  // (name, dtype) or (name, dtype, shape)
    if (field.is != kind::tuple || field.items.size() < 2 || field.items.size() > 3) {
      bad_field("descr", field, "a field as (name, dtype) or (name, dtype, shape)");
    }
    const python_value& name = field.items[0];
    if (name.is != kind::string && !(name.is == kind::tuple && name.items.size() == 2)) {
      bad_field("descr", name, "the name of a field as a string or (title, name)");
    }
    const std::int64_t count = field.items.size() == 3 ? count_of(field.items[2]) : 1;
    std::int64_t field_bytes = 0;
    if (!multiply(bytes_of(field.items[1]), count, field_bytes) || __builtin_add_overflow(bytes, field_bytes, &bytes)) {
      bad_field("descr", descr, "an element of fewer than 2^63 bytes");
    }
  }
  return bytes;
}

std::vector<std::int64_t> shape_of(const python_value& shape) {
  if (shape.is != kind::tuple && shape.is != kind::list) bad_field("shape", shape, "a tuple of integers");
  if (shape.items.size() > 64) bad_field("shape", shape, "at most 64 integers, as in NumPy");
  std::vector<std::int64_t> extents;
  for (std::size_t k = 0; k < shape.items.size(); ++k) {
    const python_value& extent = shape.items[k];
    const std::string field = fmt::format("shape[{}]", k);
    if (extent.is != kind::integer) bad_field(field, extent, "an integer");
    if (!extent.fits) bad_field(field, extent, "an integer below 2^63");
    if (extent.number < 0) bad_field(field, extent, "an integer >= 0");
    extents.push_back(extent.number);
  }
  return extents;
}

std::uint32_t little_endian(std::span<const std::byte> bytes) {
  std::uint32_t value = 0;
  for (std::size_t k = bytes.size(); k-- > 0;) value = value << 8 | std::to_integer<std::uint32_t>(bytes[k]);
  return value;
}

// Phases 1 to 5.
npy_header header_of(std::span<const std::byte> front, std::int64_t file_bytes) {
  npy_header header;
  // 1 magic and version
  const std::string_view text{reinterpret_cast<const char*>(front.data()), front.size()};
  if (file_bytes == 0) throw npy_error("the file is empty, wanted an .npy file");
  if (!text.starts_with(npy_magic)) throw npy_error(not_npy(text));
  if (text.size() < 8) throw npy_error(fmt::format("truncated: {} bytes, wanted at least 10", text.size()));
  header.major = static_cast<unsigned char>(text[6]);
  header.minor = static_cast<unsigned char>(text[7]);
  if (header.major < 1 || header.major > 3 || header.minor != 0) {
    throw npy_error(fmt::format("format version is {}.{}, wanted 1.0, 2.0 or 3.0", header.major, header.minor));
  }

  // 2 header length
  const std::size_t length_bytes = header.major == 1 ? 2 : 4;
  if (text.size() < 8 + length_bytes) {
    throw npy_error(
        fmt::format("truncated: {} bytes, wanted the header length at bytes 8 to {}", text.size(), 7 + length_bytes));
  }
  const std::int64_t length = little_endian(front.subspan(8, length_bytes));
  header.data_offset = static_cast<std::int64_t>(8 + length_bytes) + length;
  if (length > max_header_bytes) {
    throw npy_error(fmt::format("header length is {}, wanted at most {}", length, max_header_bytes));
  }
  if (header.data_offset > std::min(file_bytes, static_cast<std::int64_t>(front.size()))) {
    throw npy_error(fmt::format("header length is {}, but only {} bytes follow it in the file", length,
                                file_bytes - static_cast<std::int64_t>(8 + length_bytes)));
  }

  // 3 the dict
  const std::string_view written = text.substr(8 + length_bytes, static_cast<std::size_t>(length));
  if (const std::size_t good = utf8_length(written); header.major >= 3 && good != written.size()) {
    throw npy_error(fmt::format("malformed header: found byte 0x{:02x} at byte {} of the header text, wanted UTF-8",
                                static_cast<unsigned char>(written[good]), good));
  }
  python_value dict;
  try {
    dict = parse_literal(written);
  } catch (const literal_error& fault) {
    throw npy_error(fmt::format("malformed header: {}", fault.what()));
  }
  if (dict.is != kind::dict) {
    throw npy_error(fmt::format("malformed header: found {}, wanted a dict", clipped(dict.source)));
  }
  const python_value* descr = nullptr;
  const python_value* order = nullptr;
  const python_value* shape = nullptr;
  for (std::size_t k = 0; k + 1 < dict.items.size(); k += 2) {
    const python_value& key = dict.items[k];
    const bool string = key.is == kind::string;
    const python_value** slot = string && key.text == "descr"           ? &descr
                                : string && key.text == "fortran_order" ? &order
                                : string && key.text == "shape"         ? &shape
                                                                        : nullptr;
    if (slot == nullptr) {
      throw npy_error(
          fmt::format("header has the key {}, wanted 'descr', 'fortran_order' and 'shape' only", clipped(key.source)));
    }
    if (*slot != nullptr) throw npy_error(fmt::format("header has the key '{}' twice, wanted it once", key.text));
    *slot = &dict.items[k + 1];
  }
  const auto require = [](const python_value* value, std::string_view key) {
    if (value == nullptr) throw npy_error(fmt::format("header has no key '{}', wanted one", key));
  };
  require(descr, "descr");
  require(order, "fortran_order");
  require(shape, "shape");

  // 4 dtype
  header.itemsize = bytes_of(*descr);
  header.descr = std::string(descr->source);
  if (order->is != kind::boolean) bad_field("fortran_order", *order, "True or False");
  header.fortran_order = order->truth;

  // 5 shape
  header.shape = shape_of(*shape);
  const bool empty = std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end();
  std::int64_t bytes = header.itemsize;
  for (const std::int64_t extent : header.shape) {
    if (!empty && !multiply(bytes, extent, bytes)) {
      bad_field("shape", *shape, "an array of fewer than 2^63 bytes with " + elements_text(header.itemsize));
    }
  }
  header.data_bytes = empty ? 0 : bytes;
  return header;
}

}  // namespace

npy_header parse_npy_header(std::span<const std::byte> front, std::int64_t file_bytes) {
  npy_header header = header_of(front, file_bytes);
  // 6 the data's size against the file's
  const std::int64_t found = file_bytes - header.data_offset;
  if (found != header.data_bytes) {
    const std::string sentence =
        fmt::format("{}: {} of data after the header, wanted {} for shape {} with {}",
                    found < header.data_bytes ? "truncated data" : "trailing data", count_text(found, "byte"),
                    header.data_bytes, tuple_text(header.shape), elements_text(header.itemsize));
    const std::int64_t end = header.data_offset + header.data_bytes;
    const std::string_view text{reinterpret_cast<const char*>(front.data()), front.size()};
    if (found > header.data_bytes && end < static_cast<std::int64_t>(text.size()) &&
        text.substr(static_cast<std::size_t>(end)).starts_with(npy_magic))
      throw npy_error(
          fmt::format("{}. Another array begins at byte {}: `tail -c +{}` of the file prints it, and wanted "
                      "is a file with one array",
                      sentence, end, end + 1));
    throw npy_error(sentence);
  }
  return header;
}

std::optional<std::int64_t> npy_file_bytes(std::span<const std::byte> front) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::string_view text{reinterpret_cast<const char*>(front.data()), front.size()};
  if (text.substr(0, npy_magic.size()) != npy_magic.substr(0, text.size())) return 0;
  if (text.size() < 12) return std::nullopt;  // magic, version and the longest form of a length
  const std::size_t length_bytes = text[6] == 1 ? 2 : 4;
  const std::int64_t length = little_endian(front.subspan(8, length_bytes));
  if (length <= max_header_bytes && 8 + length_bytes + static_cast<std::size_t>(length) > text.size())
    return std::nullopt;
  try {
    const npy_header header = header_of(front, most);
    return header.data_bytes > most - header.data_offset ? most : header.data_offset + header.data_bytes;
  } catch (const npy_error&) {
    return 0;
  }
}

std::string npy_header_bytes(const npy_header& header) {
  const std::string dict = fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", header.descr,
                                       header.fortran_order ? "True" : "False", tuple_text(header.shape));
  int major = header.major;
  const auto padded = [&](std::size_t length_bytes) {
    const std::size_t used = 8 + length_bytes + dict.size() + 1;  // 1: the newline
    return (used + 63) / 64 * 64;
  };
  if (major == 1 && padded(2) - 10 > 65535) major = 2;
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t total = padded(length_bytes);
  std::string bytes{npy_magic};
  bytes.push_back(static_cast<char>(major));
  bytes.push_back('\0');
  const std::size_t length = total - 8 - length_bytes;
  for (std::size_t k = 0; k < length_bytes; ++k) bytes.push_back(static_cast<char>(length >> (8 * k) & 0xFF));
  bytes += dict;
  bytes.append(total - bytes.size() - 1, ' ');
  bytes.push_back('\n');
  return bytes;
}

std::int64_t npy_itemsize(std::string_view descr) {
  try {
    return bytes_of(parse_literal(descr));
  } catch (const literal_error& fault) {
    throw npy_error(fmt::format("malformed dtype: {}", fault.what()));
  }
}

std::string npy_dtype_name(const npy_header& header) {
  try {
    if (python_value value = parse_literal(header.descr); value.is == kind::string) return value.text;
  } catch (const literal_error&) {
    // A text that is not a literal is returned unchanged.
  }
  return header.major < 3 ? utf8_of_latin1(header.descr) : header.descr;
}

}  // namespace cornerturn::cli
