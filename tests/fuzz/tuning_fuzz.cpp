// For any tuning file: findings or a sentence. A file that is read without a fault is changed, and then has one finding more.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "api/tuned.hpp"
#include "base/files.hpp"
#include "base/printable.hpp"
#include "cornerturn/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cornerturn;
  static const int file = memfd_create("tuning", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (file < 0 || ftruncate(file, 0) != 0) std::abort();
  // Half of the inputs begin as a tuning file does.
  const std::string front = size % 2 == 0 ? "cornerturn-tuning 1\ncpu_gather threads=1 seconds=1e-3 problem=4/" : "";
  base::write_all(file, front + std::string(reinterpret_cast<const char*>(data), size), 0);
  try {
    if (api::read_tuned(path) < 0) std::abort();
  } catch (const error& fault) {
    const std::string sentence = fault.what();
    if (sentence.empty() || base::printable(sentence) != sentence) std::abort();
  }
  const map::canonical form = map::canonicalize(transpose_problem(30, 50, 4));
  static_cast<void>(api::find_tuned({.form = &form, .align = 0, .limit = 2, .machine = "a CPU"}));
  api::forget_tuned();
  return 0;
}
