// The supervisor of one route's handler instances: strategy one_for_one.
//
// Shared by all shards and the scheduler's threads. Each request asks to enter and tells when it
// was answered: one relaxed load each while the route is in service. A fault takes a mutex. Beyond
// the intensity the route is quarantined; see quarantine.hpp.
#pragma once

#include <bulkhead/runtime/clock.hpp>
#include <bulkhead/supervision/child_spec.hpp>
#include <bulkhead/supervision/handler.hpp>
#include <bulkhead/supervision/ledger.hpp>
#include <bulkhead/supervision/quarantine.hpp>
#include <bulkhead/supervision/restart_window.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace bulkhead::supervision {

// A fault in words, for the ledger: the type and text of an exception, or what stands for them.
struct exception_text {
  std::string type;
  std::string what;
};
[[nodiscard]] exception_text describe(std::exception_ptr thrown) noexcept;

class route_supervisor {
 public:
  route_supervisor(child_spec spec, const runtime::clock& time, ledger& faults);

  [[nodiscard]] const child_spec& spec() const noexcept { return spec_; }

  static constexpr std::chrono::milliseconds for_good = quarantine::for_good;

  // -- what each request asks and tells; `request` is its id, unique in the process. Any thread.

  // Whether it is served. One that is let through as a probe decides for the route: exactly one of
  // succeeded(), fault() and give_back() should follow, from whatever thread; if none does, another
  // probe is let through after a while.
  [[nodiscard]] admission enter(std::uint64_t request) noexcept {
    if (quarantine_.in_service()) return {};
    return enter_quarantine(request);
  }
  // Its handler has answered. What a client does with the answer, or before it, is of no concern.
  void succeeded(std::uint64_t request) noexcept {
    if (!quarantine_.in_service()) probe_succeeded(request);
  }
  // No handler has seen it.
  void give_back(std::uint64_t request) noexcept;

  // How long all requests are to be turned away; nothing when the next one is let through.
  [[nodiscard]] std::optional<std::chrono::milliseconds> backing_off() const noexcept {
    return quarantine_.refuses(time_.now());
  }
  // Whether instances are worth making: in service, or for a probe.
  [[nodiscard]] bool may_start() const noexcept {
    return quarantine_.in_service() || quarantine_.probing();
  }
  [[nodiscard]] route_state state() const noexcept { return quarantine_.state(time_.now()); }

  // -- faults

  // Where a fault happened, for the ledger; `request` also says whether it was a probe. 0: an
  // instance failed without one, which counts against a probe that is out.
  struct place {
    std::string route = {};
    std::uint64_t request = 0;
    unsigned shard = 0;
    int signal = 0;           // that ended a process
    std::string detail = {};  // a backtrace
  };
  // An instance has faulted: true if it is to be restarted at once; otherwise the route is
  // quarantined, and the instance is rebuilt when the next request is let through. While it is, the
  // faults of requests that were let in before are recorded, and do not make it wait longer: one
  // storm that several shards report is one storm. Any thread.
  bool fault(std::exception_ptr why, const place& where);
  // The same for a fault that is no exception: a worker process that died.
  bool fault(const exception_text& what, const place& where);

  // A new instance, or null when the factory threw: that is a fault too, and the next request tries
  // again unless it was one too many. One call at a time, whatever the thread.
  [[nodiscard]] std::shared_ptr<handler> make_instance(const handler_factory& make, bool is_restart,
                                                       unsigned shard);

  // A worker process is ready in the place of one that died. make_instance() counts by itself.
  void restarted_in(std::chrono::nanoseconds took);

  [[nodiscard]] std::uint64_t restarts() const noexcept {
    return restarts_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t faults() const noexcept {
    return faults_.load(std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] admission enter_quarantine(std::uint64_t request) noexcept;
  void probe_succeeded(std::uint64_t request) noexcept;
  [[nodiscard]] bool note(const exception_text& what, const place& where, bool in_factory);
  struct verdict {
    bool restart_now = false;
    std::string action = {};
  };
  [[nodiscard]] verdict judge(const place& where, bool in_factory);

  child_spec spec_;
  const runtime::clock& time_;
  ledger& ledger_;
  std::mutex mutex_;
  std::mutex making_;
  // The mutex guards both, except for the quarantine's questions.
  restart_window window_;
  quarantine quarantine_;
  std::atomic<std::uint64_t> faults_{0};
  std::atomic<std::uint64_t> restarts_{0};
  std::atomic<std::uint64_t> unrestarted_{0};  // the last fault whose restart is to come
};

// Where a request was being served.
[[nodiscard]] route_supervisor::place place_of(const http::request& r, unsigned shard);

}  // namespace bulkhead::supervision
