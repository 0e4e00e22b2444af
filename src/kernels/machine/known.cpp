#include "kernels/machine/known.hpp"

#include <dirent.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <new>
#include <stdexcept>

#include "base/files.hpp"

namespace cornerturn::kernels {
namespace {

constexpr std::string_view built_in[] = {
#include "cornerturn_machines.inc"
};

constexpr std::int64_t most_bytes = std::int64_t{1} << 20;  // of a file; a GPU's has 16 KiB
constexpr std::size_t most_files = 32;                      // of a folder

// A list of values by key that only grows: readers take no lock, and no thread of a child of fork() waits.
template <class Key, class Value>
class memo {
 public:
  // Returns null: no memory
  template <class Make>
  const Value* get(const Key& key, const Make& make) const noexcept {
    const entry* const first = first_.load(std::memory_order_acquire);
    for (const entry* one = first; one != nullptr; one = one->next) {
      if (one->key == key) return &one->value;
    }
    entry* const made = new (std::nothrow) entry{key, make(), first};
    if (made == nullptr) return nullptr;
    while (!first_.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {
    }
    return &made->value;
  }

 private:
  struct entry {
    Key key;
    Value value;
    const entry* next;
  };
  mutable std::atomic<const entry*> first_{nullptr};
};

// The attributes that distance() reads.
struct cpu_key {
  std::size_t part;  // its hash
  bool amd;
  base::simd_target simd;
  std::int64_t l2_bytes, l3_bytes;
  bool operator==(const cpu_key&) const = default;
};
struct gpu_key {
  gpu_vendor vendor;
  int arch, multiprocessors;
  std::int64_t shared_bytes, multiprocessor_shared_bytes, l2_bytes;
  double copy_bytes_per_us;
  bool operator==(const gpu_key&) const = default;
};

// Never freed: plans that are being made may still read an older one.
struct snapshot {
  machines all{};
  std::vector<std::string> faults{};
  const snapshot* before = nullptr;
  memo<cpu_key, const machine_file*> cpus{};
  memo<gpu_key, gpu::device_costs> gpus{};
};
constinit std::atomic<const snapshot*> current{nullptr};

// A machine of an equal name and kind is replaced: the position in the list decides ties.
void add(machines& all, std::shared_ptr<const machine_file> one) {
  std::erase_if(all, [&](const auto& old) { return old->is_gpu == one->is_gpu && old->name == one->name; });
  all.push_back(std::move(one));
}

std::shared_ptr<const machine_file> read(const std::string& file) {
  return read_machine_file(base::read_file(file, most_bytes), file);
}

std::string user_folder() {
  std::string folder = base::environment("XDG_CONFIG_HOME");
  if (folder.empty()) {
    folder = base::environment("HOME");
    if (folder.empty()) return "";
    folder += "/.config";
  }
  return folder + "/cornerturn";
}

std::vector<std::string> files_of_user() {
  if (const std::string named = base::environment("CORNERTURN_MACHINE_FILE"); !named.empty()) return {named};
  std::vector<std::string> files;
  const std::string folder = user_folder();
  DIR* const open = folder.empty() ? nullptr : opendir(folder.c_str());
  if (open == nullptr) return files;
  while (const dirent* const entry = readdir(open)) {
    const std::string_view name = entry->d_name;
    if (name.starts_with("machine-") && name.ends_with(".json")) files.push_back(folder + '/' + std::string(name));
  }
  closedir(open);
  std::sort(files.begin(), files.end());
  if (files.size() > most_files) files.resize(most_files);
  return files;
}

std::unique_ptr<snapshot> first_snapshot() {
  auto made = std::make_unique<snapshot>();
  for (const std::string_view text : built_in) made->all.push_back(read_machine_file(text, "built in"));
  for (const std::string& file : files_of_user()) {
    try {
      add(made->all, read(file));
    } catch (const std::runtime_error& fault) {  // of base::file_error, too: a plan does not fail for a bad file
      made->faults.push_back("the machine file " + file + " is ignored: it " + fault.what());
    }
  }
  return made;
}

const snapshot& now() {
  const snapshot* found = current.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  std::unique_ptr<snapshot> mine = first_snapshot();
  if (current.compare_exchange_strong(found, mine.get(), std::memory_order_acq_rel)) return *mine.release();
  return *found;
}

// |log2(a / b)|; 0: one of them is unknown.
double octaves(double a, double b) noexcept { return a > 0 && b > 0 ? std::abs(std::log2(a / b)) : 0; }
double octaves(std::int64_t a, std::int64_t b) noexcept {
  return octaves(static_cast<double>(a), static_cast<double>(b));
}

// log2 of the bytes of a vector; VBMI adds shuffles of bytes.
double width_of(base::simd_target one) noexcept {
  switch (one) {
    case base::simd_target::neon:
    case base::simd_target::sse4:
      return 4;
    case base::simd_target::avx2:
      return 5;
    case base::simd_target::avx512:
      return 6;
    case base::simd_target::avx512_vbmi:
      return 6.25;
  }
  return 4;
}

template <class Distance>
const machine_file& nearest_of(const machines& all, bool is_gpu, const Distance& distance_to) {
  const machine_file* best = nullptr;
  double least = 0;
  for (const auto& one : all) {
    if (one->is_gpu != is_gpu || !one->has_constants) continue;
    const double far = distance_to(*one);
    if (best == nullptr || far <= least) best = one.get(), least = far;
  }
  return *best;
}

}  // namespace

const machines& known_machines() { return now().all; }
const std::vector<std::string>& machine_faults() { return now().faults; }

void add_machine(const std::string& file) {
  const std::shared_ptr<const machine_file> one = read(file);
  for (const snapshot* before = &now();;) {
    auto made = std::make_unique<snapshot>();
    made->all = before->all, made->faults = before->faults, made->before = before;
    add(made->all, one);
    if (current.compare_exchange_strong(before, made.get(), std::memory_order_acq_rel)) {
      static_cast<void>(made.release());
      return;
    }
  }
}

void read_machines_again() {
  std::unique_ptr<snapshot> made = first_snapshot();
  made->before = &now();
  current.store(made.release(), std::memory_order_release);
}

// The numbers of a walk are cut to the L2 of the machine where they were measured. A smaller L2 does not hold them, a larger one only
// holds more: so the first counts four times. The vendor's prefetchers count most. A part that differs decides between machines that
// are else equal.
double distance(const base::machine& here, const base::machine& measured) noexcept {
  const std::int64_t l2_here = std::max<std::int64_t>(here.l2_bytes, 64 << 10);  // 0: it is unknown
  const double l2 = octaves(l2_here, measured.l2_bytes) * (l2_here < measured.l2_bytes ? 4 : 1);
  return l2 + octaves(here.l3_bytes, measured.l3_bytes) / 4 +
         std::abs(width_of(here.simd) - width_of(measured.simd)) / 2 + (here.amd == measured.amd ? 0 : 10) +
         (here.part == measured.part ? 0 : 0.1);
}

double distance(const gpu_traits& a, const gpu_traits& b) noexcept {
  const auto rate_of_one = [](const gpu_traits& of) { return of.copy_bytes_per_us / of.multiprocessors; };
  return octaves(rate_of_one(a), rate_of_one(b)) +
         octaves(std::int64_t{a.multiprocessors}, std::int64_t{b.multiprocessors}) +
         octaves(a.multiprocessor_shared_bytes, b.multiprocessor_shared_bytes) + octaves(a.l2_bytes, b.l2_bytes) / 2 +
         std::abs(a.arch - b.arch) / 20.0 + (a.vendor == b.vendor ? 0 : 10);
}

gpu::device_info gpu_of(const machine_file& one) {
  gpu::device_info made;
  made.name = one.name;
  made.arch = (one.of_gpu.device.vendor == gpu_vendor::amd ? "gfx" : "sm_") + std::to_string(one.of_gpu.device.arch);
  made.traits = one.of_gpu.device;
  return made;
}

const machine_file& nearest(const base::machine& to) {
  return nearest_of(now().all, false, [&](const machine_file& one) {
    // The factors of rows in memory hold for vectors of the length that they were measured with: a Graviton2 has the L2 of a Cascade
    // Lake.
    const bool foreign = !one.groups.empty() && std::abs(width_of(to.simd) - width_of(one.on.simd)) >= 1;
    return distance(to, one.on) + (foreign ? 3 : 0);
  });
}

const machine_file& nearest(const gpu_traits& to) {
  return nearest_of(now().all, true, [&](const machine_file& one) { return distance(to, one.of_gpu.device); });
}

}  // namespace cornerturn::kernels

namespace cornerturn {

const kernels::cpu::cpu_costs& kernels::cpu::costs_of(const base::machine& machine) noexcept {
  const cpu_key key{std::hash<std::string>()(machine.part), machine.amd, machine.simd, machine.l2_bytes,
                    machine.l3_bytes};
  const machine_file* const* const found = now().cpus.get(key, [&] { return &nearest(machine); });
  return (found != nullptr ? **found : nearest(machine)).of_cpu;
}

const gpu::device_costs& gpu::costs_for(const kernels::gpu_traits& device) noexcept {
  const kernels::gpu_key key{device.vendor,
                             device.arch,
                             device.multiprocessors,
                             device.shared_bytes,
                             device.multiprocessor_shared_bytes,
                             device.l2_bytes,
                             device.copy_bytes_per_us};
  const device_costs* const found =
      kernels::now().gpus.get(key, [&] { return scaled(kernels::nearest(device).of_gpu, device); });
  return found != nullptr ? *found : kernels::nearest(device).of_gpu;
}

}  // namespace cornerturn
