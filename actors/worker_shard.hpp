// The worker-pool twin: a serving shard with plain connections, no actors and no supervision.
//
// The matched baseline of the benchmarks: everything but the actor is the same code.
#pragma once

#include <bulkhead/actors/connection_core.hpp>
#include <bulkhead/actors/serving_shard.hpp>

#include <exception>
#include <functional>
#include <unordered_set>

namespace bulkhead::actors {

class worker_shard final : public serving_shard {
 public:
  explicit worker_shard(plan p);
  ~worker_shard() override;

 private:
  class plain_connection;

  void open_connection(arrival a) override;
  void drain_connections() override;
  void abort_connections() override;
  void remove(plain_connection& c) noexcept;

  std::unordered_set<plain_connection*> connections_;
};

// Says what a handler threw and ends the process with status 1.
[[noreturn]] void worker_trap(std::exception_ptr why) noexcept;

// Gives each request to a bare function. What that throws ends the process with status 1, by
// design: this is what a server without supervision does.
class worker_dispatcher final : public dispatcher {
 public:
  using serve = std::function<void(exchange&)>;
  explicit worker_dispatcher(serve s) : serve_(std::move(s)) {}
  void dispatch(exchange& x) override;

 private:
  serve serve_;
};

}  // namespace bulkhead::actors
