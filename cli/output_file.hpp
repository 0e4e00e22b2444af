// An output file whose name only appears after all bytes are written and on the disk: see base/files.hpp.
//
// With O_TMPFILE a killed process leaves no file, even after SIGKILL. File systems without O_TMPFILE use a named temporary file
// in the same directory. SIGINT, SIGTERM, SIGHUP and every failure remove it.
//
// "-", a pipe and a character device are streams: the bytes are written to memory, and publish() sends them.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.hpp"

namespace cornerturn::cli {

struct output_rules {
  bool force = false;     // replaces a file that this user may not write, or that belongs to another user
  bool sync = true;       // publish() returns after the bytes and the name are on the disk
  bool anonymous = true;  // uses O_TMPFILE if the file system has it
  const char* kept = "";  // the suffix of a file that an earlier run left, and that this one leaves without publish()
};

class output_file {
 public:
  // Effect  opens the temporary file and reserves `bytes` of disk space. The kernel follows symbolic links. A stream is opened
  // Errors  failure: the directory is missing or not writable; the name belongs to a directory, a block device or a
  //         socket; the stream is a terminal or full; an existing file is read-only, or its owner would change, without
  //         `force`; the file system has fewer than `bytes` free. No temporary file remains
  output_file(const std::string& path, std::int64_t bytes, const output_rules& rules = {});
  ~output_file();  // removes the temporary file if publish() was not called
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  // Effect  writes at an offset; threads may call it concurrently
  // Errors  failure: disk full, quota, I/O error
  void write_at(const void* data, std::size_t bytes, std::int64_t offset) const;
  void write_at(std::string_view data, std::int64_t offset) const { write_at(data.data(), data.size(), offset); }

  // Effect  links or renames the file to its name, atomically, after its bytes are on the disk. A stream gets all bytes
  // Errors  failure, also if a file appeared under this name meanwhile that the constructor would refuse
  void publish();

  // Effect  returns a file without a name in the folder of the output, with `bytes` of disk space. It is gone when it is closed
  // Errors  failure: the file system has fewer bytes free, beside the output
  [[nodiscard]] base::descriptor scratch(std::int64_t bytes) const;

  // Effect  opens or makes a file beside the output, with the name of the output and a suffix
  // Errors  failure: also for a stream
  [[nodiscard]] base::descriptor open_beside(const char* suffix) const;
  // Effect  gives a file beside the output its size and its disk space
  // Errors  failure: the file system has fewer bytes free
  void reserve(int descriptor, std::int64_t bytes) const;
  void remove_beside(const char* suffix) const noexcept;

  [[nodiscard]] int descriptor() const noexcept { return file_ ? file_->get() : memory_.get(); }
  [[nodiscard]] bool is_stdout() const noexcept { return is_stdout_; }
  [[nodiscard]] bool is_new() const noexcept { return is_new_; }  // no earlier run left a byte of it

  // Effect  removes the latest named temporary file of this process, if any; safe in a signal handler
  static void unlink_pending() noexcept;

 private:
  void open_stream(const struct stat& about, int inherited);
  void send() const;
  [[noreturn]] void fail(const char* what, int error_number) const;

  std::string path_;                    // the user's spelling, for error sentences
  std::optional<base::new_file> file_;  // none: a stream
  base::descriptor memory_;             // the bytes of a stream
  base::descriptor stream_;
  bool is_stdout_ = false;
  bool is_new_ = true;
};

// Errors  failure: stdout is closed or full. For commands that print after minutes of work
void require_stdout();

// Effect  writes a whole file or stream
// Errors  failure
void write_whole(const std::string& path, std::string_view content, const output_rules& rules = {});

}  // namespace cornerturn::cli
