#include "dist/devices.hpp"

#include <algorithm>
#include <utility>

#include "base/numbers.hpp"
#include "base/text_stream.hpp"
#include "cornerturn/error.hpp"
#include "plan/choose.hpp"

namespace cornerturn::distributed {
namespace {

constexpr std::int64_t row_bytes = 64 << 10;  // of a piece: copy engines reach their full speed (2 H200, 2026-11-26)

// Kernels beside copy engines use so many bytes of shared memory on a multiprocessor, or one block's: more loads in flight slow the
// copy engines down, and fewer are still fast enough. Pieces of 32 MiB of float32 reach 0.80 of the copy engines' rate without a
// limit, 0.86 with two blocks of 16 KiB on a multiprocessor and 0.94 with one (2 H100, 2026-11-27).
constexpr int bytes_beside_engines = 16 << 10;

// Returns the shared memory of a block that limits the blocks of a multiprocessor. Kernels without shared memory have no limit.
int shared_bytes_beside_engines(const kernels::gpu_traits& on, const kernels::offer& chosen) {
  if (chosen.shared_bytes == 0) return 0;
  const int blocks = std::max(bytes_beside_engines / chosen.shared_bytes, 1);
  constexpr std::int64_t reserved = 1 << 10;  // of each block
  return static_cast<int>(std::min(on.multiprocessor_shared_bytes / blocks - reserved, on.shared_bytes));
}

void check(const char* message, int device) {
  if (message == nullptr) return;
  throw error(status::device_error, "GPU " + std::to_string(device) + ": " + message);
}

}  // namespace

device_plan::starter::starter(int on)
    : device(on),
      kernels(on, true),
      engine(on, true),
      local(on, false),
      begin(on),
      packed{gpu::mark(on), gpu::mark(on)},
      sent{gpu::mark(on), gpu::mark(on)},
      engine_end(on),
      local_end(on),
      end(on) {}

// 1. The plan.
class device_plan::planner {
 public:
  planner(device_plan& all, starter& one, const dist::options& how) : plan_(all), one_(one), how_(how) {}

  void add(const link& each) {
    const task& all = plan_.all_;
    src_ = all.src.number_of(each.src_cell);
    dst_ = all.dst.number_of(each.dst_cell);
    there_ = plan_.numbers_[static_cast<std::size_t>(each.dst_rank)];
    has_path_ = gpu::enable_peer(one_.device, there_);
    one_.has_paths = one_.has_paths && has_path_;
    if (how_.route == dist::route::kernels && !has_path_) {
      throw error(status::device_error, "GPU " + std::to_string(one_.device) + " cannot access the memory of GPU " +
                                            std::to_string(there_) + ", wanted peer access for route kernels");
    }
    for_each_entry(each, all.links.rank(), [&](const entry& part) { add(part); });
  }

  // After all links.
  void finish() {
    std::vector<launch> local;
    for (const local_box& each : local_) {
      src_ = each.src, dst_ = each.dst, there_ = one_.device;
      const strides &from = plan_.all_.src.all[src_].along, &to = plan_.all_.dst.all[dst_].along;
      local.push_back(launch_for(place(each.all, bytes_, &from, &to), !one_.uses_engine()));
    }
    // Local launches are spread over the others, so that each joint launch has some of both.
    for (std::size_t here = 0, there = 0; here < local.size() || there < remote_.size();) {
      const bool is_local =
          here < local.size() && (there == remote_.size() || here * remote_.size() <= there * local.size());
      one_.launches.push_back(is_local ? local[here++] : remote_[there++]);
    }
    std::stable_sort(one_.launches.begin(), one_.launches.end(), [](const launch& a, const launch& b) {
      return a.how->variants.aligned().chosen.row < b.how->variants.aligned().chosen.row;
    });
  }

 private:
  struct local_box {
    box all;
    std::size_t src, dst;  // numbers of blocks
  };

  void add(const entry& part) {
    const strides &from = plan_.all_.src.all[src_].along, &to = plan_.all_.dst.all[dst_].along;
    box whole = box_of(part);
    order_by(to, whole);
    const std::int64_t bytes = part.elements() * bytes_;
    if (there_ == one_.device) {
      local_.push_back({whole, src_, dst_});
      one_.bytes_local += bytes;
    } else if (has_path_ && how_.route != dist::route::copy_engines) {
      remote_.push_back(launch_for(place(whole, bytes_, &from, &to), true));
      remote_.back().is_local = false;
      one_.bytes_by_kernels += bytes;
    } else {
      for_each_piece(whole, size_of_pieces(), [&](const box& cut) {
        piece made{
            .packed = launch_for(place(cut, bytes_, &from, nullptr)), .rows = rows_of(cut, to), .device = there_};
        made.packed.dst_offset = place(cut, bytes_, nullptr, &to).dst_offset * bytes_;
        one_.pieces.push_back(std::move(made));
      });
      one_.bytes_by_engine += bytes;
    }
  }

  [[nodiscard]] piece_size size_of_pieces() const {
    return {.elements = plan_.half_bytes_ / bytes_,
            .row = std::max<std::int64_t>(row_bytes / bytes_, 1),
            .src_axis = plan_.all_.src_axis};
  }

  // beside_link: over a link, or joined with launches over it. A part of a line costs a link nearly as much as the line: 32-bit
  // elements whose rows begin anywhere reach 0.86 of the copy engines' rate in whole sectors, and 0.92 in whole lines (2 H200,
  // 2026-11-27).
  launch launch_for(const placed& at, bool beside_link = false) {
    std::vector<std::int64_t> key = shape_of(at.what);
    key.push_back(beside_link ? 1 : 0);
    std::shared_ptr<const shape>& known = shapes_[key];
    if (known == nullptr) {
      const running::work work(at.what);
      kernels::gpu_traits traits = gpu::info(one_.device).traits;
      if (beside_link) traits.store_bytes = traits.line_bytes;
      shape made{work, running::choose_variants(work, traits, {}), {}};
      for (const running::gpu_variant& each : made.variants.variants) made.joints.push_back(loaded(each));
      known = std::make_shared<const shape>(std::move(made));
    }
    return {.how = known,
            .src = src_,
            .dst = dst_,
            .src_offset = at.src_offset * bytes_,
            .dst_offset = at.dst_offset * bytes_};
  }

  // Loads the row of a variant.
  // Returns  the row that joins its launches, loaded
  const kernels::kernel* loaded(const running::gpu_variant& variant) const {
    if (variant.chosen.row == nullptr) {
      throw error(status::overflow, "a box needs more thread blocks than a GPU's grid allows (2^31 - 1)");
    }
    check(gpu::load(*variant.chosen.row, one_.device), one_.device);
    const kernels::kernel* const joint = running::alternating_row(*variant.chosen.row);
    if (joint != nullptr) check(gpu::load(*joint, one_.device), one_.device);
    return joint;
  }

  device_plan& plan_;
  starter& one_;
  const dist::options& how_;
  std::int64_t bytes_ = plan_.all_.what.element_bytes;
  shapes shapes_;
  std::vector<local_box> local_;
  std::vector<launch> remote_;
  // Of the link:
  std::size_t src_ = 0, dst_ = 0;
  int there_ = 0;
  bool has_path_ = false;
};

device_plan::device_plan(task all, std::vector<int> numbers, const dist::options& how)
    : all_(std::move(all)),
      numbers_(std::move(numbers)),
      half_bytes_(how.chunk_bytes / 2),
      begun_(numbers_.front()),
      ended_(numbers_.front()) {
  const int size = static_cast<int>(numbers_.size());
  for (int rank = 0; rank < size; ++rank) {
    ranks_.push_back(std::make_unique<starter>(numbers_[static_cast<std::size_t>(rank)]));
    starter& one = *ranks_.back();
    std::vector<link> links = all_.links.sent_by(rank);
    std::stable_sort(links.begin(), links.end(), [&](const link& a, const link& b) {
      return (a.dst_rank - rank + size) % size < (b.dst_rank - rank + size) % size;
    });
    planner made(*this, one, how);
    for (const link& each : links) made.add(each);
    made.finish();
    if (one.pieces.empty()) continue;
    const gpu::device_guard there(one.device);
    one.buffer.reset(gpu::allocate(2 * half_bytes_));
    if (one.buffer == nullptr) {
      throw error(status::out_of_memory, "no memory on GPU " + std::to_string(one.device) + " for a buffer of " +
                                             std::to_string(2 * half_bytes_) + " bytes");
    }
  }
}

// 2. A call.
running::gpu_arrays device_plan::arrays_of(const launch& all, const call& now) const {
  return {.src = static_cast<const std::byte*>(now.src[all.src]) + all.src_offset,
          .dst = static_cast<std::byte*>(now.dst[all.dst]) + all.dst_offset};
}

void device_plan::bind(const starter& one, const launch& all, const running::gpu_arrays& arrays, bound_launch& made) {
  const shape& how = *all.how;
  const int alignment = running::alignment_of(how.what.form, arrays);
  made.arrays = arrays;
  made.how = &how.variants.for_alignment(alignment);
  made.joint = how.joints[static_cast<std::size_t>(made.how - how.variants.variants.data())];
  if (alignment >= made.how->alignment) return;
  made.made = running::choose_variant(how.what, gpu::info(one.device).traits, alignment, {});
  check(gpu::load(*made.made.chosen.row, one.device), one.device);
  made.how = &made.made;
  made.joint = nullptr;
}

void device_plan::start(const starter& one, const launch& all, const running::gpu_arrays& arrays, bool beside_engines,
                        const gpu::queue& on) {
  bound_launch made;
  bind(one, all, arrays, made);
  const int shared_bytes =
      beside_engines ? shared_bytes_beside_engines(gpu::info(one.device).traits, made.how->chosen) : 0;
  check(running::start(*made.how, arrays, on.get(), shared_bytes), one.device);
}

void device_plan::start_launches(const starter& one, const call& now) const {
  const gpu::device_guard there(one.device);
  // The engine begins early: no local block runs beside its first piece. This wait is for speed only.
  if (one.uses_engine() && one.uses_local()) check(one.packed[0].wait_in(one.local.get()), one.device);
  bound_launch next;
  std::vector<running::gpu_part> parts;
  for (std::size_t k = 0; k < one.launches.size();) {
    const launch& first = one.launches[k];
    bind(one, first, arrays_of(first, now), next);
    const running::gpu_variant* const how = next.how;
    const kernels::kernel* const joint = next.joint;
    parts.assign(1, {how, next.arrays});
    std::int64_t blocks = how->chosen.blocks;
    const bool beside_engine = first.is_local && one.uses_engine();
    for (std::size_t n = k + 1; joint != nullptr && !beside_engine && n < one.launches.size(); ++n) {
      if (parts.size() == running::most_parts(how->chosen)) break;
      bind(one, one.launches[n], arrays_of(one.launches[n], now), next);
      blocks += next.how->chosen.blocks;
      if (next.joint != joint || blocks > INT32_MAX) break;
      parts.push_back({next.how, next.arrays});
    }
    if (parts.size() > 1) {
      check(running::start_alternating(*joint, parts, one.kernels.get()), one.device);
    } else {
      start(one, first, arrays_of(first, now), beside_engine, first.is_local ? one.local : one.kernels);
    }
    k += parts.size();
  }
}

void device_plan::start_piece(const starter& one, std::size_t number, const call& now) const {
  const gpu::device_guard on(one.device);
  const piece& next = one.pieces[number];
  const std::size_t half = number % 2;
  auto* const packed = static_cast<std::byte*>(one.buffer.get()) + static_cast<std::int64_t>(half) * half_bytes_;
  auto& marks = const_cast<starter&>(one);  // a mark is set anew by each call; calls are not concurrent
  // The launch stores to the half that the engine reads for piece number - 2.
  if (number >= 2) check(one.sent[half].wait_in(one.kernels.get()), one.device);
  const running::gpu_arrays to_buffer{
      .src = static_cast<const std::byte*>(now.src[next.packed.src]) + next.packed.src_offset, .dst = packed};
  start(one, next.packed, to_buffer, true, one.kernels);
  check(marks.packed[half].set(one.kernels.get()), one.device);
  // The engine reads what the launch stores.
  check(one.packed[half].wait_in(one.engine.get()), one.device);
  const std::int64_t bytes = all_.what.element_bytes, row = next.rows.row * bytes, rows = next.rows.rows;
  auto* const to = static_cast<std::byte*>(now.dst[next.packed.dst]) + next.packed.dst_offset;
  for (std::size_t k = 0; k < next.rows.dst_offsets.size(); ++k) {
    const gpu::row_block from{packed + static_cast<std::int64_t>(k) * rows * row, row, one.device};
    const gpu::row_block there{to + next.rows.dst_offsets[k] * bytes, next.rows.pitch * bytes, next.device};
    check(gpu::copy_rows(there, from, row, rows, one.engine.get()), one.device);
  }
  check(marks.sent[half].set(one.engine.get()), one.device);
}

void device_plan::execute(std::span<const void* const> src, std::span<void* const> dst,
                          std::span<void* const> streams) const {
  const std::lock_guard<std::mutex> only(one_call_);
  check_pointers(all_, src, dst);
  if (!streams.empty() && streams.size() != ranks_.size()) {
    throw error(status::invalid_argument, "streams has " + std::to_string(streams.size()) +
                                              " streams, wanted none or " + std::to_string(ranks_.size()) +
                                              ", one for each GPU");
  }
  const auto stream_of = [&](std::size_t rank) { return streams.empty() ? nullptr : streams[rank]; };
  const call all{src, dst};
  // begin: earlier work of every rank's stream may use the blocks that any rank's launches load or store. Waits and marks are calls of
  // the driver. One stream collects them, so their number grows with the ranks, not with the pairs of ranks. An engine waits for what
  // its rank's launches packed.
  void* const collector = ranks_.front()->kernels.get();
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    check(ranks_[rank]->begin.set(stream_of(rank)), ranks_[rank]->device);
    check(ranks_[rank]->begin.wait_in(collector), ranks_[rank]->device);
  }
  check(begun_.set(collector), ranks_.front()->device);
  for (const auto& one : ranks_) {
    if (one->kernels.get() != collector) check(begun_.wait_in(one->kernels.get()), one->device);
    if (one->uses_local()) check(begun_.wait_in(one->local.get()), one->device);
  }
  // Ranks alternate, so that none waits for the host.
  std::size_t most = 0;
  for (const auto& one : ranks_) most = std::max(most, one->pieces.size());
  for (std::size_t number = 0; number < std::max<std::size_t>(most, 1); ++number) {
    for (const auto& one : ranks_) {
      if (number < one->pieces.size()) start_piece(*one, number, all);
      if (number == 0) start_launches(*one, all);
    }
  }
  for (const auto& one : ranks_) {
    // end: launches and copies of this rank store to blocks that later work of any rank's stream loads. The copies load from the buffer
    // that the next call's launches store to.
    if (one->uses_engine()) {
      check(one->engine_end.set(one->engine.get()), one->device);
      check(one->engine_end.wait_in(one->kernels.get()), one->device);
    }
    if (one->uses_local()) {
      check(one->local_end.set(one->local.get()), one->device);
      check(one->local_end.wait_in(one->kernels.get()), one->device);
    }
    if (one->kernels.get() == collector) continue;
    check(one->end.set(one->kernels.get()), one->device);
    check(one->end.wait_in(collector), one->device);
  }
  check(ended_.set(collector), ranks_.front()->device);
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const gpu::device_guard there(ranks_[rank]->device);  // whose default stream waits
    check(ended_.wait_in(stream_of(rank)), ranks_[rank]->device);
  }
}

// A GPU's links and its own memory are busy at once, so the slower one decides.
std::string device_plan::predicted(const starter& one) {
  // Copy engines between two H200 over NVLink, both directions at once (bench/results/dist-h200-x2.json, 2026-11-28).
  constexpr double link_bytes_per_us = 390e3;
  if (!one.has_paths) return {};
  const double copy_bytes_per_us = planning::target_of(gpu::info(one.device).traits).copy_bytes_per_us;
  double local = 0;
  const auto add = [&](const launch& each) {
    const running::gpu_variant& how = each.how->variants.aligned();
    local += how.chosen.time * 2 * static_cast<double>(map::words(how.form) * how.form.word_bytes) / copy_bytes_per_us;
  };
  for (const launch& each : one.launches) {
    if (each.is_local) add(each);
  }
  for (const piece& each : one.pieces) add(each.packed);
  const double links = static_cast<double>(one.bytes_by_kernels + one.bytes_by_engine) / link_bytes_per_us;
  return "  predicted: " + base::fixed(std::max(links, local), 1) + " us: links " + base::fixed(links, 1) +
         " us if they are NVLink of 390 GB/s, memory of this GPU " + base::fixed(local, 1) + " us\n";
}

std::string device_plan::explain() const {
  base::text_stream text;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const starter& one = *ranks_[rank];
    text << "rank " << rank << " is GPU " << one.device << " (" << gpu::info(one.device).name << ")\n";
    const auto kernel = [](const launch& each) { return each.how->variants.aligned().chosen.row->name; };
    if (!one.pieces.empty()) {
      text << "  to other GPUs by copy engines: " << one.bytes_by_engine << " bytes in " << one.pieces.size()
           << " pieces, by " << kernel(one.pieces.front().packed) << " and a buffer of " << 2 * half_bytes_
           << " bytes\n";
    }
    const auto boxes = [&](const std::vector<launch>& those, bool local) {
      return std::count_if(those.begin(), those.end(), [&](const launch& each) { return each.is_local == local; });
    };
    if (one.bytes_by_kernels > 0) {
      text << "  to other GPUs by kernels: " << one.bytes_by_kernels << " bytes in " << boxes(one.launches, false)
           << " boxes\n";
    }
    text << "  on this GPU: " << one.bytes_local << " bytes in " << boxes(one.launches, true) << " boxes\n"
         << predicted(one);
    const kernels::kernel* last = nullptr;
    for (const launch& each : one.launches) {
      const shape& how = *each.how;
      if (std::exchange(last, how.variants.aligned().chosen.row) == how.variants.aligned().chosen.row) continue;
      text << "  by " << kernel(each)
           << (how.joints.front() != nullptr && !one.uses_engine() ? ", boxes joined in one launch" : "") << '\n';
    }
  }
  return text.str();
}

std::int64_t device_plan::bytes_sent() const noexcept {
  std::int64_t bytes = 0;
  for (const auto& one : ranks_) bytes += one->bytes_by_engine + one->bytes_by_kernels;
  return bytes;
}

}  // namespace cornerturn::distributed
