// A fault that no handler threw and that names its own kind in the ledger, where that of an
// exception is its type.
#pragma once

#include <stdexcept>
#include <string>

namespace bulkhead::supervision {

class named_fault : public std::runtime_error {
 public:
  // `kind`: a literal.
  named_fault(const char* kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  [[nodiscard]] const char* kind() const noexcept { return kind_; }

 private:
  const char* kind_;
};

}  // namespace bulkhead::supervision
