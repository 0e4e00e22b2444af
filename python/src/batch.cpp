#include "batch.hpp"

#include <optional>

#include "memory.hpp"

namespace cornerturn::python {
namespace {

batch_item item_of(nb::handle x, nb::handle out, const request& asked, memory_kind& where) {
  std::optional<described> of_x, of_out;
  const view from = look_at(x, of_x), to = look_at(out, of_out, "out");
  const axis_list axes = resolve(asked, from.rank);
  check_shape(from, axes, to);
  if (from.where != to.where)
    throw error(status::invalid_argument, "x and out are on different devices. Wanted: both on one device");
  if (from.element_bytes != to.element_bytes)
    throw error(status::invalid_argument, "x and out have different element sizes. Wanted: equal sizes");
  where = from.where;
  return {make_problem(from, axes, &to), from.data, to.data};
}

std::vector<batch_item> items_of(nb::handle xs, nb::handle outs, nb::handle axes, memory_kind& where) {
  const request asked = request_of(axes);
  const std::size_t count = nb::len(xs);
  std::vector<batch_item> made;
  made.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    memory_kind here{};
    try {
      made.push_back(item_of(xs[k], outs[k], asked, here));
    } catch (const error& found) {
      throw error(found.code(), "item " + std::to_string(k) + ": " + found.what());
    } catch (const nb::builtin_exception& found) {
      throw nb::type_error(("item " + std::to_string(k) + ": " + found.what()).c_str());
    }
    if (k == 0) where = here;
    if (here != where) {
      throw error(status::invalid_argument,
                  "item " + std::to_string(k) + ": x is on another device than item 0. Wanted: one device");
    }
  }
  if (where == memory_kind::cuda) check_cuda();
  return made;
}

plan_options options_of(memory_kind where, int threads) {
  return {.on = where == memory_kind::cuda ? device::cuda : device::cpu, .threads = threads};
}

}  // namespace

bound_batch::bound_batch(nb::handle xs, nb::handle outs, nb::handle axes, int threads)
    : items_(items_of(xs, outs, axes, where_)), how_(items_, options_of(where_, is_forked() ? 1 : threads)) {}

void bound_batch::execute(nb::handle stream) const {
  void* const handle = stream_of(stream);
  const nb::gil_scoped_release released;
  if (where_ == memory_kind::host && is_forked() && how_.threads() > 1) {
    batch(items_, options_of(where_, 1)).execute();  // the child of a fork has no team of threads
  } else {
    how_.execute(handle);
  }
}

}  // namespace cornerturn::python
