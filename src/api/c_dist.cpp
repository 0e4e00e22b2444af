// Implements dist.h with the C++ calls.
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "api/c_abi.hpp"
#include "cornerturn/dist.h"
#include "cornerturn/dist.hpp"

struct cornerturn_layout {
  cornerturn::dist::layout all;
};

namespace cornerturn::api::c {

// The functions of a C program as a communicator. Functions that are null stay null.
class c_communicator {
 public:
  explicit c_communicator(const cornerturn_communicator& of) : of_(of) {}
  c_communicator(const c_communicator&) = delete;
  c_communicator& operator=(const c_communicator&) = delete;

  [[nodiscard]] dist::communicator get() {
    return {.context = this,
            .rank = of_.rank,
            .size = of_.ranks,
            .send = of_.send == nullptr ? nullptr : send,
            .receive = of_.receive == nullptr ? nullptr : receive,
            .wait_any = of_.wait_any == nullptr ? nullptr : wait_any,
            .cancel = of_.cancel == nullptr ? nullptr : cancel,
            .is_near = of_.is_near == nullptr ? nullptr : is_near,
            .place_of = of_.place_of == nullptr ? nullptr : place_of,
            .address_of = of_.address_of == nullptr ? nullptr : address_of};
  }

 private:
  static const cornerturn_communicator& of(void* context) { return static_cast<c_communicator*>(context)->of_; }
  static bool send(void* context, const void* data, std::int64_t bytes, int to, int tag, std::int64_t* request) {
    return of(context).send(of(context).context, data, bytes, to, tag, request);
  }
  static bool receive(void* context, void* data, std::int64_t bytes, int from, int tag, std::int64_t* request) {
    return of(context).receive(of(context).context, data, bytes, from, tag, request);
  }
  static bool wait_any(void* context, const std::int64_t* requests, int count, double seconds, int* done) {
    return of(context).wait_any(of(context).context, requests, count, seconds, done);
  }
  static bool cancel(void* context, std::int64_t request) { return of(context).cancel(of(context).context, request); }
  static bool is_near(void* context, int rank) { return of(context).is_near(of(context).context, rank); }
  static dist::shared_place place_of(void* context, const void* block, std::int64_t bytes) {
    const cornerturn_shared_place found = of(context).place_of(of(context).context, block, bytes);
    return {found.window, found.offset};
  }
  static void* address_of(void* context, int rank, dist::shared_place place) {
    return of(context).address_of(of(context).context, rank, {place.window, place.offset});
  }

  cornerturn_communicator of_;
};

// A problem, and the numbers of blocks of this process.
struct counted_problem {
  dist::problem what;
  std::size_t src = 0, dst = 0;
};

}  // namespace cornerturn::api::c

namespace {

namespace dist = cornerturn::dist;
using cornerturn::error;
using cornerturn::status;
using cornerturn::api::c::c_communicator;
using cornerturn::api::c::counted_problem;
using cornerturn::api::c::flag;
using cornerturn::api::c::from_c;
using cornerturn::api::c::guarded;
using cornerturn::api::c::read;
using cornerturn::api::c::want;

void want_count(std::int64_t count, const char* name) {
  if (count >= 0) return;
  throw error(status::invalid_argument, std::string(name) + " is " + std::to_string(count) + ", wanted 0 or more");
}

template <class T>
std::vector<T> list_of(const T* from, std::int64_t count, const char* name) {
  want_count(count, (std::string("the count of ") + name).c_str());
  if (count == 0) return {};
  want(from, name);
  return {from, from + count};
}

dist::layout layout_of(int rank, const cornerturn_axis_layout* axes, const std::int32_t* owners) {
  if (rank < 0 || rank > CORNERTURN_MAX_DIST_RANK) {
    throw error(status::invalid_argument,
                "rank is " + std::to_string(rank) + ", wanted 0 to " + std::to_string(CORNERTURN_MAX_DIST_RANK));
  }
  if (rank > 0) want(axes, "axes");
  dist::layout made;
  std::int64_t cells = 1;
  for (int k = 0; k < rank; ++k) {
    const cornerturn_axis_layout& given = axes[k];
    const std::string name = "axes[" + std::to_string(k) + "].";
    want_count(given.intervals, (name + "intervals").c_str());
    if (given.intervals >= INT32_MAX) {
      throw error(status::invalid_argument,
                  name + "intervals is " + std::to_string(given.intervals) + ", wanted less than 2^31 - 1");
    }
    dist::axis_layout axis;
    axis.splits = list_of(given.splits, given.intervals + 1, (name + "splits").c_str());
    if (given.coordinates != nullptr) {
      axis.coordinates.assign(given.coordinates, given.coordinates + given.intervals);
      axis.cells = given.cells;
    } else {
      for (std::int32_t coordinate = 0; coordinate < given.intervals; ++coordinate) {
        axis.coordinates.push_back(coordinate);
      }
      axis.cells = std::max(static_cast<std::int32_t>(given.intervals), 1);
    }
    if (axis.cells < 1 || cells > INT32_MAX / axis.cells) {
      throw error(status::invalid_argument, name + "cells is " + std::to_string(axis.cells) +
                                                ", wanted at least 1, and less than 2^31 cells of all axes");
    }
    cells *= axis.cells;
    made.axes.push_back(std::move(axis));
  }
  made.owners = list_of(owners, cells, "owners");
  static_cast<void>(dist::blocks_of(made, 0));  // it checks the layout
  return made;
}

// blocks: of this process.
std::vector<std::vector<std::int64_t>> strides_of(const std::int64_t* all, std::size_t blocks, int rank) {
  std::vector<std::vector<std::int64_t>> made;
  if (all == nullptr) return made;
  for (std::size_t k = 0; k < blocks; ++k, all += rank) made.emplace_back(all, all + rank);
  return made;
}

// here: the rank of this process; -1: it has all ranks.
counted_problem from_c(const cornerturn_dist_problem* at, int here) {
  want(at, "problem");
  const cornerturn_dist_problem given = read(*at, "problem", "CORNERTURN_DIST_PROBLEM_INIT");
  want(given.src, "problem.src");
  want(given.dst, "problem.dst");
  counted_problem made;
  made.what.extents = list_of(given.extents, given.rank, "problem.extents");
  made.what.axes = list_of(given.axes, given.rank, "problem.axes");
  made.what.element_bytes = given.element_bytes;
  made.what.src = given.src->all;
  made.what.dst = given.dst->all;
  const auto blocks = [&](const std::vector<std::int32_t>& owners) {
    return here < 0 ? owners.size() : static_cast<std::size_t>(std::count(owners.begin(), owners.end(), here));
  };
  made.src = blocks(made.what.src.owners);
  made.dst = blocks(made.what.dst.owners);
  made.what.src_strides = strides_of(given.src_strides, made.src, given.rank);
  made.what.dst_strides = strides_of(given.dst_strides, made.dst, given.rank);
  return made;
}

dist::options from_c(const cornerturn_dist_options* at) {
  if (at == nullptr) return {};
  const cornerturn_dist_options given = read(*at, "options", "CORNERTURN_DIST_OPTIONS_INIT");
  return {.route = static_cast<dist::route>(given.route),
          .chunk_bytes = given.chunk_bytes,
          .seconds = given.seconds,
          .local = from_c(given.local)};
}

}  // namespace

struct cornerturn_dist_plan {
  cornerturn_dist_plan(const counted_problem& all, std::unique_ptr<c_communicator> given, const dist::options& options)
      : ranks(std::move(given)), how(all.what, ranks->get(), options), src(all.src), dst(all.dst) {}
  cornerturn_dist_plan(const counted_problem& all, const dist::devices& gpus, const dist::options& options)
      : how(all.what, gpus, options), devices(gpus.numbers.size()), src(all.src), dst(all.dst) {}

  std::unique_ptr<c_communicator> ranks;  // the context of `how`
  dist::plan how;
  std::size_t devices = 0;
  std::size_t src, dst;  // blocks of this process
  mutable std::mutex guard{};
  mutable std::string text{};  // of explain(), once it was called
};

extern "C" {

cornerturn_status cornerturn_layout_create(int rank, const cornerturn_axis_layout* axes, const int32_t* owners,
                                           cornerturn_layout** out) {
  return guarded([&] {
    want(out, "out");
    *out = nullptr;
    *out = new cornerturn_layout{layout_of(rank, axes, owners)};
  });
}

cornerturn_status cornerturn_layout_slabs(int rank, const int64_t* extents, int axis, const int64_t* splits, int ranks,
                                          cornerturn_layout** out) {
  return guarded([&] {
    want(out, "out");
    *out = nullptr;
    const std::vector<std::int64_t> all = list_of(extents, rank, "extents");
    if (splits == nullptr) {
      *out = new cornerturn_layout{dist::slabs(all, axis, ranks)};
      return;
    }
    want_count(ranks, "ranks");
    const std::vector<std::int64_t> cuts = list_of(splits, std::int64_t{ranks} + 1, "splits");
    *out = new cornerturn_layout{dist::slabs(all, axis, cuts)};
  });
}

cornerturn_status cornerturn_layout_block_cyclic(const cornerturn_block_cyclic* descriptor, cornerturn_layout** out) {
  return guarded([&] {
    want(descriptor, "descriptor");
    want(out, "out");
    *out = nullptr;
    const cornerturn_block_cyclic given = read(*descriptor, "descriptor", "CORNERTURN_BLOCK_CYCLIC_INIT");
    *out = new cornerturn_layout{
        dist::block_cyclic({.rows = given.rows,
                            .cols = given.cols,
                            .row_block = given.row_block,
                            .col_block = given.col_block,
                            .first_process_row = given.first_process_row,
                            .first_process_col = given.first_process_col,
                            .process_rows = given.process_rows,
                            .process_cols = given.process_cols,
                            .column_major_ranks = flag(given.column_major_ranks, "column_major_ranks")})};
  });
}

void cornerturn_layout_destroy(cornerturn_layout* layout) { delete layout; }

cornerturn_status cornerturn_layout_blocks(const cornerturn_layout* layout, int owner, int64_t* count,
                                           int64_t* extents) {
  return guarded([&] {
    want(layout, "layout");
    want(count, "count");
    const std::vector<std::vector<std::int64_t>> blocks = dist::blocks_of(layout->all, owner);
    *count = static_cast<std::int64_t>(blocks.size());
    if (extents == nullptr) return;
    for (const std::vector<std::int64_t>& one : blocks) extents = std::copy(one.begin(), one.end(), extents);
  });
}

cornerturn_status cornerturn_dist_plan_create(const cornerturn_dist_problem* problem,
                                              const cornerturn_communicator* ranks,
                                              const cornerturn_dist_options* options, cornerturn_dist_plan** out) {
  return guarded([&] {
    want(ranks, "ranks");
    want(out, "out");
    *out = nullptr;
    auto given = std::make_unique<c_communicator>(read(*ranks, "ranks", "CORNERTURN_COMMUNICATOR_INIT"));
    const int here = std::max(given->get().rank, 0);
    *out = new cornerturn_dist_plan(from_c(problem, here), std::move(given), from_c(options));
  });
}

cornerturn_status cornerturn_dist_plan_create_on_devices(const cornerturn_dist_problem* problem, const int* devices,
                                                         int count, const cornerturn_dist_options* options,
                                                         cornerturn_dist_plan** out) {
  return guarded([&] {
    want(out, "out");
    *out = nullptr;
    const dist::devices gpus{list_of(devices, count, "devices")};
    *out = new cornerturn_dist_plan(from_c(problem, -1), gpus, from_c(options));
  });
}

void cornerturn_dist_plan_destroy(cornerturn_dist_plan* plan) { delete plan; }

cornerturn_status cornerturn_dist_plan_execute(const cornerturn_dist_plan* plan, const void* const* src,
                                               void* const* dst, void* const* streams) {
  return guarded([&] {
    want(plan, "plan");
    if (plan->src > 0) want(src, "src");
    if (plan->dst > 0) want(dst, "dst");
    const std::size_t count = streams == nullptr ? 0 : std::max<std::size_t>(plan->devices, 1);
    plan->how.execute({src, plan->src}, {dst, plan->dst}, {streams, count});
  });
}

cornerturn_status cornerturn_dist_plan_explain(const cornerturn_dist_plan* plan, const char** out) {
  return guarded([&] {
    want(plan, "plan");
    want(out, "out");
    const std::lock_guard lock(plan->guard);
    if (plan->text.empty()) plan->text = plan->how.explain();
    *out = plan->text.c_str();
  });
}

cornerturn_status cornerturn_dist_plan_bytes_sent(const cornerturn_dist_plan* plan, int64_t* out) {
  return guarded([&] {
    want(plan, "plan");
    want(out, "out");
    *out = plan->how.bytes_sent();
  });
}

}  // extern "C"
