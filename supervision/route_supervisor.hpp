// The supervisor of one route's handler instances: strategy one_for_one.
//
// Shared by all shards and the scheduler's threads. The question that every request asks costs one
// relaxed load; a fault takes a mutex.
#pragma once

#include <bulkhead/runtime/clock.hpp>
#include <bulkhead/supervision/child_spec.hpp>
#include <bulkhead/supervision/handler.hpp>
#include <bulkhead/supervision/ledger.hpp>
#include <bulkhead/supervision/restart_window.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace bulkhead::supervision {

class route_supervisor {
 public:
  route_supervisor(child_spec spec, const runtime::clock& time, ledger& faults);

  [[nodiscard]] const child_spec& spec() const noexcept { return spec_; }

  // Stands for a child that is not started again.
  static constexpr std::chrono::milliseconds for_good = std::chrono::milliseconds::max();

  // How long requests are to be turned away; nothing when the route is in service. Any thread.
  [[nodiscard]] std::optional<std::chrono::milliseconds> backing_off() const noexcept;

  // Where a fault happened, for the ledger.
  struct place {
    std::string route = {};
    std::uint64_t request = 0;
    unsigned shard = 0;
  };
  // An instance has faulted: true if it is to be restarted at once; otherwise the route backs off,
  // and the instance is rebuilt when the next request is let through. Any thread.
  bool fault(std::exception_ptr why, const place& where);

  // A new instance, or null when the factory threw: that is a fault too, and the next request tries
  // again unless it was one too many. One call at a time, whatever the thread.
  [[nodiscard]] std::shared_ptr<handler> make_instance(const handler_factory& make, bool is_restart,
                                                       unsigned shard);

  [[nodiscard]] std::uint64_t restarts() const noexcept {
    return restarts_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t faults() const noexcept {
    return faults_.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] bool note(std::exception_ptr why, const place& where, bool in_factory);

  child_spec spec_;
  const runtime::clock& time_;
  ledger& ledger_;
  std::mutex mutex_;
  std::mutex making_;
  restart_window window_;
  // Nanoseconds of the steady clock until which requests are refused; 0: in service.
  std::atomic<std::int64_t> closed_until_{0};
  std::atomic<std::uint64_t> faults_{0};
  std::atomic<std::uint64_t> restarts_{0};
};

// Where a request was being served.
[[nodiscard]] route_supervisor::place place_of(const http::request& r, unsigned shard);

// The type and text of an exception, for the ledger.
struct exception_text {
  std::string type;
  std::string what;
};
[[nodiscard]] exception_text describe(std::exception_ptr thrown) noexcept;

}  // namespace bulkhead::supervision
