#include "api/tuned.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

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
  return text.append(key.machine.empty() ? "unknown" : key.machine);
}

std::string line_of(const std::string& key, const tuned_row& row) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.4g", row.seconds);
  return std::string(row.kernel) + " threads=" + std::to_string(row.threads) + " seconds=" + seconds + ' ' + key;
}

struct store {
  std::shared_mutex guard;
  std::unordered_map<std::string, tuned_row> rows;
  std::atomic<bool> empty{true};
  std::atomic<std::uint64_t> generation{0};
};
store& all() {
  static store& one = *new store;  // never destroyed: calls at exit read it, too
  return one;
}

void put(const std::string& key, const tuned_row& row) {
  store& known = all();
  const std::unique_lock lock(known.guard);
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
  const auto [end, fault] = std::from_chars(threads.data(), threads.data() + threads.size(), found.row.threads);
  if (fault != std::errc() || end != threads.data() + threads.size() || found.row.threads < 0) {
    return "threads is \"" + std::string(threads) + "\", wanted a number";
  }
  found.row.seconds = std::strtod(std::string(seconds).c_str(), nullptr);
  const kernels::kernel* const row = kernels::find(kernel);
  found.row.kernel = row == nullptr ? nullptr : row->name;
  return "";
}

[[noreturn]] void fail(const std::string& file, const std::string& what) {
  throw error(status::invalid_argument, "the tuning file " + file + " " + what);
}

std::vector<std::string> lines_of(const std::string& file) {
  std::ifstream in(file);
  if (!in) fail(file, std::string("cannot be read: ") + std::strerror(errno));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  if (in.bad()) fail(file, "cannot be read to its end");
  return lines;
}

void check_first_line(const std::string& file, const std::vector<std::string>& lines) {
  if (lines.empty() || lines[0] == first_line) return;
  fail(file, "begins with \"" + lines[0].substr(0, 60) + "\", wanted \"" + std::string(first_line) + "\"");
}

// Rows of a newer version or an absent backend are no fault; read() skips them.
int read(const std::string& file, bool strict) {
  const std::vector<std::string> lines = lines_of(file);
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

void read_environment_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    const std::string file = tune_file_of_environment();
    if (file.empty() || access(file.c_str(), R_OK) != 0) return;
    try {
      read(file, false);
    } catch (const error&) {  // no tuning file: a plan does not fail for it; load_tuning() reports it
    }
  });
}

}  // namespace

std::string tune_file_of_environment() {
  const char* const named = std::getenv("CORNERTURN_TUNE_FILE");
  return named == nullptr ? "" : named;
}

tuned_row find_tuned(const tuned_key& key) {
  read_environment_once();
  store& known = all();
  if (known.empty.load(std::memory_order_acquire)) return {};
  const std::string text = text_of(key);
  const std::shared_lock lock(known.guard);
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
  const std::unique_lock lock(known.guard);
  known.rows.clear();
  known.empty.store(true, std::memory_order_release);
  known.generation.fetch_add(1, std::memory_order_release);
}

std::uint64_t tuned_generation() noexcept { return all().generation.load(std::memory_order_acquire); }

// Writes a temporary file and renames it, so that a reader sees either the old or the new file.
void write_tuned(const std::string& file, const tuned_key& key, const tuned_row& row) {
  std::vector<std::string> lines;
  if (access(file.c_str(), F_OK) == 0) lines = lines_of(file);
  check_first_line(file, lines);
  if (lines.empty()) lines.emplace_back(first_line);
  const std::string text = text_of(key);
  std::erase_if(lines, [&](const std::string& line) {
    finding one;
    return !is_note(line) && line != first_line && parse(line, one).empty() && one.key == text;
  });
  lines.push_back(line_of(text, row));
  const std::string temporary = file + "." + std::to_string(getpid()) + ".part";
  {
    std::ofstream out(temporary, std::ios::trunc);
    for (const std::string& line : lines) out << line << '\n';
    out.close();
    if (!out) {
      const std::string why = std::strerror(errno);
      static_cast<void>(unlink(temporary.c_str()));
      fail(file, "cannot be written: " + why);
    }
  }
  if (std::rename(temporary.c_str(), file.c_str()) != 0) {
    const std::string why = std::strerror(errno);
    static_cast<void>(unlink(temporary.c_str()));
    fail(file, "cannot be written: " + why);
  }
}

}  // namespace cornerturn::api
