// Text that is built with <<, as std::ostringstream does, but in no locale and without silence when memory ends.
#pragma once

#include <locale>
#include <sstream>

namespace cornerturn::base {

class text_stream : public std::ostringstream {
 public:
  text_stream() {
    imbue(std::locale::classic());  // a program's std::locale::global() would group digits: 1.234
    exceptions(std::ios::badbit);   // std::bad_alloc reaches the caller, instead of a text that is cut
  }
};

}  // namespace cornerturn::base
