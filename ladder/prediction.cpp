#include "prediction.hpp"

#include <ostream>
#include <vector>

#include "ladder.hpp"

namespace cornerturn::ladder {
namespace {

constexpr const char* nvidia_head =
    "rung,element_bytes,shape,load_requests,load_sectors,store_requests,store_sectors,shared_load_requests,"
    "shared_load_wavefronts,shared_load_conflicts,shared_store_requests,shared_store_wavefronts,shared_store_conflicts,"
    "async_requests,async_sectors\n";
constexpr const char* amd_head =
    "rung,element_bytes,shape,load_requests,load_lines,store_requests,store_lines,lds_load_requests,lds_load_cycles,"
    "lds_load_conflicts,lds_store_requests,lds_store_cycles,lds_store_conflicts\n";

}  // namespace

int print_predictions(std::ostream& out, std::string_view rung, int word_bytes, std::span<const matrix_shape> shapes,
                      const model::architecture& machine) {
  const bool amd = machine.maker == model::vendor::amd;
  out << (amd ? amd_head : nvidia_head);
  int lines = 0;
  std::vector<description> all(rungs().begin(), rungs().end());
  all.insert(all.end(), tile_size_rungs().begin(), tile_size_rungs().end());
  all.insert(all.end(), cute_rungs().begin(), cute_rungs().end());
  for (const matrix_shape& shape : shapes) {
    for (const description& one : all) {
      if (one.word_bytes != word_bytes || (rung != "all" && rung != one.rung)) continue;
      if (!refusal(one, machine, shape).empty()) continue;
      const model::traffic t = predict(one, machine, shape);
      const auto& async = t.async_load;  // the tag stage treats it as a load, so op_ld counts it
      out << one.rung << ',' << one.word_bytes << ',' << text_of(shape) << ',' << t.load.requests + async.requests
          << ',' << t.load.lines + async.lines << ',' << t.store.requests << ',' << t.store.lines << ','
          << t.shared_load.requests << ',' << t.shared_load.cycles << ',' << t.shared_load.conflicts << ','
          << t.shared_store.requests << ',' << t.shared_store.cycles << ',' << t.shared_store.conflicts;
      if (!amd) out << ',' << async.requests << ',' << async.lines;
      out << '\n';
      ++lines;
    }
  }
  return lines;
}

}  // namespace cornerturn::ladder
