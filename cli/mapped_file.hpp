// A file or a stream as read-only bytes of memory.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/files.hpp"

namespace cornerturn::cli {

class mapped_file {
 public:
  // Effect  maps a file. "-", a pipe or a character device is read to its end, into memory. A file on stdin is mapped from the
  //         position of its descriptor on
  // Errors  failure: the file is missing, unreadable, a directory, a block device, a socket or a terminal
  explicit mapped_file(const std::string& path);

  // Effect  maps the content of an open file; `path` only serves error sentences. The object has a duplicate of the descriptor
  mapped_file(int descriptor, const std::string& path);

  ~mapped_file();
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_ + begin_, size_ - begin_}; }
  [[nodiscard]] std::int64_t size() const noexcept { return static_cast<std::int64_t>(size_ - begin_); }
  // Effect  starts to read the whole file into the page cache
  void prefetch() const noexcept;
  [[nodiscard]] int descriptor() const noexcept { return file_.get(); }
  [[nodiscard]] const struct stat& about() const noexcept { return about_; }
  [[nodiscard]] std::int64_t begin() const noexcept { return static_cast<std::int64_t>(begin_); }
  [[nodiscard]] bool is_stream() const noexcept { return is_stream_; }
  // True if the size or the time of the file has changed since the constructor
  [[nodiscard]] bool has_changed() const noexcept;
  [[nodiscard]] bool is_same_file(dev_t device, ino_t inode) const noexcept {
    return device == about_.st_dev && inode == about_.st_ino;
  }

 private:
  void map(int descriptor, const std::string& path, std::int64_t begin = 0);

  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;   // of the file
  std::size_t begin_ = 0;  // of bytes(): a shell may have read a part of stdin
  struct stat about_ {};
  base::descriptor file_;
  bool is_stream_ = false;
};

// Effect  installs a handler of SIGBUS: if a mapped file shrinks, the process prints a sentence and exits with code 1.
//         The handler removes the output file: see output_file.
void report_vanished_pages(const std::string& input);

}  // namespace cornerturn::cli
