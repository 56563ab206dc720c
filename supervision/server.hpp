// The root of the tree: listeners, shards with their connections, routes with their handlers.
#pragma once

#include <bulkhead/actors/counters.hpp>
#include <bulkhead/runtime/error.hpp>
#include <bulkhead/supervision/ledger.hpp>
#include <bulkhead/supervision/options.hpp>
#include <bulkhead/supervision/readiness.hpp>
#include <bulkhead/supervision/router.hpp>

#include <memory>
#include <string>
#include <vector>

namespace bulkhead::supervision {

class server {
 public:
  // Nothing is opened yet.
  server(server_options options, router routes);
  // Stops without waiting for requests, if it still runs.
  ~server();
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  // Forks the process from which workers of routes with placement cell are made, if there are any.
  // start() does it, too; call it before, when the program starts threads of its own before that:
  // a process with threads cannot be forked safely.
  [[nodiscard]] result<void> prepare();

  // Binds, loads certificates, starts the shards. After it connections are served, although
  // signals, rotation and stop() wait for run(). Errors name what was wrong and what to do.
  [[nodiscard]] result<void> start();

  // Starts, if start() was not called, and serves until SIGTERM, SIGINT or stop(); then drains:
  // readiness turns false, no new connections, what is in flight is answered, the rest is closed.
  // Blocks the calling thread. Answers the exit status for main: 0 after a clean stop, 1 when
  // something had to be cut off, 2 when it could not start (said on standard error).
  int run();

  // Asks run() to drain and return. Any thread, from a handler too; repeated calls do nothing.
  void stop() noexcept;

  // Where it listens, HTTPS first, with the ports that the kernel chose.
  [[nodiscard]] std::vector<std::string> addresses() const;
  [[nodiscard]] std::string admin_address() const;
  [[nodiscard]] actors::counters_snapshot counters() const;
  [[nodiscard]] const ledger& faults() const noexcept;
  // False before start(), from the first moment of a stop, while late handlers hold as many threads
  // as they may, and while any other reason holds.
  [[nodiscard]] bool ready() const noexcept;
  // The reasons why not. A program may raise and clear reasons of its own.
  [[nodiscard]] supervision::readiness& readiness() noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace bulkhead::supervision
