// Runs the GPU kernels' own text on the host: one fiber per thread, a barrier is a yield.
//   1. Blocks and threads run forward, backward or shuffled. If `wavefront` is set, wavefronts run one after another
//   2. With `resident` above 1 several blocks are alive at a time. A block that waits for a flag lets another one run. In
//      shuffled order blocks also alternate at barriers and before each access to a flag
//   3. The emulator sees every access of the text (see CMakeLists.txt). Faults are: an access outside of its array, a
//      misaligned one, a store to src, a load from dst, a second store to a byte of dst, and a load after a store
//   4. Shared memory is a fresh allocation of exactly the bytes that the plan asked for. Each byte knows which thread stored and
//      loaded it since the last barrier: a race is a fault
//   5. If the launch loads bytes that it also stores, a race through global memory is a fault: see global_races.hpp
//   6. A copy that was started lands when its thread waits for it, not before
//   7. A row's thread that accesses global memory before it waits for earlier launches is a fault
//   8. A barrier that some threads of a block do not reach is a fault; so is a wait that no block will end.
// The session keeps the first fault as a sentence, and the place of the access in the text. The run goes on if it can. With
// `stop_at_fault` no faulty access is made, so a wild address or an endless loop does no harm. A second run that `watches`
// the bytes of a fault finds all accesses to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// The kernels' texts are compiled with -Dcornerturn=cornerturn_text, so that no name of theirs is one of the library's. The
// emulator's own names stay.
#pragma push_macro("cornerturn")
#undef cornerturn
namespace cornerturn::emulated {

enum class order { forward, backward, shuffled };

struct bytes {
  const void* begin = nullptr;
  const void* end = nullptr;
};

enum class access { global_load, global_store, async_copy, shared_load, shared_store, atomic, barrier };

// One lane's part of a request. An async_copy loads from `global` and stores at `shared`.
struct lane_access {
  int lane = 0;
  std::uint64_t global = 0;
  std::uint64_t shared = 0;  // bytes from the begin of the block's shared memory
};

// One memory instruction of one warp: the accesses that its lanes make at one place of the text, in the same iteration of
// every loop around it, between two barriers of the block.
struct request {
  access what = access::global_load;
  const void* from = nullptr;  // the place in the text: a return address
  int lane_bytes = 0;
  std::span<const lane_access> lanes;
};
using request_function = void (*)(void* context, const request& one);

// One access of one thread, or a barrier that it waits at.
inline constexpr std::uint32_t any_block = 0xffffffff;
inline constexpr int any_thread = -1;
struct touch {
  access what = access::global_load;
  const void* from = nullptr;  // the place in the text: a return address
  std::uint32_t block = 0;
  int thread = 0;
};

// Bytes of an array, or of the shared memory of one block.
struct touched_bytes {
  bool shared = false;
  std::uint32_t block = 0;  // of shared memory
  std::uint64_t begin = 0;  // an address; in shared memory an offset
  std::uint64_t end = 0;
};

// A run of any number of launches on one src and one dst; launch functions take it as their stream.
struct session {
  order threads = order::forward;
  int wavefront = 0;       // lanes per wavefront, 32 or 64, which run consecutively; 0: no wavefronts
  int resident = 1;        // blocks that are alive at a time
  std::uint64_t seed = 1;  // of the shuffle
  bytes src;
  bytes dst;
  bytes second;  // of a problem with math
  bytes scale;
  std::vector<bytes> also_read;       // tables, and the src of each other item of a batch
  bytes flags;                        // by which blocks tell each other what they have done
  bool second_written = false;        // the second array is a destination, not a source
  bool dst_is_read = false;           // before each byte of it is written
  std::vector<std::uint32_t> blocks;  // run only these; empty: all
  bool record = false;                // keep what is read of src and written to dst
  std::vector<bytes> reads;
  std::vector<bytes> writes;
  // Counting: who gets each request. Bytes are then not held against each other, so src and dst may be as large as the
  // address space, and no block waits for a flag.
  request_function on_request = nullptr;
  void* context = nullptr;
  int lanes = 32;                 // of a warp
  bool stop_at_fault = false;     // before the faulty access
  bool refuse_unwritten = false;  // a load of shared memory that no thread stored; some kernels ignore such bytes
  touched_bytes watches;          // keep all accesses to these bytes
  std::vector<touch> touches;     // in the order of the run; the last one is faulty if the run ends with a fault

  std::string fault;  // the first one; empty: none
  // The faulty access, or the barriers at which threads wait. In a race the earlier access is the second one. Its `from` is
  // null, and it may be of any thread: a second run that watches the bytes finds it in `touches`.
  std::vector<touch> fault_places;
  touched_bytes fault_bytes;  // of the faulty access
};

// False where the build has no means to see accesses that do not go through lang.hpp: races are not found then.
[[nodiscard]] bool sees_every_access() noexcept;

// Effect  starts a kernel as lang.hpp's GPU_KERNEL names it: `call(job)` for each thread of each block. Early: the launch may
//         begin before earlier launches end
// Returns null, or the session's fault
using kernel_call = void (*)(const void* job);
const char* launch(kernel_call call, const void* job, std::size_t job_bytes, int threads, std::uint32_t blocks,
                   int shared_bytes, void* stream, bool early = false) noexcept;

// The functions that lang.cuh calls. All but the last are called by the threads of a running launch only.
[[nodiscard]] std::uint32_t thread_index() noexcept;
[[nodiscard]] std::uint32_t block_index() noexcept;
[[nodiscard]] unsigned char* shared_memory() noexcept;
void wait_for_earlier_launches() noexcept;
void barrier(unsigned line) noexcept;
std::uint32_t value_of_next_lane(std::uint32_t value) noexcept;
void load_global(void* value, const void* from, int size) noexcept;
void store_global(void* to, const void* value, int size) noexcept;
// The text uses the bytes [first, end) of the copy. The others arrive with any contents, and reading them is no race.
void start_copy(void* shared, const void* global, int size, int first, int end) noexcept;
void wait_for_copies() noexcept;
// Copy a word of the tensor memory accelerator, which makes no request. If `global` is null, zeros are stored.
void bring_word(void* shared, const void* global, int size) noexcept;
void send_word(void* global, const void* shared, int size) noexcept;
// Copies a word as one access on each side that is global or shared memory.
void copy_word(void* to, const void* from, int size) noexcept;
[[nodiscard]] std::uint32_t read_flag(const std::uint32_t* flag) noexcept;
[[nodiscard]] bool claim_bit(std::uint32_t* flag, std::uint32_t bit) noexcept;
void publish_bit(std::uint32_t* flag, std::uint32_t bit) noexcept;
void wait_for_bit(const std::uint32_t* flag, std::uint32_t bit) noexcept;
void raise_flag(std::uint32_t* flag) noexcept;
void wait_for_flag(const std::uint32_t* flag, std::uint32_t value) noexcept;

}  // namespace cornerturn::emulated
namespace cornerturn_text::emulated {
using namespace ::cornerturn::emulated;
}
#pragma pop_macro("cornerturn")
