// Stores of boxes over stores of bytes, and a store of bytes over a file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cornerturn/file.hpp"
#include "file/boxes.hpp"

namespace cornerturn::files {

// A packed row-major array. A box is read or written in contiguous runs, each with one call.
class linear_source final : public array_source {
 public:
  linear_source(byte_source& from, std::vector<std::int64_t> extents, std::int64_t element_bytes)
      : from_(from), extents_(std::move(extents)), element_bytes_(element_bytes) {}
  void read(const array_box& box, void* to) override;

 private:
  byte_source& from_;
  std::vector<std::int64_t> extents_;
  std::int64_t element_bytes_;
};

class linear_sink final : public array_sink {
 public:
  linear_sink(byte_sink& to, std::vector<std::int64_t> extents, std::int64_t element_bytes)
      : to_(to), extents_(std::move(extents)), element_bytes_(element_bytes) {}
  void write(const array_box& box, const void* from) override;
  // A file of ext4 and XFS has one writer at a time, and others spin for its lock. 1.5 GiB of bytes of rank 4, axes reversed, runs of
  // 22 KiB, to the disk: 4.2 to 5.6 s with one writer, 4.3 to 6.2 s with four (virtual disk, 2 cores, Linux 6.18, 2026-11-27).
  [[nodiscard]] int threads() const override { return 1; }

 private:
  byte_sink& to_;
  std::vector<std::int64_t> extents_;
  std::int64_t element_bytes_;
};

// An array in tiles, each packed and contiguous; tiles at the upper edges are smaller. Tiles are stored in row-major order of
// their numbers. Any box can be read; a box is written from the begin of a tile on, along each axis, and tile by tile.
class tiled_store final : public array_source, public array_sink {
 public:
  tiled_store(byte_store& bytes, std::vector<std::int64_t> extents, std::vector<std::int64_t> tile,
              std::int64_t element_bytes)
      : bytes_(bytes), extents_(std::move(extents)), tile_(std::move(tile)), element_bytes_(element_bytes) {}
  void read(const array_box& box, void* to) override;
  void write(const array_box& box, const void* from) override;  // a box inside one tile, from its begin on
  [[nodiscard]] std::vector<std::int64_t> chunk() const override { return tile_; }
  [[nodiscard]] int threads() const override { return 0; }

 private:
  struct tile_place {
    std::int64_t begin = 0;  // bytes
    box_grid::index extents{};
  };
  [[nodiscard]] tile_place place_of(std::span<const std::int64_t> tile_index) const;

  byte_store& bytes_;
  std::vector<std::int64_t> extents_;
  std::vector<std::int64_t> tile_;
  std::int64_t element_bytes_;
};

[[nodiscard]] std::unique_ptr<byte_store> store_of_file(int descriptor, std::int64_t begin, const std::string& name);

// Effect  calls run(offset, elements, packed) for each contiguous run of a box in a packed array: offsets in the array and in
//         the box, in elements
template <class Run>
void for_each_run(std::span<const std::int64_t> whole, const array_box& box, const Run& run) {
  const std::size_t rank = whole.size();
  std::size_t outer = rank;  // axes in front of a run
  std::int64_t elements = 1;
  for (std::size_t k = rank; k-- > 0;) {
    elements *= box.extents[k];
    outer = k;
    if (box.extents[k] != whole[k]) break;
  }
  if (elements == 0) return;
  std::int64_t runs = 1;
  for (std::size_t k = 0; k < outer; ++k) runs *= box.extents[k];
  for (std::int64_t number = 0; number < runs; ++number) {
    std::int64_t offset = 0, stride = 1, left = number;
    for (std::size_t k = rank; k-- > 0;) {
      std::int64_t at = box.first[k];
      if (k < outer) {
        at += left % box.extents[k];
        left /= box.extents[k];
      }
      offset += at * stride;
      stride *= whole[k];
    }
    run(offset, elements, number * elements);
  }
}

}  // namespace cornerturn::files
