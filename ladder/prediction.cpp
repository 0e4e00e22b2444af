#include "prediction.hpp"

#include <ostream>
#include <vector>

#include "ladder.hpp"

namespace cornerturn::ladder {
namespace {

constexpr const char* head =
    "rung,element_bytes,shape,load_requests,load_sectors,store_requests,store_sectors,shared_load_requests,"
    "shared_load_wavefronts,shared_load_conflicts,shared_store_requests,shared_store_wavefronts,shared_store_conflicts,"
    "async_requests,async_sectors\n";

}  // namespace

int print_predictions(std::ostream& out, std::string_view rung, int word_bytes, std::span<const matrix_shape> shapes) {
  out << head;
  int lines = 0;
  std::vector<description> all(rungs().begin(), rungs().end());
  all.insert(all.end(), cute_rungs().begin(), cute_rungs().end());
  for (const matrix_shape& shape : shapes) {
    for (const description& one : all) {
      if (one.word_bytes != word_bytes || (rung != "all" && rung != one.rung) || !one.takes(shape)) continue;
      const model::traffic t = predict(one, shape);
      const auto& async = t.async_load;  // goes through the same tag lookup as a load, so op_ld counts it too
      out << one.rung << ',' << one.word_bytes << ',' << text_of(shape) << ',' << t.load.requests + async.requests
          << ',' << t.load.sectors + async.sectors << ',' << t.store.requests << ',' << t.store.sectors << ','
          << t.shared_load.requests << ',' << t.shared_load.wavefronts << ',' << t.shared_load.conflicts << ','
          << t.shared_store.requests << ',' << t.shared_store.wavefronts << ',' << t.shared_store.conflicts << ','
          << async.requests << ',' << async.sectors << '\n';
      ++lines;
    }
  }
  return lines;
}

}  // namespace cornerturn::ladder
