#include "kernels/machine/file.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "base/json.hpp"
#include "base/numbers.hpp"
#include "kernels/kernel.hpp"
#include "kernels/machine/groups.hpp"

namespace cornerturn::kernels {
namespace {

using base::json_value;

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }

const json_value& member(const json_value& of, const char* name, json_value::kind kind) {
  const json_value* const found = of.find(name);
  if (found == nullptr) fail(std::string("has no \"") + name + '"');
  if (found->is != kind) fail(std::string("has a \"") + name + "\" of the wrong type");
  return *found;
}

const std::string& text_at(const json_value& of, const char* name) {
  return member(of, name, json_value::kind::text).text;
}

double number_at(const json_value& of, const char* name, double least, double most) {
  const double value = member(of, name, json_value::kind::number).number;
  if (value >= least && value <= most) return value;
  fail(std::string("has ") + name + " " + base::decimal(value) + ", wanted " + base::decimal(least) + " to " +
       base::decimal(most));
}

constexpr double most_bytes = 1LL << 50;
constexpr double most_number = 1 << 24;  // of bytes that a kernel reads or writes at a time
constexpr double most_time = 1e5;

std::int64_t bytes_at(const json_value& of, const char* name, double most = most_bytes) {
  return static_cast<std::int64_t>(number_at(of, name, 0, most));
}

base::simd_target simd_at(const json_value& of) {
  const std::string& wanted = text_at(of, "simd");
  std::string known;
  for (const auto one : {base::simd_target::neon, base::simd_target::sse4, base::simd_target::avx2,
                         base::simd_target::avx512, base::simd_target::avx512_vbmi}) {
    if (wanted == base::name(one)) return one;
    known += std::string(known.empty() ? "" : ", ") + base::name(one);
  }
  fail("has simd \"" + wanted + "\", wanted one of: " + known);
}

void read_cpu_attributes(const json_value& of, machine_file& made) {
  made.on.cpu_model = made.what;
  if (of.find("part") != nullptr) made.on.part = text_at(of, "part");
  made.on.amd = text_at(of, "vendor") == "amd";
  made.on.simd = simd_at(of);
  made.on.l1d_bytes = bytes_at(of, "l1d_bytes");
  made.on.l2_bytes = bytes_at(of, "l2_bytes");
  made.on.l3_bytes = bytes_at(of, "l3_bytes");
  made.on.page_bytes = 4096;
}

void read_cpu_constants(const json_value& all, cpu::cpu_costs& made) {
  const json_value& numbers = member(all, "numbers", json_value::kind::object);
  const json_value& times = member(all, "times", json_value::kind::object);
#define CPU_NUMBER(name) made.name = bytes_at(numbers, #name, most_number);
#define CPU_SWITCH(name) made.name = member(numbers, #name, json_value::kind::boolean).number != 0;
#define CPU_TIME(name) made.times.name = number_at(times, #name, -most_time, most_time);
#include "kernels/machine/cpu_numbers.inc"
#undef CPU_NUMBER
#undef CPU_SWITCH
#undef CPU_TIME
  const std::string fault = cpu::fault_of(made);
  if (!fault.empty()) fail("has " + fault);
}

void read_gpu_attributes(const json_value& of, gpu_traits& made) {
  made.vendor = text_at(of, "vendor") == "amd" ? gpu_vendor::amd : gpu_vendor::nvidia;
  made.arch = static_cast<int>(number_at(of, "arch", 0, 1e6));
  made.multiprocessors = static_cast<int>(number_at(of, "multiprocessors", 1, 1e5));
  made.shared_bytes = bytes_at(of, "shared_bytes");
  made.multiprocessor_shared_bytes = bytes_at(of, "multiprocessor_shared_bytes");
  made.l2_bytes = bytes_at(of, "l2_bytes");
  made.copy_bytes_per_us = number_at(of, "copy_bytes_per_us", 1, 1e9);
}

void read_gpu_constants(const json_value& all, gpu::device_costs& made) {
  const json_value& of = member(all, "numbers", json_value::kind::object);
  made.side_bytes = static_cast<std::int64_t>(number_at(of, "side_bytes", 64, 4096));
  const json_value& boxes = member(of, "gather_bytes", json_value::kind::array);
  if (boxes.items.size() != std::size(made.gather_bytes)) fail("has no 5 gather_bytes");
  for (std::size_t size = 0; size < boxes.items.size(); ++size) {
    const double bytes = boxes.items[size].number;
    // cut_box() makes boxes of 64 words at least
    if (!(bytes >= 64 << size && bytes <= 227 << 10)) fail("has gather_bytes of " + base::decimal(bytes));
    made.gather_bytes[size] = static_cast<std::int64_t>(bytes);
  }
  made.assemble_bytes = static_cast<std::int64_t>(number_at(of, "assemble_bytes", 1024, 227 << 10));
  made.piece_words = static_cast<std::int64_t>(number_at(of, "piece_words", 1, 1024));  // many_runs_block_words
  made.launch_us = number_at(of, "launch_us", 0.01, 1e3);
  made.copy_block_us = number_at(of, "copy_block_us", 0, 1e3);
  made.block_us = number_at(of, "block_us", 0, 1e3);
  made.cached_bytes = bytes_at(of, "cached_bytes");
  made.cached_bytes_per_us = number_at(of, "cached_bytes_per_us", 1, 1e10);
  made.cached_copy_us = number_at(of, "cached_copy_us", 0.01, 1e3);
}

machine_file::table table_at(const json_value& all, const char* name, std::size_t wanted) {
  machine_file::table made;
  if (all.find(name) == nullptr) return made;
  const json_value& groups = member(all, name, json_value::kind::object);
  for (std::size_t k = 0; k < groups.names.size(); ++k) {
    const std::string& group = groups.names[k];
    const json_value& numbers = groups.items[k];
    const std::vector<json_value> items = numbers.is == json_value::kind::array ? numbers.items : std::vector{numbers};
    if (items.size() != wanted)
      fail("has " + std::to_string(items.size()) + " numbers for " + group + ", wanted " + std::to_string(wanted));
    std::vector<float> these;
    for (const json_value& one : items) {
      if (one.is != json_value::kind::number || !(one.number >= 0 && one.number <= 1e3))
        fail("has a constant of " + group + " that is no number from 0 to 1000");
      these.push_back(static_cast<float>(one.number));
    }
    made.emplace_back(group, std::move(these));
  }
  return made;
}

// Calls each(index of a row, its numbers): those under the name of the row, else those under the name of its group.
template <class Each>
void for_rows(const machine_file::table& known, const Each& each) {
  if (known.empty()) return;
  machine_file::table sorted = known;
  std::sort(sorted.begin(), sorted.end());
  const auto find = [&](const std::string& name) -> const std::vector<float>* {
    const auto found =
        std::lower_bound(sorted.begin(), sorted.end(), name,
                         [](const auto& entry, const std::string& wanted) { return entry.first < wanted; });
    return found != sorted.end() && found->first == name ? &found->second : nullptr;
  };
  for (std::size_t k = 0; k < all().size(); ++k) {
    const std::vector<float>* numbers = find(all()[k].name);
    if (numbers == nullptr) numbers = find(group_of(all()[k].name));
    if (numbers != nullptr) each(k, *numbers);
  }
}

void fill_rows(machine_file& made) {
  made.rows.resize(all().size());
  for_rows(made.groups, [&](std::size_t k, const std::vector<float>& n) {
    made.rows[k].usual = {n[0], n[1], n[2], n[3], n[4]};
  });
  for_rows(made.cached_groups, [&](std::size_t k, const std::vector<float>& n) {
    made.rows[k].latency_us = n[0];
    made.rows[k].cached = {n[1], n[2], n[3], n[4], n[5]};
  });
  made.of_gpu.rows = made.rows.data();
}

// Returns  null: all factors are 1
const float* factors_of(const machine_file::table& known, std::vector<float>& made) {
  if (known.empty()) return nullptr;
  made.assign(all().size(), 1);
  // A factor of 0 would make a row free.
  for_rows(known, [&](std::size_t k, const std::vector<float>& n) { made[k] = std::clamp(n[0], 0.1F, 10.0F); });
  return made.data();
}

}  // namespace

std::shared_ptr<const machine_file> read_machine_file(std::string_view text, std::string_view origin) {
  const json_value all = base::read_json(text);
  if (all.is != json_value::kind::object) fail("is no machine file");
  static_cast<void>(number_at(all, "cornerturn-machine", 1, 1));
  auto made = std::make_shared<machine_file>();
  made->name = text_at(all, "name");
  made->what = text_at(all, "what");
  made->date = text_at(all, "date");
  made->origin = origin;
  const std::string& device = text_at(all, "device");
  if (device != "cpu" && device != "gpu") fail("has device \"" + device + "\", wanted cpu or gpu");
  made->is_gpu = device == "gpu";
  made->has_constants = all.find("numbers") != nullptr;
  const json_value& attributes = member(all, "attributes", json_value::kind::object);
  if (made->is_gpu) {
    read_gpu_attributes(attributes, made->of_gpu.device);
    if (made->has_constants) {
      read_gpu_constants(all, made->of_gpu);
      made->groups = table_at(all, "rows", 5);
      made->cached_groups = table_at(all, "cached_rows", 6);
      fill_rows(*made);
    }
    made->of_gpu.name = made->name.c_str();
    made->of_gpu.date = made->date.c_str();
    made->of_gpu.origin = made->origin.c_str();
    return made;
  }
  read_cpu_attributes(attributes, *made);
  if (made->has_constants) {
    read_cpu_constants(all, made->of_cpu);
    made->groups = table_at(all, "factors", 1);
    made->cached_groups = table_at(all, "cached_factors", 1);
    made->of_cpu.factors = factors_of(made->groups, made->factors);
    made->of_cpu.cached_factors = factors_of(made->cached_groups, made->cached_factors);
    if (made->cached_groups.empty()) made->of_cpu.cached_factors = made->of_cpu.factors;
  }
  made->of_cpu.name = made->name.c_str();
  made->of_cpu.date = made->date.c_str();
  made->of_cpu.origin = made->origin.c_str();
  return made;
}

namespace {

// Writes JSON: the members of an object, one a line.
class writer {
 public:
  void text(const char* name, const std::string& value) {
    std::string safe;
    for (const char one : value) {
      if (one == '"' || one == '\\') safe += '\\';
      safe += static_cast<unsigned char>(one) < ' ' ? ' ' : one;
    }
    put(name, '"' + safe + '"');
  }
  void number(const char* name, double value) { put(name, base::decimal(value, 12)); }
  void boolean(const char* name, bool value) { put(name, value ? "true" : "false"); }
  void numbers(const char* name, const auto& all) {
    std::string list;
    for (const auto one : all) list += (list.empty() ? "" : ", ") + base::decimal(static_cast<double>(one), 6);
    put(name, '[' + list + ']');
  }
  template <class Inside>
  void object(const char* name, const Inside& inside) {
    put(name, "{");
    is_first_ = true;
    inside();
    text_ += "\n  }";
    is_first_ = false;
  }
  void table(const char* name, const machine_file::table& all) {
    if (all.empty()) return;
    object(name, [&] {
      for (const auto& [group, these] : all) {
        these.size() == 1 ? number(group.c_str(), static_cast<double>(these[0])) : numbers(group.c_str(), these);
      }
    });
  }
  [[nodiscard]] std::string done() const { return text_ + "\n}\n"; }

 private:
  void put(const char* name, const std::string& value) {
    text_ += is_first_ ? "\n" : ",\n";
    is_first_ = false;
    const bool is_inside =
        std::count(text_.begin(), text_.end(), '{') - std::count(text_.begin(), text_.end(), '}') > 1;
    text_ += std::string(is_inside ? "    " : "  ") + '"' + name + "\": " + value;
  }

  std::string text_ = "{";
  bool is_first_ = true;
};

void write_cpu(const machine_file& one, writer& to) {
  to.object("attributes", [&] {
    to.text("vendor", one.on.amd ? "amd" : "other");
    if (!one.on.part.empty()) to.text("part", one.on.part);
    to.text("simd", base::name(one.on.simd));
    to.number("l1d_bytes", static_cast<double>(one.on.l1d_bytes));
    to.number("l2_bytes", static_cast<double>(one.on.l2_bytes));
    to.number("l3_bytes", static_cast<double>(one.on.l3_bytes));
  });
  if (!one.has_constants) return;
#define CPU_NUMBER(name) to.number(#name, static_cast<double>(one.of_cpu.name));
#define CPU_SWITCH(name) to.boolean(#name, one.of_cpu.name);
#define CPU_TIME(name)
  to.object("numbers", [&] {
#include "kernels/machine/cpu_numbers.inc"
  });
#undef CPU_NUMBER
#undef CPU_SWITCH
#undef CPU_TIME
#define CPU_NUMBER(name)
#define CPU_SWITCH(name)
#define CPU_TIME(name) to.number(#name, one.of_cpu.times.name);
  to.object("times", [&] {
#include "kernels/machine/cpu_numbers.inc"
  });
#undef CPU_NUMBER
#undef CPU_SWITCH
#undef CPU_TIME
  to.table("factors", one.groups);
  to.table("cached_factors", one.cached_groups);
}

void write_gpu(const machine_file& one, writer& to) {
  const gpu::device_costs& all = one.of_gpu;
  to.object("attributes", [&] {
    to.text("vendor", all.device.vendor == gpu_vendor::amd ? "amd" : "nvidia");
    to.number("arch", all.device.arch);
    to.number("multiprocessors", all.device.multiprocessors);
    to.number("shared_bytes", static_cast<double>(all.device.shared_bytes));
    to.number("multiprocessor_shared_bytes", static_cast<double>(all.device.multiprocessor_shared_bytes));
    to.number("l2_bytes", static_cast<double>(all.device.l2_bytes));
    to.number("copy_bytes_per_us", all.device.copy_bytes_per_us);
  });
  if (!one.has_constants) return;
  to.object("numbers", [&] {
    to.number("side_bytes", static_cast<double>(all.side_bytes));
    to.numbers("gather_bytes", all.gather_bytes);
    to.number("assemble_bytes", static_cast<double>(all.assemble_bytes));
    to.number("piece_words", static_cast<double>(all.piece_words));
    to.number("launch_us", all.launch_us);
    to.number("copy_block_us", all.copy_block_us);
    to.number("block_us", all.block_us);
    to.number("cached_bytes", static_cast<double>(all.cached_bytes));
    to.number("cached_bytes_per_us", all.cached_bytes_per_us);
    to.number("cached_copy_us", all.cached_copy_us);
  });
  to.table("rows", one.groups);
  to.table("cached_rows", one.cached_groups);
}

}  // namespace

std::string text_of(const machine_file& one) {
  writer to;
  to.number("cornerturn-machine", 1);
  to.text("device", one.is_gpu ? "gpu" : "cpu");
  to.text("name", one.name);
  to.text("what", one.what);
  to.text("date", one.date);
  one.is_gpu ? write_gpu(one, to) : write_cpu(one, to);
  return to.done();
}

}  // namespace cornerturn::kernels
