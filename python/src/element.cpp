#include "element.hpp"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <bit>

#include "text.hpp"

namespace cornerturn::python {
namespace {

struct dlpack_code {
  const char* name;
  bool has_bits;  // the name goes on with the bits, as in float32
};

constexpr std::array dlpack_codes{dlpack_code{"int", true},
                                  dlpack_code{"uint", true},
                                  dlpack_code{"float", true},
                                  dlpack_code{"handle", true},
                                  dlpack_code{"bfloat", true},
                                  dlpack_code{"complex", true},
                                  dlpack_code{"bool", false},
                                  dlpack_code{"float8_e3m4", false},
                                  dlpack_code{"float8_e4m3", false},
                                  dlpack_code{"float8_e4m3b11fnuz", false},
                                  dlpack_code{"float8_e4m3fn", false},
                                  dlpack_code{"float8_e4m3fnuz", false},
                                  dlpack_code{"float8_e5m2", false},
                                  dlpack_code{"float8_e5m2fnuz", false},
                                  dlpack_code{"float8_e8m0fnu", false},
                                  dlpack_code{"float6_e2m3fn", false},
                                  dlpack_code{"float6_e3m2fn", false},
                                  dlpack_code{"float4_e2m1fn", false}};
constexpr int handle_code = 3;

// The number at the begin of text, which is shortened by its digits; -1: no digit, or more than nine.
std::int64_t take_number(std::string_view& text) {
  std::int64_t number = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    if (digits == 9) return -1;
    number = number * 10 + (text[digits] - '0');
  }
  text.remove_prefix(digits);
  return digits == 0 ? -1 : number;
}

// "[ns]", "[25s]" or "[s/10]", of a date or a duration.
bool is_unit(std::string_view text) {
  constexpr std::array<std::string_view, 14> units{"Y",  "M",  "W",  "D",  "h",  "m",  "s",
                                                   "ms", "us", "ns", "ps", "fs", "as", "generic"};
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return false;
  text = text.substr(1, text.size() - 2);
  if (text.front() >= '0' && text.front() <= '9' && take_number(text) < 1) return false;
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    std::string_view parts = text.substr(slash + 1);
    if (take_number(parts) < 1 || !parts.empty()) return false;
    text = text.substr(0, slash);
  }
  return std::find(units.begin(), units.end(), text) != units.end();
}

bool has_size(char kind, std::int64_t bytes) {
  const auto one_of = [&](std::initializer_list<int> sizes) {
    return std::find(sizes.begin(), sizes.end(), bytes) != sizes.end();
  };
  switch (kind) {
    case 'b':
      return bytes == 1;
    case 'i':
    case 'u':
      return one_of({1, 2, 4, 8, 16});
    case 'f':
      return one_of({1, 2, 4, 8, 10, 12, 16});
    case 'c':
      return one_of({4, 8, 16, 24, 32});
    case 'm':
    case 'M':
      return bytes == 8;
    default:
      return bytes >= 0;
  }
}

}  // namespace

void refuse_element(const element_facts& type, std::string_view name) {
  std::string sentence = std::string(name) + " has dtype " + type.text;
  if (type.refers) {
    sentence += ", whose elements refer to Python objects. Wanted: elements without references";
  } else if (type.lanes != 1) {
    sentence +=
        ", whose elements have " + std::to_string(type.lanes) + " values each. Wanted: one value in each element";
  } else {
    sentence += ", whose elements have " + std::to_string(type.bits) + (type.bits == 1 ? " bit" : " bits") +
                ". Wanted: elements of whole bytes";
  }
  throw nanobind::type_error(sentence.c_str());
}

element_facts type_of_dlpack(int code, int bits, int lanes) {
  element_facts made{.bits = bits > 0 ? bits : -1, .lanes = lanes, .refers = code == handle_code};
  if (code >= 0 && code < static_cast<int>(dlpack_codes.size())) {
    const dlpack_code& known = dlpack_codes[static_cast<std::size_t>(code)];
    made.text = known.name;
    if (known.has_bits || (code == 6 && bits != 8)) made.text += std::to_string(bits);
  } else {
    made.text = "number " + std::to_string(code) + " of DLPack with " + std::to_string(bits) + " bits";
  }
  if (lanes != 1) made.text.append("x").append(std::to_string(lanes));
  return made;
}

element_facts type_of_interface(std::string_view typestr, std::string_view name) {
  const auto refuse = [&]() -> element_facts {
    throw nanobind::type_error(
        (std::string(name) + " has typestr '" + escaped(typestr) + "'. Wanted: a type of NumPy, as in '<f4' or '|V12'")
            .c_str());
  };
  if (typestr.size() < 3) return refuse();
  const char order = typestr[0], kind = typestr[1];
  std::string_view rest = typestr.substr(2);
  const std::int64_t size = take_number(rest);
  const bool is_time = kind == 'm' || kind == 'M';
  if (std::string_view("<>|=").find(order) == std::string_view::npos ||
      std::string_view("tbiufcmMOSUV").find(kind) == std::string_view::npos || !has_size(kind, size) ||
      !(rest.empty() || (is_time && is_unit(rest))))
    return refuse();
  if (kind == 't') return {.bits = size % 8 == 0 ? -1 : size, .text = "bit field of " + std::to_string(size) + " bits"};
  element_facts made{.bits = size * (kind == 'U' ? 32 : 8), .refers = kind == 'O'};
  constexpr char native = std::endian::native == std::endian::little ? '<' : '>';
  const bool has_order = size > 1 && std::string_view("bSVO").find(kind) == std::string_view::npos;
  const bool swapped = (has_order || (kind == 'U' && size > 0)) && order != native && order != '=' && order != '|';
  const std::size_t number = std::string_view("iuf..c").find(kind);
  if (!swapped && number != std::string_view::npos)
    return type_of_dlpack(static_cast<int>(number), static_cast<int>(made.bits), 1);
  if (kind == 'b') return type_of_dlpack(6, 8, 1);
  if (swapped) made.text.push_back(order);
  made.text.append(typestr.substr(1));
  return made;
}

// ml_dtypes.float8_e4m3 is another type, with infinities.
const char* name_in_frameworks(element_type type) {
  return type == element_type::float8_e4m3 ? "float8_e4m3fn" : cornerturn::name(type);
}

element_type type_with_name(std::string_view wanted) {
  for (int k = 1; k <= static_cast<int>(element_type::uint64); ++k) {
    if (wanted == name_in_frameworks(static_cast<element_type>(k))) return static_cast<element_type>(k);
  }
  return element_type::bits;
}

}  // namespace cornerturn::python
