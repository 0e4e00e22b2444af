#include "dist/devices.hpp"

#include <algorithm>

#include "base/text_stream.hpp"
#include "cornerturn/error.hpp"
#include "run/launch.hpp"

namespace cornerturn::distributed {
namespace {

// A copy of shorter rows, or of fewer bytes, is left to kernels: a copy engine needs microseconds for each call.
constexpr std::int64_t shortest_row = 1024, fewest_bytes = 1 << 20, most_copies = 64;
constexpr std::int64_t row_bytes = 64 << 10;  // of a piece: copy engines reach their full speed (2 H200, 2026-11-26)

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
      kernels_end(on),
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
    if (how_.route == dist::route::kernels && !has_path_) {
      throw error(status::device_error, "GPU " + std::to_string(one_.device) + " cannot access the memory of GPU " +
                                            std::to_string(there_) + ", wanted peer access for route kernels");
    }
    for_each_entry(each, all.links.rank(), [&](const entry& part) { add(part); });
  }

 private:
  void add(const entry& part) {
    const strides &from = plan_.all_.src.all[src_].along, &to = plan_.all_.dst.all[dst_].along;
    box whole = box_of(part);
    order_by(to, whole);
    const std::int64_t bytes = part.elements() * bytes_;
    const bool is_local = there_ == one_.device;
    if (!is_local && add_pieces(whole, from, to, bytes)) return;
    (is_local ? one_.local_launches : one_.remote_launches).push_back(launch_for(place(whole, bytes_, &from, &to)));
    (is_local ? one_.bytes_local : one_.bytes_by_kernels) += bytes;
  }

  // Returns false if kernels should store to the peer.
  bool add_pieces(const box& whole, const strides& from, const strides& to, std::int64_t bytes) {
    const bool must = !has_path_ || how_.route == dist::route::copy_engines;
    if (!must && (how_.route == dist::route::kernels || bytes < fewest_bytes)) return false;
    const piece_size size{.elements = plan_.half_bytes_ / bytes_,
                          .row = std::max<std::int64_t>(row_bytes / bytes_, 1),
                          .src_axis = plan_.all_.src_axis};
    std::vector<piece> pieces;
    bool fits = true;
    for_each_piece(whole, size, [&](const box& cut) {
      if (!fits) return;
      piece made{.packed = {}, .rows = rows_of(cut, to), .device = there_};
      fits = must || (made.rows.row * bytes_ >= shortest_row &&
                      static_cast<std::int64_t>(made.rows.dst_offsets.size()) <= most_copies);
      if (!fits) return;
      made.packed = launch_for(place(cut, bytes_, &from, nullptr));
      made.packed.dst_offset = place(cut, bytes_, nullptr, &to).dst_offset * bytes_;
      pieces.push_back(std::move(made));
    });
    if (!fits) return false;
    for (piece& made : pieces) one_.pieces.push_back(std::move(made));
    one_.bytes_by_engine += bytes;
    return true;
  }

  launch launch_for(const placed& at) {
    std::shared_ptr<const shape>& known = shapes_[shape_of(at.what)];
    if (known == nullptr) {
      const running::work work(at.what);
      known =
          std::make_shared<const shape>(shape{work, running::choose_variants(work, gpu::info(one_.device).traits, {})});
      for (const running::gpu_variant* variant : {&known->variants.aligned, &known->variants.element_aligned}) {
        if (variant->chosen.row == nullptr) {
          throw error(status::overflow, "a box needs more thread blocks than a GPU's grid allows (2^31 - 1)");
        }
        check(gpu::load(*variant->chosen.row, one_.device), one_.device);
      }
    }
    return {.how = known,
            .src = src_,
            .dst = dst_,
            .src_offset = at.src_offset * bytes_,
            .dst_offset = at.dst_offset * bytes_};
  }

  device_plan& plan_;
  starter& one_;
  const dist::options& how_;
  std::int64_t bytes_ = plan_.all_.what.element_bytes;
  shapes shapes_;
  // Of the link:
  std::size_t src_ = 0, dst_ = 0;
  int there_ = 0;
  bool has_path_ = false;
};

device_plan::device_plan(task all, std::vector<int> numbers, const dist::options& how)
    : all_(std::move(all)), numbers_(std::move(numbers)), half_bytes_(how.chunk_bytes / 2) {
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
void device_plan::start(const starter& one, const launch& all, const void* src, void* dst, void* stream) const {
  const running::gpu_arrays arrays{.src = src, .dst = dst};
  const gpu::device_guard there(one.device);
  const int alignment = running::alignment_of(all.how->what.form, arrays);
  const running::gpu_variant* variant = &all.how->variants.for_alignment(alignment);
  running::gpu_variant made;
  if (alignment < variant->alignment) {
    made = running::choose_variant(all.how->what, gpu::info(one.device).traits, alignment, {});
    check(gpu::load(*made.chosen.row, one.device), one.device);
    variant = &made;
  }
  check(running::start(*variant, arrays, stream), one.device);
}

void device_plan::start_piece(const starter& one, std::size_t number, const call& all) const {
  const piece& next = one.pieces[number];
  const std::size_t half = number % 2;
  auto* const packed = static_cast<std::byte*>(one.buffer.get()) + static_cast<std::int64_t>(half) * half_bytes_;
  auto& marks = const_cast<starter&>(one);  // a mark is set anew by each call; calls are not concurrent
  // The launch stores to the half that the engine reads for piece number - 2.
  if (number >= 2) check(one.sent[half].wait_in(one.kernels.get()), one.device);
  start(one, next.packed, static_cast<const std::byte*>(all.src[next.packed.src]) + next.packed.src_offset, packed,
        one.kernels.get());
  check(marks.packed[half].set(one.kernels.get()), one.device);
  // The engine reads what the launch stores.
  check(one.packed[half].wait_in(one.engine.get()), one.device);
  const std::int64_t bytes = all_.what.element_bytes, row = next.rows.row * bytes, rows = next.rows.rows;
  auto* const to = static_cast<std::byte*>(all.dst[next.packed.dst]) + next.packed.dst_offset;
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
  // begin: earlier work of every rank's stream may use the blocks that any rank's launches load or store.
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    check(ranks_[rank]->begin.set(stream_of(rank)), ranks_[rank]->device);
  }
  for (const auto& one : ranks_) {
    // end: the copies of an earlier call may load from the buffer that this call's first launches store to.
    check(one->end.wait_in(one->kernels.get()), one->device);
    for (const auto& other : ranks_) {
      for (const gpu::queue* queue : {&one->kernels, &one->engine, &one->local}) {
        check(other->begin.wait_in(queue->get()), one->device);
      }
    }
  }
  // The first piece of every rank, then local launches: the links start early. Ranks alternate, so that none waits for the host.
  std::size_t most = 0;
  for (const auto& one : ranks_) most = std::max(most, one->pieces.size());
  const auto pieces = [&](std::size_t number) {
    for (const auto& one : ranks_) {
      if (number < one->pieces.size()) start_piece(*one, number, all);
    }
  };
  const auto launches = [&](const starter& one, const std::vector<launch>& each, const gpu::queue& queue) {
    for (const launch& next : each) {
      start(one, next, static_cast<const std::byte*>(src[next.src]) + next.src_offset,
            static_cast<std::byte*>(dst[next.dst]) + next.dst_offset, queue.get());
    }
  };
  pieces(0);
  for (const auto& one : ranks_) {
    launches(*one, one->remote_launches, one->kernels);
    launches(*one, one->local_launches, one->local);
  }
  for (std::size_t number = 1; number < most; ++number) pieces(number);
  for (const auto& one : ranks_) {
    // end: launches and copies of this rank store to blocks that later work of any rank's stream loads.
    check(one->kernels_end.set(one->kernels.get()), one->device);
    check(one->local_end.set(one->local.get()), one->device);
    check(one->kernels_end.wait_in(one->engine.get()), one->device);
    check(one->local_end.wait_in(one->engine.get()), one->device);
    check(one->end.set(one->engine.get()), one->device);
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const gpu::device_guard there(ranks_[rank]->device);  // whose default stream waits
    for (const auto& other : ranks_) check(other->end.wait_in(stream_of(rank)), ranks_[rank]->device);
  }
}

std::string device_plan::explain() const {
  base::text_stream text;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const starter& one = *ranks_[rank];
    text << "rank " << rank << " is GPU " << one.device << " (" << gpu::info(one.device).name << ")\n";
    const auto kernel = [](const launch& each) { return each.how->variants.aligned.chosen.row->name; };
    if (!one.pieces.empty()) {
      text << "  to other GPUs by copy engines: " << one.bytes_by_engine << " bytes in " << one.pieces.size()
           << " pieces, by " << kernel(one.pieces.front().packed) << " and a buffer of " << 2 * half_bytes_
           << " bytes\n";
    }
    if (!one.remote_launches.empty()) {
      text << "  to other GPUs by kernels: " << one.bytes_by_kernels << " bytes in " << one.remote_launches.size()
           << " launches, by " << kernel(one.remote_launches.front()) << '\n';
    }
    text << "  on this GPU: " << one.bytes_local << " bytes in " << one.local_launches.size() << " launches"
         << (one.local_launches.empty() ? "" : std::string(", by ") + kernel(one.local_launches.front())) << '\n';
  }
  return text.str();
}

std::int64_t device_plan::bytes_sent() const noexcept {
  std::int64_t bytes = 0;
  for (const auto& one : ranks_) bytes += one->bytes_by_engine + one->bytes_by_kernels;
  return bytes;
}

}  // namespace cornerturn::distributed
