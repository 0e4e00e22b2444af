// The stores of `cornerturn transpose`, and what it does with them within --memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cornerturn/file.hpp"
#include "mapped_file.hpp"
#include "npy.hpp"
#include "output_file.hpp"

namespace cornerturn::cli {

// The array of an input file, in memory if it is mapped.
class input_store final : public byte_source {
 public:
  input_store(const mapped_file& file, std::int64_t begin, bool in_memory, const std::string& path);
  void read(std::int64_t offset, void* to, std::size_t bytes) override { bytes_->read(offset, to, bytes); }
  void will_read(std::int64_t offset, std::size_t bytes) override { bytes_->will_read(offset, bytes); }
  [[nodiscard]] const void* memory() const override { return memory_; }

 private:
  std::unique_ptr<byte_store> bytes_;
  const void* memory_;
};

// The array of an output file, from `begin` on.
class output_store final : public byte_sink {
 public:
  output_store(const output_file& file, std::int64_t begin) : file_(file), begin_(begin) {}
  void write(std::int64_t offset, const void* from, std::size_t bytes) override;

 private:
  const output_file& file_;
  std::int64_t begin_;
};

// How much memory the command takes.
struct memory_limit {
  std::int64_t bytes = 0;    // of the whole process
  std::int64_t buffers = 0;  // the part for buffers: the rest is the program itself
};

// Effect  returns the limit of --memory, or for 0 half of the memory that is available
// Errors  failure: too small for the program
[[nodiscard]] memory_limit memory_limit_of(std::int64_t requested);

// Effect  "9.54 GiB in 1 pass: 40 boxes of ..., predicted 20 s"; a line for each pass
[[nodiscard]] std::string plan_text(const file_plan& plan);

}  // namespace cornerturn::cli
