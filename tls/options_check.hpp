// Whether options make sense before any file is read: names are known, ranges are not empty.
#pragma once

#include <bulkhead/runtime/error.hpp>
#include <bulkhead/tls/options.hpp>

namespace bulkhead::tls {

[[nodiscard]] result<void> check(const options& o);

}  // namespace bulkhead::tls
