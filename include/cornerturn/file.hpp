// Arrays larger than memory: permutes the axes of an array from one store to another, box by box, in bounded memory.
// A store is an interface, so that any format can plug in. Files on a disk are stores of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace cornerturn {

// The array and its permutation: axis k of dst is axis axes[k] of src. Both stores are packed.
struct stored_array {
  std::vector<std::int64_t> extents;  // of src
  std::vector<int> axes;              // a permutation of 0 ... rank - 1
  std::int64_t element_bytes = 0;
  bool src_fortran_order = false;  // axis 0 of src is contiguous; else the last axis. Stores of bytes only
  bool dst_fortran_order = false;  // axis 0 of dst is contiguous
};

// A store of bytes holds its array at [0, bytes of the array). Functions are called from several threads at a time.
class byte_source {
 public:
  virtual ~byte_source() = default;
  // Effect  reads exactly `bytes` bytes at `offset`
  // Errors  any exception: the transpose stops and throws it to its caller
  virtual void read(std::int64_t offset, void* to, std::size_t bytes) = 0;
  // Effect  a hint: read() gets these bytes soon, so a disk can fetch several short runs at a time. The default ignores it
  virtual void will_read(std::int64_t /*offset*/, std::size_t /*bytes*/) {}
  // Returns the array in memory, or null if it must be read
  [[nodiscard]] virtual const void* memory() const { return nullptr; }
};
class byte_sink {
 public:
  virtual ~byte_sink() = default;
  // Effect  writes exactly `bytes` bytes at `offset`. No byte is written twice
  virtual void write(std::int64_t offset, const void* from, std::size_t bytes) = 0;
};

// A store that is written first and read later, such as a scratch file.
class byte_store : public byte_source, public byte_sink {};

// A box of an array: along axis k the indices first[k] ... first[k] + extents[k] - 1.
struct array_box {
  std::span<const std::int64_t> first;
  std::span<const std::int64_t> extents;
};

// A store of boxes reads and writes packed boxes in row-major order. Its chunk is the smallest box that it reads or writes at
// full speed. Functions are called from at most threads() threads at a time; 0: any number.
class array_source {
 public:
  virtual ~array_source() = default;
  virtual void read(const array_box& box, void* to) = 0;
  [[nodiscard]] virtual std::vector<std::int64_t> chunk() const { return {}; }  // empty: a single element
  [[nodiscard]] virtual int threads() const { return 0; }
};
class array_sink {
 public:
  virtual ~array_sink() = default;
  // Effect  writes a box that begins and ends at multiples of chunk() or at the end of the array. No element is written twice
  virtual void write(const array_box& box, const void* from) = 0;
  [[nodiscard]] virtual std::vector<std::int64_t> chunk() const { return {}; }
  [[nodiscard]] virtual int threads() const { return 0; }
};

// The speed of the disk: a request of n bytes takes (n + request_bytes) / bytes_per_second. The defaults describe a
// cloud disk of 1 GB/s.
struct disk_speed {
  double read_bytes_per_second = 1e9;
  double write_bytes_per_second = 1e9;
  std::int64_t read_request_bytes = 8 << 10;
  std::int64_t write_request_bytes = 8 << 10;
  bool shared = true;  // reads and writes share the speed: their times add up
};

struct file_options {
  std::int64_t memory_bytes = 0;  // of all buffers; 0: half of the memory that is available
  int threads = 0;                // that read, transpose and write; 0: the threads of a call, at least 4
  disk_speed disk{};
  // Called on the calling thread with the bytes of dst that are written, at least once a box.
  std::function<void(std::int64_t bytes)> progress{};
  byte_store* scratch = nullptr;  // for a plan of two passes
  // The scratch store has all bytes of the first pass from an earlier call of the same plan: only the second pass runs.
  bool is_scratch_written = false;
  std::function<void()> scratch_written{};  // called after the first pass
  // For a journal: is_done(n) is true if box n of dst was written before, and the call skips it. finished(n, box) gets the packed
  // box after its last write, from any thread, one call at a time. Of two passes, the second one has these boxes.
  std::function<bool(std::int64_t box)> is_done{};
  std::function<void(std::int64_t number, std::span<const std::byte> box)> finished{};
};

// One read of src and one write of dst. Extents belong to the folded array, in the order of dst.
struct file_pass {
  std::vector<std::int64_t> extents;  // of dst, with as few axes as possible
  std::vector<int> axes;              // of src for each axis of dst
  std::int64_t element_bytes = 0;
  std::vector<std::int64_t> box;  // extents of a box of dst
  std::int64_t boxes = 0;
  std::int64_t box_bytes = 0;
  std::int64_t read_run_bytes = 0;  // contiguous in src
  std::int64_t write_run_bytes = 0;
  std::int64_t bytes = 0;  // read, and as many written
  double seconds = 0;      // predicted
};

struct file_plan {
  std::vector<file_pass> passes;   // one, or two through a scratch file of scratch_bytes; none: no bytes
  std::int64_t memory_bytes = 0;   // of all buffers
  std::int64_t scratch_bytes = 0;  // 0: one pass
  int threads = 0;
  double seconds = 0;  // predicted
};

// Effect  plans a transpose between stores of bytes
// Errors  invalid_argument: axes are no permutation, an extent is negative, element_bytes < 1, more than max_rank axes remain
//         after folding, or memory_bytes is too small: the sentence has the smallest size.  overflow: 2^63 bytes or more
[[nodiscard]] file_plan plan_stored(const stored_array& what, const file_options& options = {});

struct file_report {
  file_plan plan;
  std::string kernel;      // that transposes the boxes, as in kernel_list()
  int threads = 0;         // used
  std::int64_t bytes = 0;  // written to dst
};

// Effect  writes the transposed array to dst. A plan with two passes writes and reads options.scratch, of scratch_bytes
// Errors  as plan_stored. invalid_argument: the plan has two passes, but options has no scratch. out_of_memory. The first exception of a
//         store; all threads have ended by then
file_report transpose_stored(byte_source& src, byte_sink& dst, const stored_array& what,
                             const file_options& options = {});
// Effect  between stores of boxes, in one pass. Each box of dst is a multiple of its chunk
// Errors  invalid_argument: also if a chunk of dst does not fit in the memory
file_report transpose_stored(array_source& src, array_sink& dst, const stored_array& what,
                             const file_options& options = {});

// Effect  returns a store over a part of an open file, from `begin` on. The descriptor stays the caller's
// Errors  of its calls: io_error: the system's message, or the file ends too early. The sentence begins with `name`
[[nodiscard]] std::unique_ptr<byte_store> file_store(int descriptor, std::int64_t begin, const std::string& name);

// Effect  returns the bytes of memory that this process can still allocate without swapping: MemAvailable, and at most the rest
//         of its control group's limit
[[nodiscard]] std::int64_t available_memory();

}  // namespace cornerturn
#pragma GCC visibility pop
