// The library, the copies and the slicing of single-threaded peers.
#include "bench/contender.hpp"

#include <charconv>
#include <string_view>

#include "bench/baselines/baselines.hpp"
#include "bench/copies.hpp"
#include "bench/parallel.hpp"
#include "cornerturn/plan.hpp"
#include "cornerturn/system.hpp"

namespace cornerturn::bench {

namespace {

class our_runner final : public runner {
 public:
  explicit our_runner(const setup& how)
      : plan_(make(how)),
        in_place_(how.original.in_place()),
        workspace_(static_cast<std::size_t>(plan_.workspace_bytes())) {}
  void run(const std::byte* src, std::byte* dst) override { plan_.execute(in_place_ ? dst : src, dst, workspace_); }
  [[nodiscard]] std::string detail() const override { return plan_.kernel(); }

 private:
  static plan make(const setup& how) {
    plan_options options;
    options.device = device::cpu;
    options.threads = how.threads;
    if (!how.kernel.empty()) options.kernel = how.kernel.c_str();
    return plan(problem_of(how.original), options);
  }
  plan plan_;
  bool in_place_;
  std::vector<std::byte> workspace_;
};

class copy_runner final : public runner {
 public:
  copy_runner(const copy_kind& kind, std::int64_t bytes, int threads) : kind_(kind), bytes_(bytes), threads_(threads) {}
  void run(const std::byte* src, std::byte* dst) override { parallel_copy(kind_, src, dst, bytes_, threads_); }

 private:
  const copy_kind& kind_;
  std::int64_t bytes_;
  int threads_;
};

template <const std::vector<copy_kind>& (*Kinds)(), std::size_t Row>
std::unique_ptr<runner> prepare_copy(const setup& how) {
  return std::make_unique<copy_runner>(Kinds()[Row], how.original.bytes(), how.threads);
}

template <const std::vector<copy_kind>& (*Kinds)(), std::size_t... Rows>
void add_copies(std::vector<contender>& list, const std::string& prefix, std::index_sequence<Rows...>) {
  ((Rows < Kinds().size() ? list.push_back({prefix + Kinds()[Rows].name, role::roof, true, prepare_copy<Kinds, Rows>})
                          : void()),
   ...);
}

class sliced_runner final : public runner {
 public:
  struct piece {
    std::unique_ptr<runner> inner;
    std::int64_t src_offset;
    std::int64_t dst_offset;
  };
  explicit sliced_runner(std::vector<piece> pieces) : pieces_(std::move(pieces)) {}
  void run(const std::byte* src, std::byte* dst) override {
    const auto count = static_cast<int>(pieces_.size());
    parallel_tasks(count, count, [&](int i) {
      const piece& part = pieces_[static_cast<std::size_t>(i)];
      part.inner->run(src + part.src_offset, dst + part.dst_offset);
    });
  }
  [[nodiscard]] std::string detail() const override { return pieces_.front().inner->detail(); }

 private:
  std::vector<piece> pieces_;
};

}  // namespace

problem problem_of(const bench_case& one) {
  problem what = one.is_packed()
                     ? permute_problem(one.extents, one.axes, one.element_bytes)
                     : permute_problem(one.extents, one.axes, one.element_bytes, one.src_strides(), one.dst_strides());
  what.in_place = one.in_place();
  return what;
}

// explain() has a part for each alignment that a kernel was chosen for, the largest one first: a line "pointers   multiples of N
// bytes", with "only" at its end behind the first part, then a line "kernel     NAME: note".
std::string kernel_in(const std::string& explanation, const std::string& aligned, int alignment) {
  constexpr std::string_view part = "\npointers   multiples of ", kernel = "\nkernel ";
  std::string found = aligned;
  if (alignment >= 16) return found;
  for (std::size_t at = explanation.find(part); at != std::string::npos; at = explanation.find(part, at + 1)) {
    int bytes = 0;
    std::from_chars(explanation.data() + at + part.size(), explanation.data() + explanation.size(), bytes);
    const std::size_t end = explanation.find('\n', at + 1);
    if (end == std::string::npos || explanation.compare(end, kernel.size(), kernel) != 0) continue;
    const std::size_t name = explanation.find_first_not_of(' ', end + kernel.size());
    const std::size_t colon = explanation.find(':', name);
    if (colon != std::string::npos) found = explanation.substr(name, colon - name);
    if (bytes <= alignment) break;
  }
  return found;
}

std::string kernel_for(const plan& made, int alignment) {
  return alignment >= 16 ? made.kernel() : kernel_in(made.explain(), made.kernel(), alignment);
}

std::vector<std::string> row_names(const std::string& backend) {
  std::vector<std::string> names;
  for (const kernel_info& row : kernel_list()) {
    if (row.backend == backend && row.family != "reference") names.push_back(row.name);
  }
  return names;
}

bool is_refusal(const error& failure) { return failure.code() == status::invalid_argument; }

std::vector<contender> row_contenders(const setup& how, const std::string& chosen) {
  std::vector<contender> list;
  for (const std::string& name : row_names("cpu")) {
    if (name == chosen) continue;
    try {
      setup forced = how;
      forced.kernel = name;
      our_runner trial(forced);
    } catch (const error& failure) {
      if (!is_refusal(failure)) throw;
      continue;
    }
    list.push_back({name, role::row, true, [name](const setup& with) -> std::unique_ptr<runner> {
                      setup forced = with;
                      forced.kernel = name;
                      return std::make_unique<our_runner>(forced);
                    }});
  }
  return list;
}

contender ours() {
  return {"cornerturn", role::ours, true,
          [](const setup& how) -> std::unique_ptr<runner> { return std::make_unique<our_runner>(how); }};
}

std::vector<contender> roof_contenders(const bench_case& one) {
  std::vector<contender> list;
  if (one.in_place()) {
    add_copies<rewrites>(list, "rewrite_", std::make_index_sequence<16>());
  } else {
    add_copies<copies>(list, "copy_", std::make_index_sequence<16>());
  }
  return list;
}

std::vector<contender> loops() {
  std::vector<contender> list;
  add_loops(list);
  return list;
}

std::vector<contender> peers() {
  std::vector<contender> list;
#ifdef CORNERTURN_BENCH_OPENBLAS
  add_openblas(list);
#endif
#ifdef CORNERTURN_BENCH_EIGEN
  add_eigen(list);
#endif
#ifdef CORNERTURN_BENCH_FFTW
  add_fftw(list);
#endif
#ifdef CORNERTURN_BENCH_ONEDNN
  add_onednn(list);
#endif
#ifdef CORNERTURN_BENCH_HPTT
  add_hptt(list);
#endif
  return list;
}

std::unique_ptr<runner> prepare(const contender& who, const setup& how) {
  if (who.threaded || how.threads <= 1) return who.prepare(how);
  std::vector<sliced_runner::piece> pieces;
  for (slice& part : slices(how.what, how.threads)) {
    const std::int64_t src_offset = part.src_offset * how.what.element_bytes;
    const std::int64_t dst_offset = part.dst_offset * how.what.element_bytes;
    const setup smaller{how.original,
                        std::move(part.what),
                        1,
                        {how.scratch.src + src_offset, how.scratch.dst + dst_offset},
                        how.kernel};
    auto inner = who.prepare(smaller);
    if (inner == nullptr) return nullptr;
    pieces.push_back({std::move(inner), src_offset, dst_offset});
  }
  return std::make_unique<sliced_runner>(std::move(pieces));
}

}  // namespace cornerturn::bench
