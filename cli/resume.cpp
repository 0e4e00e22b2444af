#include "resume.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include "text.hpp"

namespace cornerturn::cli {

namespace {

std::string suffix(const char* name, const share& mine) {
  return mine.of == 1 ? fmt::format(".part.{}", name) : fmt::format(".part.{}.{}of{}", name, mine.number, mine.of);
}

}  // namespace

std::string journal_suffix(const share& mine) { return suffix("journal", mine); }
std::string scratch_suffix(const share& mine) { return suffix("scratch", mine); }

resumed_run::resumed_run(const output_file& output, const std::string& path, const share& mine,
                         const journal_begin& begin)
    : output_(output),
      path_(path),
      mine_(mine),
      journal_(output.open_beside(journal_suffix(mine).c_str()), path + journal_suffix(mine), begin) {}

void resumed_run::connect(file_options& how, const file_plan& plan, std::int64_t data_offset) {
  if (plan.passes.empty()) return;
  pass_ = plan.passes.back();
  written_ = file_store(output_.descriptor(), data_offset, path_);
  how.is_done = [this](std::int64_t box) {
    const bool is_mine = box >= mine_.first(pass_.boxes) && box < mine_.last(pass_.boxes);
    return !is_mine || journal_.is_done(box, pass_, *written_);
  };
  how.finished = [this](std::int64_t box, std::span<const std::byte> bytes) {
    journal_.add(box, bytes, output_.descriptor());
  };
}

base::descriptor resumed_run::open_scratch(file_options& how, const file_plan& plan) {
  base::descriptor file = output_.open_beside(scratch_suffix(mine_).c_str());
  struct stat about {};
  const bool is_whole = fstat(file.get(), &about) == 0 && about.st_size == plan.scratch_bytes;
  how.is_scratch_written = is_whole && journal_.is_scratch_written();
  if (!how.is_scratch_written) {
    journal_.begin_scratch();
    output_.reserve(file.get(), plan.scratch_bytes);
    how.scratch_written = [this, scratch = file.get()] { journal_.end_scratch(scratch); };
  }
  return file;
}

void resumed_run::finish() {
  journal_.flush(output_.descriptor());
  output_.remove_beside(scratch_suffix(mine_).c_str());
}

void check_parts(const output_file& output, const std::string& path, int parts, const journal_begin& begin,
                 const file_plan& plan, std::int64_t data_offset) {
  if (plan.passes.empty()) return;
  const file_pass& pass = plan.passes.back();
  const auto written = file_store(output.descriptor(), data_offset, path);
  for (share one{1, parts}; one.number <= parts; ++one.number) {
    const std::string name = path + journal_suffix(one);
    const journal its(output.open_beside(journal_suffix(one).c_str()), name, begin);
    if (!(its.begin() == begin)) {
      throw failure(
          fmt::format("{}: was made with {} of buffers and {} threads, not {} and {}: wanted one --memory and "
                      "one --threads for all parts",
                      name, bytes_text(its.begin().memory_bytes), its.begin().threads, bytes_text(begin.memory_bytes),
                      begin.threads));
    }
    for (std::int64_t box = one.first(pass.boxes); box < one.last(pass.boxes); ++box) {
      if (its.is_done(box, pass, *written)) continue;
      throw failure(fmt::format("{}: box {} of part {} of {} is missing or damaged; wanted --part {}/{} again", path,
                                box, one.number, parts, one.number, parts));
    }
  }
}

void remove_parts(const output_file& output, int parts, bool failed) noexcept {
  try {
    for (share one{1, parts}; one.number <= parts; ++one.number) {
      output.remove_beside(journal_suffix(one).c_str());
      output.remove_beside(scratch_suffix(one).c_str());
    }
  } catch (...) {  // no memory for a name: the file stays
  }
  if (failed) output.remove_beside(part_suffix);
}

}  // namespace cornerturn::cli
