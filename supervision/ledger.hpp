// The fault ledger: a bounded record of every fault, what it cost and what was done about it.
//
// Any thread; a mutex, because faults are rare. Its memory is taken when it is made: a storm of
// faults costs none. The text of an exception is here and in the log, and nowhere that a client
// sees.
#pragma once

#include <bulkhead/runtime/clock.hpp>

#include <chrono>
#include <cstddef>
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
  int signal = 0;      // that ended the child; 0: none
  // -- what it cost
  std::uint32_t requests_failed = 0;
  std::uint32_t sessions_lost = 0;
  std::chrono::microseconds restart_time{0};  // 0: not known, or no restart
  std::string detail = {};                    // several lines are allowed: a backtrace
};

// Which faults are asked for.
struct fault_query {
  std::size_t limit = static_cast<std::size_t>(-1);  // so many of the newest
  std::string child = {};                            // of this child; empty: of all
  std::uint64_t since = 0;                           // only those with a higher number
};

// Sums over all faults, the forgotten ones too. They never fall.
struct fault_totals {
  struct of_kind {
    std::string kind;
    std::uint64_t faults = 0;
  };
  std::uint64_t faults = 0;
  std::uint64_t requests_failed = 0;
  std::uint64_t sessions_lost = 0;
  std::chrono::microseconds restart_time{0};
  std::vector<of_kind> kinds;  // in the order of their first fault
};

class ledger {
 public:
  explicit ledger(std::size_t capacity = 256);

  // Longer texts are cut: clients choose targets, and handlers what().
  static constexpr std::size_t longest_text = 256;
  static constexpr std::size_t longest_detail = 4096;
  // Kinds that are summed by name; faults of further kinds are summed as "other".
  static constexpr std::size_t most_kinds = 32;

  // Numbers and keeps the fault, forgetting the oldest, and writes it to the log. The number.
  std::uint64_t record(const fault& f);
  // How long the restart after fault `number` took: known later than the fault, which may be
  // forgotten by then.
  void restarted(std::uint64_t number, std::chrono::microseconds took);

  [[nodiscard]] std::vector<fault> recent() const;  // oldest first
  [[nodiscard]] std::vector<fault> select(const fault_query& q) const;
  [[nodiscard]] std::uint64_t total() const;
  [[nodiscard]] fault_totals totals() const;
  [[nodiscard]] std::size_t capacity() const noexcept { return ring_.size(); }
  [[nodiscard]] std::size_t memory() const;  // bytes held for texts

  // For the admin listener: one line, and a page for people.
  [[nodiscard]] std::string to_json(const fault_query& q = {}) const;
  [[nodiscard]] std::string to_text(const fault_query& q = {}) const;

 private:
  void count(const fault& f);

  mutable std::mutex mutex_;
  std::vector<fault> ring_;  // fault n is at (n - 1) % size
  fault_totals totals_;
};

}  // namespace bulkhead::supervision
