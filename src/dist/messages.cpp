// An agreement: 1. every rank sends its record to rank 0   2. rank 0 compares   3. rank 0 sends the verdict to every rank.
#include "dist/messages.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "base/text_stream.hpp"

namespace cornerturn::distributed {

messages::~messages() {
  for (const one& left : all_) {
    if (ranks_.cancel(ranks_.context, left.request)) continue;
    // The transport may still read or write these bytes: they are never freed.
    static_cast<void>(new (std::nothrow) memory(left.bytes));
  }
}

void messages::send(memory bytes, std::int64_t count, int to, message_kind kind, std::int64_t number) {
  all_.reserve(all_.size() + 1);
  requests_.reserve(all_.size() + 1);
  std::int64_t request = 0;
  if (!ranks_.send(ranks_.context, bytes.get(), count, to, tag_of(kind, plan_), &request)) {
    throw error(status::device_error, "the transport refused a message to rank " + std::to_string(to));
  }
  all_.push_back({request, std::move(bytes), to, true, number});
  requests_.push_back(request);
}

void messages::receive(memory bytes, std::int64_t count, int from, message_kind kind, std::int64_t number) {
  all_.reserve(all_.size() + 1);
  requests_.reserve(all_.size() + 1);
  std::int64_t request = 0;
  if (!ranks_.receive(ranks_.context, bytes.get(), count, from, tag_of(kind, plan_), &request)) {
    throw error(status::device_error, "the transport refused a message from rank " + std::to_string(from));
  }
  all_.push_back({request, std::move(bytes), from, false, number});
  requests_.push_back(request);
}

std::optional<messages::one> messages::next(double seconds) {
  int done = -1;
  if (!ranks_.wait_any(ranks_.context, requests_.data(), static_cast<int>(requests_.size()), seconds, &done)) {
    throw error(status::device_error, "the transport failed while rank " + std::to_string(ranks_.rank) +
                                          " waited for rank " + std::to_string(all_.front().peer));
  }
  if (done < 0) return {};
  const auto at = static_cast<std::size_t>(done);
  one found = std::move(all_[at]);
  all_.erase(all_.begin() + done);
  requests_.erase(requests_.begin() + done);
  return found;
}

messages::one messages::wait(double seconds) {
  if (std::optional<one> found = next(seconds)) return std::move(*found);
  base::text_stream text;
  text << "rank " << all_.front().peer << " did not answer within " << seconds << " s";
  throw late(status::device_error, text.str());
}

std::optional<messages::one> messages::poll() { return all_.empty() ? std::nullopt : next(0); }

void record::fail(const error& reason) noexcept {
  code = reason.code();
  is_late = dynamic_cast<const late*>(&reason) != nullptr;
  const std::size_t length = std::min(std::strlen(reason.what()), sizeof sentence - 1);
  std::memcpy(sentence, reason.what(), length);
  sentence[length] = 0;
}

namespace {

struct verdict {
  std::uint32_t plan = 0;
  status code = status::ok;
  char sentence[500] = {};
};

constexpr const char* left_over = "a message is left over from an earlier call that failed: make a new communicator";

void say(verdict& all, status code, const std::string& sentence) {
  all.code = code;
  const std::size_t length = std::min(sentence.size(), sizeof all.sentence - 1);
  std::memcpy(all.sentence, sentence.data(), length);
}

// The number of the first record with a fault; a late one only if no other rank has a fault. Without any: the number of records.
std::size_t first_fault(const std::vector<record>& all) {
  for (const bool late_too : {false, true}) {
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      if (all[rank].code != status::ok && (late_too || !all[rank].is_late)) return rank;
    }
  }
  return all.size();
}

const char* difference(const record& one, const record& first) {
  return one.version != first.version   ? "version of the library"
         : one.array != first.array     ? "array (extents, axes or bytes of an element)"
         : one.src != first.src         ? "layout of src"
         : one.dst != first.dst         ? "layout of dst"
         : one.options != first.options ? "chunk_bytes, route or kind of communicator"
                                        : nullptr;
}

// 2. One rank with a fault is named.
verdict compare(const std::vector<record>& all) {
  verdict found;
  if (const std::size_t rank = first_fault(all); rank < all.size()) {
    say(found, all[rank].code, (all[rank].is_late ? "" : "rank " + std::to_string(rank) + ": ") + all[rank].sentence);
    return found;
  }
  const record& first = all.front();
  for (std::size_t rank = 1; rank < all.size() && found.code == status::ok; ++rank) {
    const std::string name = "rank " + std::to_string(rank);
    if (all[rank].plan != first.plan) {
      say(found, status::device_error, left_over);
    } else if (all[rank].ranks != first.ranks) {
      say(found, status::invalid_argument,
          name + " has a communicator of " + std::to_string(all[rank].ranks) + " ranks, rank 0 of " +
              std::to_string(first.ranks));
    } else if (const char* const other = difference(all[rank], first); other != nullptr) {
      say(found, status::invalid_argument, name + " has another " + other + " than rank 0");
    }
  }
  return found;
}

template <class Data>
messages::memory bytes_of(const Data& one) {
  messages::memory made(new std::byte[sizeof(Data)]);
  std::memcpy(made.get(), &one, sizeof(Data));
  return made;
}

verdict verdict_of_rank_0(const dist::communicator& ranks, const record& mine, double seconds) {
  std::vector<record> all(static_cast<std::size_t>(ranks.size));  // without a fault until it is received
  all.front() = mine;
  verdict found;
  {
    messages posted(ranks, 0);
    for (int rank = 1; rank < ranks.size; ++rank) posted.receive(bytes_of(record{}), sizeof(record), rank, record_kind);
    try {
      while (!posted.empty()) {
        const messages::one next = posted.wait(seconds);
        std::memcpy(&all[static_cast<std::size_t>(next.peer)], next.bytes.get(), sizeof(record));
      }
      found = compare(all);
    } catch (const error& reason) {
      say(found, reason.code(), reason.what());
      if (first_fault(all) < all.size()) found = compare(all);
    }
  }
  static constinit std::atomic<std::uint32_t> last_plan{0};
  for (found.plan = mine.plan; found.plan == 0;) found.plan = ++last_plan;
  // 3. Also to ranks that are late: they read it when they come.
  messages posted(ranks, 0);
  for (int rank = 1; rank < ranks.size; ++rank) posted.send(bytes_of(found), sizeof(verdict), rank, verdict_kind);
  while (!posted.empty()) static_cast<void>(posted.wait(seconds));
  return found;
}

}  // namespace

std::uint32_t agree(const dist::communicator& ranks, const record& mine, double seconds) {
  verdict found;
  if (ranks.rank == 0) {
    found = verdict_of_rank_0(ranks, mine, seconds);
  } else {
    // 1. Rank 0 may wait for its own data, and then for another rank's record, each within the time limit.
    messages posted(ranks, 0);
    posted.send(bytes_of(mine), sizeof(record), 0, record_kind);
    posted.receive(bytes_of(found), sizeof(verdict), 0, verdict_kind);
    while (!posted.empty()) {
      const messages::one next = posted.wait(3 * seconds);
      if (!next.sent) std::memcpy(&found, next.bytes.get(), sizeof(verdict));
    }
  }
  if (mine.plan != 0 && found.plan != mine.plan) throw error(status::device_error, left_over);
  if (found.code != status::ok) throw error(found.code, found.sentence);
  return found.plan;
}

}  // namespace cornerturn::distributed
