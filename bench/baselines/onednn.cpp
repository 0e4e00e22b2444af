// oneDNN reorder between two strided layouts: u8, bf16 (any 2 bytes), f32 (any 4 bytes); at most 12 axes. Its own
// threads.
#include <omp.h>

#include <dnnl.hpp>

#include "bench/baselines/baselines.hpp"

namespace cornerturn::bench {

namespace {

dnnl::engine& engine() {
  static dnnl::engine one(dnnl::engine::kind::cpu, 0);
  return one;
}

class onednn_runner final : public runner {
 public:
  onednn_runner(const dnnl::memory::desc& src, const dnnl::memory::desc& dst, int threads)
      : threads_(threads),
        primitive_(dnnl::reorder::primitive_desc(engine(), src, engine(), dst)),
        src_(src, engine(), nullptr),
        dst_(dst, engine(), nullptr),
        stream_(engine()) {}
  void run(const std::byte* src, std::byte* dst) override {
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads_);
    src_.set_data_handle(const_cast<std::byte*>(src));
    dst_.set_data_handle(dst);
    primitive_.execute(stream_, src_, dst_);
    stream_.wait();
    omp_set_num_threads(before);
  }

 private:
  int threads_;
  dnnl::reorder primitive_;
  dnnl::memory src_;
  dnnl::memory dst_;
  dnnl::stream stream_;
};

std::unique_ptr<runner> prepare_onednn(const setup& how) {
  using type = dnnl::memory::data_type;
  const std::int64_t bytes = how.what.element_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4) return nullptr;
  const type element = bytes == 1 ? type::u8 : bytes == 2 ? type::bf16 : type::f32;
  const view flat = folded(how.what);
  if (flat.axes.size() > 12 || flat.axes.empty()) return nullptr;
  dnnl::memory::dims dims, src_strides, dst_strides;
  for (const view_axis& axis : flat.axes) {
    dims.push_back(axis.extent);
    src_strides.push_back(axis.src_stride);
    dst_strides.push_back(axis.dst_stride);
  }
  const int before = omp_get_max_threads();
  omp_set_num_threads(how.threads);  // the plan is made for this number of threads
  std::unique_ptr<runner> made;
  try {
    made = std::make_unique<onednn_runner>(dnnl::memory::desc(dims, element, src_strides),
                                           dnnl::memory::desc(dims, element, dst_strides), how.threads);
  } catch (const dnnl::error&) {  // no implementation for this layout
  }
  omp_set_num_threads(before);
  return made;
}

}  // namespace

void add_onednn(std::vector<contender>& list) { list.push_back({"onednn_reorder", role::peer, true, prepare_onednn}); }

}  // namespace cornerturn::bench
