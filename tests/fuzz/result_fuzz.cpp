// For any result file: a page or a sentence. The seeds are small files of the bench and of the ladder, in which the input replaces
// a value.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "report.hpp"
#include "text.hpp"

namespace {

// A file with every member that the reader looks at. @ is where the input comes in; the number of the place is its first byte.
constexpr const char* seeds[] = {
    R"({"context":{"date":@},"cornerturn":{"format":[1],"version":@,"argv":[@],"git_revision":@,"merged":@,
"machine":{"model":@,"simd":@,"threads":@,"l1d_bytes":@,"l2_bytes":@,"l3_bytes":@},
"method":{"rounds":@,"rotation_bytes":@,"huge_pages":@},"peers":{"jax":{"version":@}},
"cases":[{"set":@,"shape":@,"kernel":@,"element_bytes":@,"bytes":@,"threads":@,"hot":@,"other_cpus":@,
"share":{"median":@,"q1":@,"q3":@},"contenders":[{"role":"ours","name":@,"verified":@,"gb_s":{"median":@}},
{"role":"roof","name":"c","gb_s":{"median":@}},{"role":"peer","name":@,"gb_s":{"median":@}}]}]}})",
    R"({"device":@,"arch":@,"threads":@,"method":@,"rungs":[{"rung":"00_copy","element_bytes":@,"rows":@,"cols":@,"batch":@,
"milliseconds":[@],"note":@},{"rung":"30_padded","element_bytes":4,"rows":@,"cols":@,"batch":@,"milliseconds":[@],
"note":@}]})",
};
constexpr const char* usual[] = {"1", "\"512x512\"", "true", "\"sm_90\"", "0.5", "4096"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cornerturn::cli;
  if (size < 40) return 0;
  const std::string given(reinterpret_cast<const char*>(data) + 40, size - 40);
  std::string text = data[0] % 8 == 0 ? given : "";
  const std::string seed = data[0] % 8 == 0 ? "" : seeds[data[0] % 2];
  std::size_t place = 0;
  for (const char c : seed) {
    if (c != '@') {
      text += c;
      continue;
    }
    // Most places have a usual value of some kind; the input chooses which, and goes to one or two places itself.
    text += place == data[1] % 40 || place == data[2] ? given : usual[data[3 + place % 37] % 6];
    ++place;
  }
  report all;
  try {
    add_result(all, text, "file");
    if (page_of(all).empty()) std::abort();
  } catch (const failure& fault) {
    const std::string sentence = fault.what();
    const auto names_std = [](const std::string& words) { return words.find("std::") != std::string::npos; };
    if (sentence.rfind("file: ", 0) != 0) std::abort();
    if (names_std(sentence) && !names_std(text)) std::abort();  // a sentence may quote the file
  }
  return 0;
}
