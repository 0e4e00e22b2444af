// A request of n bytes takes (n + request_bytes) / bytes_per_second. The copy has long runs and gives the bytes per second; the
// transpose has runs of 20 to 27 KiB on both sides for 1 GiB, and gives the request_bytes. Both are calls of the engine that
// the command uses, and end on the disk. The boxes are nearly square, as most boxes are. A transpose that reads 16 KiB of each
// 128 KiB takes twice the time of a copy; if it reads a third of each row, the kernel reads the rest ahead (virtual disk,
// Linux 6.18, 2026-11-27).
#include "disk.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>
#include <vector>

#include "base/files.hpp"
#include "text.hpp"

namespace cornerturn::cli {
namespace {

constexpr std::int64_t most_file_bytes = 1 << 20;
constexpr const char* speed_words = "cornerturn-disks 1\n";

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class scratch {
 public:
  scratch(const std::string& folder, std::int64_t bytes, const char* name) : folder_(folder) {
    const base::descriptor at = base::open_any(folder, O_RDONLY | O_DIRECTORY);
    if (!at) throw failure(fmt::format("{}: cannot be opened: {}", folder, error_text(errno)));
    try {
      file_ = base::scratch_file(at);
    } catch (const base::file_error& fault) {
      throw failure(fmt::format("{}: {}", folder, fault.what()));
    }
    if (fallocate(file_.get(), 0, 0, bytes) != 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
      throw failure(fmt::format("{}: has no room for {}: {}", folder, bytes_text(bytes), error_text(errno)));
    }
    store_ = file_store(file_.get(), 0, fmt::format("{}: {}", folder, name));
  }
  // The bytes are on the disk, and not in the page cache any more.
  void settle() const {
    if (fdatasync(file_.get()) != 0) throw failure(fmt::format("{}: {}", folder_, error_text(errno)));
    posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
  [[nodiscard]] byte_store& store() const noexcept { return *store_; }

 private:
  std::string folder_;
  base::descriptor file_;
  std::unique_ptr<byte_store> store_;
};

// "0123456789abcdef": the file system, which keeps its name when it is mounted again.
std::string file_system_of(const std::string& folder) {
  struct statfs about {};
  if (statfs(folder.c_str(), &about) != 0) return "";
  std::uint64_t id = 0;
  static_assert(sizeof about.f_fsid == sizeof id);
  std::memcpy(&id, &about.f_fsid, sizeof id);
  struct stat place {};
  if (id == 0 && stat(folder.c_str(), &place) == 0) id = place.st_dev;
  return fmt::format("{:016x}", id);
}

std::string cache_file() {
  std::string folder = base::environment("XDG_CACHE_HOME");
  if (!folder.starts_with('/')) {
    folder = base::environment("HOME");
    if (!folder.starts_with('/')) return "";
    folder += "/.cache";
  }
  return folder + "/cornerturn/disks";
}

// A line is "FILE_SYSTEM READ WRITE READ_REQUEST WRITE_REQUEST": bytes per second, and bytes.
std::optional<disk_speed> speed_in(std::string_view line) {
  std::array<std::int64_t, 4> numbers{};
  for (std::int64_t& one : numbers) {
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    line.remove_prefix(space + 1);
    if (std::from_chars(line.data(), line.data() + line.size(), one).ec != std::errc{} || one < 1) return std::nullopt;
  }
  return disk_speed{static_cast<double>(numbers[0]), static_cast<double>(numbers[1]), numbers[2], numbers[3], true};
}

}  // namespace

disk_measurement measure_disk(const std::string& folder, std::int64_t bytes, int threads) {
  // A square of float32.
  const auto side =
      std::max<std::int64_t>(64, static_cast<std::int64_t>(std::sqrt(static_cast<double>(bytes) / 4)) / 64 * 64);
  bytes = 4 * side * side;
  const scratch from(folder, bytes, "the first scratch file"), to(folder, bytes, "the second scratch file");
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> piece(1 << 17);
  for (std::int64_t done = 0; done < bytes;) {
    for (std::uint64_t& word : piece) word = random();
    const auto now = std::min<std::int64_t>(bytes - done, static_cast<std::int64_t>(piece.size() * 8));
    from.store().write(done, piece.data(), static_cast<std::size_t>(now));
    done += now;
  }
  disk_measurement made;
  const auto run = [&](const stored_array& what, file_report& report) {
    from.settle();
    to.settle();
    const auto start = std::chrono::steady_clock::now();
    report =
        transpose_stored(from.store(), to.store(), what, {.memory_bytes = bytes / 4 + (16 << 20), .threads = threads});
    to.settle();
    return seconds_since(start);
  };
  file_report report;
  made.copy_seconds = run({{bytes}, {0}, 1}, report);
  const auto copy_boxes = static_cast<double>(report.plan.passes.front().boxes);
  made.transpose_seconds = run({{side, side}, {1, 0}, 4}, report);
  const file_pass& pass = report.plan.passes.front();
  made.run_bytes = std::min(pass.read_run_bytes, pass.write_run_bytes);
  // As in file/passes.cpp: no write overlaps the first read, and no read the last write.
  made.copy_bytes_per_second = 2 * static_cast<double>(bytes) / made.copy_seconds;
  const double rate = made.copy_bytes_per_second * (1 + 1 / copy_boxes);
  const double requests = static_cast<double>(bytes) / static_cast<double>(pass.read_run_bytes) +
                          static_cast<double>(bytes) / static_cast<double>(pass.write_run_bytes);
  const double request_bytes = std::max(1.0, (made.transpose_seconds - made.copy_seconds) * rate / requests);
  made.speed = {rate, rate, static_cast<std::int64_t>(request_bytes), static_cast<std::int64_t>(request_bytes), true};
  return made;
}

std::string remember_disk(const std::string& folder, const disk_speed& speed) {
  const std::string file = cache_file();
  const std::string key = file_system_of(folder);
  if (file.empty() || key.empty()) return "";
  std::error_code fault;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), fault);
  const std::string line = fmt::format("{} {} {} {} {}\n", key, static_cast<std::int64_t>(speed.read_bytes_per_second),
                                       static_cast<std::int64_t>(speed.write_bytes_per_second),
                                       speed.read_request_bytes, speed.write_request_bytes);
  try {
    base::change_file(file, most_file_bytes, [&](const std::string& before) {
      std::string after = speed_words;
      std::string_view rest = before;
      if (!rest.starts_with(speed_words)) return after + line;
      rest.remove_prefix(std::strlen(speed_words));
      for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
        if (!rest.starts_with(key)) after += rest.substr(0, end + 1);
        rest.remove_prefix(end + 1);
      }
      return after + line;
    });
  } catch (const base::file_error&) {
    return "";
  }
  return file;
}

std::optional<disk_speed> remembered_disk(const std::string& file) {
  const std::string name = cache_file();
  const std::string folder = std::filesystem::path(file).parent_path().string();
  const std::string key = file_system_of(folder.empty() ? "." : folder);
  if (name.empty() || key.empty()) return std::nullopt;
  try {
    const std::string text = base::read_file(name, most_file_bytes);
    if (!text.starts_with(speed_words)) return std::nullopt;
    const std::size_t at = text.find("\n" + key + " ");
    if (at == std::string::npos) return std::nullopt;
    return speed_in(std::string_view(text).substr(at + 1, text.find('\n', at + 1) - at - 1));
  } catch (const base::file_error&) {
    return std::nullopt;
  }
}

}  // namespace cornerturn::cli
