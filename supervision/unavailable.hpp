// The answer of a route that is out of service.
#pragma once

#include <bulkhead/http/response.hpp>

#include <chrono>

namespace bulkhead::supervision {

// 503, with Retry-After unless it is for good (RFC 9110 section 10.2.3).
[[nodiscard]] http::response unavailable(std::chrono::milliseconds wait);

}  // namespace bulkhead::supervision
