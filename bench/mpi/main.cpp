// mpirun -n RANKS cornerturn_mpi_bench [MIB [ROUNDS]]: distributed transposes on CPUs, beside ScaLAPACK, FFTW and COSTA where CMake
// found them, one thread a rank. MIB: of each rank's source.
//   1. an n x n array of float and double, in slabs of rows and in block-cyclic blocks of 64 x 64. cornerturn stores to shared memory,
//      and "messages" is its route for ordinary memory
//   2. each round runs every contender once, in a rotated order. A time is of the slowest rank; the median of the rounds is printed
//   3. the roof: a copy of a rank's source to its destination, by all ranks at once
//   4. every element of every result is compared
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/numbers.hpp"
#include "cornerturn/mpi.hpp"
#ifdef CORNERTURN_BENCH_FFTW_MPI
#include <fftw3-mpi.h>
#endif
#ifdef CORNERTURN_BENCH_COSTA
#include <omp.h>

#include <costa/grid2grid/transform.hpp>
#include <costa/layout.hpp>
#endif

#ifdef CORNERTURN_BENCH_SCALAPACK
extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridinit(int* context, const char* order, int rows, int cols);
void Cblacs_gridexit(int context);
void descinit_(int* descriptor, const int* m, const int* n, const int* mb, const int* nb, const int* first_row,
               const int* first_col, const int* context, const int* ld, int* info);
void pstran_(const int* m, const int* n, const float* alpha, const float* a, const int* ia, const int* ja,
             const int* desc_a, const float* beta, float* c, const int* ic, const int* jc, const int* desc_c);
void pdtran_(const int* m, const int* n, const double* alpha, const double* a, const int* ia, const int* ja,
             const int* desc_a, const double* beta, double* c, const int* ic, const int* jc, const int* desc_c);
}
#endif

namespace {

[[noreturn]] void fail(const std::string& sentence) {
  std::fprintf(stderr, "cornerturn_mpi_bench: %s\n", sentence.c_str());
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::exit(1);
}

// The local part of an n x n array on one rank: element (row, col) of the local part, and its place.
struct part {
  std::vector<std::int64_t> rows, cols;  // global indices
  std::int64_t row_stride = 1, col_stride = 1;
  [[nodiscard]] std::size_t elements() const { return rows.size() * cols.size(); }
};

// An exact float for n x n up to 2^24 values, and never one that its neighbours have.
template <class T>
T value_of(std::int64_t row, std::int64_t col) {
  return static_cast<T>((row * 7919 + col * 104729) % 16777213);
}

template <class T>
void fill(const part& all, std::vector<T>& data) {
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    for (std::size_t j = 0; j < all.cols.size(); ++j) {
      data[i * static_cast<std::size_t>(all.row_stride) + j * static_cast<std::size_t>(all.col_stride)] =
          value_of<T>(all.rows[i], all.cols[j]);
    }
  }
}

template <class T>
bool is_transposed(const part& all, const T* data) {
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    for (std::size_t j = 0; j < all.cols.size(); ++j) {
      const T found = data[i * static_cast<std::size_t>(all.row_stride) + j * static_cast<std::size_t>(all.col_stride)];
      if (found != value_of<T>(all.cols[j], all.rows[i])) return false;
    }
  }
  return true;
}

struct contender {
  std::string name;
  std::function<void()> run;
  std::vector<double> seconds{};
};

// 2.
void race(std::vector<contender>& all, int rounds) {
  for (int round = -1; round < rounds; ++round) {  // the first round warms up
    for (std::size_t k = 0; k < all.size(); ++k) {
      contender& one = all[(k + static_cast<std::size_t>(round + 1)) % all.size()];
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      one.run();
      double mine = MPI_Wtime() - begin, slowest = 0;
      MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (round >= 0) one.seconds.push_back(slowest);
    }
  }
}

double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

// The global indices of an axis that is cut into blocks, of which this rank has every size-th.
std::vector<std::int64_t> indices_of(std::int64_t n, std::int64_t block, std::int64_t rank, std::int64_t size) {
  std::vector<std::int64_t> made;
  for (std::int64_t k = 0; k < n; ++k) {
    if (k / block % size == rank) made.push_back(k);
  }
  return made;
}

std::vector<std::int64_t> all_of(std::int64_t n) { return indices_of(n, n, 0, 1); }

template <class T>
class transposes {
 public:
  transposes(cornerturn::mpi::communicator& world, std::int64_t n) : world_(world), n_(n) {}

  void slabs(int rounds) {
    const std::int64_t block = (n_ + size() - 1) / size();
    const part rows{indices_of(n_, block, rank(), size()), all_of(n_), n_, 1};
    cornerturn::dist::problem what = problem();
    what.src = what.dst = cornerturn::dist::slabs(what.extents, 0, size());
    std::vector<contender> others;
    std::vector<T> src(rows.elements()), dst(rows.elements());
#ifdef CORNERTURN_BENCH_FFTW_MPI
    // FFTW may plan by measurement, which overwrites the arrays.
    const auto plan = fftw_plan_of(block, src.data(), dst.data());
    others.push_back({"FFTW", [&] { fftw_run(plan); }});
#endif
#ifdef CORNERTURN_BENCH_COSTA
    others.push_back({"COSTA", costa_of(block, n_, 'R', n_, src.data(), dst.data())});
#endif
    run("slabs", what, rows, rows, std::move(others), src, dst, rounds);
#ifdef CORNERTURN_BENCH_FFTW_MPI
    fftw_end(plan);
#endif
  }

  // ScaLAPACK's arrays are column-major. Each rank has every size-th block of rows of both arrays.
  void block_cyclic(int rounds) {
    constexpr std::int64_t block = 64;
    part own{indices_of(n_, block, rank(), size()), all_of(n_), 1, 0};
    own.col_stride = static_cast<std::int64_t>(own.rows.size());
    cornerturn::dist::problem what = problem();
    what.src = what.dst = cornerturn::dist::block_cyclic(
        {.rows = n_, .cols = n_, .row_block = block, .col_block = block, .process_rows = size()});
    what.src_strides = what.dst_strides = {{1, own.col_stride}};
    std::vector<contender> others;
    std::vector<T> src(own.elements()), dst(own.elements());
#ifdef CORNERTURN_BENCH_SCALAPACK
    int context = 0, descriptor[9], info = 0;
    const int n = static_cast<int>(n_), blocks = static_cast<int>(block), zero = 0, first = 1,
              ld = static_cast<int>(std::max<std::int64_t>(own.col_stride, 1));
    Cblacs_get(0, 0, &context);
    Cblacs_gridinit(&context, "R", size(), 1);
    descinit_(descriptor, &n, &n, &blocks, &blocks, &zero, &zero, &context, &ld, &info);
    if (info != 0) fail("descinit_ returned " + std::to_string(info));
    const T one = 1, nothing = 0;
    others.push_back({sizeof(T) == 4 ? "pstran" : "pdtran", [&] {
                        if constexpr (sizeof(T) == 4) {
                          pstran_(&n, &n, &one, src.data(), &first, &first, descriptor, &nothing, dst.data(), &first,
                                  &first, descriptor);
                        } else {
                          pdtran_(&n, &n, &one, src.data(), &first, &first, descriptor, &nothing, dst.data(), &first,
                                  &first, descriptor);
                        }
                      }});
#endif
#ifdef CORNERTURN_BENCH_COSTA
    others.push_back({"COSTA", costa_of(block, block, 'C', own.col_stride, src.data(), dst.data())});
#endif
    run("block-cyclic", what, own, own, std::move(others), src, dst, rounds);
#ifdef CORNERTURN_BENCH_SCALAPACK
    Cblacs_gridexit(context);
#endif
  }

 private:
  [[nodiscard]] int rank() const { return world_.get().rank; }
  [[nodiscard]] int size() const { return world_.get().size; }
  [[nodiscard]] cornerturn::dist::problem problem() const {
    cornerturn::dist::problem what;
    what.extents = {n_, n_};
    what.axes = {1, 0};
    what.element_bytes = sizeof(T);
    return what;
  }

  void run(const char* layout, const cornerturn::dist::problem& what, const part& from, const part& to,
           std::vector<contender> all, std::vector<T>& src, std::vector<T>& dst, int rounds) {
    fill(from, src);
    cornerturn::dist::options how;
    how.local.threads = 1;
    const cornerturn::mpi::memory shared(world_, static_cast<std::int64_t>(dst.size() * sizeof(T)));
    const cornerturn::dist::plan by_stores(what, world_.get(), how);
    how.route = cornerturn::dist::route::messages;
    const cornerturn::dist::plan by_messages(what, world_.get(), how);
    const void* const source = src.data();
    void *const destination = dst.data(), *const in_shared = shared.data();
    all.push_back({"messages", [&] { by_messages.execute({&source, 1}, {&destination, 1}); }});
    all.push_back({"cornerturn", [&] { by_stores.execute({&source, 1}, {&in_shared, 1}); }});
    // 4.
    for (const contender& one : all) {
      T* const result = &one == &all.back() ? static_cast<T*>(in_shared) : dst.data();
      std::fill_n(result, dst.size(), T{-1});
      MPI_Barrier(MPI_COMM_WORLD);
      one.run();
      if (!is_transposed(to, result)) fail(one.name + " gives a wrong element on rank " + std::to_string(rank()));
    }
    all.push_back({"copy", [&] { std::memcpy(dst.data(), src.data(), src.size() * sizeof(T)); }});  // 3
    race(all, rounds);
    if (rank() != 0) return;
    const double own = median(all[all.size() - 2].seconds);
    for (const contender& one : all) {
      const double seconds = median(one.seconds);
      std::printf("%-6s %-12s %8lld  %-10s %9.2f ms  %6.2f GB/s a rank  %5.2f x cornerturn\n",
                  sizeof(T) == 4 ? "float" : "double", layout, static_cast<long long>(n_), one.name.c_str(),
                  seconds * 1e3, static_cast<double>(src.size() * sizeof(T)) / seconds / 1e9, seconds / own);
    }
    std::fflush(stdout);
  }

#ifdef CORNERTURN_BENCH_FFTW_MPI
  auto fftw_plan_of(std::int64_t block, T* src, T* dst) {
    if constexpr (sizeof(T) == 4) {
      return fftwf_mpi_plan_many_transpose(n_, n_, 1, block, block, src, dst, MPI_COMM_WORLD, FFTW_MEASURE);
    } else {
      return fftw_mpi_plan_many_transpose(n_, n_, 1, block, block, src, dst, MPI_COMM_WORLD, FFTW_MEASURE);
    }
  }
  static void fftw_run(fftwf_plan plan) { fftwf_execute(plan); }
  static void fftw_run(fftw_plan plan) { fftw_execute(plan); }
  static void fftw_end(fftwf_plan plan) { fftwf_destroy_plan(plan); }
  static void fftw_end(fftw_plan plan) { fftw_destroy_plan(plan); }
#endif

#ifdef CORNERTURN_BENCH_COSTA
  // Each rank has every size-th block of rows. The local arrays are row-major (order R) or column-major (C). COSTA plans in each call.
  auto costa_of(std::int64_t row_block, std::int64_t col_block, char order, std::int64_t ld, T* src, T* dst) {
    const auto layout_of = [&](T* data) {
      const int n = static_cast<int>(n_);
      return costa::block_cyclic_layout<T>(n, n, static_cast<int>(row_block), static_cast<int>(col_block), 1, 1, n, n,
                                           size(), 1, 'R', 0, 0, data, static_cast<int>(ld), order, rank());
    };
    return [from = layout_of(src), to = layout_of(dst)]() mutable {
      costa::transform<T>(from, to, 'T', 1, 0, MPI_COMM_WORLD);
    };
  }
#endif

  cornerturn::mpi::communicator& world_;
  std::int64_t n_;
};

template <class T>
void measure(cornerturn::mpi::communicator& world, double mib, int rounds) {
  const auto all = mib * 1048576 * world.get().size / sizeof(T);
  const std::int64_t n = std::max<std::int64_t>(static_cast<std::int64_t>(std::sqrt(all)) / 64 * 64, 64);
  transposes<T> those(world, n);
  those.slabs(rounds);
  those.block_cyclic(rounds);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
#ifdef CORNERTURN_BENCH_FFTW_MPI
  fftw_mpi_init();
  fftwf_mpi_init();
#endif
#ifdef CORNERTURN_BENCH_COSTA
  omp_set_num_threads(1);
#endif
  {
    cornerturn::mpi::communicator world(MPI_COMM_WORLD);
    double mib = 256;
    int rounds = 7;
    const bool is_read = (argc < 2 || cornerturn::base::read_number(argv[1], mib)) &&
                         (argc < 3 || cornerturn::base::read_number(argv[2], rounds));
    if (!is_read || !(mib > 0) || rounds < 1) fail("usage: mpirun -n RANKS cornerturn_mpi_bench [MIB [ROUNDS]]");
    measure<float>(world, mib, rounds);
    measure<double>(world, mib, rounds);
  }
  MPI_Finalize();
  return 0;
}
