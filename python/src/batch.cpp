#include "batch.hpp"

#include <algorithm>

#include "entry.hpp"
#include "torch.hpp"

namespace cornerturn::python {
namespace {

constexpr std::int64_t long_batch_bytes = 1 << 16;  // shorter ones keep the interpreter lock, as in move.cpp

batch_item item_of(const view& from, const view& to, const request& asked) {
  const axis_list axes = resolve(asked, from.rank);
  check_shape(from, axes, to);
  if (from.where != to.where)
    throw error(status::invalid_argument, "x and out are on different devices. Wanted: both on one device");
  if (from.element_bytes != to.element_bytes && bytes_of(from) != 0)
    throw error(status::invalid_argument, "x and out have different element sizes. Wanted: equal sizes");
  if (to.is_read_only) throw error(status::invalid_argument, "out is read-only");
  return {make_problem(from, axes, &to), from.data, to.data};
}

std::vector<std::int64_t> layout_of(const view& at) {
  std::vector<std::int64_t> made(at.extents, at.extents + at.rank);
  if (at.strides != nullptr) made.insert(made.end(), at.strides, at.strides + at.rank);
  return made;
}

bool has_layout(const view& at, const std::vector<std::int64_t>& layout) {
  const auto rank = static_cast<std::size_t>(at.rank);
  return layout.size() == (at.strides != nullptr ? 2 * rank : rank) &&
         std::equal(at.extents, at.extents + rank, layout.begin()) &&
         (at.strides == nullptr || std::equal(at.strides, at.strides + rank, layout.begin() + at.rank));
}

// Adds the item's number to the errors of body.
template <class Body>
void of_item(std::size_t number, const Body& body) {
  try {
    body();
  } catch (const error& found) {
    throw error(found.code(), "item " + std::to_string(number) + ": " + found.what());
  } catch (const nb::builtin_exception& found) {
    throw nb::type_error(("item " + std::to_string(number) + ": " + found.what()).c_str());
  }
}

plan_options options_of(memory_kind where, int threads) {
  return {.device = where == memory_kind::cuda ? device::cuda : device::cpu, .threads = threads};
}

}  // namespace

// The first pass makes the doors, which runs Python code. The second takes the views.
std::vector<batch_item> bound_batch::items_of(nb::handle xs, nb::handle outs, nb::handle axes) {
  const nb::object all_xs = nb::steal(PySequence_Tuple(xs.ptr())), all_outs = nb::steal(PySequence_Tuple(outs.ptr()));
  if (!all_xs.is_valid() || !all_outs.is_valid()) throw nb::python_error();
  const auto count = static_cast<std::size_t>(PyTuple_Size(all_xs.ptr()));
  if (static_cast<std::size_t>(PyTuple_Size(all_outs.ptr())) != count)
    throw error(status::invalid_argument, "xs and outs have different lengths. Wanted: one out for each x");
  request asked;
  if (count > 0) of_item(0, [&] { asked = request_of(axes); });
  arrays_.reserve(2 * count);
  for (std::size_t k = 0; k < count; ++k) {
    const auto at = static_cast<Py_ssize_t>(k);
    of_item(k, [&] {
      arrays_.emplace_back(PyTuple_GetItem(all_xs.ptr(), at), "x", access::read);
      arrays_.emplace_back(PyTuple_GetItem(all_outs.ptr(), at), "out", access::write);
    });
  }
  std::vector<batch_item> made;
  made.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    of_item(k, [&] {
      bound_array &x = arrays_[2 * k], &out = arrays_[2 * k + 1];
      const view from = x.of.look(), to = out.of.look();
      made.push_back(item_of(from, to, asked));
      x.bind(from);
      out.bind(to);
      if (k == 0) where_ = from.where;
      if (from.where != where_)
        throw error(status::invalid_argument, "x is on another device than item 0. Wanted: one device");
    });
  }
  if (where_ == memory_kind::cuda) check_cuda();
  return made;
}

bound_batch::bound_batch(nb::handle xs, nb::handle outs, nb::handle axes, int threads)
    : items_(items_of(xs, outs, axes)), how_(items_, options_of(where_, threads)) {}

bound_batch::bound_array::bound_array(nb::handle array, const char* name, access wanted)
    : of(array, name, wanted), storage(torch::storage_of(array)) {}

void bound_batch::bound_array::bind(const view& at) {
  address = at.data;
  element_bytes = at.element_bytes;
  layout = layout_of(at);
}

// A tensor can get other memory (set_, .data = ...), and an array another dtype or shape.
void bound_batch::check_unchanged(std::size_t number) const {
  const bound_array& bound = arrays_[number];
  of_item(number / 2, [&] {
    const view at = bound.of.look();
    const bool is_out = number % 2 == 1;
    if (is_out && at.is_read_only) throw error(status::invalid_argument, "out is read-only");
    if (at.data == bound.address && at.element_bytes == bound.element_bytes && has_layout(at, bound.layout)) return;
    throw error(status::invalid_argument,
                std::string(is_out ? "out" : "x") +
                    " has other memory, or another shape or dtype, than when the batch was made. "
                    "Wanted: a new batch");
  });
}

void bound_batch::execute(nb::handle stream) const {
  void* const handle = stream_of(stream);
  for (std::size_t k = 0; k < arrays_.size(); ++k) check_unchanged(k);
  const auto copy = [&] { how_.execute(handle); };
  if (bytes_moved() < long_batch_bytes) return copy();
  without_lock(copy);
}

}  // namespace cornerturn::python
