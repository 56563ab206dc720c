// Whether the server wants new requests, as a set of reasons why not: ready is the empty set.
//
// Any thread. Each reason belongs to the part that raises and clears it: "draining", "cells
// unavailable". They are shown at the admin address, so they name no client and no secret.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace bulkhead::supervision {

class readiness {
 public:
  // Raising what holds already, and clearing what does not hold, changes nothing.
  void raise(std::string_view reason);
  void clear(std::string_view reason);

  [[nodiscard]] bool ready() const;
  [[nodiscard]] std::vector<std::string> reasons() const;  // the oldest first

  // Called after each change, on the thread that made it and before its raise() or clear()
  // returns; for a service manager that wants to be told. Set before the server starts.
  void on_change(std::function<void()> told);

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> reasons_;
  std::function<void()> told_;
};

}  // namespace bulkhead::supervision
