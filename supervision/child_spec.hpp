// How one child of a supervisor is started, restarted and shut down, in OTP's words.
//
// Plain data. A route's handler is a child; so will services and cells be.
#pragma once

#include <bulkhead/supervision/cell_options.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace bulkhead::supervision {

// Where a handler runs, and so what its faults can cost. See README, "What survives what".
enum class placement : std::uint8_t {
  inline_,  // inside the connection's turn on the shard: cheapest, for code that does not block
  actor,    // a supervised actor on CAF's scheduler, or on its own thread: may block
  cell,     // a process of its own: may block, crash and run wild
};

// Whether a child that ended is started again (OTP: restart).
enum class restart_type : std::uint8_t {
  permanent,  // always
  transient,  // only after a fault; the same for a handler, which ends no other way
  temporary,  // never: a route answers 503 for good after its first fault
};

// More than `restarts` restarts within `period` are too many: then back-off rules.
struct restart_intensity {
  std::uint32_t restarts = 10;
  std::chrono::milliseconds period = std::chrono::seconds(10);
};

// Waits between attempts beyond the intensity: initial, initial * factor, ... up to cap, each
// varied by +- jitter so that children that failed together do not come back together.
struct restart_backoff {
  std::chrono::milliseconds initial = std::chrono::seconds(1);
  double factor = 2.0;
  std::chrono::milliseconds cap = std::chrono::seconds(30);
  double jitter = 0.2;  // a share of the wait, 0 to 1
};

// How long a child may take to end after it was asked to; then it is killed (OTP: shutdown).
constexpr std::chrono::milliseconds brutal_kill{0};  // it is killed at once
constexpr std::chrono::milliseconds infinity = std::chrono::milliseconds::max();

struct child_spec {
  // Name in the tree, the log and the ledger. Empty: the route, "GET /hello/:name".
  std::string id = {};
  supervision::placement placement = supervision::placement::inline_;
  restart_type restart = restart_type::permanent;
  restart_intensity intensity = {};
  restart_backoff backoff = {};
  // brutal_kill, up to a day, or infinity: right for a supervisor, whose children have limits of
  // their own. Handlers do not need it: they end between two requests.
  std::chrono::milliseconds shutdown = std::chrono::seconds(5);
  // -- placement actor only --
  // Handler instances, each serving one request at a time. 0: one for each scheduler thread.
  std::uint32_t instances = 0;
  // Requests that may wait for a free instance (placement cell: for a free worker of their shard);
  // over: 503 with Retry-After, counted as completed.
  std::uint32_t queue = 1024;
  // Longest time from the moment in which a request is handed over until its answer; the wait for a
  // free instance counts. Then the client gets 503 with Retry-After, and a handler that is still
  // at it is abandoned with its thread, and replaced: a fault, which draws on `intensity`. Its late
  // answer is dropped. 0: none. Instances of a route with a deadline have a thread each, instead of
  // the scheduler's.
  std::chrono::milliseconds deadline{0};
  // -- placement cell only --
  cell_options cell = {};
};

}  // namespace bulkhead::supervision
