// The files of --resume, --part and --finish: OUT.part, and the journals of the processes that write it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cornerturn/file.hpp"
#include "journal.hpp"
#include "output_file.hpp"

namespace cornerturn::cli {

inline constexpr const char* part_suffix = ".part";

// The share of a process: part `number` of `of`, from 1 on. One process writes part 1 of 1.
struct share {
  int number = 1;
  int of = 1;
  // The boxes [first, last) of `count`: a contiguous slab of dst.
  [[nodiscard]] std::int64_t first(std::int64_t count) const noexcept { return slab(count, number - 1); }
  [[nodiscard]] std::int64_t last(std::int64_t count) const noexcept { return slab(count, number); }

 private:
  [[nodiscard]] std::int64_t slab(std::int64_t count, int k) const noexcept {
    return count / of * k + count % of * k / of;
  }
};

// ".part.journal", or for several processes ".part.journal.3of8"
[[nodiscard]] std::string journal_suffix(const share& mine);
[[nodiscard]] std::string scratch_suffix(const share& mine);

// One process that writes its share of OUT.part.
class resumed_run {
 public:
  // Effect  opens the journal. Its first run decides the memory and the threads, and so the boxes
  // Errors  failure of journal
  resumed_run(const output_file& output, const std::string& path, const share& mine, const journal_begin& begin);
  [[nodiscard]] const journal_begin& begin() const noexcept { return journal_.begin(); }

  // Effect  the transpose skips the boxes of others and those that are written, and notes its own
  void connect(file_options& how, const file_plan& plan, std::int64_t data_offset);
  // Effect  returns the scratch file of two passes. It has a name until the transpose is done, so that a finished first pass is
  //         not repeated
  [[nodiscard]] base::descriptor open_scratch(file_options& how, const file_plan& plan);
  // Effect  all boxes are in the file and in the journal, and the scratch file is not needed any more
  void finish();

 private:
  const output_file& output_;
  std::string path_;
  share mine_;
  journal journal_;
  file_pass pass_;
  std::unique_ptr<byte_store> written_;
};

// Effect  reads all boxes of OUT.part, and compares them with the journals of `parts` processes
// Errors  failure: a journal is missing, of another transpose or still in use, or a box is missing or damaged
void check_parts(const output_file& output, const std::string& path, int parts, const journal_begin& begin,
                 const file_plan& plan, std::int64_t data_offset);

// Effect  removes the journals of `parts` processes, and OUT.part itself if the run failed
void remove_parts(const output_file& output, int parts, bool failed) noexcept;

}  // namespace cornerturn::cli
