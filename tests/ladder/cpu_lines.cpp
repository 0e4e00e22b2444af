// Draws the pictures of docs/learn/cpu, and prints the table of docs/learn/cpu.md: cornerturn_cpu_lines FOLDER
//
//   1. A rung's own text runs on a matrix. The compiler inserted a call at each load and store, which logs it here.
//   2. The picture has the order of the first loads from src and of the first stores to dst.
//   3. A model of one cache counts the lines that it transfers. The table has them for two matrices, and then for others.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cpu_text.hpp"
#include "ladder/cpu.hpp"

namespace {

using cornerturn::ladder::cpu_matrix;
using cornerturn::ladder::cpu_rung;

constexpr int line_bytes = 64;

struct access {
  std::uint64_t address;
  int bytes;
  enum { load, store, stream } what;
};

std::vector<access> seen;
bool sees = false;

void note(const void* address, int bytes, decltype(access::what) what) {
  if (sees) seen.push_back({reinterpret_cast<std::uint64_t>(address), bytes, what});
}

struct matrix {
  matrix(std::int64_t rows, std::int64_t cols, std::int64_t word_bytes)
      : shape{rows, cols, cols, rows},
        bytes(static_cast<std::size_t>(rows * cols * word_bytes)),
        src(bytes),
        dst(bytes) {}
  struct aligned_bytes {
    explicit aligned_bytes(std::size_t size)
        : begin(static_cast<unsigned char*>(std::aligned_alloc(4096, (size + 4095) / 4096 * 4096))) {
      std::fill_n(begin, size, static_cast<unsigned char>(1));
    }
    aligned_bytes(const aligned_bytes&) = delete;
    aligned_bytes& operator=(const aligned_bytes&) = delete;
    ~aligned_bytes() { std::free(begin); }
    unsigned char* begin;
  };
  cpu_matrix shape;
  std::size_t bytes;
  aligned_bytes src, dst;

  // The accesses of a rung to the two arrays. Addresses count from the first byte of src; dst begins at a multiple of a page
  // behind it.
  [[nodiscard]] std::vector<access> run(const cpu_rung& rung) const {
    seen.clear();
    sees = true;
    rung.run(src.begin, dst.begin, shape);
    sees = false;
    std::vector<access> made;
    for (access one : seen) {
      for (const auto* side : {&src, &dst}) {
        const std::uint64_t at = one.address - reinterpret_cast<std::uint64_t>(side->begin);
        if (at < bytes) made.push_back({side == &src ? at : at + dst_begin(), one.bytes, one.what});
      }
    }
    return made;
  }
  [[nodiscard]] std::uint64_t dst_begin() const { return (bytes + 4095) / 4096 * 4096; }
};

// One cache: 32 KiB, 8 ways, the least recently used line leaves, stores load their line first.
class cache {
 public:
  struct counts {
    double src_read = 0;
    double dst_read = 0;
    double dst_written = 0;
  };
  explicit cache(std::uint64_t dst_begin) : dst_begin_(dst_begin) {}

  void see(const access& one) {
    for (std::uint64_t line = one.address / line_bytes; line <= (one.address + one.bytes - 1) / line_bytes; ++line) {
      if (one.what == access::stream) {
        if (line != streamed_) ++made_.dst_written;  // consecutive stores to a line are combined
        streamed_ = line;
        continue;
      }
      auto& set = sets_[line % sets_.size()];
      auto found = std::find_if(set.begin(), set.end(), [&](const entry& e) { return e.line == line; });
      if (found == set.end()) {
        ++(line * line_bytes < dst_begin_ ? made_.src_read : made_.dst_read);
        if (set.size() == ways) drop(set.back()), set.pop_back();
        found = set.insert(set.end(), {line, false});
      }
      found->dirty |= one.what == access::store;
      std::rotate(set.begin(), found, found + 1);
    }
  }
  // Empties the cache. Counts per line of one matrix.
  [[nodiscard]] counts take(double lines) {
    for (const auto& set : sets_) {
      for (const entry& one : set) drop(one);
    }
    return {made_.src_read / lines, made_.dst_read / lines, made_.dst_written / lines};
  }

 private:
  static constexpr std::size_t ways = 8;
  struct entry {
    std::uint64_t line;
    bool dirty;
  };
  void drop(const entry& one) { made_.dst_written += one.dirty ? 1 : 0; }

  std::uint64_t dst_begin_, streamed_ = ~std::uint64_t{0};
  std::array<std::vector<entry>, 64> sets_;
  counts made_;
};

cache::counts count(const cpu_rung& rung, std::int64_t rows, std::int64_t cols) {
  const matrix both(rows, cols, rung.word_bytes);
  cache model(both.dst_begin());
  for (const access& one : both.run(rung)) model.see(one);
  return model.take(static_cast<double>(both.bytes) / line_bytes);
}

// ---- the picture ----

constexpr int cell = 16, margin = 24, gap = 40, side = 16;
constexpr int numbered = 512;  // elements

constexpr const char* style =
    "text{font:13px system-ui,sans-serif;fill:#1d2530}.t{font-size:16px;font-weight:600}.q{fill:#5b6675}"
    ".n{font:8px ui-monospace,monospace;text-anchor:middle;fill:#000}.b{fill:#fff}.e{fill:#e6e9ee}.l{stroke:#5b6675}"
    "@media(prefers-color-scheme:dark){text{fill:#e7ebf0}.q{fill:#9aa5b3}.b{fill:#14181f}.e{fill:#2b323c}"
    ".n{fill:#000}.l{stroke:#9aa5b3}}";

// The order of the first accesses to a corner of one matrix: as cells with the number of their load or store.
std::string grid(int x, int y, int rows, int cols, std::int64_t ld, std::uint64_t begin, const std::vector<access>& all,
                 bool stores) {
  std::string out =
      fmt::format("<rect x='{}' y='{}' width='{}' height='{}' class='e'/>\n", x, y, cols * cell, rows * cell);
  int number = 0, elements = 0;
  for (const access& one : all) {
    if ((one.what != access::load) != stores) continue;
    if (elements >= numbered) break;
    ++number;
    const auto element = static_cast<std::int64_t>((one.address - begin) / 4);
    const int row = static_cast<int>(element / ld), col = static_cast<int>(element % ld), length = one.bytes / 4;
    const int hue = 210 - elements * 180 / numbered;
    elements += length;
    if (row >= rows || col >= cols) continue;
    const int left = x + col * cell, top = y + row * cell;
    out += fmt::format("<rect x='{}' y='{}' width='{}' height='{}' fill='hsl({} 75% 70%)'/>", left, top,
                       length * cell - 1, cell - 1, hue);
    out += fmt::format("<text x='{}' y='{}' class='n'>{}</text>\n", left + length * cell / 2, top + 11, number);
  }
  for (int line = 0; line <= cols; line += line_bytes / 4) {
    out += fmt::format("<line x1='{0}' x2='{0}' y1='{1}' y2='{2}' class='l'/>\n", x + line * cell, y, y + rows * cell);
  }
  return out;
}

std::string text_at(int x, int y, const char* kind, const std::string& text) {
  return fmt::format("<text x='{}' y='{}' class='{}'>{}</text>\n", x, y, kind, text);
}

std::string picture(const cpu_rung& rung) {
  const matrix both(1008, 1040, 4);
  const std::vector<access> all = both.run(rung);
  const cache::counts made = count(rung, 1008, 1040);
  const int right = margin + 2 * side * cell + gap, top = margin + 76, width = right + side * cell + margin;
  std::string body = text_at(margin, margin + 6, "t", rung.name);
  body += text_at(
      margin, margin + 28, "q",
      "1008x1040 floats. The loads from src and the stores to dst, numbered. Bars: where lines of 64 bytes begin.");
  body += text_at(margin, top - 10, "", "src: 16 rows, 32 columns") +
          text_at(right, top - 10, "", "dst: 32 rows, 16 columns");
  body += grid(margin, top, side, 2 * side, both.shape.src_ld, 0, all, false);
  body += grid(right, top, 2 * side, side, both.shape.dst_ld, both.dst_begin(), all, true);
  int y = top + side * cell + 40;
  for (const std::string& sentence : {std::string("A cache of 32 KiB transfers, for each line of the matrix:"),
                                      fmt::format("{:.1f} lines read from src,", made.src_read),
                                      fmt::format("{:.1f} lines read from dst, before stores to them,", made.dst_read),
                                      fmt::format("{:.1f} lines written to dst.", made.dst_written)}) {
    body += text_at(margin, y, "", sentence);
    y += 20;
  }
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {} {}' role='img' aria-label='{}'>\n"
      "<style>{}</style>\n<rect width='100%' height='100%' class='b'/>\n{}</svg>\n",
      width, top + 2 * side * cell + margin, rung.name, style, body);
}

std::string cells(const cpu_rung& rung, std::int64_t rows, std::int64_t cols) {
  const cache::counts made = count(rung, rows, cols);
  return fmt::format(" {:.1f} | {:.1f} | {:.1f} |", made.src_read, made.dst_read, made.dst_written);
}

}  // namespace

void seen_stream(const void* to) { note(to, 16, access::stream); }

// Inserted by g++ -fsanitize=thread, whose library is not linked.
extern "C" {
#define SEE(name, size, what) \
  void name(const void* address) { note(address, size, access::what); }
#define SEE_SIZE(size)                         \
  SEE(__tsan_read##size, size, load)           \
  SEE(__tsan_write##size, size, store)         \
  SEE(__tsan_unaligned_read##size, size, load) \
  SEE(__tsan_unaligned_write##size, size, store)
SEE_SIZE(1)
SEE_SIZE(2)
SEE_SIZE(4)
SEE_SIZE(8)
SEE_SIZE(16)
void __tsan_read_range(const void* address, std::size_t size) { note(address, static_cast<int>(size), access::load); }
void __tsan_write_range(const void* address, std::size_t size) { note(address, static_cast<int>(size), access::store); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit(void*) {}
void __sanitizer_cov_trace_pc() {}
}

int main(int argc, char** argv) {
  const std::filesystem::path folder = argc > 1 ? argv[1] : ".";
  fmt::print("| rung | src read | dst read | dst written | 1024 x 1024: src read | dst read | dst written |\n");
  fmt::print("|---|---:|---:|---:|---:|---:|---:|\n");
  std::string more;
  for (const cpu_rung& rung : cornerturn::ladder::cpu_rungs()) {
    if (rung.word_bytes == 4) {
      fmt::print("| [{0}](cpu/{0}.md) |{1}{2}\n", rung.name, cells(rung, 1008, 1040), cells(rung, 1024, 1024));
      more += fmt::format("| {}, 4 bytes, 1000 x 1040 |{}\n", rung.name, cells(rung, 1000, 1040));
      std::ofstream(folder / (std::string(rung.name) + ".svg")) << picture(rung);
    } else {
      more += fmt::format("| {}, {} byte{}, 1008 x 1040 |{}\n", rung.name, rung.word_bytes,
                          rung.word_bytes == 1 ? "" : "s", cells(rung, 1008, 1040));
    }
  }
  fmt::print("\n{}", more);
}
