// copy_mdspan() between two multidimensional views: std::mdspan, cuda::std::mdspan, Kokkos::mdspan, or any class with equal
// members. This header includes none of their headers.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "cornerturn/error.hpp"
#include "cornerturn/transpose.hpp"

namespace cornerturn {

// Requirements of copy_mdspan() on a view: trivially copyable elements, and a stride for each axis.
template <class View>
concept strided_view = requires(const View& view, std::size_t k) {
  typename View::element_type;
  requires std::is_trivially_copyable_v<typename View::element_type>;
  { View::rank() } -> std::convertible_to<std::size_t>;
  { view.extent(k) } -> std::convertible_to<std::int64_t>;
  { view.stride(k) } -> std::convertible_to<std::int64_t>;
  { view.is_strided() } -> std::convertible_to<bool>;
  { view.data_handle() } -> std::convertible_to<const typename View::element_type*>;
};

// Effect  dst[i, j, ...] = src[i, j, ...] for every index; the extents are equal, the layouts may differ
// Shape   up to max_rank axes, static or dynamic extents; only the layout of src may repeat elements
// Alias   as permute: the views may not overlap; one pointer for both selects the operation in place
// Stream  as plan::execute
// Errors  invalid_argument: an extent differs between src and dst; a layout has no strides. overlap: two indices of dst
//         are one element. All others as execute
template <strided_view Src, strided_view Dst>
requires(std::is_same_v<std::remove_cv_t<typename Src::element_type>, typename Dst::element_type>&& Src::rank() ==
             Dst::rank() &&
         Src::rank() <= static_cast<std::size_t>(max_rank)) void copy_mdspan(const Src& src, const Dst& dst,
                                                                             void* stream = nullptr) {
  problem what;
  what.element_bytes = sizeof(typename Dst::element_type);
  what.rank = static_cast<int>(Src::rank());
  for (const bool strided : {src.is_strided(), dst.is_strided()}) {
    if (!strided)
      throw error(status::invalid_argument, "a layout has no strides. Wanted: one with a stride for each axis");
  }
  if constexpr (Src::rank() > 0) {  // a layout of rank 0 need not have stride()
    for (std::size_t k = 0; k < Src::rank(); ++k) {
      const auto extent = static_cast<std::int64_t>(src.extent(k));
      const auto other = static_cast<std::int64_t>(dst.extent(k));
      if (extent != other) {
        throw error(status::invalid_argument, "axis " + std::to_string(k) + " has extent " + std::to_string(extent) +
                                                  " in src and " + std::to_string(other) + " in dst. Wanted: the same");
      }
      what.axes[k] = {extent, static_cast<std::int64_t>(src.stride(k)), static_cast<std::int64_t>(dst.stride(k))};
    }
  }
  what.in_place = src.data_handle() == dst.data_handle();
  execute(what, src.data_handle(), dst.data_handle(), stream);
}

}  // namespace cornerturn
