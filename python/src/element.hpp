// The types of elements. Every door asks one question here: does a copy of its bytes copy an element?
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cornerturn/arithmetic.hpp"

namespace cornerturn::python {

struct element_facts {
  std::int64_t bits = 0;  // of one value
  int lanes = 1;          // values in an element
  bool refers = false;    // to Python objects, or to objects of the framework
  std::string text = {};  // equal types have equal texts: "float32", ">f4", "M8[ns]"; empty: compared by the framework
};

// Returns whether an element is one value of whole bytes without references
[[nodiscard]] constexpr bool is_movable(std::int64_t bits, int lanes, bool refers) {
  return bits >= 0 && bits % 8 == 0 && lanes == 1 && !refers;
}

// Effect  throws the TypeError of a type that is not movable; `name` is x, out or second
[[noreturn]] void refuse_element(const element_facts& type, std::string_view name);

// Returns the bytes of an element
// Errors  TypeError: the type is not movable
[[nodiscard]] inline std::int64_t bytes_of(const element_facts& type, std::string_view name) {
  if (!is_movable(type.bits, type.lanes, type.refers)) refuse_element(type, name);
  return type.bits / 8;
}

// Returns the type of DLPack's DLDataType
[[nodiscard]] element_facts type_of_dlpack(int code, int bits, int lanes);

// Returns the type of the field `typestr` of an array interface: "<f4", "|V12", "<M8[ns]"
// Errors  TypeError: no such type in NumPy
[[nodiscard]] element_facts type_of_interface(std::string_view typestr, std::string_view name);

// Returns the name of a type of arithmetic in NumPy, ml_dtypes and PyTorch
[[nodiscard]] const char* name_in_frameworks(element_type type);

// Returns the type with this name, or element_type::bits
[[nodiscard]] element_type type_with_name(std::string_view name_in_frameworks);

}  // namespace cornerturn::python
