// Rule (c) of docs/design.md: no exception but cornerturn::error leaves the library, and no name of a C++ exception reaches a user.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>

#include "cornerturn/error.hpp"

namespace cornerturn::api {

// Errors that were made when the library was loaded: to throw one allocates nothing.
[[nodiscard]] const error& no_memory() noexcept;  // out_of_memory
[[nodiscard]] const error& a_defect() noexcept;   // internal

// Effect  calls body. Every public function is one call of this function
// Errors  cornerturn::error as body throws it. out_of_memory: body found no memory. internal: body threw anything else
template <class Body>
decltype(auto) guarded(const Body& body) {
  try {
    return body();
  } catch (const error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw error(no_memory());
  } catch (const std::length_error&) {  // of a container that can never be so long
    throw error(no_memory());
  } catch (...) {
    throw error(a_defect());
  }
}

}  // namespace cornerturn::api
