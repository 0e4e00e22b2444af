// `cornerturn bench --dist`: transposes between the GPUs of this process, against copy engines in the same process.
//   1. the roof: each GPU copies as many bytes to its next neighbour as a transpose sends, all at once
//   2. a transpose with its local part, on each route; medians of the wall clock, from the first call to the last stream's end
//   3. the peer: each GPU transposes its blocks into a buffer, copy engines put them into a buffer of the other GPU, which unpacks
//      them. The steps follow each other
//   4. every element is compared on the GPU that received it
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>

#include "bench/cuda/call.hpp"
#include "bench/cuda/fill.hpp"
#include "bench/cuda/verify.hpp"
#include "bench/gpu.hpp"
#include "bench/statistics.hpp"
#include "cornerturn/dist.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/plan.hpp"

namespace cornerturn::bench {
namespace {

using namespace cuda;

struct freed {
  void operator()(void* memory) const noexcept { static_cast<void>(cudaFree(memory)); }
};
using device_bytes = std::unique_ptr<void, freed>;

device_bytes allocated(std::int64_t bytes) {
  void* made = nullptr;
  must(cudaMalloc(&made, static_cast<std::size_t>(bytes)), "cudaMalloc");
  return device_bytes(made);
}

struct side_of_gpu {
  device_bytes src, dst, found, sent, received;
  std::unique_ptr<cuda::stream> on;
  std::unique_ptr<cuda::event> copied;
};

class gpus_of_process {
 public:
  gpus_of_process(int count, std::int64_t bytes) : bytes_(bytes), all_(static_cast<std::size_t>(count)) {
    for (int gpu = 0; gpu < count; ++gpu) {
      must(cudaSetDevice(gpu), "cudaSetDevice");
      for (int peer = 0; peer < count; ++peer) {
        if (peer == gpu) continue;
        const cudaError_t made = cudaDeviceEnablePeerAccess(peer, 0);
        if (made != cudaErrorPeerAccessAlreadyEnabled) must(made, "cudaDeviceEnablePeerAccess");
        static_cast<void>(cudaGetLastError());
      }
      side_of_gpu& one = all_[static_cast<std::size_t>(gpu)];
      one.on = std::make_unique<cuda::stream>();
      one.src = allocated(bytes);
      one.dst = allocated(bytes + 2 * device_guard_bytes);
      one.sent = allocated(bytes);
      one.received = allocated(bytes);
      one.copied = std::make_unique<cuda::event>();
      one.found = allocated(static_cast<std::int64_t>(sizeof(finding)));
      fill_random(one.src.get(), bytes, static_cast<std::uint64_t>(gpu) << 40, *one.on);
    }
    wait();
  }
  ~gpus_of_process() {
    for (std::size_t gpu = 0; gpu < all_.size(); ++gpu) {
      static_cast<void>(cudaSetDevice(static_cast<int>(gpu)));
      all_[gpu] = {};
    }
    static_cast<void>(cudaSetDevice(0));
  }
  gpus_of_process(const gpus_of_process&) = delete;
  gpus_of_process& operator=(const gpus_of_process&) = delete;

  [[nodiscard]] int count() const { return static_cast<int>(all_.size()); }
  side_of_gpu& operator[](int gpu) { return all_[static_cast<std::size_t>(gpu)]; }
  [[nodiscard]] std::byte* dst(int gpu) const {
    return static_cast<std::byte*>(all_[static_cast<std::size_t>(gpu)].dst.get()) + device_guard_bytes;
  }
  void poison() {
    for (int gpu = 0; gpu < count(); ++gpu) {
      must(cudaSetDevice(gpu), "cudaSetDevice");
      fill_poison(dst(gpu), bytes_, *(*this)[gpu].on);
    }
    wait();
  }
  void wait() {
    for (const side_of_gpu& one : all_) one.on->wait();
  }
  // Returns the median of the wall clock, without the first call.
  double seconds(int rounds, const std::function<void()>& call) {
    std::vector<double> times;
    for (int round = 0; round <= rounds; ++round) {
      const auto begin = std::chrono::steady_clock::now();
      call();
      wait();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      if (round > 0) times.push_back(took.count());
    }
    return quartiles_of(times).median;
  }

 private:
  std::int64_t bytes_;
  std::vector<side_of_gpu> all_;
};

// A transpose of an n x n array, whose rows are spread over the GPUs on both sides. The splits are even or not.
struct dist_case {
  const char* name;
  std::int64_t element_bytes, n;
  std::vector<std::int64_t> splits;
};

dist_case case_of(std::int64_t element_bytes, int gpus, std::int64_t bytes, bool even) {
  // An even slab fills the bytes of a GPU. Uneven ones differ by an eighth, and n is odd.
  std::int64_t n = 1;
  const auto next = [&] { return n < 4096 ? n + 1 : n + 64; };
  while (next() * next() * element_bytes <= bytes * gpus * (even ? 8 : 7) / 8) n = next();
  n = even ? n / (64 * gpus) * (64 * gpus) : n | 1;
  dist_case made{even ? "even" : "uneven", element_bytes, n, {0}};
  for (int gpu = 1; gpu < gpus; ++gpu) made.splits.push_back(n * gpu / gpus - (even ? 0 : n / (16 * gpus) + gpu));
  made.splits.push_back(n);
  return made;
}

// 4. Compares the part of dst of GPU `to` that came from GPU `from`.
bool is_right(gpus_of_process& all, const dist_case& what, int from, int to) {
  const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
  const std::int64_t rows = what.splits[t + 1] - what.splits[t], cols = what.splits[f + 1] - what.splits[f];
  view part;
  part.element_bytes = what.element_bytes;
  part.axes = {{rows, 1, what.n}, {cols, what.n, 1}};
  must(cudaSetDevice(to), "cudaSetDevice");
  auto* const found = static_cast<finding*>(all[to].found.get());
  must(cudaMemsetAsync(found, 0xFF, sizeof(finding), *all[to].on), "cudaMemsetAsync");
  compare(part, static_cast<const std::byte*>(all[from].src.get()) + what.splits[t] * what.element_bytes,
          all.dst(to) + what.splits[f] * what.element_bytes, found, *all[to].on);
  all[to].on->wait();
  finding host{};
  must(cudaMemcpy(&host, found, sizeof host, cudaMemcpyDeviceToHost), "cudaMemcpy");
  return host.element == finding::none;
}

// 3. The local block of each GPU goes to its place at once.
class packed_exchange {
 public:
  packed_exchange(gpus_of_process& all, const dist_case& what) : all_(all), what_(what) {
    for (int from = 0; from < all.count(); ++from) {
      must(cudaSetDevice(from), "cudaSetDevice");
      for (int to = 0; to < all.count(); ++to) {
        plans_.emplace_back(
            transpose_problem(extent(from), extent(to), what.element_bytes, what.n, from == to ? what.n : 0));
      }
    }
  }
  void operator()() const {
    const std::int64_t bytes = what_.element_bytes, pitch = what_.n * bytes;
    for (int from = 0; from < all_.count(); ++from) {
      must(cudaSetDevice(from), "cudaSetDevice");
      const cudaStream_t on = *all_[from].on;
      const auto* const src = static_cast<const std::byte*>(all_[from].src.get());
      auto* const packed = static_cast<std::byte*>(all_[from].sent.get());
      for (int to = 0; to < all_.count(); ++to) {
        std::byte* const place = from == to ? all_.dst(to) + begin(from) * bytes : packed + sent_at(from, to);
        plans_[static_cast<std::size_t>(from * all_.count() + to)].execute(src + begin(to) * bytes, place, on);
      }
      for (int to = 0; to < all_.count(); ++to) {
        if (from == to) continue;
        must(cudaMemcpyPeerAsync(received(from, to), to, packed + sent_at(from, to), from,
                                 static_cast<std::size_t>(extent(from) * extent(to) * bytes), on),
             "cudaMemcpyPeerAsync");
      }
      all_[from].copied->record(on);
    }
    for (int to = 0; to < all_.count(); ++to) {
      must(cudaSetDevice(to), "cudaSetDevice");
      for (int from = 0; from < all_.count(); ++from) {
        if (from == to) continue;
        // The unpacking reads what the copy engine of the other GPU stored.
        must(cudaStreamWaitEvent(*all_[to].on, *all_[from].copied, 0), "cudaStreamWaitEvent");
        const auto row = static_cast<std::size_t>(extent(from) * bytes);
        must(cudaMemcpy2DAsync(all_.dst(to) + begin(from) * bytes, static_cast<std::size_t>(pitch), received(from, to),
                               row, row, static_cast<std::size_t>(extent(to)), cudaMemcpyDeviceToDevice, *all_[to].on),
             "cudaMemcpy2DAsync");
      }
    }
  }

 private:
  [[nodiscard]] std::int64_t begin(int gpu) const { return what_.splits[static_cast<std::size_t>(gpu)]; }
  [[nodiscard]] std::int64_t extent(int gpu) const { return begin(gpu + 1) - begin(gpu); }
  // The blocks of a buffer are in the order of the other GPU.
  [[nodiscard]] std::int64_t sent_at(int from, int to) const { return extent(from) * begin(to) * what_.element_bytes; }
  [[nodiscard]] std::byte* received(int from, int to) const {
    return static_cast<std::byte*>(all_[to].received.get()) + extent(to) * begin(from) * what_.element_bytes;
  }

  gpus_of_process& all_;
  const dist_case& what_;
  std::vector<plan> plans_;
};

struct dist_row {
  double roof_gb_s = 0, kernels_gb_s = 0, engines_gb_s = 0, packed_gb_s = 0;
  bool right = true;
};

dist_row measure(gpus_of_process& all, const dist_case& what, int rounds) {
  dist::problem problem;
  problem.extents = {what.n, what.n};
  problem.axes = {1, 0};
  problem.element_bytes = what.element_bytes;
  problem.src = problem.dst = dist::slabs(problem.extents, 0, what.splits);
  dist::devices on;
  std::vector<const void*> src;
  std::vector<void*> dst, streams;
  for (int gpu = 0; gpu < all.count(); ++gpu) {
    on.numbers.push_back(gpu);
    src.push_back(all[gpu].src.get());
    dst.push_back(all.dst(gpu));
    streams.push_back(static_cast<cudaStream_t>(*all[gpu].on));
  }
  dist_row row;
  std::int64_t sent = 0;
  const auto timed = [&](const std::function<void()>& call) {
    all.poison();
    const double seconds = all.seconds(rounds, call);
    for (int from = 0; from < all.count(); ++from) {
      for (int to = 0; to < all.count(); ++to) row.right = is_right(all, what, from, to) && row.right;
    }
    return seconds;
  };
  for (const dist::route route : {dist::route::kernels, dist::route::copy_engines}) {
    dist::options how;
    how.route = route;
    const dist::plan plan(problem, on, how);
    sent = plan.bytes_sent() / all.count();  // 2
    const double seconds = timed([&] { plan.execute(src, dst, streams); });
    (route == dist::route::kernels ? row.kernels_gb_s : row.engines_gb_s) = static_cast<double>(sent) / seconds / 1e9;
  }
  row.packed_gb_s = static_cast<double>(sent) / timed(packed_exchange(all, what)) / 1e9;
  const double roof = all.seconds(rounds, [&] {  // 1
    for (int gpu = 0; gpu < all.count(); ++gpu) {
      const int next = (gpu + 1) % all.count();
      must(cudaMemcpyPeerAsync(all.dst(next), next, all[gpu].src.get(), gpu, static_cast<std::size_t>(sent),
                               *all[gpu].on),
           "cudaMemcpyPeerAsync");
    }
  });
  row.roof_gb_s = static_cast<double>(sent) / roof / 1e9;
  return row;
}

}  // namespace

dist_outcome measure_dist(std::int64_t bytes, const std::vector<std::int64_t>& element_bytes, int rounds,
                          std::FILE* out) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  static_cast<void>(cudaGetLastError());
  if (count < 2) {
    throw error(status::no_device,
                "--dist is given, but this process has " + std::to_string(count) + " GPUs, wanted at least 2");
  }
  gpus_of_process all(count, bytes);
  fmt::print(out, "{} GPUs, {} MiB on each; GB/s that leave each GPU, and the share of copy engines\n", count,
             bytes >> 20);
  fmt::print(out, "{:>6} {:>7} {:>8} {:>13} {:>15} {:>20} {:>20}\n", "bytes", "splits", "n", "copy engines",
             "route kernels", "route copy_engines", "pack, copy, unpack");
  dist_outcome made;
  for (const std::int64_t of_element : element_bytes) {
    for (const bool even : {true, false}) {
      const dist_case what = case_of(of_element, count, bytes, even);
      const dist_row row = measure(all, what, rounds);
      made.right = made.right && row.right;
      fmt::print(out, "{:>6} {:>7} {:>8} {:>13.0f} {:>8.0f} {:>6.2f} {:>13.0f} {:>6.2f} {:>13.0f} {:>6.2f}{}\n",
                 of_element, what.name, what.n, row.roof_gb_s, row.kernels_gb_s, row.kernels_gb_s / row.roof_gb_s,
                 row.engines_gb_s, row.engines_gb_s / row.roof_gb_s, row.packed_gb_s, row.packed_gb_s / row.roof_gb_s,
                 row.right ? "" : "  WRONG");
      std::fflush(out);
      made.json += fmt::format(
          "{}{{\"gpus\": {}, \"mib_of_gpu\": {}, \"element_bytes\": {}, \"splits\": \"{}\", \"n\": {}, "
          "\"copy_engines_gb_s\": {:.1f}, "
          "\"route_kernels_gb_s\": {:.1f}, "
          "\"route_copy_engines_gb_s\": {:.1f}, \"pack_copy_unpack_gb_s\": {:.1f}, \"right\": {}}}",
          made.json.empty() ? "" : ",\n ", count, bytes >> 20, of_element, what.name, what.n, row.roof_gb_s,
          row.kernels_gb_s, row.engines_gb_s, row.packed_gb_s, row.right);
    }
  }
  return made;
}

}  // namespace cornerturn::bench
