// Includes the whole C++ interface.
#pragma once

#include "cornerturn/arithmetic.hpp"  // IWYU pragma: export
#include "cornerturn/batch.hpp"       // IWYU pragma: export
#include "cornerturn/dist.hpp"        // IWYU pragma: export
#include "cornerturn/error.hpp"       // IWYU pragma: export
#include "cornerturn/file.hpp"        // IWYU pragma: export
#include "cornerturn/machine.hpp"     // IWYU pragma: export
#include "cornerturn/mdspan.hpp"      // IWYU pragma: export
#include "cornerturn/plan.hpp"        // IWYU pragma: export
#include "cornerturn/problem.hpp"     // IWYU pragma: export
#include "cornerturn/system.hpp"      // IWYU pragma: export
#include "cornerturn/transpose.hpp"   // IWYU pragma: export
#include "cornerturn/tune.hpp"        // IWYU pragma: export
#include "cornerturn/version.h"       // IWYU pragma: export
