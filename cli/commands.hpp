// The subcommands: the options of each, and a function that runs it and returns the exit code.
// The functions throw failure, or cornerturn::error from the library. run() in app.cpp prints both as a sentence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"

namespace cornerturn::cli {

// Errors  failure no_device: `device` is cuda or hip, but this build or this machine has none; the sentence says why
void require_device(const device_choice& device);

struct transpose_options {
  std::string input;
  std::string output;
  std::optional<std::vector<int>> axes;  // none: full reversal
  int threads = 0;                       // 0: all
  device_choice device;
  std::int64_t memory = 0;              // bytes; 0: half of the available memory
  std::string order = "C";              // of the output
  std::vector<std::int64_t> raw_shape;  // of an input without a header; empty: an .npy file
  std::string raw_dtype;                // empty: an .npy file
  std::int64_t raw_offset = 0;          // of the data in the input
  bool dry_run = false;
  bool resume = false;
  int part = 0;    // of --part 3/8; 0: none
  int parts = 0;   // 8
  int finish = 0;  // the parts to check and publish; 0: none
  bool verify = false;
  std::int64_t sample = 0;  // bytes that --verify compares; 0: all
  bool metadata_only = false;
  bool force = false;
  bool no_sync = false;
  bool json = false;
  bool quiet = false;
};
int run_transpose(const transpose_options& options);

struct explain_options {
  std::vector<std::int64_t> shape;  // the shape to plan; empty: explain a kernel
  std::optional<std::vector<int>> axes;
  std::int64_t element_bytes = 0;  // 0: 4, or as the name of KERNEL says
  int threads = 0;
  std::int64_t src_ld = 0;  // 0: packed; matrices only
  std::int64_t dst_ld = 0;
  bool json = false;
  std::string kernel;                // a rung of the ladder, or a row
  std::vector<std::int64_t> matrix;  // the matrix for the kernel; empty: 2048x2048
  std::string arch = "sm_90";
  std::string svg;      // a file; empty: none
  bool all = false;     // every rung, in one table
  std::string machine;  // a GPU of the cost table, for the plan; empty: this machine
};
int run_explain(const explain_options& options);
int run_explain_kernel(const explain_options& options);

int run_doctor(bool json);
int run_kernels(bool json);

struct tune_request {
  std::vector<std::int64_t> shape;
  std::optional<std::vector<int>> axes;
  std::int64_t element_bytes = 4;
  int threads = 0;
  double seconds = 0.5;
  std::string file;  // empty: the file of CORNERTURN_TUNE_FILE, or none
  bool json = false;
};
int run_tune(const tune_request& options);

struct calibrate_request {
  device_choice device{};
  double minutes = 3;
  int threads = 1;
  std::uint64_t seed = 1;
  std::string file{};  // empty: in the user's folder of configuration
  bool json = false;
  bool quiet = false;
};
int run_calibrate(const calibrate_request& options);

struct roof_options {
  std::string disk;              // a folder: measure its disk, not the memory; empty: none
  std::int64_t bytes = 1 << 30;  // one way
  int threads = 0;
  device_choice device;
  bool json = false;
};
int run_roof(const roof_options& options);

struct ladder_options {
  std::vector<std::vector<std::int64_t>> shapes;  // empty: two large ones
  std::string device = "auto";                    // or emulated
  int gpu = -1;                                   // its number; -1: the current one
  int threads = 1;                                // of the CPU
  int element_bytes = 4;
  int repetitions = 9;
  bool check = false;
  bool json = false;
  output_choice output;  // a result file
  std::string rung;      // empty: all
  std::string file;      // a rung of one's own, for the emulator; empty: none
};
int run_ladder(const ladder_options& options);
int run_emulated_ladder(const ladder_options& options);

struct report_options {
  output_choice output;
  std::vector<std::string> from;  // result files; empty: measure here
  device_choice device;           // to measure
  bool quick = false;
  std::string since;  // result file of an earlier run; empty: none
  std::string save;   // receives the measurements of the cases; empty: none
};
int run_report(const report_options& options);

struct sample_options {
  std::string kind;  // "matrix" or "cube"
  std::string output;
  std::vector<std::int64_t> shape;  // empty: the size of the demo
};
int run_make_sample(const sample_options& options);

}  // namespace cornerturn::cli
