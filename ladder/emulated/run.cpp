#include "ladder/emulated/run.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>

namespace cornerturn::ladder {
namespace {

constexpr std::size_t alignment = 256;  // of cudaMalloc
constexpr unsigned char guard = 0xc3;

// Bytes before and after an array: its own size, so that a tile beyond an edge is not in the next array.
std::size_t margin_of(std::size_t size) { return std::clamp<std::size_t>(size, 256, std::size_t{1} << 20); }

struct arena {
  explicit arena(std::size_t size)
      : bytes(size), room(size + 2 * margin_of(size) + alignment, guard), begin(room.data() + margin_of(size)) {
    begin += (alignment - reinterpret_cast<std::uintptr_t>(begin) % alignment) % alignment;
  }
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  [[nodiscard]] bool guards_stand() const {
    const auto stands = [](unsigned char byte) { return byte == guard; };
    return std::all_of(room.data(), static_cast<const unsigned char*>(begin), stands) &&
           std::all_of(static_cast<const unsigned char*>(begin) + bytes, room.data() + room.size(), stands);
  }
  [[nodiscard]] emulated::bytes range() const { return {begin, begin + bytes}; }

  std::size_t bytes;
  std::vector<unsigned char> room;
  unsigned char* begin;
};

// The low bytes of a hash of the element's place: unique for 4 bytes and more.
std::uint64_t pattern(std::size_t i) { return i * 0x9e3779b97f4a7c15u ^ i >> 7; }

class bench {
 public:
  bench(const text& rung, const matrix_shape& shape)
      : rung_(rung), shape_(shape), word_(static_cast<std::size_t>(rung.word_bytes)), src_(bytes()), dst_(bytes()) {}

  emulated::session run(const run_order& order, const emulated::touched_bytes& watched = {}, bool unwritten = false) {
    std::fill(dst_.room.begin(), dst_.room.end(), guard);
    arena& from = rung_.is_in_place ? dst_ : src_;
    for (std::size_t i = 0; i < elements(); ++i) std::memcpy(from.begin + i * word_, &value(i), word_);
    emulated::session session;
    session.threads = order.threads;
    session.wavefront = order.wavefront;
    session.stop_at_fault = true;
    session.watches = watched;
    session.refuse_unwritten = unwritten;
    session.src = from.range();
    session.dst = dst_.range();
    rung_.run(from.begin, dst_.begin, shape_, session);
    return session;
  }

  // The first wrong element of dst.
  [[nodiscard]] std::optional<std::size_t> wrong() const {
    for (std::size_t i = 0; i < elements(); ++i) {
      if (!is(i, source_of(i))) return i;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool guards_stand() const { return dst_.guards_stand(); }

  [[nodiscard]] emulated::touched_bytes bytes_of(std::size_t element) const {
    const auto begin = reinterpret_cast<std::uint64_t>(dst_.begin) + element * word_;
    return {false, 0, begin, begin + word_};
  }

  // Describes a wrong element that was stored, or was not.
  [[nodiscard]] std::string tell(std::size_t element, bool stored) const {
    const std::size_t wanted = source_of(element);
    std::ostringstream said;
    if (stored) {
      said << in_dst(element);
      std::size_t other = word_ < 4 ? elements() : 0;
      while (other < elements() && !is(element, other)) ++other;
      if (other == elements()) {
        said << " does not hold " << in_src(wanted);
      } else {
        said << " holds " << in_src(other) << ", wanted " << in_src(wanted);
      }
      return said.str();
    }
    said << "no thread stores " << in_dst(element) << ", which is " << in_src(wanted);
    const place at = place_in(wanted, rows(), cols());
    if (!rung_.is_copy && rung_.block_of(shape_, at.matrix, at.row, at.col) < 0) {
      said << "; no block has its tile (" << at.row / rung_.tile_rows << ", " << at.col / rung_.tile_cols
           << "): see tile_of() and blocks()";
    }
    return said.str();
  }

 private:
  struct place {
    std::int64_t matrix;
    std::int64_t row;
    std::int64_t col;
  };
  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(shape_.rows); }
  [[nodiscard]] std::size_t cols() const { return static_cast<std::size_t>(shape_.cols); }
  [[nodiscard]] std::size_t elements() const { return rows() * cols() * static_cast<std::size_t>(shape_.batch); }
  [[nodiscard]] std::size_t bytes() const { return elements() * word_; }
  const std::uint64_t& value(std::size_t i) const { return value_ = pattern(i); }
  [[nodiscard]] bool is(std::size_t in_dst, std::size_t in_src) const {
    return std::memcmp(dst_.begin + in_dst * word_, &value(in_src), word_) == 0;
  }
  // The element of src that belongs there.
  [[nodiscard]] std::size_t source_of(std::size_t element) const {
    if (rung_.is_copy) return element;
    const std::size_t in = element % (rows() * cols());
    return element - in + in % rows() * cols() + in / rows();
  }
  static place place_in(std::size_t element, std::size_t rows, std::size_t cols) {
    const std::size_t in = element % (rows * cols);
    return {static_cast<std::int64_t>(element / (rows * cols)), static_cast<std::int64_t>(in / cols),
            static_cast<std::int64_t>(in % cols)};
  }
  [[nodiscard]] std::string named(const char* array, std::size_t element, std::size_t rows, std::size_t cols) const {
    std::ostringstream made;
    const place at = place_in(element, rows, cols);
    made << array;
    if (rung_.is_copy) {
      made << '[' << element << ']';
    } else {
      if (shape_.batch != 1) made << '[' << at.matrix << ']';
      made << '[' << at.row << "][" << at.col << ']';
    }
    return made.str();
  }
  [[nodiscard]] std::string in_src(std::size_t element) const { return named("src", element, rows(), cols()); }
  [[nodiscard]] std::string in_dst(std::size_t element) const { return named("dst", element, cols(), rows()); }

  const text& rung_;
  matrix_shape shape_;
  std::size_t word_;
  arena src_;
  arena dst_;
  mutable std::uint64_t value_ = 0;
};

bool stores(const emulated::touch& one) {
  using emulated::access;
  return one.what == access::global_store || one.what == access::shared_store || one.what == access::async_copy;
}

// Finds the place of an access that the first run told without one: the last access of that thread to these bytes.
emulated::touch found(const emulated::touch& wanted, const std::vector<emulated::touch>& touches) {
  emulated::touch made = wanted;
  if (touches.empty()) return made;
  const emulated::touch& last = touches.back();
  for (std::size_t k = touches.size() - 1; k-- > 0;) {
    const emulated::touch& one = touches[k];
    const bool is_block = wanted.block == emulated::any_block || one.block == wanted.block;
    const bool is_thread = wanted.thread == emulated::any_thread ? one.thread != last.thread || one.block != last.block
                                                                 : one.thread == wanted.thread;
    const bool conflicts = stores(wanted) ? stores(one) : one.what == wanted.what;
    if (is_block && is_thread && conflicts) return one;
    if (made.from == nullptr && conflicts) made.from = one.from;
  }
  return made;
}

}  // namespace

finding check(const text& rung, const matrix_shape& shape, const run_order& order) {
  bench all(rung, shape);
  const emulated::session first = all.run(order);
  finding made{first.fault, {}};
  if (!first.fault.empty()) {
    for (const emulated::touch& one : first.fault_places) {
      made.places.insert(made.places.begin(),
                         one.from != nullptr ? one : found(one, all.run(order, first.fault_bytes).touches));
    }
    return made;
  }
  if (const auto element = all.wrong()) {
    const emulated::session strict = all.run(order, {}, true);
    if (!strict.fault.empty()) return {strict.fault, strict.fault_places};
    const emulated::session again = all.run(order, all.bytes_of(*element));
    std::copy_if(again.touches.begin(), again.touches.end(), std::back_inserter(made.places), stores);
    made.what = all.tell(*element, !made.places.empty());
  } else if (!all.guards_stand()) {
    made.what = "bytes outside of dst are written";
  }
  return made;
}

void for_each_request(const text& rung, const matrix_shape& shape,
                      const std::function<void(const emulated::request&)>& each) {
  const auto bytes = static_cast<std::size_t>(shape.rows * shape.cols * shape.batch * rung.word_bytes);
  arena src(bytes), dst(bytes);
  emulated::session session;
  session.src = (rung.is_in_place ? dst : src).range();
  session.dst = dst.range();
  session.on_request = [](void* context, const emulated::request& one) {
    (*static_cast<const std::function<void(const emulated::request&)>*>(context))(one);
  };
  session.context = const_cast<std::function<void(const emulated::request&)>*>(&each);
  rung.run(session.src.begin, dst.begin, shape, session);
}

}  // namespace cornerturn::ladder
