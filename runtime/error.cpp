#include <bulkhead/runtime/error.hpp>

#include <system_error>

namespace bulkhead {

std::string_view to_string(error_category category) noexcept {
  switch (category) {
    case error_category::usage:
      return "usage";
    case error_category::configuration:
      return "configuration";
    case error_category::resource:
      return "resource";
    case error_category::network:
      return "network";
    case error_category::protocol:
      return "protocol";
    case error_category::internal:
      return "internal";
  }
  return "unknown";
}

std::string errno_text(int errno_value) {
  return std::generic_category().message(errno_value);
}

}  // namespace bulkhead
