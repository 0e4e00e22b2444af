// The decision list of problems with math on the CPU. The first line whose condition holds wins.
//   1  nothing to compute                                          reference
//   2  everything else                                             reference
#include "plan/apply.hpp"

namespace cornerturn::planning {

choice choose_apply(const map::canonical& form, const kernels::op& math, const request& wanted,
                    const base::machine& /*machine*/) noexcept {
  choice made;
  kernels::job& work = made.work;
  work.form = form;
  work.form.src_offset = 0;  // a kernel's pointers are those of index 0
  work.form.dst_offset = 0;
  work.form.second_offset = 0;
  work.math = math;
  work.units = form.empty ? 0 : 1;
  made.line = form.empty ? 1 : 2;
  made.reason = form.empty ? "there is nothing to compute" : "one element at a time";
  made.kernel = kernels::find(wanted.kernel.empty() ? "cpu_apply_reference" : wanted.kernel);
  if (made.kernel != nullptr && made.kernel->apply == nullptr) made.kernel = nullptr;
  return made;
}

}  // namespace cornerturn::planning
