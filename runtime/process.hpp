// What the kernel knows of this process.
#pragma once

#include <bulkhead/runtime/clock.hpp>

namespace bulkhead::runtime {

// When the process was started, to a hundredth of a second; the epoch when /proc does not say.
[[nodiscard]] wall_time process_start();

}  // namespace bulkhead::runtime
