// dist::plan: check -> overlay -> agreement of all ranks -> a route.
#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>

#include "api/check.hpp"
#include "api/guard.hpp"
#include "base/text_stream.hpp"
#include "cornerturn/dist.hpp"
#include "cornerturn/version.h"
#include "dist/devices.hpp"
#include "dist/layout.hpp"
#include "dist/staged.hpp"

namespace cornerturn::dist {
namespace {

using distributed::refuse;
using distributed::task;

void check_owners(const layout& all, int ranks, const char* name) {
  for (std::size_t cell = 0; cell < all.owners.size(); ++cell) {
    if (all.owners[cell] < ranks) continue;
    refuse(std::string(name) + ": cell " + std::to_string(cell) + " has owner " + std::to_string(all.owners[cell]) +
           ", wanted a rank below " + std::to_string(ranks));
  }
}

// axes: by which the strides of the layout become strides by axis of dst; empty: they are.
distributed::stored_blocks stored(const layout& all, const std::vector<int>& ranks, std::int64_t element_bytes,
                                  const std::vector<std::vector<std::int64_t>>& given, std::span<const int> axes,
                                  const std::string& name) {
  distributed::stored_blocks made;
  for (const int rank : ranks) {
    for (const std::int64_t cell : distributed::cells_of(all, rank)) made.all.push_back({.cell = cell});
  }
  if (!given.empty() && given.size() != made.all.size()) {
    refuse(name + " has " + std::to_string(given.size()) + " entries, wanted none or " +
           std::to_string(made.all.size()) + ", one for each block of this process");
  }
  for (std::size_t k = 0; k < made.all.size(); ++k) {
    distributed::stored_block& block = made.all[k];
    const std::vector<std::int64_t> extents = distributed::block_extents(all, block.cell);
    const std::size_t rank = extents.size();
    if (!given.empty() && given[k].size() != rank) {
      refuse(name + "[" + std::to_string(k) + "] has " + std::to_string(given[k].size()) + " strides, wanted " +
             std::to_string(rank));
    }
    // The block as a problem of its own, whose dst strides are checked.
    cornerturn::problem alone{.element_bytes = element_bytes, .rank = static_cast<int>(rank)};
    std::int64_t packed = 1;
    for (std::size_t axis = rank; axis-- > 0;) {
      const std::int64_t stride = given.empty() ? packed : given[k][axis];
      alone.axes[axis] = {.extent = extents[axis], .src_stride = 0, .dst_stride = stride};
      packed *= std::max<std::int64_t>(extents[axis], 1);
      block.empty = block.empty || extents[axis] == 0;
      const auto at =
          axes.empty() ? axis : static_cast<std::size_t>(std::find(axes.begin(), axes.end(), axis) - axes.begin());
      block.along[at] = stride;
    }
    try {
      api::check(alone);
    } catch (const error& reason) {
      throw error(reason.code(), name + "[" + std::to_string(k) + "]: " + reason.what());
    }
  }
  return made;
}

task checked(const problem& what, int ranks, const std::vector<int>& here, const options& how) {
  static_cast<void>(permute_problem(what.extents, what.axes, what.element_bytes));
  if (what.extents.size() > max_rank) {
    refuse("the array has " + std::to_string(what.extents.size()) + " axes, wanted at most " +
           std::to_string(max_rank));
  }
  if (how.chunk_bytes / 2 < what.element_bytes) {
    refuse("chunk_bytes is " + std::to_string(how.chunk_bytes) + ", wanted at least two elements of " +
           std::to_string(what.element_bytes) + " bytes");
  }
  distributed::overlay links(what);
  check_owners(what.src, ranks, "the layout of src");
  check_owners(what.dst, ranks, "the layout of dst");
  const auto last = std::find(what.axes.begin(), what.axes.end(), static_cast<int>(what.axes.size()) - 1);
  return {.what = what,
          .links = std::move(links),
          .src = stored(what.src, here, what.element_bytes, what.src_strides, what.axes, "src_strides"),
          .dst = stored(what.dst, here, what.element_bytes, what.dst_strides, {}, "dst_strides"),
          .src_axis = last == what.axes.end() ? -1 : static_cast<int>(last - what.axes.begin())};
}

class fingerprint {
 public:
  template <class Number>
  fingerprint& operator<<(const std::vector<Number>& all) {
    *this << static_cast<std::int64_t>(all.size());
    for (const Number one : all) *this << static_cast<std::int64_t>(one);
    return *this;
  }
  fingerprint& operator<<(std::int64_t one) {
    sum_ = (sum_ ^ static_cast<std::uint64_t>(one)) * 0x9e3779b97f4a7c15u;
    sum_ ^= sum_ >> 29;
    return *this;
  }
  fingerprint& operator<<(const layout& all) {
    for (const axis_layout& axis : all.axes) *this << axis.splits << axis.coordinates << axis.cells;
    return *this << all.owners;
  }
  [[nodiscard]] std::uint64_t get() const noexcept { return sum_; }

 private:
  std::uint64_t sum_ = 46;
};

distributed::record record_of(const problem& what, const communicator& ranks, const options& how) {
  distributed::record made;
  fingerprint version, array, src, dst, options;
  for (const char letter : std::string_view(CORNERTURN_VERSION_STRING)) version << letter;
  array << what.extents << what.axes << what.element_bytes;
  src << what.src;
  dst << what.dst;
  options << how.chunk_bytes << static_cast<int>(how.route) << (ranks.is_near != nullptr ? 1 : 0);
  made.version = version.get();
  made.array = array.get();
  made.src = src.get();
  made.dst = dst.get();
  made.options = options.get();
  made.ranks = ranks.size;
  return made;
}

void check_communicator(const communicator& ranks, const options& how) {
  if (ranks.size < 1 || ranks.rank < 0 || ranks.rank >= ranks.size) {
    refuse("the communicator has rank " + std::to_string(ranks.rank) + " of " + std::to_string(ranks.size) +
           ", wanted 0 <= rank < size");
  }
  if (ranks.send == nullptr || ranks.receive == nullptr || ranks.wait_any == nullptr || ranks.cancel == nullptr) {
    refuse("a function of the communicator is null");
  }
  const int shared = (ranks.is_near != nullptr) + (ranks.place_of != nullptr) + (ranks.address_of != nullptr);
  if (shared != 0 && shared != 3) refuse("is_near, place_of or address_of is null, wanted all three or none");
  if (how.seconds > 0) return;
  base::text_stream text;
  text << "seconds is " << how.seconds << ", wanted a time limit above 0";
  refuse(text.str());
}

// All ranks call it together. A fault of one rank is the error of all.
// Returns the number of the plan
std::uint32_t agree_on(const std::function<void()>& part, const communicator& ranks, distributed::record& mine,
                       double seconds) {
  try {
    part();
  } catch (const error& reason) {
    mine.fail(reason);
  } catch (const std::bad_alloc&) {
    mine.fail(api::no_memory());
  }
  return distributed::agree(ranks, mine, seconds);
}

std::shared_ptr<const detail::plan_state> made_for(const problem& what, const communicator& given, const options& how) {
  check_communicator(given, how);
  distributed::record mine = record_of(what, given, how);
  communicator ranks = given;
  if (how.route == route::messages) ranks.is_near = nullptr;
  std::optional<task> all;
  std::shared_ptr<const detail::plan_state> made;
  const auto check = [&] {
    if (how.route != route::automatic && how.route != route::messages) {
      refuse("route is of GPUs, wanted automatic or messages between processes");
    }
    if (how.chunk_bytes > INT32_MAX) {
      refuse("chunk_bytes is " + std::to_string(how.chunk_bytes) + ", wanted at most 2147483647 between processes");
    }
    all.emplace(checked(what, ranks.size, {ranks.rank}, how));
  };
  // Messages of the route itself: ranks with different problems would wait for different ones.
  const auto make = [&] {
    made = std::make_shared<const distributed::staged_plan>(std::move(*all), ranks, mine.plan, how);
  };
  mine.plan = agree_on(check, ranks, mine, how.seconds);
  agree_on(make, ranks, mine, how.seconds);
  return made;
}

std::shared_ptr<const detail::plan_state> made_for(const problem& what, const devices& gpus, const options& how) {
  const int count = gpu::device_count();
  std::vector<int> here;
  for (const int number : gpus.numbers) {
    if (number < 0 || number >= count) {
      throw error(status::no_device, "GPU " + std::to_string(number) + " is not here: " +
                                         (count == 0 ? gpu::why_none() : "this process has " + std::to_string(count)));
    }
    here.push_back(static_cast<int>(here.size()));
  }
  if (how.route == route::messages) refuse("route is messages, wanted automatic, kernels or copy_engines between GPUs");
  const int size = static_cast<int>(here.size());
  return std::make_shared<const distributed::device_plan>(checked(what, size, here, how), gpus.numbers, how);
}

}  // namespace

plan::plan(const problem& what, const communicator& ranks, const options& how)
    : state_(api::guarded([&] { return made_for(what, ranks, how); })) {}

plan::plan(const problem& what, const devices& gpus, const options& how)
    : state_(api::guarded([&] { return made_for(what, gpus, how); })) {}

void plan::execute(std::span<const void* const> src, std::span<void* const> dst, std::span<void* const> streams) const {
  api::guarded([&] { state_->execute(src, dst, streams); });
}

std::string plan::explain() const {
  return api::guarded([&] { return state_->explain(); });
}

std::int64_t plan::bytes_sent() const noexcept { return state_->bytes_sent(); }

}  // namespace cornerturn::dist
