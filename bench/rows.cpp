// cornerturn_rows: runs the GPU kernels on problems whose memory accesses tools/ncu_check counts.
//
//   cornerturn_rows --predict [--row TEXT] [--count N] [--arch NAME]   a line of CSV for each launch; needs no GPU
//   cornerturn_rows --profile [--row TEXT] [--count N] [--arch NAME]   starts the same kernels once each, in the same order
//
// TEXT is a part of a kernel's name. N is the number of cases for each kernel, 3 by default.
#include <charconv>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cornerturn/batch.hpp"
#include "cornerturn/plan.hpp"
#include "trace/trace.hpp"
#ifdef TRACE_CUDA
#include <cuda_runtime_api.h>
#endif

namespace cornerturn::trace {
namespace {

struct options {
  bool predict = false;
  bool profile = false;
  std::string row;
  int count = 3;
  std::string arch = "sm_90";
};

options read(int argc, char** argv) {
  options asked;
  for (int k = 1; k < argc; ++k) {
    const std::string_view name = argv[k];
    if (name == "--predict" || name == "--profile") {
      (name == "--predict" ? asked.predict : asked.profile) = true;
      continue;
    }
    if (++k == argc) throw std::invalid_argument(std::string(name) + " needs a value, or there is no such option");
    const std::string_view value = argv[k];
    if (name == "--row") {
      asked.row = value;
    } else if (name == "--arch") {
      asked.arch = value;
    } else if (name == "--count") {
      const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), asked.count);
      if (fault != std::errc{} || end != value.data() + value.size() || asked.count < 1 || asked.count > 100) {
        throw std::invalid_argument("--count is a number from 1 to 100");
      }
    } else {
      throw std::invalid_argument("there is no option " + std::string(name));
    }
  }
  if (asked.predict == asked.profile) throw std::invalid_argument("wanted: --predict or --profile");
  return asked;
}

// Calls each(case) for the cases of every requested kernel row. Prints rows without cases to stderr.
template <class Each>
int for_each_case(const options& asked, const Each& each) {
  const model::architecture* const machine = model::find_architecture(asked.arch);
  if (machine == nullptr || machine->maker != model::vendor::nvidia) {
    throw std::invalid_argument("the model knows no GPU of NVIDIA of the name " + asked.arch);
  }
  int cases = 0;
  for (const std::string_view row : rows()) {
    if (row.find(asked.row) == std::string_view::npos) continue;
    const std::vector<named_case> all = cases_for(row, asked.count, *machine);
    if (static_cast<int>(all.size()) < asked.count) {
      std::cerr << row << ": " << all.size() << " of " << asked.count << " cases\n";
    }
    for (const named_case& one : all) each(one, *machine);
    cases += static_cast<int>(all.size());
  }
  if (cases == 0) throw std::invalid_argument("no row has a name with \"" + asked.row + "\" in it, or none has cases");
  return cases;
}

void predict(const options& asked) {
  if (!can_count()) throw std::invalid_argument("this build cannot count a row: it needs g++, and no sanitizer");
  std::cout << "rung,element_bytes,shape,flags,load_requests,load_sectors,store_requests,store_sectors,"
               "shared_load_wavefronts,shared_store_wavefronts\n";
  for_each_case(asked, [](const named_case& one, const model::architecture& machine) {
    for (const launch_count& launch : count(one, machine).launches) {
      const model::traffic& t = launch.counts;
      if (launch.counted_blocks != launch.blocks) throw std::logic_error("the counts of " + launch.row + " are scaled");
      // The profiler counts an asynchronous copy as a load, and not as a shared store.
      std::cout << launch.row << ',' << one.what.element_bytes << ",\"" << one.text << "\"," << launch.has_flags << ','
                << t.load.requests + t.async_load.requests << ',' << t.load.lines + t.async_load.lines << ','
                << t.store.requests << ',' << t.store.lines << ',' << t.shared_load.cycles << ','
                << t.shared_store.cycles << '\n';
    }
  });
}

#ifdef TRACE_CUDA
void check(cudaError_t said) {
  if (said != cudaSuccess) throw std::runtime_error(cudaGetErrorString(said));
}

struct free_memory {
  void operator()(std::byte* memory) const { static_cast<void>(cudaFree(memory)); }
};
using device_memory = std::unique_ptr<std::byte, free_memory>;

device_memory zeros(std::int64_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, static_cast<std::size_t>(bytes)));
  device_memory made(static_cast<std::byte*>(memory));
  check(cudaMemset(memory, 0, static_cast<std::size_t>(bytes)));
  return made;
}

void start(const named_case& one) {
  const array_bytes size = bytes_of(one);
  const device_memory src = zeros(size.src), dst = zeros(size.dst), scale = zeros(sizeof(float));
  std::byte* const to = dst.get() + one.dst_shift;
  const std::byte* const from = one.what.in_place ? to : src.get() + one.src_shift;
  plan_options how;
  how.device = device::cuda;
  if (one.items > 0) {
    const item_steps steps = steps_of(one);
    std::vector<const void*> sources;
    std::vector<void*> targets;
    for (std::int64_t k = 0; k < one.items; ++k) {
      sources.push_back(from + k * steps.src);
      targets.push_back(to + k * steps.dst);
    }
    batch(one.what, sources, targets, how).execute();
    return check(cudaDeviceSynchronize());
  }
  if (!one.row.empty()) how.kernel = one.row.c_str();
  operands all;
  all.src = from;
  all.dst = to;
  if (one.what.math.scaled) all.scale = reinterpret_cast<const float*>(scale.get());
  const plan chosen(one.what, how);
  one.what.math == arithmetic{} ? chosen.execute(from, to) : chosen.execute(all);
  check(cudaDeviceSynchronize());
}

void profile(const options& asked) {
  const int cases = for_each_case(asked, [](const named_case& one, const model::architecture&) { start(one); });
  std::cout << cases << " cases\n";
}
#else
void profile(const options&) { throw std::invalid_argument("this build has no CUDA"); }
#endif

}  // namespace
}  // namespace cornerturn::trace

int main(int argc, char** argv) {
  try {
    const auto asked = cornerturn::trace::read(argc, argv);
    asked.predict ? cornerturn::trace::predict(asked) : cornerturn::trace::profile(asked);
    return 0;
  } catch (const std::exception& fault) {
    std::cerr << "cornerturn_rows: " << fault.what() << '\n';
    return 1;
  }
}
