// batch: each different problem is checked and planned once; the pointers of each item are checked once.
//   1. problems: check, canonical form, spans
//   2. items: null pointers, overlaps, the device of their memory
//   3. on the CPU a share for each thread; on a GPU the launches
#include "api/batch.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "api/check.hpp"
#include "api/device.hpp"
#include "api/explain.hpp"
#include "api/gpu_plan.hpp"
#include "api/guard.hpp"
#include "base/checked.hpp"
#include "base/machine.hpp"
#include "base/parallel.hpp"
#include "base/text_stream.hpp"
#include "cornerturn/error.hpp"
#include "kernels/cpu/batch/items.hpp"
#include "kernels/gpu/device.hpp"
#include "plan/choose.hpp"
#include "run/launch.hpp"

namespace cornerturn {
namespace detail {
namespace {

std::uint64_t hash_of(const problem& what) noexcept {
  std::uint64_t sum = 14695981039346656037U;
  const auto take = [&](std::int64_t number) {
    sum = (sum ^ static_cast<std::uint64_t>(number)) * 1099511628211U;
    sum ^= sum >> 29;
  };
  take(what.element_bytes);
  for (int k = 0; k < std::clamp(what.rank, 0, max_rank); ++k) {
    take(what.axes[k].extent);
    take(what.axes[k].src_stride);
    take(what.axes[k].dst_stride);
  }
  return sum;
}

// Calls body and adds the item's number to its errors.
template <class Body>
void of_item(std::size_t number, const Body& body) {
  try {
    body();
  } catch (const error& caught) {
    throw error(caught.code(), "item " + std::to_string(number) + ": " + caught.what());
  }
}

// Finds the memory of one side's pointers. Pointers to one page share a query, which costs a few hundred nanoseconds.
// The kind of memory is constant within a 4 KiB page, and within 64 KiB of device memory.
class locator {
 public:
  gpu::location of(const void* pointer) {
    const auto at = reinterpret_cast<std::uintptr_t>(pointer);
    const int page = found_.kind == gpu::memory::device ? 16 : 12;
    if (!asked_ || at >> page != at_ >> page) {
      found_ = gpu::where(pointer);
      asked_ = true;
    }
    at_ = at;
    return found_;
  }

 private:
  bool asked_ = false;
  std::uintptr_t at_ = 0;
  gpu::location found_;
};

std::string device_text(int device) { return device == api::on_cpu ? "the CPU" : "GPU " + std::to_string(device); }

void refuse_more_than_moves(const problem& what) {
  if (what.in_place) throw error(status::invalid_argument, "in_place is set. Wanted in a batch: separate src and dst");
  if (map::only_moves(what)) return;
  throw error(status::invalid_argument, "math changes elements. Wanted in a batch: a problem without arithmetic");
}

}  // namespace

std::uint32_t batch_list::number_of(const problem& what) {
  if (!items_.empty() && problems_[items_.back().which] == what) return items_.back().which;
  const std::uint64_t hash = hash_of(what);
  const auto range = numbers_.equal_range(hash);
  for (auto one = range.first; one != range.second; ++one) {
    if (problems_[one->second] == what) return one->second;
  }
  const auto number = static_cast<std::uint32_t>(problems_.size());
  problems_.push_back(what);
  first_.push_back(items_.size());
  numbers_.emplace(hash, number);
  return number;
}

void batch_list::add(const problem& what, const void* src, void* dst) { items_.push_back({number_of(what), src, dst}); }

void batch_list::reserve(std::size_t items) {
  try {
    items_.reserve(items);
  } catch (const std::exception&) {  // no memory, or more items than a vector can have
    throw error(status::out_of_memory, "no memory for a batch of " + std::to_string(items) + " items");
  }
}

batch_state::batch_state(const batch_list& all, const plan_options& options)
    : size_(static_cast<std::int64_t>(all.items().size())), device_(api::on_cpu), parallel_(options.parallel) {
  api::check_device(options.device, options.threads);
  if (options.kernel != nullptr) {
    throw error(status::invalid_argument, "kernel is \"" + std::string(options.kernel) +
                                              "\", but a batch picks a kernel for each item. Wanted: null");
  }
  add_problems(all);               // 1.
  add_items(all, options.device);  // 2.
  if (on_gpu()) {                  // 3.
    prepare_gpu(all);
    return;
  }
  std::vector<map::canonical> forms;
  forms.reserve(planned_.size());
  for (const planned_problem& one : planned_) forms.push_back(one.form);
  const int threads = base::threads_of_call(options.threads);
  cpu_shares_ = planning::choose_batch(forms, moves_, threads, kernels::this_machine());
}

void batch_state::add_problems(const batch_list& all) {
  planned_.reserve(all.problems().size());
  for (std::size_t k = 0; k < all.problems().size(); ++k) {
    const problem& what = all.problems()[k];
    of_item(all.first()[k], [&] {
      api::check(what);
      refuse_more_than_moves(what);
    });
    planned_problem made;
    made.form = map::canonicalize(what);
    made.src_span = map::src_span(made.form);
    made.dst_span = map::dst_span(made.form);
    made.src_start = made.form.src_offset * made.form.word_bytes;
    made.dst_start = made.form.dst_offset * made.form.word_bytes;
    planned_.push_back(made);
  }
}

void batch_state::add_items(const batch_list& all, device on) {
  const bool may_be_gpu = api::is_gpu(on) || gpu::driver_is_loaded();
  locator src_locator, dst_locator;
  std::int64_t written = 0;
  for (std::size_t k = 0; k < all.items().size(); ++k) {
    const planning::batch_move& one = all.items()[k];
    const planned_problem& how = planned_[one.which];
    if (how.form.empty) continue;
    of_item(k, [&] {
      if (one.src == nullptr || one.dst == nullptr) {
        throw error(status::invalid_argument,
                    std::string(one.src == nullptr ? "src" : "dst") + " is null, but the problem is not empty");
      }
      api::check_apart(one.src, one.dst, how.src_span, how.dst_span, how.form);
      if (!may_be_gpu) return;
      int device = api::device_of_call(on, src_locator.of(static_cast<const std::byte*>(one.src) + how.src_span.lo),
                                       dst_locator.of(static_cast<const std::byte*>(one.dst) + how.dst_span.lo));
      if (device == api::on_current_gpu) device = std::max(gpu::current_device(), 0);
      if (moves_.empty()) device_ = device;
      if (device == device_) return;
      throw error(status::invalid_argument, "it needs " + device_text(device) + ", but the items before it run on " +
                                                device_text(device_) + ". Wanted: one device for all items");
    });
    moves_.push_back(one);
    if (!base::checked_add(written, map::words(how.form) * how.form.word_bytes, written)) written = INT64_MAX;
  }
  if (!base::checked_mul(written, 2, bytes_)) bytes_ = INT64_MAX;
}

void batch_state::prepare_gpu(const batch_list& all) {
  const gpu::device_guard guard(device_);
  const kernels::gpu_traits& on = gpu::info(device_).traits;
  for (std::size_t k = 0; k < planned_.size(); ++k) {
    if (planning::fits_address_space(planned_[k].form)) continue;
    running::gpu_variant none;
    none.form = planned_[k].form;
    of_item(all.first()[k], [&] { check_fits(none); });
  }
  shared_launches_ = planning::lay_out(all.problems(), moves_, planning::target_of(on));
  for (const kernels::batch_launch& one : shared_launches_.launches) check_loaded(device_, *one.row);
  if (!shared_launches_.bytes.empty()) {
    const auto bytes = static_cast<std::int64_t>(shared_launches_.bytes.size());
    table_.reset(gpu::allocate(bytes));
    if (table_ == nullptr) {
      throw error(status::out_of_memory, "GPU " + std::to_string(device_) + " has no memory for a table of " +
                                             std::to_string(bytes) + " bytes");
    }
    if (const char* message = gpu::upload(table_.get(), shared_launches_.bytes); message != nullptr) {
      throw error(status::device_error,
                  "GPU " + std::to_string(device_) + " refused the table of the batch: " + message);
    }
    shared_launches_.bytes = {};
  }
  remember_largest(all);
  std::map<std::pair<std::uint32_t, int>, std::uint32_t> known;  // the variant for a problem and an alignment
  for (const std::size_t k : shared_launches_.alone) {
    const planning::batch_move& one = moves_[k];
    const running::work what(all.problems()[one.which]);
    const int alignment = running::alignment_of(what.form, {.src = one.src, .dst = one.dst});
    const auto found = known.try_emplace({one.which, alignment}, static_cast<std::uint32_t>(variants_.size()));
    if (found.second) {
      variants_.push_back(running::choose_variant(what, on, alignment, ""));
      of_item(all.first()[one.which], [&] { check_fits(variants_.back()); });
      check_loaded(device_, variants_.back());
    }
    own_launches_.push_back({found.first->second, one});
  }
}

namespace {

constexpr std::size_t told_shapes = 4;  // explain() prints the offers of so many

std::string shape_text(const map::canonical& form) {
  std::string text;
  for (int k = 0; k < form.rank; ++k) text += (k > 0 ? " x " : "") + std::to_string(form.axes[k].extent);
  return (text.empty() ? "1" : text) + " of " + std::to_string(form.word_bytes) + "-byte words";
}

// Sorts the most bytes to the front, and keeps told_shapes of them.
template <class T, class Bytes>
void keep_largest(std::vector<T>& all, const Bytes& bytes_of) {
  const std::size_t kept = std::min(told_shapes, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                    [&](const T& a, const T& b) { return bytes_of(a) > bytes_of(b); });
  all.resize(kept);
}

}  // namespace

void batch_state::remember_largest(const batch_list& all) {
  std::vector<planning::gpu_batch_shape> largest = std::move(shared_launches_.shapes);
  keep_largest(largest, [&](const planning::gpu_batch_shape& one) {
    const map::canonical& form = planned_[one.which].form;
    return static_cast<double>(map::words(form) * form.word_bytes) * static_cast<double>(one.items);
  });
  for (const planning::gpu_batch_shape& one : largest) told_.push_back({all.problems()[one.which], one});
  shared_launches_.shapes.clear();
}

void batch_state::run(std::int64_t first_share, std::int64_t last_share) const {
  const planning::batch_choice::position begin = cpu_shares_.begins[static_cast<std::size_t>(first_share)];
  const planning::batch_choice::position end = cpu_shares_.begins[static_cast<std::size_t>(last_share)];
  std::array<kernels::cpu::item_call, 512> small;
  std::size_t count = 0;
  for (std::size_t k = begin.move; k < moves_.size() && k <= end.move; ++k) {
    const planning::batch_move& one = moves_[k];
    const kernels::offer& how = cpu_shares_.problems[one.which];
    const auto* const src = static_cast<const std::byte*>(one.src) + planned_[one.which].src_start;
    std::byte* const dst = static_cast<std::byte*>(one.dst) + planned_[one.which].dst_start;
    if (cpu_shares_.small[one.which]) {
      if (k == end.move) break;  // the next share has it
      small[count++] = {how.args,
                        how.units,
                        cpu_shares_.copies[one.which] ? nullptr : how.row->run,
                        src,
                        dst,
                        map::words(planned_[one.which].form) * planned_[one.which].form.word_bytes,
                        cpu_shares_.panels[one.which],
                        cpu_shares_.strips[one.which]};
      if (count < small.size()) continue;
      kernels::cpu::move_items(small);
      count = 0;
      continue;
    }
    const std::int64_t first = k == begin.move ? begin.unit : 0;
    const std::int64_t last = k == end.move ? end.unit : how.units;
    if (first < last) how.row->run(how.args, {.src = src, .dst = dst}, first, last);
  }
  if (count > 0) kernels::cpu::move_items({small.data(), count});
}

void batch_state::execute(void* stream) const {
  if (moves_.empty()) return;
  if (!on_gpu()) {
    api::check_stream(api::on_cpu, stream);
    const auto body = [](void* self, std::int64_t begin, std::int64_t end) {
      static_cast<const batch_state*>(self)->run(begin, end);
    };
    base::parallel_for(parallel_, cpu_shares_.threads, cpu_shares_.shares(), body, const_cast<batch_state*>(this));
    return;
  }
  const gpu::device_guard guard(device_);
  for (const kernels::batch_launch& one : shared_launches_.launches) {
    const char* const message = kernels::with_tables(
        one, table_.get(), [&](const void* job) { return one.row->launch(job, one.blocks, one.shared_bytes, stream); });
    check_launched(message, device_, one.row->name);
  }
  for (const own_launch& one : own_launches_) {
    const running::gpu_variant& variant = variants_[one.variant];
    check_launched(running::start(variant, {.src = one.item.src, .dst = one.item.dst}, stream), device_,
                   variant.chosen.row->name);
  }
}

void batch_state::explain_on_cpu(std::ostream& out) const {
  std::vector<std::int64_t> items(planned_.size());
  std::map<std::string, std::int64_t> by_kernel;
  for (const planning::batch_move& one : moves_) {
    ++items[one.which];
    ++by_kernel[cpu_shares_.problems[one.which].row->name];
  }
  for (const auto& [kernel, count] : by_kernel) out << "kernel     " << kernel << ": " << count << " items\n";
  const auto small = std::count_if(moves_.begin(), moves_.end(),
                                   [&](const planning::batch_move& one) { return cpu_shares_.small[one.which]; });
  if (small > 0) out << "small      " << small << " items: transposed in a buffer, then stored as whole cache lines\n";
  out << "threads    " << cpu_shares_.threads << ", each with an equal share of the bytes\n";
  std::vector<std::size_t> largest;
  for (std::size_t k = 0; k < planned_.size(); ++k) {
    if (items[k] > 0) largest.push_back(k);
  }
  const auto bytes_of = [&](std::size_t k) {
    return static_cast<double>(map::words(planned_[k].form) * planned_[k].form.word_bytes) *
           static_cast<double>(items[k]);
  };
  keep_largest(largest, bytes_of);
  for (const std::size_t k : largest) {
    out << "shape      " << shape_text(planned_[k].form) << ": " << items[k] << " items\n";
    const kernels::offer& chosen = cpu_shares_.problems[k];
    print_offers(out,
                 planning::offers(planned_[k].form,
                                  {.threads = chosen.threads, .kernel = {}, .beside_bytes = cpu_shares_.beside[k]},
                                  kernels::this_machine()),
                 chosen.row, true);
  }
}

void batch_state::explain_on_gpu(std::ostream& out) const {
  std::map<std::string, std::int64_t> by_kernel;
  for (const kernels::batch_launch& one : shared_launches_.launches) by_kernel[one.row->name] += one.items;
  for (const own_launch& one : own_launches_) ++by_kernel[variants_[one.variant].chosen.row->name];
  for (const auto& [kernel, count] : by_kernel) out << "kernel     " << kernel << ": " << count << " items\n";
  for (const kernels::batch_launch& one : shared_launches_.launches) {
    out << "launch     " << one.row->name << ": " << one.shapes << " shapes, " << one.blocks << " blocks, "
        << one.shared_bytes << " bytes of shared memory each\n";
  }
  out << "device     " << gpu::info(device_).name << ", " << launches() << " launches\n";
  const kernels::target on = planning::target_of(gpu::info(device_).traits);
  for (const told_shape& one : told_) {
    out << "shape      " << shape_text(map::canonicalize(one.what, one.shape.alignment)) << ", pointers multiples of "
        << one.shape.alignment << ": " << one.shape.items << " items\n";
    const std::vector<kernels::offer> all =
        planning::offers(one.what, one.shape, static_cast<std::int64_t>(moves_.size()), on);
    if (all.empty()) {
      out << "offers     none of a batch: each item has a launch of its own\n";
    } else {
      print_offers(out, all, all.front().row, true);
    }
  }
}

std::string batch_state::explain() const {
  base::text_stream out;
  out << "batch      " << size_ << " items, " << moves_.size() << " of them with elements, of " << planned_.size()
      << " kinds; " << bytes_ << " bytes read and written\n";
  if (moves_.empty()) return out.str();
  if (on_gpu()) {
    explain_on_gpu(out);
  } else {
    explain_on_cpu(out);
  }
  return out.str();
}

}  // namespace detail

namespace {

template <class Make>
std::shared_ptr<const detail::batch_state> state_of(std::size_t items, const plan_options& options, const Make& add) {
  return api::guarded([&] {
    detail::batch_list all;
    all.reserve(items);
    for (std::size_t k = 0; k < items; ++k) add(all, k);
    return std::make_shared<const detail::batch_state>(all, options);
  });
}

}  // namespace

batch::batch(std::span<const batch_item> items, const plan_options& options)
    : state_(state_of(items.size(), options, [&](detail::batch_list& all, std::size_t k) {
        all.add(items[k].what, items[k].src, items[k].dst);
      })) {}

batch::batch(const problem& what, std::span<const void* const> src, std::span<void* const> dst,
             const plan_options& options) {
  api::guarded([&] {
    if (src.size() == dst.size()) return;
    throw error(status::invalid_argument, "src has " + std::to_string(src.size()) + " pointers, dst " +
                                              std::to_string(dst.size()) + ". Wanted: equal numbers");
  });
  state_ =
      state_of(src.size(), options, [&](detail::batch_list& all, std::size_t k) { all.add(what, src[k], dst[k]); });
}

void batch::execute(void* stream) const {
  api::guarded([&] { state_->execute(stream); });
}
std::string batch::explain() const {
  return api::guarded([&] { return state_->explain(); });
}
std::int64_t batch::size() const noexcept { return state_->size(); }
std::int64_t batch::bytes_moved() const noexcept { return state_->bytes_moved(); }
int batch::launches() const noexcept { return state_->launches(); }
int batch::threads() const noexcept { return state_->threads(); }

}  // namespace cornerturn
