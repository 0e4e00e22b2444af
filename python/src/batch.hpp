// The C++ side of cornerturn.batch: many arrays of one framework, each permuted into another array.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cornerturn/batch.hpp"
#include "move.hpp"

namespace cornerturn::python {

class bound_batch {
 public:
  // Shape   outs[k] has the permuted shape of xs[k]. axes: None (the last two are swapped), a pattern, or a sequence of
  //         integers. The caller keeps the arrays alive, and has compared their element types
  // Errors  as cornerturn::batch, prefixed with the item; ValueError: a wrong shape; arrays in host memory and on a GPU
  bound_batch(nb::handle xs, nb::handle outs, nb::handle axes, int threads);

  // Effect  copies all items; a long batch releases the interpreter lock
  void execute(nb::handle stream) const;

  [[nodiscard]] std::string explain() const { return how_.explain(); }
  [[nodiscard]] std::int64_t bytes_moved() const { return how_.bytes_moved(); }
  [[nodiscard]] int threads() const { return how_.threads(); }
  [[nodiscard]] bool on_cuda() const { return where_ == memory_kind::cuda; }

 private:
  memory_kind where_ = memory_kind::host;  // set by the initializer of items_
  std::vector<batch_item> items_;
  batch how_;
};

}  // namespace cornerturn::python
