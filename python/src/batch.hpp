// The C++ side of cornerturn.batch: many arrays of one framework, each permuted into another array.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cornerturn/batch.hpp"
#include "memory.hpp"

namespace cornerturn::python {

class bound_batch {
 public:
  // Shape   outs[k] has the permuted shape of xs[k]. axes: None (the last two are swapped), a pattern, or a sequence of
  //         integers. The batch holds the arrays; the caller has compared their element types
  // Errors  as cornerturn::batch, prefixed with the item; ValueError: a wrong shape; arrays in host memory and on a GPU
  bound_batch(nb::handle xs, nb::handle outs, nb::handle axes, int threads);
  bound_batch(const bound_batch&) = delete;
  bound_batch& operator=(const bound_batch&) = delete;

  // Effect  copies all items; a long batch releases the interpreter lock
  // Errors  ValueError: an array has other memory or another layout than in the constructor, or an out is read-only now
  void execute(nb::handle stream) const;

  [[nodiscard]] std::string explain() const { return how_.explain(); }
  [[nodiscard]] std::int64_t bytes_moved() const { return how_.bytes_moved(); }
  [[nodiscard]] int threads() const { return how_.threads(); }
  [[nodiscard]] bool on_cuda() const { return where_ == memory_kind::cuda; }

 private:
  // An array, and what the batch has bound of it.
  struct bound_array {
    bound_array(nb::handle array, const char* name, access wanted);
    void bind(const view& at);

    door of;
    nb::object storage;  // of a tensor, which can be given another one
    void* address = nullptr;
    std::int64_t element_bytes = 0;
    std::vector<std::int64_t> layout{};  // extents, then strides
  };
  std::vector<batch_item> items_of(nb::handle xs, nb::handle outs, nb::handle axes);
  void check_unchanged(std::size_t number) const;

  memory_kind where_ = memory_kind::host;  // set by the initializer of items_, as arrays_
  std::vector<bound_array> arrays_;        // x and out of item 0, x and out of item 1, ...
  std::vector<batch_item> items_;
  batch how_;
};

}  // namespace cornerturn::python
