// Which identity serves a server name (RFC 6125 section 6.4): exact names first, then wildcards.
//
// Made with its configuration, then only read; any thread.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace bulkhead::tls {

class name_index {
 public:
  // `name`: a lower-case dNSName, "*." in front for any one left-most label. The first identity
  // that claims a name keeps it.
  void add(std::string_view name, std::size_t identity);
  // `name`: as a client sent it, in any case, perhaps with the root's dot.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;

 private:
  std::map<std::string, std::size_t, std::less<>> exact_;
  std::map<std::string, std::size_t, std::less<>> wildcard_;  // by what follows the "*"
};

}  // namespace bulkhead::tls
