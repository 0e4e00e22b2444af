// An output file whose name only appears after all bytes are written.
//
// With O_TMPFILE the bytes are written to a file without a name, and publish() links it to its name. A killed process
// leaves no file, even after SIGKILL. File systems without O_TMPFILE use a named temporary file in the same directory.
// SIGINT, SIGTERM, SIGHUP and every failure remove it. rename() replaces an existing file atomically.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cornerturn::cli {

class output_file {
 public:
  // Effect  opens the temporary file and reserves `bytes` of disk space. Symbolic links are followed.
  // Errors  failure: the directory is missing or not writable; the name belongs to a file that is not regular; the file
  //         system has fewer than `bytes` free. No temporary file remains
  output_file(const std::string& path, std::int64_t bytes, bool anonymous = true);
  ~output_file();  // removes the temporary file if publish() was not called
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  // Effect  writes at an offset; threads may call it concurrently
  // Errors  failure: disk full, quota, I/O error
  void write_at(const void* data, std::size_t bytes, std::int64_t offset) const;
  void write_at(std::string_view data, std::int64_t offset) const { write_at(data.data(), data.size(), offset); }

  // Effect  links or renames the file to its name, atomically
  // Errors  failure
  void publish();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] bool is_anonymous() const noexcept { return temporary_.empty(); }

  // Effect  removes the latest named temporary file of this process, if any; safe in a signal handler
  static void unlink_pending() noexcept;

 private:
  void open_temporary(bool anonymous);
  void reserve(std::int64_t bytes);
  void make_temporary_name();
  void remove_temporary() noexcept;
  [[noreturn]] void fail(const char* what, int error_number) const;

  std::string path_;       // the user's spelling, for error sentences
  std::string target_;     // symbolic links followed
  std::string directory_;  // of target_
  std::string temporary_;  // empty while the file has no name
  int descriptor_ = -1;
};

}  // namespace cornerturn::cli
