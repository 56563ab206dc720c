// What a configuration holds, for the sources of tls/ alone.
#pragma once

#include <bulkhead/tls/configuration.hpp>
#include <bulkhead/tls/name_index.hpp>
#include <bulkhead/tls/pem.hpp>

#include <array>
#include <string>
#include <vector>

namespace bulkhead::tls {

struct configuration::parts {
  options source;
  std::vector<identity> identities;  // the first is the default
  name_index names;
  std::vector<certificate_ptr> client_authorities;
  std::string digest;                 // hexadecimal
  std::array<std::string, 3> fences;  // by client_auth, 32 bytes each
};

}  // namespace bulkhead::tls
