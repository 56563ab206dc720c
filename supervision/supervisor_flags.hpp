// What makes one supervisor differ from another (OTP: sup_flags).
//
// Plain data.
#pragma once

#include <bulkhead/supervision/child_spec.hpp>
#include <bulkhead/supervision/strategy.hpp>

namespace bulkhead::supervision {

struct supervisor_flags {
  supervision::strategy strategy = strategy::one_for_one;
  // Of all its children together. More restarts than that within the period, and the supervisor
  // itself is what is broken: it stops its children and ends with a fault. Each child has an
  // intensity of its own (child_spec), beyond which it backs off: keep this one well above, or one
  // guilty child costs its siblings.
  restart_intensity intensity = {.restarts = 50, .period = std::chrono::seconds(10)};
};

}  // namespace bulkhead::supervision
