// One rank: a transpose by messages, of which none is sent.
#include <vector>

#include "cornerturn/mpi.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  bool right = true;
  {
    const cornerturn::mpi::communicator world(MPI_COMM_WORLD);
    cornerturn::dist::problem what;
    what.extents = {3, 5};
    what.axes = {1, 0};
    what.element_bytes = sizeof(int);
    what.src = cornerturn::dist::slabs(what.extents, 0, world.get().size);
    what.dst = cornerturn::dist::slabs(std::vector<std::int64_t>{5, 3}, 0, world.get().size);
    const cornerturn::dist::plan plan(what, world.get());
    std::vector<int> src(15), dst(15);
    for (int k = 0; k < 15; ++k) src[static_cast<std::size_t>(k)] = k;
    const void* const from = src.data();
    void* const to = dst.data();
    plan.execute({&from, 1}, {&to, 1});
    for (int k = 0; k < 15; ++k) right = right && dst[static_cast<std::size_t>(k)] == k % 3 * 5 + k / 3;
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
