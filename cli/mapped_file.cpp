#include "mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <vector>

#include "npy.hpp"
#include "output_file.hpp"
#include "streams.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

std::array<char, 512> vanished_sentence{};
std::size_t vanished_length = 0;

extern "C" void on_vanished_pages(int) {
  output_file::unlink_pending();
  if (write(STDERR_FILENO, vanished_sentence.data(), vanished_length) < 0) _exit(exit_failure);
  _exit(exit_failure);
}

void write_all(int to, std::span<const char> bytes, std::int64_t at, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t now = pwrite(to, bytes.data(), bytes.size(), at);
    if (now < 0) throw failure(fmt::format("{}: no memory for the stream: {}", path, error_text(errno)));
    bytes = bytes.subspan(static_cast<std::size_t>(now));
    at += now;
  }
}

void check_memory(std::int64_t bytes, const std::string& path) {
  const std::int64_t memory = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  if (bytes <= memory) return;
  throw failure(
      fmt::format("{}: the header of this stream announces {}, but this machine has {} of memory, wanted a file", path,
                  bytes_text(bytes), bytes_text(memory)));
}

// Copies a stream into memory. A stream may never end, so this function reads up to the size that the .npy header gives, and
// one piece of anything else.
void read_stream(int from, int to, const std::string& path) {
  if (isatty(from) == 1) throw failure(fmt::format("{}: is a terminal, wanted an .npy file or a pipe", path));
  std::vector<char> piece(1 << 20), front;
  std::optional<std::int64_t> whole;  // bytes; 0: no .npy file, for which the reader of the header has a sentence
  for (std::int64_t at = 0;;) {
    const ssize_t got = read(from, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw failure(fmt::format("{}: cannot read: {}", path, error_text(errno)));
    if (got == 0) return;
    const std::span<const char> bytes(piece.data(), static_cast<std::size_t>(got));
    if (!whole) {
      front.insert(front.end(), bytes.begin(), bytes.end());
      whole = npy_file_bytes(std::as_bytes(std::span(front)));
      if (whole) check_memory(*whole, path);
    }
    write_all(to, bytes, at, path);
    at += got;
    if (whole == 0) return;
    if (whole && at > *whole) {
      throw failure(
          fmt::format("{}: trailing data: the stream goes on after {} bytes, where its array ends", path, *whole));
    }
  }
}

}  // namespace

mapped_file::mapped_file(const std::string& path) {
  if (path.empty()) throw failure("\"\": is not the name of a file");
  const int inherited = descriptor_named(path, STDIN_FILENO);
  base::descriptor file =
      inherited >= 0 ? base::descriptor(fcntl(inherited, F_DUPFD_CLOEXEC, 3)) : base::open_any(path, O_RDONLY);
  if (!file) throw failure(fmt::format("{}: cannot open for reading: {}", path, error_text(errno)));
  struct stat about {};
  if (fstat(file.get(), &about) != 0) throw failure(fmt::format("{}: cannot stat: {}", path, error_text(errno)));
  is_stream_ = cli::is_stream(about.st_mode);
  if (is_stream_) {
    file_ = base::descriptor(file_in_memory(path));
    read_stream(file.get(), file_.get(), path);
    map(file_.get(), path);
  } else {
    file_ = std::move(file);
    map(file_.get(), path, inherited >= 0 ? lseek(file_.get(), 0, SEEK_CUR) : 0);
  }
}

mapped_file::mapped_file(int descriptor, const std::string& path) : file_(fcntl(descriptor, F_DUPFD_CLOEXEC, 3)) {
  map(file_.get(), path);
}

void mapped_file::map(int descriptor, const std::string& path, std::int64_t begin) {
  if (fstat(descriptor, &about_) != 0) throw failure(fmt::format("{}: cannot stat: {}", path, error_text(errno)));
  if (!S_ISREG(about_.st_mode)) {
    throw failure(fmt::format("{}: is {}, wanted an .npy file or a pipe", path, kind_of(about_.st_mode)));
  }
  size_ = static_cast<std::size_t>(about_.st_size);
  begin_ = std::min(static_cast<std::size_t>(std::max<std::int64_t>(begin, 0)), size_);
  if (size_ == 0) return;
  void* const at = mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED)
    throw failure(fmt::format("{}: cannot map its {}: {}", path, bytes_text(about_.st_size), error_text(errno)));
  data_ = static_cast<const std::byte*>(at);
}

// A transpose in memory accesses every page of the file early. For a 512 MiB file in page cache neither this nor MAP_POPULATE
// changed the time (populating: 35 ms, faults at first access: 35 ms).
void mapped_file::prefetch() const noexcept {
  if (data_ != nullptr) madvise(const_cast<std::byte*>(data_), size_, MADV_WILLNEED);
}

bool mapped_file::has_changed() const noexcept {
  struct stat now {};
  return fstat(file_.get(), &now) != 0 || now.st_size != about_.st_size ||
         now.st_mtim.tv_sec != about_.st_mtim.tv_sec || now.st_mtim.tv_nsec != about_.st_mtim.tv_nsec;
}

mapped_file::~mapped_file() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

void report_vanished_pages(const std::string& input) {
  const std::string sentence =
      fmt::format("cornerturn: {}: the file shrank or became unreadable during the transpose\n", one_line(input));
  vanished_length = std::min(sentence.size(), vanished_sentence.size());
  std::copy_n(sentence.begin(), vanished_length, vanished_sentence.begin());
  struct sigaction action {};
  action.sa_handler = on_vanished_pages;
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace cornerturn::cli
