// Where a call runs, from what its pointers are: the whole table of place.hpp.
#include "api/device.hpp"

#include <gtest/gtest.h>

#include "expect_error.hpp"

namespace cornerturn::api {
namespace {

using gpu::location;
using gpu::memory;
using testing::expect_error;

constexpr location pageable{memory::pageable, 0};
constexpr location pinned{memory::pinned, 0};
constexpr location managed{memory::managed, 0};
constexpr location on_gpu(int device) { return {memory::device, device}; }

constexpr int refused = -100;

int place(device on, const location& src, const location& dst) {
  try {
    return device_of_call(on, src, dst);
  } catch (const error& caught) {
    EXPECT_EQ(caught.code(), status::invalid_argument);
    return refused;
  }
}

TEST(place, follows_the_table) {
  struct row {
    location one, other;
    int automatic, cpu, cuda;
  };
  const row table[] = {
      {on_gpu(3), on_gpu(3), 3, refused, 3},
      {on_gpu(3), managed, 3, refused, 3},
      {on_gpu(3), pinned, 3, refused, 3},
      {on_gpu(3), pageable, refused, refused, refused},
      {on_gpu(3), on_gpu(0), refused, refused, refused},
      {managed, managed, on_current_gpu, on_cpu, on_current_gpu},
      {managed, pinned, on_current_gpu, on_cpu, on_current_gpu},
      {managed, pageable, refused, on_cpu, refused},
      {pinned, pinned, on_cpu, on_cpu, on_current_gpu},
      {pinned, pageable, on_cpu, on_cpu, refused},
      {pageable, pageable, on_cpu, on_cpu, refused},
  };
  for (const row& wanted : table) {
    for (const bool turned : {false, true}) {
      const location& src = turned ? wanted.other : wanted.one;
      const location& dst = turned ? wanted.one : wanted.other;
      const std::string which = std::to_string(&wanted - table) + (turned ? ", turned" : "");
      EXPECT_EQ(place(device::automatic, src, dst), wanted.automatic) << which;
      EXPECT_EQ(place(device::cpu, src, dst), wanted.cpu) << which;
      EXPECT_EQ(place(device::cuda, src, dst), wanted.cuda) << which;
    }
  }
}

TEST(place, a_refusal_says_what_both_are_and_what_is_wanted) {
  const auto call = [](device on, const location& src, const location& dst) {
    return [=] { static_cast<void>(device_of_call(on, src, dst)); };
  };
  expect_error(
      status::invalid_argument,
      {"src is memory of GPU 1", "dst is host memory that no GPU can access", "both on one GPU, or both on the host"},
      call(device::automatic, on_gpu(1), pageable));
  expect_error(status::invalid_argument, {"src is memory of GPU 1", "dst is memory of GPU 0", "both on one GPU"},
               call(device::automatic, on_gpu(1), on_gpu(0)));
  expect_error(status::invalid_argument, {"src is pinned host memory", "dst is memory of GPU 2", "the device is cpu"},
               call(device::cpu, pinned, on_gpu(2)));
  expect_error(status::invalid_argument,
               {"src is host memory that no GPU can access", "dst is pinned host memory", "the device is cuda"},
               call(device::cuda, pageable, pinned));
  expect_error(status::invalid_argument, {"src is managed memory", "dst is host memory that no GPU can access"},
               call(device::automatic, managed, pageable));
}

TEST(place, every_other_array_must_be_reached_from_there) {
  for (const location& one : {pageable, pinned, managed}) EXPECT_NO_THROW(check_access(on_cpu, "second", one));
  for (const location& one : {pinned, managed, on_gpu(3)}) EXPECT_NO_THROW(check_access(3, "second", one));
  expect_error(status::invalid_argument, {"second is memory of GPU 1", "runs on the CPU", "Wanted: host memory"},
               [] { check_access(on_cpu, "second", on_gpu(1)); });
  expect_error(status::invalid_argument, {"scale is host memory that no GPU can access", "runs on GPU 3", "Wanted"},
               [] { check_access(3, "scale", pageable); });
  expect_error(status::invalid_argument, {"second_dst is memory of GPU 1", "runs on GPU 3"},
               [] { check_access(3, "second_dst", on_gpu(1)); });
}

}  // namespace
}  // namespace cornerturn::api
