// The memory instructions of a rung, from its maps. The functions mirror move.cuh, with a table entry for each access
// and with equal guards.
#pragma once

#include <utility>

#include "model/count.hpp"
#include "rung.hpp"

namespace cornerturn::ladder {

template <class Rung>
class program_writer {
 public:
  program_writer(std::int64_t rows, std::int64_t cols)
      : src_in_pieces_(cols % Rung::width == 0), dst_in_pieces_(rows % Rung::width == 0) {
    made_.word_bytes = Rung::word_bytes;
    made_.tile_rows = Rung::tile_rows;
    made_.tile_cols = Rung::tile_cols;
    made_.turns = !Rung::is_copy;
  }

  model::program write() {
    if constexpr (Rung::is_copy) {
      copy();
    } else if constexpr (Rung::is_production) {
      blocks();
    } else if constexpr (Rung::tensor_store) {
      turn_in_shared();
    } else if constexpr (Rung::shared_bytes == 0) {
      add(op::global_load, word, 1, [](int thread, int) { return at_global(Rung::element(thread)); });
      add(op::global_store, word, 1, [](int thread, int) { return at_global(Rung::element(thread)); });
    } else {
      if constexpr (!Rung::tensor_load) rows_in();
      columns_out();
    }
    return std::move(made_);
  }

 private:
  using op = model::operation;
  static constexpr int word = Rung::word_bytes;
  static constexpr int piece = Rung::width * Rung::word_bytes;

  static model::lane at_global(at e) { return {e.row, e.col, 0}; }
  static model::lane at_shared(at e) { return {e.row, e.col, Rung::place(e)}; }

  template <class Lane>
  void add(op what, int lane_bytes, int steps, const Lane& lane, model::guard when = model::guard::inside) {
    for (int step = 0; step < steps; ++step) {
      model::instruction one{what, when, lane_bytes, 1, 0, {}};
      for (int thread = 0; thread < Rung::threads; ++thread) one.lanes.push_back(lane(thread, step));
      made_.instructions.push_back(std::move(one));
    }
  }
  // One instruction for each element index i of a piece.
  template <class Lane>
  void add_elements(op what, const Lane& lane) {
    for (int i = 0; i < Rung::width; ++i) {
      add(what, word, Rung::steps, [&](int thread, int step) { return lane(thread, step, i); });
    }
  }

  void copy() {
    const auto add_piece = [&](op what, int lane_bytes, const auto& lane, model::guard when, int index) {
      add(what, lane_bytes, 1, lane, when);
      made_.instructions.back().piece = Rung::width;
      made_.instructions.back().index = index;
    };
    const auto copy_pieces = [&](const auto& in, const auto& out) {
      add_piece(op::global_load, piece, in, model::guard::whole, 0);
      add_piece(op::global_store, piece, out, model::guard::whole, 0);
      for (int i = 0; i < Rung::width; ++i) {
        add_piece(op::global_load, word, out, model::guard::cut, i);
        add_piece(op::global_store, word, out, model::guard::cut, i);
      }
    };
    if constexpr (Rung::shared_bytes == 0) {
      const auto lane = [](int thread, int) { return at_global(Rung::element(thread)); };
      copy_pieces(lane, lane);
    } else {
      const auto in = [](int thread, int step) { return at_shared(Rung::read(thread, step)); };
      const auto out = [](int thread, int step) { return at_shared(Rung::write(thread, step)); };
      add_piece(op::shared_store, piece, in, model::guard::whole, 0);
      add_piece(op::shared_load, piece, out, model::guard::whole, 0);
      copy_pieces(in, out);
    }
  }

  void rows_in() {
    const op load = Rung::is_asynchronous ? op::async_load : op::global_load;
    const op store = Rung::is_asynchronous ? op::async_store : op::shared_store;
    const auto element = [](int thread, int step, int i) {
      const at e = Rung::read(thread, step);
      return at_shared({e.row, e.col + i});
    };
    const auto first = [&](int thread, int step) { return element(thread, step, 0); };
    if (src_in_pieces_) {
      add(load, piece, Rung::steps, first);
    } else {
      add_elements(load, element);
    }
    if (src_in_pieces_ && (Rung::whole_pieces || Rung::is_asynchronous)) {
      add(store, piece, Rung::steps, first);
    } else {
      add_elements(store, element);
    }
  }

  void columns_out() {
    const auto element = [](int thread, int step, int i) {
      const at e = Rung::write(thread, step);
      return at_shared({e.row + i, e.col});
    };
    add_elements(op::shared_load, element);
    if (dst_in_pieces_) {
      add(op::global_store, piece, Rung::steps, [&](int thread, int step) { return element(thread, step, 0); });
    } else {
      add_elements(op::global_store, element);
    }
  }

  // 85: whole chunks on both sides, without guards; elements outside of src are zeros.
  void turn_in_shared() {
    if constexpr (Rung::tensor_store) {
      const auto none = model::guard::none;
      add(
          op::shared_load, 16, Rung::steps, [](int t, int step) { return at_shared(Rung::read(t, step)); }, none);
      add(
          op::shared_store, 16, Rung::steps,
          [](int t, int step) {
            const at e = Rung::write(t, step);
            return model::lane{e.row, e.col, Rung::place_out(e)};
          },
          none);
    }
  }

  // 90: the accesses of kernels/gpu/tile.cuh for a matrix with rows of whole pieces on both sides.
  void blocks() {
    if constexpr (Rung::is_production) {
      const auto none = model::guard::none;
      const auto stored = [](int t, int step) {  // a column of the thread's block
        const at row = Rung::read(t, step);
        const int i = step % Rung::width;
        return model::lane{row.row - i, row.col + i, Rung::stored(t, step)};
      };
      const auto loaded = [](int t, int step) {
        const at e = Rung::write(t, step);
        return model::lane{e.row, e.col, Rung::loaded(t, step)};
      };
      add(op::global_load, 16, Rung::steps, [](int t, int step) { return at_global(Rung::read(t, step)); });
      add(op::shared_store, 16, Rung::steps, stored, none);
      add(op::shared_load, 16, Rung::steps, loaded, none);
      add(op::global_store, 16, Rung::steps, [](int t, int step) { return at_global(Rung::write(t, step)); });
    }
  }

  bool src_in_pieces_;
  bool dst_in_pieces_;
  model::program made_;
};

}  // namespace cornerturn::ladder
