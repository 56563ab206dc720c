#include <bulkhead/supervision/route_supervisor.hpp>
#include <bulkhead/supervision/unavailable.hpp>

#include <string>
#include <utility>

namespace bulkhead::supervision {

http::response unavailable(std::chrono::milliseconds wait) {
  http::response r = http::response::problem(503);
  if (wait != route_supervisor::for_good) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait);
    r.field("Retry-After", std::to_string(seconds.count()));
  }
  return r;
}

}  // namespace bulkhead::supervision
