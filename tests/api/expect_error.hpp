// A call must fail with one status and a sentence that names the argument, the value found and the value wanted.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "cornerturn/error.hpp"

namespace cornerturn::testing {

template <class Call>
void expect_error(status code, std::initializer_list<const char*> parts, const Call& call) {
  try {
    call();
    ADD_FAILURE() << "no error, wanted " << name(code);
  } catch (const error& caught) {
    const std::string sentence = caught.what();
    EXPECT_STREQ(name(caught.code()), name(code)) << sentence;
    for (const char* part : parts)
      EXPECT_NE(sentence.find(part), std::string::npos) << '"' << part << "\" is not in: " << sentence;
  }
}

}  // namespace cornerturn::testing
