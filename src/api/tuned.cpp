#include "api/tuned.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "base/files.hpp"
#include "base/lazy.hpp"
#include "base/numbers.hpp"
#include "cornerturn/error.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::api {
namespace {

constexpr std::string_view first_line = "cornerturn-tuning 1";

// "problem=... align=... limit=... on=...": the rest of a line, and the key of the map.
std::string text_of(const tuned_key& key) {
  const map::canonical& form = *key.form;
  std::string text = "problem=" + std::to_string(form.word_bytes);
  for (int k = 0; k < form.rank; ++k) {
    const axis& one = form.axes[k];
    text +=
        '/' + std::to_string(one.extent) + ':' + std::to_string(one.src_stride) + ':' + std::to_string(one.dst_stride);
  }
  text += " align=" + std::to_string(key.align) + " limit=" + std::to_string(key.limit) + " on=";
  if (key.cpu != nullptr) return text + base::identity(*key.cpu);
  return text.append(key.machine.empty() ? "unknown" : key.machine);
}

std::string line_of(const std::string& key, const tuned_row& row) {
  return std::string(row.kernel) + " threads=" + std::to_string(row.threads) +
         " seconds=" + base::decimal(row.seconds, 4) + ' ' + key;
}

struct store {
  std::mutex guard;
  std::unordered_map<std::string, tuned_row> rows;
  std::atomic<bool> empty{true};
  std::atomic<std::uint64_t> generation{0};
};
store& all() {
  constinit static base::lazy<store> one;
  return one.get([] { return store{}; });
}

void put(const std::string& key, const tuned_row& row) {
  store& known = all();
  const std::lock_guard lock(known.guard);
  known.rows[key] = row;
  known.empty.store(false, std::memory_order_release);
  known.generation.fetch_add(1, std::memory_order_release);
}

// Removes "name=value " from the front.
bool take(std::string_view& line, std::string_view name, std::string_view& value) {
  if (!line.starts_with(name)) return false;
  line.remove_prefix(name.size());
  const std::size_t end = line.find(' ');
  if (end == std::string_view::npos) return false;
  value = line.substr(0, end);
  line.remove_prefix(end + 1);
  return true;
}

bool is_note(std::string_view line) { return line.empty() || line[0] == '#'; }

struct finding {
  std::string key;
  tuned_row row;  // without a kernel if this build has no such row
};

// Returns the fault, or "".
std::string parse(std::string_view line, finding& found) {
  std::string_view kernel, threads, seconds;
  if (!take(line, "", kernel) || kernel.empty()) return "wanted a kernel's name and a space";
  if (!take(line, "threads=", threads)) return "wanted threads=N after the kernel's name";
  if (!take(line, "seconds=", seconds)) return "wanted seconds=T after threads=N";
  for (const char* name : {"problem=", " align=", " limit=", " on="}) {
    if (line.find(name) == std::string_view::npos) return std::string("wanted") + (name[0] == ' ' ? "" : " ") + name;
  }
  found.key = line;
  if (!base::read_number(threads, found.row.threads) || found.row.threads < 0) {
    return "threads is \"" + std::string(threads) + "\", wanted a number";
  }
  if (!base::read_number(seconds, found.row.seconds) || !(found.row.seconds >= 0)) {
    return "seconds is \"" + std::string(seconds) + "\", wanted a number";
  }
  const kernels::kernel* const row = kernels::find(kernel);
  found.row.kernel = row == nullptr ? nullptr : row->name;
  return "";
}

[[noreturn]] void fail(const std::string& file, const std::string& what) {
  throw error(status::invalid_argument, "the tuning file " + file + " " + what);
}

// A finding has about 150 bytes.
constexpr std::int64_t most_bytes = std::int64_t{4} << 20;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  return lines;
}

void check_first_line(const std::string& file, const std::vector<std::string_view>& lines) {
  if (lines.empty() || lines[0] == first_line) return;
  fail(file, "begins with \"" + std::string(lines[0].substr(0, 60)) + "\", wanted \"" + std::string(first_line) + "\"");
}

// Rows of a newer version or an absent backend are no fault; read() skips them.
int read(const std::string& file, bool strict) {
  std::string text;
  try {
    text = base::read_file(file, most_bytes);
  } catch (const base::file_error& fault) {
    fail(file, fault.what());
  }
  const std::vector<std::string_view> lines = lines_of(text);
  check_first_line(file, lines);
  std::vector<finding> good;
  for (std::size_t k = 1; k < lines.size(); ++k) {
    if (is_note(lines[k])) continue;
    finding one;
    const std::string fault = parse(lines[k], one);
    if (!fault.empty() && strict) fail(file, "has a malformed line " + std::to_string(k + 1) + ": " + fault);
    if (fault.empty() && one.row.kernel != nullptr) good.push_back(std::move(one));
  }
  for (const finding& one : good) put(one.key, one.row);
  return static_cast<int>(good.size());
}

constinit std::mutex first_read;
constinit std::atomic<bool> environment_is_read{false};

void read_environment_once() {
  if (environment_is_read.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(first_read);
  if (environment_is_read.load(std::memory_order_relaxed)) return;
  try {
    const std::string file = tune_file_of_environment();
    if (!file.empty()) read(file, false);
  } catch (const error&) {  // no tuning file: a plan does not fail for it; load_tuning() and `doctor` report it
  } catch (const std::bad_alloc&) {
  }
  environment_is_read.store(true, std::memory_order_release);
}

// No other thread may hold a lock while fork() copies its memory. read_environment_once() takes both locks in this order.
void lock_all() {
  first_read.lock();
  all().guard.lock();
}
void unlock_all() {
  all().guard.unlock();
  first_read.unlock();
}
const int locks_at_forks = pthread_atfork(lock_all, unlock_all, unlock_all);

}  // namespace

std::string tune_file_of_environment() { return base::environment("CORNERTURN_TUNE_FILE"); }

tuned_row find_tuned(const tuned_key& key) {
  read_environment_once();
  store& known = all();
  if (known.empty.load(std::memory_order_acquire)) return {};
  const std::string text = text_of(key);
  const std::lock_guard lock(known.guard);
  const auto found = known.rows.find(text);
  return found == known.rows.end() ? tuned_row{} : found->second;
}

void remember_tuned(const tuned_key& key, const tuned_row& row) {
  read_environment_once();  // before put(): a later read would overwrite the new finding
  put(text_of(key), row);
}

int read_tuned(const std::string& file) {
  read_environment_once();
  return read(file, true);
}

void forget_tuned() {
  read_environment_once();
  store& known = all();
  const std::lock_guard lock(known.guard);
  known.rows.clear();
  known.empty.store(true, std::memory_order_release);
  known.generation.fetch_add(1, std::memory_order_release);
}

void new_generation() noexcept { all().generation.fetch_add(1, std::memory_order_release); }

std::uint64_t tuned_generation() noexcept { return all().generation.load(std::memory_order_acquire); }

void check_tuned_file(const std::string& file) {
  try {
    const base::new_file writable(file, {});
    if (writable.old().file) check_first_line(file, lines_of(base::read_file(file, most_bytes)));
  } catch (const base::file_error& fault) {
    fail(file, std::string("cannot be written: ") + fault.what());
  }
}

// A reader sees either the old or the new file.
void write_tuned(const std::string& file, const tuned_key& key, const tuned_row& row) {
  const std::string text = text_of(key);
  try {
    base::change_file(file, most_bytes, [&](const std::string& before) {
      const std::vector<std::string_view> lines = lines_of(before);
      check_first_line(file, lines);
      std::string after = std::string(first_line) + '\n';
      for (std::size_t k = 1; k < lines.size(); ++k) {
        finding one;
        if (!is_note(lines[k]) && parse(lines[k], one).empty() && one.key == text) continue;
        after.append(lines[k]) += '\n';
      }
      return after + line_of(text, row) + '\n';
    });
  } catch (const base::file_error& fault) {
    fail(file, std::string("cannot be written: ") + fault.what());
  }
}

}  // namespace cornerturn::api
