// What happened, as numbers that must balance (DESIGN: "Credit").
//
// One writer, the shard; any reader. Connections: admitted = open + closed. Requests:
// started = in flight + completed + trapped + aborted. Messages: sent = queued + handled +
// refused, and what is missing was lost.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace bulkhead::actors {

// A number that one thread counts and any thread reads: no locked instruction.
class counter {
 public:
  void add(std::uint64_t n = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Counted from any thread.
class shared_counter {
 public:
  void add(std::uint64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  void subtract(std::uint64_t n = 1) noexcept { value_.fetch_sub(n, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t get() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct alignas(64) shard_counters {
  counter admitted;           // connections
  counter closed;             // connections
  counter rejected;           // connections refused by admission, each answered and counted
  counter connection_faults;  // connections that ended by a defect of ours, not by their peer
  counter handshakes;         // completed
  counter handshake_failures;
  counter handshake_timeouts;
  counter truncated;             // TLS sessions that ended without close_notify
  counter malformed;             // requests refused by the parser
  counter late;                  // requests that did not arrive whole in time
  counter started;               // requests given to a handler or answered in its place
  counter completed;             // answered, and with the kernel to the last byte
  counter trapped;               // the handler faulted
  counter aborted;               // the client or a deadline ended them
  shared_counter messages_sent;  // to mailboxes of connections
  shared_counter messages_queued;
  shared_counter messages_refused;
  shared_counter messages_handled;
};

// A sum over the shards at one moment; exact once the shards are quiet.
struct counters_snapshot {
  std::uint64_t admitted = 0, open = 0, closed = 0, rejected = 0, connection_faults = 0;
  std::uint64_t handshakes = 0, handshake_failures = 0, handshake_timeouts = 0, truncated = 0;
  std::uint64_t malformed = 0, late = 0;
  std::uint64_t started = 0, in_flight = 0, completed = 0, trapped = 0, aborted = 0;
  std::uint64_t restarted = 0;          // handler instances; counted by their supervisors
  std::uint64_t abandoned_threads = 0;  // held by late handlers at this moment
  std::uint64_t stalls = 0;             // shards held up; counted by the watchdog
  std::uint64_t lost = 0;
  std::uint64_t messages_sent = 0, messages_queued = 0;
  std::uint64_t messages_handled = 0, messages_refused = 0;

  void add(const shard_counters& c) noexcept;
  [[nodiscard]] std::string to_json() const;  // one line
};

}  // namespace bulkhead::actors
