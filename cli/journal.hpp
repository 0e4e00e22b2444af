// The journal of `cornerturn transpose --resume`: a text file OUT.part.journal that lists the finished boxes of OUT.part. Its first
// lines say which transpose it is. A box is listed after its bytes are on the disk, with a checksum that a resumed run verifies.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/files.hpp"
#include "cornerturn/file.hpp"

namespace cornerturn::cli {

// A checksum of bytes that arrive in pieces; equal bytes have equal checksums, however they are cut.
class checksum {
 public:
  void add(std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] std::uint64_t value() const noexcept;

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3;
  std::uint64_t length_ = 0;
  std::uint64_t word_ = 0;  // the bytes that do not fill a word yet
};

// The first lines of a journal. The transpose of another input, or with other boxes, has other words.
struct journal_begin {
  std::string transpose;          // one line: the input, the array and the axes
  std::int64_t memory_bytes = 0;  // of the buffers: it determines the boxes
  int threads = 0;
  friend bool operator==(const journal_begin&, const journal_begin&) = default;
};

class journal {
 public:
  // Effect  takes the open file, which is empty or has the lines of an earlier run. `path` serves error sentences
  // Errors  failure: another process has it; it belongs to another transpose; it needs more memory than `wanted` has
  journal(base::descriptor file, const std::string& path, const journal_begin& wanted);

  // The begin in the file: of the first run.
  [[nodiscard]] const journal_begin& begin() const noexcept { return begin_; }
  [[nodiscard]] std::int64_t finished() const noexcept { return static_cast<std::int64_t>(boxes_.size()); }

  // Effect  true if the box is listed, and its bytes in `dst` have the checksum. `how` is the last pass
  [[nodiscard]] bool is_done(std::int64_t box, const file_pass& how, byte_source& dst) const;

  // Effect  notes a box. The first box is listed at once and others every two seconds, after the bytes of `dst` are on the disk
  // Errors  failure
  void add(std::int64_t box, std::span<const std::byte> bytes, int dst);
  void flush(int dst);

  // Of two passes: whether the scratch file has all bytes of the first one.
  [[nodiscard]] bool is_scratch_written() const noexcept { return is_scratch_written_; }
  // Effect  notes that the scratch file is incomplete, or complete after its bytes are on the disk
  // Errors  failure
  void begin_scratch();
  void end_scratch(int scratch);

 private:
  void sync(int file) const;
  void write(const std::string& text);
  void read(const std::string& text, const journal_begin& wanted);

  base::descriptor file_;
  std::string path_;
  journal_begin begin_;
  std::unordered_map<std::int64_t, std::uint64_t> boxes_;
  bool is_scratch_written_ = false;
  std::string pending_;
  std::int64_t end_ = 0;
  std::chrono::steady_clock::time_point last_{};  // of the latest flush
};

}  // namespace cornerturn::cli
