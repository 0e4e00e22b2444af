#include "api/apply.hpp"

#include <cstdint>

#include "base/numbers.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn {
namespace api {
namespace {

void check_pointer(const char* what, const void* given, bool wanted, bool may_be_left, const char* field) {
  if (given == nullptr && wanted && !may_be_left) {
    throw error(status::invalid_argument, std::string(what) + " is null, but " + field);
  }
  if (given != nullptr && !wanted) {
    throw error(status::invalid_argument, std::string(what) + " is given. Wanted: null, unless " + field);
  }
}

}  // namespace

void check_apart(const side& one, const side& other) {
  const auto one_at = reinterpret_cast<std::uintptr_t>(one.at);
  const auto other_at = reinterpret_cast<std::uintptr_t>(other.at);
  if (one_at + one.span.lo >= other_at + other.span.hi || other_at + other.span.lo >= one_at + one.span.hi) return;
  const auto text = [](const side& s) {
    return std::string(s.name) + " spans bytes " + std::to_string(s.span.lo) + " to " + std::to_string(s.span.hi) +
           " from its pointer";
  };
  throw error(status::overlap, std::string(one.name) + " and " + other.name + " overlap: " + text(one) + ", " +
                                   text(other) + ", and " + other.name + " - " + one.name + " is " +
                                   std::to_string(static_cast<std::int64_t>(other_at - one_at)) + " bytes");
}

namespace {

bool has_strides_of_dst(const map::canonical& form) {
  for (int k = 0; k < form.rank; ++k) {
    if (form.axes[k].second_stride != form.axes[k].dst_stride) return false;
  }
  return true;
}

std::string number(const scalar& value) {
  using base::decimal;
  return value.im == 0 ? decimal(value.re) : '(' + decimal(value.re) + ", " + decimal(value.im) + ')';
}

}  // namespace

void check_operands(const operands& all, const arithmetic& math) {
  check_pointer("second", all.second, math.second == second_array::source, math.beta == scalar{},
                "math.second is source");
  check_pointer("second_dst", all.second_dst, math.second == second_array::destination, false,
                "math.second is destination");
  check_pointer("scale", all.scale, math.scaled, false, "math.scaled is set");
}

void check_overlap_of_second(const operands& all, const kernels::op& math, const map::canonical& form) {
  const side src{"src", all.src, map::src_span(form)};
  const side dst{"dst", all.dst, map::dst_span(form)};
  if (math.second == second_array::destination) {
    const side second{"second_dst", all.second_dst, map::second_span(form)};
    check_apart(src, second);
    check_apart(dst, second);
  }
  if (math.second == second_array::source && all.second != nullptr) {
    if (all.second == all.dst && has_strides_of_dst(form)) return;
    check_apart(dst, {"second", all.second, map::second_span(form)});
  }
  if (all.scale == nullptr) return;
  check_apart(dst, {"scale", all.scale, {0, sizeof(float)}});
  if (math.second == second_array::destination) {
    check_apart({"second_dst", all.second_dst, map::second_span(form)}, {"scale", all.scale, {0, sizeof(float)}});
  }
}

std::string text_of(const arithmetic& math) {
  std::string text = name(math.src);
  if (math.src != math.dst) text += std::string(" to ") + name(math.dst);
  if (math.conj) text += ", conjugated";
  if (math.alpha != scalar{1, 0}) text += ", alpha " + number(math.alpha);
  if (math.beta != scalar{}) {
    text += ", beta " + number(math.beta) + (math.second == second_array::source ? " of a second source" : " of dst");
  }
  if (math.scaled) text += ", scaled";
  if (math.src != math.dst) text += math.saturate ? ", saturating" : ", not saturating";
  if (math.second == second_array::destination) text += ", to a second destination too";
  return text;
}

}  // namespace api

const char* name(element_type type) noexcept {
  constexpr const char* names[] = {"bits",       "float16",     "bfloat16",    "float32", "float64", "complex64",
                                   "complex128", "float8_e4m3", "float8_e5m2", "int8",    "int16",   "int32",
                                   "int64",      "uint8",       "uint16",      "uint32",  "uint64"};
  const auto k = static_cast<std::size_t>(type);
  return k < std::size(names) ? names[k] : "unknown";
}

}  // namespace cornerturn
