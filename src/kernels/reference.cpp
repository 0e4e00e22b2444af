// The oracles: they walk the canonical axes one word at a time. One unit is the whole problem.
#include "kernels/reference.hpp"

#include <cstring>

#include "kernels/element.hpp"
#include "kernels/kernel.hpp"

namespace cornerturn::kernels {

namespace cpu::reference {

// Nothing is slower: an oracle is chosen by name only.
static bool offer_any(const facts& known, const target& /*on*/, const kernel& /*row*/, offer& made) noexcept {
  auto& work = made.emplace<args>();
  work.form = known.form;
  work.math = known.math;
  made.units = known.form.empty ? 0 : 1;
  made.threads = 1;
  made.time = 1000;
  made.binds = bound::issue;
  made.reason = "the oracle of the tests: one word at a time";
  return true;
}

bool offer_move(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  return offer_any(known, on, row, made);
}
bool offer_apply(const facts& known, const target& on, const kernel& row, offer& made) noexcept {
  return offer_any(known, on, row, made);
}

}  // namespace cpu::reference

void cpu_reference(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) noexcept {
  const map::canonical& form = static_cast<const cpu::reference::args*>(args)->form;
  if (begin > 0 || end <= 0) return;
  const auto word = static_cast<std::size_t>(form.word_bytes);
  const std::int64_t total = map::words(form);
  for (std::int64_t i = 0; i < total; ++i) {
    const map::offsets here = map::at(form, i);
    std::memcpy(all.dst + here.dst * form.word_bytes, all.src + here.src * form.word_bytes, word);
  }
}

void cpu_apply_reference(const void* args, const arrays& all, std::int64_t begin, std::int64_t end) noexcept {
  if (begin > 0 || end <= 0) return;
  const auto& work = *static_cast<const cpu::reference::args*>(args);
  const map::canonical& form = work.form;
  const op& how = work.math;
  const std::int64_t total = map::words(form);
  visit(how, [&](auto src_type, auto dst_type, auto which) {
    using Src = typename decltype(src_type)::storage;
    using Dst = typename decltype(dst_type)::storage;
    for (std::int64_t i = 0; i < total; ++i) {
      const map::offsets here = map::at(form, i);
      Src s{};
      Dst second{};
      if (how.reads_src()) std::memcpy(&s, all.src + here.src * form.word_bytes, sizeof s);
      if (how.reads_second()) std::memcpy(&second, all.second + here.second * form.dst_word_bytes, sizeof second);
      const Dst made = apply<which.value>(how, s, second, all.scale);
      std::memcpy(all.dst + here.dst * form.dst_word_bytes, &made, sizeof made);
      if (how.second == second_array::destination) {
        std::memcpy(all.second_dst + here.second * form.dst_word_bytes, &made, sizeof made);
      }
    }
  });
}

}  // namespace cornerturn::kernels
