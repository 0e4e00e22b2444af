#include "emulate/global_races.hpp"

#include <algorithm>

namespace cornerturn::emulated {
namespace {

// Whether a barrier of the block, or the order of one thread, puts `first` before `second`.
bool is_ordered(const moment& first, const moment& second) {
  return first.block == second.block && (first.thread == second.thread || first.epoch < second.epoch);
}

bool is_same(const moment& a, const moment& b) {
  return a.block == b.block && a.epoch == b.epoch && a.thread == b.thread && a.signals == b.signals;
}

}  // namespace

bool knowledge::covers(const moment& when) const {
  const auto found = std::lower_bound(epochs_.begin(), epochs_.end(), std::pair{when.block, std::uint32_t{0}});
  if (found != epochs_.end() && found->first == when.block && when.epoch < found->second) return true;
  return std::any_of(moments_.begin(), moments_.end(), [&](const moment& one) {
    return one.block == when.block && one.thread == when.thread && when.signals <= one.signals;
  });
}

void knowledge::add(const knowledge& other) {
  for (const auto& [block, epoch] : other.epochs_) add_epoch(block, epoch);
  for (const moment& one : other.moments_) add_moment(one);
}

void knowledge::add(const moment& signal) {
  add_epoch(signal.block, signal.epoch);
  add_moment(signal);
}

void knowledge::add_epoch(std::uint32_t block, std::uint32_t epoch) {
  const auto found = std::lower_bound(epochs_.begin(), epochs_.end(), std::pair{block, std::uint32_t{0}});
  if (found == epochs_.end() || found->first != block) {
    epochs_.insert(found, {block, epoch});
  } else if (found->second >= epoch) {
    return;
  } else {
    found->second = epoch;
  }
  moments_.erase(std::remove_if(moments_.begin(), moments_.end(),
                                [&](const moment& one) { return one.block == block && one.epoch < epoch; }),
                 moments_.end());
}

void knowledge::add_moment(const moment& one) {
  for (moment& known : moments_) {
    if (known.block != one.block || known.thread != one.thread) continue;
    if (known.signals < one.signals) known = one;
    return;
  }
  moments_.push_back(one);
}

void global_races::watch(const void* begin, const void* end) {
  begin_ = reinterpret_cast<std::uint64_t>(begin);
  end_ = reinterpret_cast<std::uint64_t>(end);
  const std::uint64_t count = begin_ == end_ ? 0 : (end_ - 1) / granule_bytes - begin_ / granule_bytes + 1;
  granules_.assign(count, {});
  more_.clear();
}

// Calls visit(number of the granule, a bit for each of its bytes) for the part of the access that is watched.
template <class Visit>
void global_races::for_each_granule(const void* address, int size, const Visit& visit) const {
  const auto at = reinterpret_cast<std::uint64_t>(address);
  const std::uint64_t first = std::max(at, begin_), end = std::min(at + static_cast<std::uint64_t>(size), end_);
  for (std::uint64_t byte = first; byte < end;) {
    const std::uint64_t low = byte % granule_bytes;
    const std::uint64_t count = std::min(end - byte, granule_bytes - low);
    visit(static_cast<std::size_t>(byte / granule_bytes - begin_ / granule_bytes),
          static_cast<std::uint8_t>(((1u << count) - 1) << low));
    byte += count;
  }
}

void global_races::load(const void* address, int size, const moment& by) {
  for_each_granule(address, size, [&](std::size_t number, std::uint8_t bytes) { add(number, bytes, by); });
}

// An earlier load that is ordered before this one needs no mark: a store that comes after this load comes after both.
void global_races::add(std::size_t number, std::uint8_t bytes, const moment& by) {
  const auto try_mark = [&](mark& one) {
    if (one.bytes != 0 && is_same(one.by, by)) {
      one.bytes |= bytes;
      return true;
    }
    if (is_ordered(one.by, by)) one.bytes &= static_cast<std::uint8_t>(~bytes);
    if (one.bytes != 0) return false;
    one = {by, bytes};
    return true;
  };
  for (mark& one : granules_[number].marks) {
    if (try_mark(one)) return;
  }
  std::vector<mark>& more = more_[number];
  for (mark& one : more) {
    if (try_mark(one)) return;
  }
  more.push_back({by, bytes});
}

std::optional<moment> global_races::store(const void* address, int size, const moment& by, const knowledge& of_block,
                                          const knowledge& of_thread) const {
  std::optional<moment> found;
  for_each_granule(address, size, [&](std::size_t number, std::uint8_t bytes) {
    const auto look = [&](const mark& one) {
      if (found || (one.bytes & bytes) == 0 || is_ordered(one.by, by)) return;
      if (one.by.block != by.block && (of_block.covers(one.by) || of_thread.covers(one.by))) return;
      found = one.by;
    };
    for (const mark& one : granules_[number].marks) look(one);
    if (more_.empty()) return;
    if (const auto more = more_.find(number); more != more_.end()) {
      for (const mark& one : more->second) look(one);
    }
  });
  return found;
}

}  // namespace cornerturn::emulated
