// A program uses both namespaces: no name of the contract is ambiguous.
#include <algorithm>
#include <array>
#include <chrono>
#include <complex>
#include <cornerturn/cornerturn.hpp>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>
#if __has_include(<execution>)
#include <execution>
#endif
#if __has_include(<mdspan>)
#include <mdspan>
#endif

using namespace std;
using namespace cornerturn;

int main() {
  const vector<complex<float>> src(6 * 5, {1, 2});
  vector<complex<float>> dst(src.size());
  transpose(src.data(), dst.data(), 6, 5);
  problem what = transpose_problem(6, 5, sizeof(src[0]));
  what.math = arithmetic{.src = element_type::complex64, .dst = element_type::complex64, .conj = true};
  const plan how(what, plan_options{.device = device::cpu, .threads = 1});
  const operands all{.src = src.data(), .dst = dst.data()};
  how.execute(all);
  execute(what, all);
  execute(what, src.data(), dst.data());
  const array<int64_t, 3> extents{1, 6, 5};
  const array<int, 3> axes{2, 0, 1};
  permute(src.data(), dst.data(), span(extents), span(axes));
  batch(vector<batch_item>{{what = transpose_problem(6, 5, 8), src.data(), dst.data()}}).execute();
  const vector<plan_offer> known = offers(what, offer_options{.machine = "cpu"});
  forget_tuning();
  const string text = how.explain() + explain(what, {.machine = "cpu"}) + version() + cpu().model + backends()[0].name;
  try {
    execute(batched(what, -1, 0, 0), src.data(), dst.data());
  } catch (const error& refused) {
    return refused.code() == status::invalid_argument && !known.empty() && !text.empty() &&
                   string(name(refused.code())) == "invalid_argument" && bytes_of(element_type::int8) == 1
               ? 0
               : 1;
  }
  return 1;
}
