// Shared by the functions of the C ABI: every exception becomes a status and a sentence.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "api/guard.hpp"
#include "cornerturn/cornerturn.h"
#include "cornerturn/error.hpp"
#include "cornerturn/plan.hpp"

namespace cornerturn::api::c {

// Sets the sentence of cornerturn_last_error(). Null: there is no error.
void tell(const char* text) noexcept;

template <class Body>
cornerturn_status guarded(Body body) noexcept {
  try {
    api::guarded(body);
    tell(nullptr);
    return CORNERTURN_OK;
  } catch (const error& fault) {
    tell(fault.what());
    return static_cast<cornerturn_status>(fault.code());
  }
}

// Errors  invalid_argument: the pointer is null
void want(const void* pointer, const char* name);

// Errors  invalid_argument: the value is neither 0 nor 1
bool flag(int value, const char* name);

plan_options from_c(const cornerturn_options* at);

// Returns the fields that this library knows. The program may have a structure of a later version, with 0 in the fields behind
// them. A shorter structure lacks a field: this is the first version with sizes.
template <class T>
T read(const T& given, const char* name, const char* initializer) {
  constexpr std::size_t most = 4 * sizeof(T);  // a number that is no size
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&given);
  if (given.size < sizeof(T) || given.size > most) {
    throw error(status::invalid_argument, std::string(name) + ".size is " + std::to_string(given.size) + ", wanted " +
                                              std::to_string(sizeof(T)) + ": start from " + initializer);
  }
  if (std::any_of(bytes + sizeof(T), bytes + given.size, [](unsigned char one) { return one != 0; })) {
    throw error(status::invalid_argument, std::string(name) +
                                              " has fields that cornerturn " CORNERTURN_VERSION_STRING
                                              " does not know. Wanted: 0 in each of them, or a newer library");
  }
  return given;
}

}  // namespace cornerturn::api::c
