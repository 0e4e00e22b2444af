// `cornerturn doctor`, `kernels` and `roof`: describe this build and this machine.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <CLI/Version.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "bench/bench.hpp"
#include "commands.hpp"
#include "cornerturn/error.hpp"
#include "cornerturn/machine.hpp"
#include "cornerturn/system.hpp"
#include "cornerturn/tune.hpp"
#include "cornerturn/version.h"
#include "disk.hpp"
#include "print.hpp"
#include "text.hpp"
#include "workers.hpp"

namespace cornerturn::cli {
namespace {

constexpr const char* compiler =
#if defined(__clang__)
    "clang " __clang_version__;
#elif defined(__GNUC__)
    "gcc " __VERSION__;
#else
    "unknown";
#endif

// Returns the word in brackets of "always [madvise] never".
std::string huge_page_mode() {
  const std::string file = base::read_kernel_file("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::string line = file.substr(0, file.find('\n'));
  if (line.empty()) return "unknown";
  const auto open = line.find('[');
  const auto close = line.find(']');
  return open < close && close != std::string::npos ? line.substr(open + 1, close - open - 1) : line;
}

std::string operating_system() {
  utsname about{};
  if (uname(&about) != 0) return "unknown";
  return fmt::format("{} {} {}", about.sysname, about.release, about.machine);
}

std::ptrdiff_t kernels_of(const std::string& backend) {
  const std::vector<kernel_info> rows = kernel_list();
  return std::count_if(rows.begin(), rows.end(), [&](const kernel_info& one) { return one.backend == backend; });
}

std::string size_or_unknown(std::int64_t bytes) { return bytes > 0 ? bytes_text(bytes) : "unknown"; }

void line(std::string_view name, const std::string& value) { print_safe("{:<12} {}\n", name, value); }

// The file of CORNERTURN_TUNE_FILE. Plans ignore a file that is none, so this is the place that says why.
struct tuning {
  std::string file;  // "": the variable is not set
  int findings = 0;
  std::string fault;
};

tuning tuning_here() {
  tuning made{base::environment("CORNERTURN_TUNE_FILE"), 0, ""};
  if (made.file.empty()) return made;
  try {
    made.findings = load_tuning(made.file);
  } catch (const error& fault) {
    made.fault = fault.what();
  }
  return made;
}

// The constants that plans use: "sapphire_rapids", built in, 2026-11-25.
std::string costs_text(const machine_info& one) {
  std::string text = fmt::format("\"{}\" ({}), {}, measured {}", one.name, one.what, one.origin, one.date);
  if (one.origin == "built in") text += "; `cornerturn calibrate` measures this machine";
  return text;
}

// The CPU, and the GPU if there is one.
std::vector<std::string> machines_here() {
  std::vector<std::string> names{"cpu"};
  for (const backend_info& one : backends()) {
    if (one.present && one.name != "cpu") names.emplace_back();
  }
  return names;
}

nlohmann::ordered_json costs_json() {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const std::string& name : machines_here()) {
    const machine_info one = machine_in_use(name);
    all.push_back({{"device", one.is_gpu ? "gpu" : "cpu"},
                   {"name", base::printable(one.name)},
                   {"origin", base::printable(one.origin)},
                   {"date", base::printable(one.date)}});
  }
  return all;
}

void doctor_json() {
  const cpu_info machine = cpu();
  nlohmann::ordered_json report = {
      {"version", version()},
      {"header_version", CORNERTURN_VERSION_STRING},
      {"compiler", compiler},
      {"system", operating_system()},
      {"libraries",
       {{"CLI11", CLI11_VERSION},
        {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
        {"nlohmann_json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                      NLOHMANN_JSON_VERSION_PATCH)}}},
      {"cpu",
       {{"model", machine.model},
        {"part", machine.part},
        {"simd", machine.simd},
        {"simd_targets", machine.simd_targets},
        {"threads", machine.threads},
        {"default_threads", threads_for(0)},
        {"l1d_bytes", machine.l1d_bytes},
        {"l2_bytes", machine.l2_bytes},
        {"l3_bytes", machine.l3_bytes},
        {"page_bytes", machine.page_bytes},
        {"transparent_huge_pages", huge_page_mode()}}},
  };
  report["backends"] = nlohmann::ordered_json::array();
  for (const backend_info& one : backends()) {
    report["backends"].push_back(
        {{"name", one.name}, {"present", one.present}, {"detail", one.detail}, {"kernels", kernels_of(one.name)}});
  }
  report["kernels"] = kernel_list().size();
  report["costs"] = costs_json();
  if (const std::vector<std::string> ignored = ignored_machine_files(); !ignored.empty()) {
    report["ignored_machine_files"] = ignored;
  }
  if (const tuning known = tuning_here(); !known.file.empty()) {
    report["tuning"] = {{"file", base::printable(known.file)}, {"findings", known.findings}, {"fault", known.fault}};
  }
  print_safe("{}\n", report.dump(-1, ' ', true));
}

// "2 threads", or "2 threads, this command uses 1: OMP_NUM_THREADS"
std::string threads_text(const cpu_info& machine) {
  std::string text = fmt::format("{} thread{}", machine.threads, machine.threads == 1 ? "" : "s");
  if (const int used = threads_for(0); used != machine.threads)
    text += fmt::format(", OMP_NUM_THREADS limits them to {}", used);
  return text;
}

}  // namespace

void require_device(const device_choice& device) {
  if (device.kind != "cuda" && device.kind != "hip") return;
  for (const backend_info& one : backends()) {
    if (one.name != device.kind || one.present) continue;
    throw failure(fmt::format("--device is {}, but {}. Wanted auto or cpu", device.kind, one.detail), exit_no_device);
  }
}

int run_doctor(bool json) {
  if (json) {
    doctor_json();
    return exit_ok;
  }
  const cpu_info machine = cpu();
  const std::string loaded = version();
  line("cornerturn", loaded == CORNERTURN_VERSION_STRING
                         ? loaded
                         : fmt::format("{} (the command was built with {})", loaded, CORNERTURN_VERSION_STRING));
  line("compiler", compiler);
  line("system", operating_system());
  const std::string part = machine.part.empty() ? "" : fmt::format(" ({})", machine.part);
  line("cpu", fmt::format("{}{}, {}", machine.model, part, threads_text(machine)));
  line("simd", fmt::format("{} (this build on this machine: {})", machine.simd, fmt::join(machine.simd_targets, ", ")));
  line("caches", fmt::format("L1d {}, L2 {}, L3 {}", size_or_unknown(machine.l1d_bytes),
                             size_or_unknown(machine.l2_bytes), size_or_unknown(machine.l3_bytes)));
  if (const tuning known = tuning_here(); !known.file.empty()) {
    line("tuning",
         known.fault.empty() ? fmt::format("{}: {}", known.file, count_text(known.findings, "finding")) : known.fault);
  }
  for (const std::string& name : machines_here())
    line(name == "cpu" ? "costs" : "costs, GPU", costs_text(machine_in_use(name)));
  for (const std::string& sentence : ignored_machine_files()) line("", sentence);
  line("pages", fmt::format("{}, transparent huge pages: {}", size_or_unknown(machine.page_bytes), huge_page_mode()));
  for (const backend_info& one : backends()) {
    const std::string rows = one.present ? fmt::format("{} kernels", kernels_of(one.name)) : "off";
    line(fmt::format("{}", one.name), one.detail.empty() ? rows : fmt::format("{}: {}", rows, one.detail));
  }
  return exit_ok;
}

int run_kernels(bool json) {
  const std::vector<kernel_info> rows = kernel_list();
  if (json) {
    auto report = nlohmann::ordered_json::array();
    for (const kernel_info& one : rows) {
      report.push_back({{"name", one.name},
                        {"backend", one.backend},
                        {"family", one.family},
                        {"element_bytes", one.element_bytes},
                        {"note", one.note}});
    }
    print_safe("{}\n", report.dump(-1, ' ', true));
    return exit_ok;
  }
  std::size_t name = 4;
  std::size_t backend = 7;
  std::size_t family = 6;
  for (const kernel_info& one : rows) {
    name = std::max(name, one.name.size());
    backend = std::max(backend, one.backend.size());
    family = std::max(family, one.family.size());
  }
  print_safe("{:<{}}  {:<{}}  {:<{}}  {:>5}  {}\n", "name", name, "backend", backend, "family", family, "bytes",
             "note");
  for (const kernel_info& one : rows) {
    const std::string bytes = one.element_bytes == 0 ? "any" : fmt::format("{}", one.element_bytes);
    print_safe("{:<{}}  {:<{}}  {:<{}}  {:>5}  {}\n", one.name, name, one.backend, backend, one.family, family, bytes,
               one.note);
  }
  return exit_ok;
}

namespace {

int run_disk_roof(const roof_options& options) {
  const disk_measurement found = measure_disk(options.disk, options.bytes, options.threads);
  const std::string file = remember_disk(options.disk, found.speed);
  const double rate = found.copy_bytes_per_second * 1e-9;
  if (options.json) {
    const nlohmann::ordered_json report = {{"folder", base::printable(options.disk)},
                                           {"bytes", options.bytes},
                                           {"copy_seconds", found.copy_seconds},
                                           {"transpose_seconds", found.transpose_seconds},
                                           {"run_bytes", found.run_bytes},
                                           {"gb_s", rate},
                                           {"request_bytes", found.speed.read_request_bytes},
                                           {"file", base::printable(file)}};
    print_safe("{}\n", report.dump(-1, ' ', true));
    return exit_ok;
  }
  print_safe("copy of {} on the disk of {}: {:.2f} GB/s read + written\n", bytes_text(options.bytes), options.disk,
             rate);
  print_safe("transpose in runs of {}: {:.2f} of the copy; a request costs as much as {}\n",
             bytes_text(found.run_bytes), found.copy_seconds / found.transpose_seconds,
             bytes_text(found.speed.read_request_bytes));
  if (!file.empty()) print_safe("remembered in {}\n", file);
  return exit_ok;
}

}  // namespace

int run_roof(const roof_options& options) {
  if (!options.disk.empty()) return run_disk_roof(options);
  require_device(options.device);
  const bool on_gpu = options.device.kind == "cuda";
  const int threads = on_gpu ? 0 : threads_for(options.threads);
  const std::string device = on_gpu ? fmt::format("cuda:{}", options.device.gpu()) : "cpu";
  const double rate = bench::copy_roof_gb_s(options.bytes, threads, on_gpu ? options.device.gpu() : -1);
  if (options.json) {
    const nlohmann::ordered_json report = {
        {"bytes", options.bytes}, {"device", device}, {"threads", threads}, {"gb_s", rate}};
    print_safe("{}\n", report.dump(-1, ' ', true));
  } else {
    const std::string where = on_gpu ? device : fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
    print_safe("copy of {}, {}: {:.2f} GB/s read + written\n", bytes_text(options.bytes), where, rate);
  }
  return exit_ok;
}

}  // namespace cornerturn::cli
