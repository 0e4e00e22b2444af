#include "dist/staged.hpp"

#include <algorithm>
#include <functional>
#include <new>
#include <string_view>
#include <utility>

#include "base/numbers.hpp"
#include "base/text_stream.hpp"
#include "cornerturn/error.hpp"

namespace cornerturn::distributed {

// 1. The plan.
class staged_plan::planner {
 public:
  planner(const task& all, const dist::options& how) : all_(all), how_(how) {}

  // blocks: of dst, of this rank or of a near one.
  void direct(const link& one, const stored_blocks& blocks, std::vector<step>& steps) {
    const std::size_t src = all_.src.number_of(one.src_cell), dst = blocks.number_of(one.dst_cell);
    for_each_entry(one, all_.links.rank(), [&](const entry& part) {
      const placed at = place(box_of(part), bytes_, &all_.src.all[src].along, &blocks.all[dst].along);
      steps.push_back({plan_for(at.what), src, dst, at.src_offset * bytes_, at.dst_offset * bytes_});
    });
  }

  // Both ranks call this function for a link: the sender with `sent`. Neither knows the strides of the other one.
  void remote(const link& one, bool sent, std::vector<chunk>& chunks) {
    const int peer = sent ? one.dst_rank : one.src_rank;
    const std::size_t number = sent ? all_.src.number_of(one.src_cell) : all_.dst.number_of(one.dst_cell);
    const strides& along = sent ? all_.src.all[number].along : all_.dst.all[number].along;
    const piece_size size{.elements = how_.chunk_bytes / bytes_,
                          .row = std::max<std::int64_t>(row_bytes / bytes_, 1),
                          .src_axis = all_.src_axis};
    for_each_entry(one, all_.links.rank(), [&](const entry& part) {
      for_each_piece(box_of(part), size, [&](const box& piece) {
        const std::int64_t piece_bytes = piece.elements() * bytes_;
        if (chunks.empty() || chunks.back().peer != peer || chunks.back().bytes + piece_bytes > how_.chunk_bytes) {
          chunks.push_back({.peer = peer, .bytes = 0, .steps = {}});
        }
        chunk& last = chunks.back();
        const placed at = place(piece, bytes_, sent ? &along : nullptr, sent ? nullptr : &along);
        last.steps.push_back({plan_for(at.what), sent ? number : 0, sent ? 0 : number,
                              sent ? at.src_offset * bytes_ : last.bytes, sent ? last.bytes : at.dst_offset * bytes_});
        last.bytes += piece_bytes;
      });
    });
  }

 private:
  // Rows of a chunk: long enough for a copy at full speed, short enough for tall pieces.
  static constexpr std::int64_t row_bytes = 64 << 10;

  // Equal pieces share one plan.
  local_plan plan_for(const cornerturn::problem& what) {
    local_plan& known = plans_[shape_of(what)];
    if (known == nullptr) {
      known =
          std::make_shared<const local_copy>(local_copy{what, cornerturn::plan(what, how_.local), how_.local.threads});
    }
    return known;
  }

  const task& all_;
  const dist::options& how_;
  std::int64_t bytes_ = all_.what.element_bytes;
  std::map<std::vector<std::int64_t>, local_plan> plans_;
};

namespace {

constexpr std::size_t in_flight = 2;  // chunks each way: one is copied while the other one is sent

// Memory that no call uses has addresses only: the operating system gives it pages at the first store.
std::vector<messages::memory> buffers_for(std::size_t chunks, std::int64_t bytes) {
  std::vector<messages::memory> made;
  for (std::size_t k = 0; k < std::min(chunks, in_flight); ++k) {
    auto* const one = new (std::nothrow) std::byte[static_cast<std::size_t>(bytes)];
    if (one == nullptr) {
      throw error(status::out_of_memory, "no memory for a chunk of " + std::to_string(bytes) + " bytes");
    }
    made.emplace_back(one);
  }
  return made;
}

}  // namespace

staged_plan::staged_plan(task all, const dist::communicator& ranks, std::uint32_t number, const dist::options& how)
    : all_(std::move(all)),
      ranks_(ranks),
      number_(number),
      seconds_(how.seconds),
      near_(all_, ranks_, number_, seconds_) {
  planner made(all_, how);
  const int size = ranks_.size, me = ranks_.rank;
  std::vector<link> sent = all_.links.sent_by(me), received = all_.links.received_by(me);
  // Round k: to rank me + k, from rank me - k. A stable sort keeps the order of cells, which both sides know.
  std::stable_sort(sent.begin(), sent.end(), [&](const link& a, const link& b) {
    return (a.dst_rank - me + size) % size < (b.dst_rank - me + size) % size;
  });
  std::stable_sort(received.begin(), received.end(), [&](const link& a, const link& b) {
    return (me - a.src_rank + size) % size < (me - b.src_rank + size) % size;
  });
  for (const link& one : sent) {
    if (one.dst_rank == me) {
      made.direct(one, all_.dst, local_);
      continue;
    }
    made.remote(one, true, sends_);
    if (const stored_blocks* const blocks = near_.blocks_of(one.dst_rank); blocks != nullptr) {
      if (stores_.empty() || stores_.back().peer != one.dst_rank)
        stores_.push_back({.peer = one.dst_rank, .steps = {}});
      made.direct(one, *blocks, stores_.back().steps);
    }
  }
  for (const link& one : received) {
    if (one.src_rank != me) made.remote(one, false, receives_);
  }
  const auto longest = [](const std::vector<chunk>& chunks) {
    std::int64_t bytes = 0;
    for (const chunk& one : chunks) bytes = std::max(bytes, one.bytes);
    return bytes;
  };
  send_buffers_ = buffers_for(sends_.size(), longest(sends_));
  receive_buffers_ = buffers_for(receives_.size(), longest(receives_));
}

// 2. A call.
void staged_plan::transfer(std::span<const void* const> src, std::span<void* const> dst) const {
  const auto from = [&](const step& one) { return static_cast<const std::byte*>(src[one.src]) + one.src_offset; };
  const near_ranks::call near = near_.exchanged(ranks_, dst, number_, seconds_);
  messages posted(ranks_, number_);
  std::size_t next_send = 0, next_receive = 0;
  const auto post_receive = [&](const messages::memory& buffer) {
    while (next_receive < receives_.size() && near.is_stored_by(receives_[next_receive].peer)) ++next_receive;
    if (next_receive == receives_.size()) return;
    const chunk& next = receives_[next_receive];
    posted.receive(buffer, next.bytes, next.peer, data_kind, static_cast<std::int64_t>(next_receive++));
  };
  const auto post_send = [&](const messages::memory& buffer) {
    while (next_send < sends_.size() && near.blocks_of(sends_[next_send].peer) != nullptr) ++next_send;
    if (next_send == sends_.size()) return;
    const chunk& next = sends_[next_send];
    for (const step& one : next.steps) one.copy->execute(from(one), buffer.get() + one.dst_offset);
    posted.send(buffer, next.bytes, next.peer, data_kind, static_cast<std::int64_t>(next_send++));
  };
  const auto finish = [&](const messages::one& done) {
    if (done.sent) return post_send(done.bytes);
    for (const step& one : receives_[static_cast<std::size_t>(done.number)].steps) {
      one.copy->execute(done.bytes.get() + one.src_offset, static_cast<std::byte*>(dst[one.dst]) + one.dst_offset);
    }
    post_receive(done.bytes);
  };
  const auto copy = [&](const step& one, void* block) {
    one.copy->execute(from(one), static_cast<std::byte*>(block) + one.dst_offset);
    while (const std::optional<messages::one> done = posted.poll()) finish(*done);
  };
  for (const messages::memory& buffer : receive_buffers_) post_receive(buffer);
  for (const messages::memory& buffer : send_buffers_) post_send(buffer);
  for (const step& one : local_) copy(one, dst[one.dst]);
  for (const stores& all : stores_) {
    const std::vector<std::byte*>* const blocks = near.blocks_of(all.peer);
    if (blocks == nullptr) continue;
    for (const step& one : all.steps) copy(one, (*blocks)[one.dst]);
  }
  while (!posted.empty()) finish(posted.wait(seconds_));
}

void staged_plan::execute(std::span<const void* const> src, std::span<void* const> dst,
                          std::span<void* const> streams) const {
  const std::lock_guard<std::mutex> only(one_call_);
  record mine;
  mine.ranks = ranks_.size;
  mine.plan = number_;
  try {
    if (broken_) throw error(status::device_error, "an earlier call of this plan failed, so messages may be left over");
    if (!streams.empty())
      throw error(status::invalid_argument, "streams are given, but the CPU copies without a stream");
    check_pointers(all_, src, dst);
    transfer(src, dst);
  } catch (const error& reason) {
    mine.fail(reason);
  } catch (const std::bad_alloc&) {
    mine.fail(error(status::out_of_memory, "no memory for the messages of a call"));
  }
  // 3. Until here another rank may have failed, or may store to shared blocks of this rank: its stores come before its record, and
  // loads of this rank after the verdict. A rank that returns without an error knows that dst is complete on all ranks.
  try {
    agree(ranks_, mine, seconds_);
  } catch (...) {
    broken_ = true;
    throw;
  }
}

double staged_plan::local_copy::predicted() const {
  for (const plan_offer& one : offers(what, {.machine = "cpu", .threads = threads})) {
    if (std::string_view(one.kernel) == how.kernel()) return one.time * static_cast<double>(bytes());
  }
  return static_cast<double>(bytes());
}

void staged_plan::add_predicted(const std::vector<step>& steps, double& bytes) {
  std::map<const local_copy*, double> known;  // equal pieces share a plan
  for (const step& one : steps) {
    const auto [found, is_new] = known.try_emplace(one.copy.get());
    if (is_new) found->second = one.copy->predicted();
    bytes += found->second;
  }
}

std::string staged_plan::explain() const {
  base::text_stream text;
  const auto list = [&](const std::vector<chunk>& chunks, const char* direction) {
    for (std::size_t k = 0; k < chunks.size();) {
      const std::size_t first = k;
      std::int64_t bytes = 0, steps = 0;
      for (; k < chunks.size() && chunks[k].peer == chunks[first].peer; ++k) {
        bytes += chunks[k].bytes;
        steps += static_cast<std::int64_t>(chunks[k].steps.size());
      }
      text << "  " << direction << " rank " << chunks[first].peer << ": " << bytes << " bytes in " << k - first
           << " messages of " << steps << " boxes, by " << chunks[first].steps.front().copy->how.kernel();
      const auto near = std::find_if(stores_.begin(), stores_.end(), [&](const stores& one) {
        return &chunks == &sends_ && one.peer == chunks[first].peer;
      });
      if (near != stores_.end()) {
        text << ". If its blocks are shared memory: " << near->steps.size() << " boxes, stored to them by "
             << near->steps.front().copy->how.kernel();
      }
      text << '\n';
    }
  };
  text << "rank " << ranks_.rank << " of " << ranks_.size << ", route "
       << (near_.any() ? "shared memory or messages" : "messages") << ", time limit " << seconds_ << " s\n";
  list(sends_, "to");
  list(receives_, "from");
  std::int64_t bytes = 0;
  for (const step& one : local_) bytes += one.copy->bytes();
  text << "  on this rank: " << bytes << " bytes in " << local_.size() << " boxes\n";
  // The machine files have no rate of a network, and a CPU's have none of a copy.
  const auto predict = [&](const char* name, const std::function<bool(int)>& has_messages) {
    double copied = 0, sent = 0, received = 0;
    add_predicted(local_, copied);
    for (const stores& all : stores_) {
      if (!has_messages(all.peer)) add_predicted(all.steps, copied);
    }
    for (const auto& [chunks, total] : {std::pair{&sends_, &sent}, std::pair{&receives_, &received}}) {
      for (const chunk& one : *chunks) {
        if (!has_messages(one.peer)) continue;
        add_predicted(one.steps, copied);
        *total += static_cast<double>(one.bytes);
      }
    }
    text << "  predicted by " << name << ": the time to copy " << base::fixed(copied, 0) << " bytes here, to send "
         << base::fixed(sent, 0) << " and to receive " << base::fixed(received, 0) << '\n';
  };
  predict("messages", [](int) { return true; });
  if (near_.any()) predict("shared memory", [&](int peer) { return !near_.has(peer); });
  return text.str();
}

std::int64_t staged_plan::bytes_sent() const noexcept {
  std::int64_t bytes = 0;
  for (const chunk& one : sends_) bytes += one.bytes;
  return bytes;
}

}  // namespace cornerturn::distributed
