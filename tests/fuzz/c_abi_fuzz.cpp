// Every function of the C ABI with any arguments that are not wild pointers: a status and a sentence, and no byte outside of the
// arrays. Problems of any numbers are planned; problems that fit the arrays are executed too.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/printable.hpp"
#include "cornerturn/cornerturn.h"

namespace {

// Takes bytes from the front; zeros at the end of the input.
class input {
 public:
  input(const std::uint8_t* data, std::size_t size) : at_(data), left_(size) {}
  std::uint8_t byte() { return left_ == 0 ? 0 : (--left_, *at_++); }
  std::int64_t word() {
    std::uint64_t x = 0;
    for (int k = 0; k < 8; ++k) x = x << 8 | byte();
    return static_cast<std::int64_t>(x);
  }
  // Small, of 64 bits, or next to a power of two.
  std::int64_t number() {
    const std::uint8_t kind = byte();
    const std::int64_t power = std::int64_t{1} << (kind >> 3 << 1);
    switch (kind % 8) {
      case 0:
        return word();
      case 1:
        return power + static_cast<std::int8_t>(byte());
      case 2:
        return -power + static_cast<std::int8_t>(byte());
      default:
        return byte() % 16;
    }
  }
  int small_int() { return static_cast<int>(number()); }
  double real() {
    static constexpr double some[] = {0, 1, -1, 0.5, 1e300, -1e-300, 3, 1e18};
    const std::uint8_t kind = byte();
    if (kind % 16 < 8) return some[kind % 8];
    double value = 0;
    const std::int64_t bits = word();
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

 private:
  const std::uint8_t* at_;
  std::size_t left_;
};

void check(cornerturn_status code) {
  const std::string sentence = cornerturn_last_error();
  if (code < CORNERTURN_OK || code > CORNERTURN_IO_ERROR || code == CORNERTURN_INTERNAL) std::abort();
  if ((code == CORNERTURN_OK) != sentence.empty()) std::abort();
  if (cornerturn::base::printable(sentence) != sentence || sentence.find("std::") != std::string::npos) std::abort();
}

cornerturn_problem problem_of(input& from) {
  cornerturn_problem what = CORNERTURN_PROBLEM_INIT;
  what.element_bytes = from.number();
  what.rank = from.byte() % 4 == 0 ? from.small_int() : from.byte() % 6;
  for (cornerturn_axis& one : what.axes) one = {from.number(), from.number(), from.number()};
  what.in_place = from.byte() % 8 == 0 ? from.small_int() : 0;
  return what;
}

cornerturn_arithmetic arithmetic_of(input& from) {
  cornerturn_arithmetic math = CORNERTURN_ARITHMETIC_INIT;
  const std::uint8_t kind = from.byte();
  if (kind % 4 == 0) return math;
  const auto type = [&] {
    return static_cast<cornerturn_element_type>(kind % 16 == 1 ? from.small_int() : from.byte() % 17);
  };
  math.src = type();
  math.dst = from.byte() % 2 == 0 ? math.src : type();
  for (double* one : {&math.alpha[0], &math.alpha[1], &math.beta[0], &math.beta[1]}) {
    if (from.byte() % 3 == 0) *one = from.real();
  }
  math.conj = from.byte() % 5 == 0;
  math.saturate = from.byte() % 2;
  math.scaled = from.byte() % 3 == 0;
  math.second = static_cast<cornerturn_second_array>(from.byte() % 5 == 0 ? from.small_int() : from.byte() % 3);
  for (std::int64_t& one : math.second_strides) one = from.byte() % 2 == 0 ? 0 : from.number();
  return math;
}

cornerturn_options options_of(input& from) {
  cornerturn_options options = CORNERTURN_OPTIONS_INIT;
  options.device = static_cast<cornerturn_device>(from.byte() % 4 == 0 ? from.small_int() : 1);
  options.threads = from.byte() % 4 == 0 ? from.small_int() : 1;
  options.measure = from.byte() % 4 == 0 ? from.small_int() : 1;
  return options;
}

constexpr std::int64_t room = 1 << 14;

// The bytes that the problem uses on one side, before and behind the pointer. False: more than the room.
bool reach_of(const cornerturn_problem& what, std::int64_t bytes, const std::int64_t* strides, std::int64_t& before,
              std::int64_t& behind) {
  __int128 low = 0, high = 1;
  for (int k = 0; k < what.rank; ++k) {
    const __int128 reach = static_cast<__int128>(what.axes[k].extent - 1) * strides[k];
    (reach < 0 ? low : high) += reach;
    if (low * bytes < -room || high * bytes > room) return false;
  }
  before = static_cast<std::int64_t>(-low * bytes);
  behind = static_cast<std::int64_t>(high * bytes);
  return behind <= room;
}

// Arrays of exactly the bytes that the problem uses: ASan sees each access outside.
struct arrays {
  std::vector<unsigned char> src, dst, second, workspace;
  cornerturn_operands all = CORNERTURN_OPERANDS_INIT;
  float scale = 1;
  bool fit = false;

  arrays(const cornerturn_problem& what, const cornerturn_arithmetic& math, std::int64_t workspace_bytes, input& from) {
    if (what.rank < 0 || what.rank > CORNERTURN_MAX_RANK || what.element_bytes < 1 || what.element_bytes > room) return;
    std::int64_t strides[3][CORNERTURN_MAX_RANK] = {};
    std::int64_t elements = 1;
    for (int k = 0; k < what.rank; ++k) {
      const std::int64_t extent = what.axes[k].extent;
      if (extent < 1 || extent > room || (elements *= extent) > room) return;
      strides[0][k] = what.axes[k].src_stride;
      strides[1][k] = what.axes[k].dst_stride;
      strides[2][k] = math.second_strides[k];
    }
    const std::int64_t widest = std::max<std::int64_t>(what.element_bytes, 16);  // an element of dst, at most
    std::int64_t before[3] = {}, behind[3] = {};
    for (int side = 0; side < 3; ++side) {
      if (!reach_of(what, side == 0 ? what.element_bytes : widest, strides[side], before[side], behind[side])) return;
    }
    std::vector<unsigned char>* const each[] = {&src, &dst, &second};
    for (int side = 0; side < 3; ++side)
      each[side]->assign(static_cast<std::size_t>(before[side] + behind[side]), from.byte());
    if (workspace_bytes > room * 16) return;
    workspace.assign(static_cast<std::size_t>(workspace_bytes), 1);
    all.src = src.data() + before[0];
    all.dst = dst.data() + before[1];
    if (what.in_place != 0) all.src = all.dst;
    if (math.second == CORNERTURN_SECOND_SOURCE) all.second = second.data() + before[2];
    if (math.second == CORNERTURN_SECOND_DESTINATION) all.second_dst = second.data() + before[2];
    if (math.scaled != 0) all.scale = &scale;
    if (from.byte() % 2 == 0 && workspace_bytes > 0) {
      all.workspace = workspace.data();
      all.workspace_bytes = workspace_bytes;
    }
    fit = true;
  }
};

void run(const cornerturn_plan* plan, const cornerturn_problem& what, const cornerturn_arithmetic& math, input& from) {
  std::int64_t workspace_bytes = 0;
  check(cornerturn_plan_workspace_bytes(plan, CORNERTURN_DEVICE_CPU, &workspace_bytes));
  arrays made(what, math, workspace_bytes, from);
  check(cornerturn_plan_execute(plan, nullptr, nullptr, nullptr));
  if (!made.fit) return;
  check(cornerturn_plan_apply(plan, &made.all, nullptr));
  check(cornerturn_apply(&what, &math, &made.all, nullptr));
  made.all.src = made.all.workspace = made.all.dst;
  made.all.workspace_bytes = from.number() % room;
  check(cornerturn_plan_apply(plan, &made.all, nullptr));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  input from(data, size);
  cornerturn_problem what = problem_of(from);
  std::int64_t extents[CORNERTURN_MAX_RANK];
  int axes[CORNERTURN_MAX_RANK];
  for (int k = 0; k < CORNERTURN_MAX_RANK; ++k) {
    extents[k] = from.number();
    axes[k] = from.byte() % 4 == 0 ? from.small_int() : (k + from.byte()) % 4;
  }
  switch (from.byte() % 4) {
    case 0:
      check(cornerturn_transpose_problem(from.number(), from.number(), from.number(), from.number(), from.number(),
                                         &what));
      break;
    case 1:
      check(cornerturn_permute_problem(from.byte() % 17, extents, axes, from.number(), &what));
      break;
    default:
      break;
  }
  const cornerturn_arithmetic math = arithmetic_of(from);
  const cornerturn_options options = options_of(from);
  cornerturn_plan* plan = nullptr;
  const cornerturn_status code = cornerturn_plan_create(&what, &math, &options, &plan);
  check(code);
  if ((plan != nullptr) != (code == CORNERTURN_OK)) std::abort();
  if (plan != nullptr) run(plan, what, math, from);
  cornerturn_plan_destroy(plan);

  const cornerturn_problem* const problems[] = {&what, &what};
  const void* const all_src[] = {extents, nullptr};
  void* const all_dst[] = {axes, nullptr};
  cornerturn_batch* batch = nullptr;
  check(cornerturn_batch_create(problems, all_src, all_dst,
                                from.byte() % 8 == 0 ? std::min<std::int64_t>(from.number(), 2) : 1, &options, &batch));
  cornerturn_batch_destroy(batch);
  static_cast<void>(cornerturn_status_name(static_cast<cornerturn_status>(from.small_int())));
  return 0;
}
