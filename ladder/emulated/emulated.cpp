#include "ladder/emulated/emulated.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string_view>

#include "base/files.hpp"
#include "ladder/cases.hpp"
#include "ladder/emulated/process.hpp"
#include "ladder/emulated/run.hpp"
#include "ladder/emulated/source_lines.hpp"
#include "model/access.hpp"
#include "trace/tally.hpp"

namespace cornerturn::ladder {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_elements = 70000;  // of a shape that is checked by default
constexpr matrix_shape counted_by_default = {256, 256};

// Removes the files of one run.
class scratch_folder {
 public:
  scratch_folder() {
    std::string name = (fs::temp_directory_path() / "cornerturn-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder in " + name);
    path = name;
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

// g++; without it CXX, which may be a g++ of another name.
std::vector<std::string> compiler() {
  const std::string named = base::environment("CXX");
  if (named.empty() || run_program({"g++", "--version"}).code == 0) return {"g++"};
  std::istringstream all(named);
  std::vector<std::string> words;
  for (std::string word; all >> word;) words.push_back(word);
  return words.empty() ? std::vector<std::string>{"g++"} : words;
}

// The flags of cornerturn_emulated_text in src/emulate/CMakeLists.txt, the lines of the text, and the headers of CuTe.
std::vector<std::string> compile_command(const fs::path& source, const fs::path& object) {
  const fs::path text = text_folder();
  std::vector<std::string> words = compiler();
  std::istringstream flags(EMULATED_FLAGS);
  for (std::string flag; flags >> flag;) words.push_back(flag);
  for (const char* flag : {"-std=c++20", "-g1", "-fPIC", "-fvisibility=hidden", "-w"}) words.emplace_back(flag);
  for (const char* folder : {"src/emulate/cuda", "src", "include", "ladder", "."})
    words.push_back("-I" + (text / folder).string());
  std::istringstream folders(EMULATED_CUTE);
  for (std::string folder; std::getline(folders, folder, ':');) words.push_back("-isystem" + folder);
  words.insert(words.end(), {"-c", source.string(), "-o", object.string()});
  return words;
}

// One rung, compiled and loaded.
class compiled_rung {
 public:
  compiled_rung(const fs::path& file, const std::string& type, const std::string& name, int word_bytes) {
    const fs::path source = folder_.path / "rung.cpp", object = folder_.path / "rung.o";
    library_ = folder_.path / "rung.so";
    base::new_file made(source.string(), {.sync = false});
    base::write_all(made.get(),
                    "#include \"kernels/cuda/lang.cuh\"\n#include \"ladder/emulated/text.hpp\"\n#include \"" +
                        file.string() + "\"\nEMULATED_RUNG(\"" + name + "\", " + type + "<" +
                        std::to_string(word_bytes) + ">)\n",
                    0);
    made.publish();
    compile(compile_command(source, object), file);
    std::vector<std::string> link = compiler();
    link.insert(link.end(), {"-shared", object.string(), "-o", library_.string()});
    compile(link, file);
    handle_ = dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw not_compiled(dlerror());
    using entry = const struct text* (*)();
    const auto found = reinterpret_cast<entry>(dlsym(handle_, "cornerturn_emulated_rung"));
    Dl_info info{};
    if (found == nullptr || dladdr(reinterpret_cast<void*>(found), &info) == 0) throw not_compiled(dlerror());
    base_ = info.dli_fbase;
    text_ = found();
    if (text_ == nullptr) {
      throw std::invalid_argument(name + " has no elements of " + std::to_string(word_bytes) + " bytes");
    }
  }
  compiled_rung(const compiled_rung&) = delete;
  compiled_rung& operator=(const compiled_rung&) = delete;
  ~compiled_rung() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  [[nodiscard]] const struct text& text() const { return *text_; }
  [[nodiscard]] const fs::path& library() const { return library_; }
  [[nodiscard]] const void* base() const { return base_; }

 private:
  static void compile(const std::vector<std::string>& words, const fs::path& file) {
    const finished made = run_program(words);
    if (made.code == -1) {
      throw no_emulator("the emulator compiles " + file.filename().string() + " with g++, but there is no " +
                        words.front() + " on this machine; install g++, or set CXX");
    }
    if (made.code != 0) throw not_compiled(made.printed);
  }

  scratch_folder folder_;
  fs::path library_;
  void* handle_ = nullptr;
  void* base_ = nullptr;
  const struct text* text_ = nullptr;
};

std::string text_of_file(const fs::path& file) {
  constexpr std::int64_t most_bytes = std::int64_t{1} << 20;
  try {
    return base::read_file(file.string(), most_bytes);
  } catch (const base::file_error& fault) {
    throw std::invalid_argument(file.string() + ": " + fault.what());
  }
}

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The words and the other characters of a text, without spaces.
std::vector<std::string_view> tokens_of(std::string_view text) {
  std::vector<std::string_view> made;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    end = at + 1;
    if (std::isspace(static_cast<unsigned char>(text[at])) != 0) continue;
    while (is_letter(text[at]) && end < text.size() && is_letter(text[end])) ++end;
    made.push_back(text.substr(at, end - at));
  }
  return made;
}

// The last struct of the file with one integer as its template parameter: template <int NAME> struct FOUND.
std::string last_rung_of(const fs::path& file) {
  const std::string text = text_of_file(file);
  const std::vector<std::string_view> all = tokens_of(text);
  constexpr std::string_view head[] = {"template", "<", "int", "", ">", "struct"};
  std::string found;
  for (std::size_t at = 0; at + std::size(head) < all.size(); ++at) {
    const bool is_head = std::equal(std::begin(head), std::end(head), all.begin() + static_cast<std::ptrdiff_t>(at),
                                    [](std::string_view wanted, std::string_view word) {
                                      return wanted.empty() ? is_letter(word[0]) : wanted == word;
                                    });
    if (const std::string_view name = all[at + std::size(head)]; is_head && is_letter(name[0])) found = name;
  }
  if (found.empty()) {
    throw std::invalid_argument(file.string() +
                                " has no rung; wanted a struct such as: template <int WordBytes> "
                                "struct padded : load_conflicts<WordBytes>");
  }
  return found;
}

// Where the file defines the maps of its rung.
std::vector<std::string> maps_of(const fs::path& file) {
  static const std::regex map(R"(RUNG_MAP.*\b(read|write|element|place|tile_of|blocks)\s*\()");
  std::vector<std::string> made;
  std::istringstream from(text_of_file(file));
  constexpr std::size_t most_letters = 1000;  // std::regex searches by recursion
  int number = 1;
  for (std::string line; std::getline(from, line); ++number) {
    if (std::smatch found; line.size() <= most_letters && std::regex_search(line, found, map)) {
      made.push_back(found[1].str() + "() of " + file.filename().string() + ":" + std::to_string(number));
    }
  }
  return made;
}

const char* verb_of(emulated::access what) {
  using emulated::access;
  switch (what) {
    case access::global_load:
    case access::shared_load:
      return "loads";
    case access::global_store:
    case access::shared_store:
      return "stores";
    case access::async_copy:
      return "copies";
    case access::barrier:
      return "waits at a barrier";
    case access::atomic:
      break;
  }
  return "updates";
}

const char* name_of(emulated::access what) {
  using emulated::access;
  switch (what) {
    case access::global_load:
      return "global load";
    case access::global_store:
      return "global store";
    case access::shared_load:
      return "shared load";
    case access::shared_store:
      return "shared store";
    default:
      return "copy to shared";
  }
}

std::vector<counted_line> count(const text& rung, const matrix_shape& shape, source_lines& source) {
  const model::memory_rules rules;  // NVIDIA's
  using key = std::pair<std::string, emulated::access>;
  std::map<key, trace::tally> tallies;
  std::vector<key> in_order;
  for_each_request(rung, shape, [&](const emulated::request& one) {
    const key at(source.of(one.from), one.what);
    const auto [found, is_new] = tallies.try_emplace(at, rules);
    if (is_new) in_order.push_back(at);
    found->second.add(one);
  });
  std::vector<counted_line> made;
  for (const key& at : in_order) {
    const model::traffic& counts = tallies.at(at).counts;
    const auto add = [&](const char* what, const model::global_count& global) {
      made.push_back({at.first, what, false, global.requests, global.lines, global.bytes, 0});
    };
    const auto add_shared = [&](const char* what, const model::shared_count& shared) {
      made.push_back({at.first, what, true, shared.requests, shared.cycles, 0, shared.conflicts});
    };
    for (const auto* one : {&counts.load, &counts.store, &counts.async_load}) {
      if (one->requests > 0) add(name_of(at.second), *one);
    }
    for (const auto* one : {&counts.shared_load, &counts.shared_store, &counts.async_store}) {
      if (one->requests > 0) add_shared(name_of(at.second), *one);
    }
  }
  return made;
}

}  // namespace

fs::path text_folder() {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  return program.parent_path().parent_path() / "share/cornerturn/text";
}

fs::path file_of_rung(std::string_view rung) {
  const fs::path folder = text_folder() / "ladder";
  if (rung.find("_cute_") != rung.npos) return folder / "cute/rungs.cuh";
  const fs::path file = folder / (std::string(rung) + ".cuh");
  return fs::exists(file) ? file : folder / "tile_sizes.cuh";
}

bool has_emulator() { return fs::exists(text_folder() / "ladder/rung.hpp"); }

emulated_rung emulate(const fs::path& given, std::string_view rung, int word_bytes,
                      const std::vector<matrix_shape>& shapes) {
  if (!has_emulator())
    throw no_emulator(
        std::string("the emulator compiles the ladder's sources, which this installation has not, as in a "
                    "Python package. ") +
        wanted_emulator);
  const fs::path file = fs::absolute(given).lexically_normal();
  const std::string type =
      rung.empty() ? last_rung_of(file) : std::string(rung.substr(rung.find('_') + 1));  // 30_padded: padded
  const std::string name = rung.empty() ? file.filename().string() : std::string(rung);
  const compiled_rung compiled(file, type, name, word_bytes);
  const text& text = compiled.text();
  source_lines source(compiled.library(), compiled.base(), file);
  emulated_rung made{name, text.tile_rows, text.tile_cols, text.threads, text.shared_bytes, {}, {}, {},
                     {},   maps_of(file)};
  std::vector<matrix_shape> all = shapes;
  for (const matrix_shape& shape : cases) {
    if (shapes.empty() && text.takes(shape) && shape.rows * shape.cols * shape.batch <= most_elements)
      all.push_back(shape);
  }
  constexpr emulated::order orders[] = {emulated::order::forward, emulated::order::backward, emulated::order::shuffled};
  for (const matrix_shape& shape : all) {
    if (const std::string why = text.refusal(shape); !why.empty()) {
      throw std::invalid_argument(name + " " + why);
    }
    const finding found = check(text, shape, {orders[made.checked.size() % 3], 0});
    made.checked.push_back(shape);
    if (found.what.empty()) continue;
    emulated_fault fault{shape, found.what, {}};
    for (const emulated::touch& one : found.places) {
      const std::string who =
          one.thread < 0 ? "" : "block " + std::to_string(one.block) + ", thread " + std::to_string(one.thread) + " ";
      fault.places.push_back({who + verb_of(one.what), source.of(one.from)});
    }
    made.faults.push_back(fault);
    return made;
  }
  made.counted_shape = shapes.empty() ? counted_by_default : shapes.back();
  made.lines = count(text, made.counted_shape, source);
  return made;
}

}  // namespace cornerturn::ladder
