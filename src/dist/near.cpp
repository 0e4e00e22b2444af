#include "dist/near.hpp"

#include <algorithm>
#include <cstring>

#include "cornerturn/error.hpp"

namespace cornerturn::distributed {
namespace {

template <class T>
messages::memory copied(const std::vector<T>& all) {
  messages::memory made(new std::byte[all.size() * sizeof(T)]);
  std::memcpy(made.get(), all.data(), all.size() * sizeof(T));
  return made;
}

}  // namespace

// 1. The plan.
near_ranks::near_ranks(const task& all, const dist::communicator& ranks, std::uint32_t plan, double seconds) {
  if (ranks.is_near == nullptr) return;
  const auto is_near = [&](int rank) { return rank != ranks.rank && ranks.is_near(ranks.context, rank); };
  for (const link& one : all.links.sent_by(ranks.rank)) {
    if (!is_near(one.dst_rank) || targets_.contains(one.dst_rank)) continue;
    for (const std::int64_t cell : cells_of(all.what.dst, one.dst_rank)) {
      targets_[one.dst_rank].all.push_back({.cell = cell});
    }
  }
  for (const link& one : all.links.received_by(ranks.rank)) {
    if (is_near(one.src_rank) && std::find(sources_.begin(), sources_.end(), one.src_rank) == sources_.end()) {
      sources_.push_back(one.src_rank);
    }
  }
  std::vector<strides> own;
  for (const stored_block& block : all.dst.all) {
    own.push_back(block.along);
    const std::vector<std::int64_t> extents = block_extents(all.what.dst, block.cell);
    std::int64_t first = 0, last = 0;
    for (std::size_t axis = 0; axis < extents.size() && !block.empty; ++axis) {
      const std::int64_t distance = (extents[axis] - 1) * block.along[axis];
      (distance < 0 ? first : last) += distance;
    }
    const std::int64_t bytes = all.what.element_bytes;
    mine_.push_back({first * bytes, block.empty ? 0 : (last - first + 1) * bytes});
  }
  messages posted(ranks, plan);
  for (const auto& [rank, blocks] : targets_) {
    const std::vector<strides> wanted(blocks.all.size());
    posted.receive(copied(wanted), static_cast<std::int64_t>(wanted.size() * sizeof(strides)), rank, strides_kind);
  }
  for (const int rank : sources_) {
    posted.send(copied(own), static_cast<std::int64_t>(own.size() * sizeof(strides)), rank, strides_kind);
  }
  while (!posted.empty()) {
    const messages::one done = posted.wait(seconds);
    if (done.sent) continue;
    std::vector<stored_block>& blocks = targets_.at(done.peer).all;
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      std::memcpy(&blocks[k].along, done.bytes.get() + k * sizeof(strides), sizeof(strides));
    }
  }
}

const stored_blocks* near_ranks::blocks_of(int rank) const {
  const auto found = targets_.find(rank);
  return found == targets_.end() ? nullptr : &found->second;
}

bool near_ranks::has(int rank) const {
  return targets_.contains(rank) || std::find(sources_.begin(), sources_.end(), rank) != sources_.end();
}

// 2. A call.
std::vector<dist::shared_place> near_ranks::places(const dist::communicator& ranks, std::span<void* const> dst) const {
  std::vector<dist::shared_place> made(mine_.size());
  for (std::size_t k = 0; k < mine_.size(); ++k) {
    const bounds& all = mine_[k];
    if (all.bytes == 0) continue;
    made[k] = ranks.place_of(ranks.context, static_cast<std::byte*>(dst[k]) + all.first, all.bytes);
    if (made[k].window < 0)
      return std::vector<dist::shared_place>(mine_.size());  // one block in other memory: all by messages
    made[k].offset -= all.first;
  }
  return made;
}

near_ranks::call near_ranks::exchanged(const dist::communicator& ranks, std::span<void* const> dst, std::uint32_t plan,
                                       double seconds) const {
  const auto is_shared = [](const dist::shared_place& one) { return one.window >= 0; };
  call made;
  messages posted(ranks, plan);
  for (const auto& [rank, blocks] : targets_) {
    const std::vector<dist::shared_place> wanted(blocks.all.size());
    posted.receive(copied(wanted), static_cast<std::int64_t>(wanted.size() * sizeof(wanted[0])), rank, places_kind);
  }
  if (!sources_.empty()) {
    // The owner's earlier accesses to its blocks come before the message, and the receiver's stores to them after it.
    const std::vector<dist::shared_place> own = places(ranks, dst);
    if (std::any_of(own.begin(), own.end(), is_shared)) made.sources_ = sources_;
    for (const int rank : sources_) {
      posted.send(copied(own), static_cast<std::int64_t>(own.size() * sizeof(own[0])), rank, places_kind);
    }
  }
  while (!posted.empty()) {
    const messages::one done = posted.wait(seconds);
    if (done.sent) continue;
    std::vector<dist::shared_place> all(targets_.at(done.peer).all.size());
    std::memcpy(all.data(), done.bytes.get(), all.size() * sizeof(all[0]));
    if (std::none_of(all.begin(), all.end(), is_shared)) continue;
    std::vector<std::byte*>& blocks = made.targets_[done.peer];
    for (const dist::shared_place& one : all) {
      void* const here = is_shared(one) ? ranks.address_of(ranks.context, done.peer, one) : nullptr;
      if (here == nullptr && is_shared(one)) {
        throw error(status::device_error, "the shared memory of rank " + std::to_string(done.peer) +
                                              " has no address on rank " + std::to_string(ranks.rank));
      }
      blocks.push_back(static_cast<std::byte*>(here));
    }
  }
  return made;
}

const std::vector<std::byte*>* near_ranks::call::blocks_of(int rank) const {
  const auto found = targets_.find(rank);
  return found == targets_.end() ? nullptr : &found->second;
}

bool near_ranks::call::is_stored_by(int rank) const {
  return std::find(sources_.begin(), sources_.end(), rank) != sources_.end();
}

}  // namespace cornerturn::distributed
