#include "journal.hpp"

#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "text.hpp"

namespace cornerturn::cli {
namespace {

constexpr const char* first_line = "cornerturn journal 1";
constexpr int begin_lines = 3;
constexpr std::string_view scratch_begins = "scratch begins", scratch_ends = "scratch ends";
constexpr std::chrono::seconds between_flushes{2};
// The program itself takes a little more or less memory in each run.
constexpr std::int64_t memory_tolerance = 4 << 20;

std::string text_of(const journal_begin& begin) {
  return fmt::format("{}\n{}\nmemory {} threads {}\n", first_line, begin.transpose, begin.memory_bytes, begin.threads);
}

// Takes a line with its newline from the front of a text; nothing if the last line is incomplete.
bool take_line(std::string_view& text, std::string_view& line) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return false;
  line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return true;
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

template <class Integer>
bool take_number(std::string_view& text, Integer& number, int base) {
  const auto [next, fault] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  text.remove_prefix(static_cast<std::size_t>(next - text.data()));
  return fault == std::errc{};
}

// Calls run(offset, bytes) for the contiguous runs of box `number` in dst, in the order of the packed box.
template <class Run>
void each_run(const file_pass& how, std::int64_t number, const Run& run) {
  const std::size_t rank = how.extents.size();
  std::vector<std::int64_t> first(rank), extents(rank);
  for (std::size_t k = rank; k-- > 0;) {
    const std::int64_t parts = (how.extents[k] + how.box[k] - 1) / how.box[k];
    first[k] = number % parts * how.box[k];
    extents[k] = std::min(how.box[k], how.extents[k] - first[k]);
    number /= parts;
  }
  std::size_t outer = rank;
  std::int64_t bytes = how.element_bytes;
  while (outer > 0) {
    --outer;
    bytes *= extents[outer];
    if (extents[outer] != how.extents[outer]) break;
  }
  std::int64_t runs = 1;
  for (std::size_t k = 0; k < outer; ++k) runs *= extents[k];
  for (std::int64_t n = 0; n < runs; ++n) {
    std::int64_t offset = 0, stride = how.element_bytes, left = n;
    for (std::size_t k = rank; k-- > 0;) {
      std::int64_t at = first[k];
      if (k < outer) {
        at += left % extents[k];
        left /= extents[k];
      }
      offset += at * stride;
      stride *= how.extents[k];
    }
    run(offset, bytes);
  }
}

}  // namespace

void checksum::add(std::span<const std::byte> bytes) noexcept {
  const auto mix = [this](std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15;
    state_ ^= state_ >> 32;
  };
  for (std::size_t k = 0; k < bytes.size();) {
    if (length_ % 8 == 0 && bytes.size() - k >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + k, 8);
      mix(word);
      length_ += 8;
      k += 8;
      continue;
    }
    word_ |= static_cast<std::uint64_t>(bytes[k]) << (length_ % 8 * 8);
    ++k;
    if (++length_ % 8 != 0) continue;
    mix(word_);
    word_ = 0;
  }
}

std::uint64_t checksum::value() const noexcept {
  std::uint64_t last = (state_ ^ word_ ^ (length_ << 56) ^ length_) * 0x9e3779b97f4a7c15;
  return last ^ (last >> 29);
}

journal::journal(base::descriptor file, const std::string& path, const journal_begin& wanted)
    : file_(std::move(file)), path_(path), begin_(wanted) {
  if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    throw failure(fmt::format("{}: another process has it, wanted one process at a time", path_));
  }
  std::string text;
  for (std::vector<char> piece(1 << 16);;) {
    const ssize_t got = pread(file_.get(), piece.data(), piece.size(), static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw failure(fmt::format("{}: cannot read: {}", path_, error_text(errno)));
    if (got == 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  // A run that was killed before its first lines are complete is no run. The last one of them differs a little from run to run.
  const std::string begin = text_of(begin_);
  const std::string_view same = std::string_view(begin).substr(0, begin.rfind("memory "));
  const bool is_torn =
      std::count(text.begin(), text.end(), '\n') < begin_lines && (same.starts_with(text) || text.starts_with(same));
  const bool is_blank = text.find_first_not_of('\0') == std::string::npos;  // the power failed
  if (is_torn || is_blank) {
    write(begin);
  } else {
    read(text, wanted);
  }
}

void journal::read(const std::string& text, const journal_begin& wanted) {
  std::string_view rest = text, line;
  const auto refuse = [&](const std::string& why) {
    throw failure(
        fmt::format("{}: {}; wanted the transpose that began it, or without this file a new one", path_, why));
  };
  if (!take_line(rest, line) || line != first_line) refuse("is no journal of this version");
  if (!take_line(rest, line) || line != wanted.transpose) {
    refuse(fmt::format("is of another transpose ({}, not {})", line, wanted.transpose));
  }
  if (!take_line(rest, line) || !take_word(line, "memory ") || !take_number(line, begin_.memory_bytes, 10) ||
      !take_word(line, " threads ") || !take_number(line, begin_.threads, 10) || begin_.memory_bytes < 1 ||
      begin_.threads < 1) {
    refuse("has no memory and threads");
  }
  if (begin_.memory_bytes > wanted.memory_bytes + memory_tolerance) {
    throw failure(
        fmt::format("{}: its boxes take {} of buffers, but --memory leaves {}, wanted as much as in the first run",
                    path_, bytes_text(begin_.memory_bytes), bytes_text(wanted.memory_bytes)));
  }
  while (take_line(rest, line)) {
    std::int64_t box = 0;
    std::uint64_t sum = 0;
    if (line == scratch_begins || line == scratch_ends) is_scratch_written_ = line == scratch_ends;
    if (take_number(line, box, 10) && take_word(line, " ") && take_number(line, sum, 16)) boxes_[box] = sum;
  }
  end_ = static_cast<std::int64_t>(text.size() - rest.size());  // an incomplete last line is overwritten
}

bool journal::is_done(std::int64_t box, const file_pass& how, byte_source& dst) const {
  const auto found = boxes_.find(box);
  if (found == boxes_.end()) return false;
  checksum sum;
  std::vector<std::byte> piece;
  each_run(how, box, [&](std::int64_t offset, std::int64_t bytes) {
    while (bytes > 0) {
      piece.resize(static_cast<std::size_t>(std::min<std::int64_t>(bytes, 1 << 20)));
      dst.read(offset, piece.data(), piece.size());
      sum.add(piece);
      offset += static_cast<std::int64_t>(piece.size());
      bytes -= static_cast<std::int64_t>(piece.size());
    }
  });
  return sum.value() == found->second;
}

void journal::add(std::int64_t box, std::span<const std::byte> bytes, int dst) {
  checksum sum;
  sum.add(bytes);
  pending_ += fmt::format("{} {:x}\n", box, sum.value());
  if (std::chrono::steady_clock::now() - last_ >= between_flushes) flush(dst);
}

void journal::begin_scratch() {
  is_scratch_written_ = false;
  write(fmt::format("{}\n", scratch_begins));
}

void journal::end_scratch(int scratch) {
  sync(scratch);
  is_scratch_written_ = true;
  write(fmt::format("{}\n", scratch_ends));
}

void journal::sync(int file) const {
  if (fdatasync(file) != 0 && errno != EINVAL) {
    throw failure(fmt::format("{}: cannot write the boxes to the disk: {}", path_, error_text(errno)));
  }
}

void journal::flush(int dst) {
  sync(dst);
  write(pending_);
  pending_.clear();
  last_ = std::chrono::steady_clock::now();
}

void journal::write(const std::string& text) {
  try {
    base::write_all(file_.get(), text, end_);
  } catch (const base::file_error& fault) {
    throw failure(fmt::format("{}: {}", path_, fault.what()));
  }
  end_ += static_cast<std::int64_t>(text.size());
  if (fdatasync(file_.get()) != 0 && errno != EINVAL) {
    throw failure(fmt::format("{}: cannot write to the disk: {}", path_, error_text(errno)));
  }
}

}  // namespace cornerturn::cli
