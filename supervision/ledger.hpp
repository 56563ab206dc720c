// The fault ledger: a bounded record of every fault, what it cost and what was done about it.
//
// Any thread; a mutex, because faults are rare. Its memory is taken when it is made: a storm of
// faults costs none. The text of an exception is here and in the log, and nowhere that a client
// sees.
#pragma once

#include <bulkhead/runtime/clock.hpp>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace bulkhead::supervision {

struct fault {
  std::uint64_t number = 0;  // of this process, from 1
  runtime::wall_time when{};
  std::string child;          // id of the child_spec
  std::string kind;           // exception type, "connection", ...
  std::string what;           // its text, for operators
  std::string route;          // method and target of the request, if one was being served
  std::uint64_t request = 0;  // its id; 0 without
  unsigned shard = 0;
  std::string action;  // "restarted", "backing off for 1200 ms", "connection closed"
};

class ledger {
 public:
  explicit ledger(std::size_t capacity = 256);

  // Longer texts are cut: clients choose targets, and handlers what().
  static constexpr std::size_t longest_text = 256;

  // Numbers and keeps the fault, forgetting the oldest, and writes it to the log.
  void record(const fault& f);
  [[nodiscard]] std::vector<fault> recent() const;  // oldest first
  [[nodiscard]] std::uint64_t total() const;
  [[nodiscard]] std::string to_json() const;

 private:
  mutable std::mutex mutex_;
  std::vector<fault> ring_;  // fault n is at (n - 1) % size
  std::uint64_t total_ = 0;
};

}  // namespace bulkhead::supervision
