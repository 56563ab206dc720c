// Which requests a route takes after it had too many faults: none, then one at a time to see.
//
// Quarantined, it refuses every request until its wait is over. Then the next request is let
// through as a probe and the others are still refused. A probe that is answered puts the route back
// in service; one that faults closes it again. Nobody may be left to say how a probe went (its
// client has gone): after a while, and longer each time, another one is let through beside it.
//
// The questions are lock-free, for any thread; who changes something holds its owner's mutex.
#pragma once

#include <bulkhead/runtime/clock.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bulkhead::supervision {

// As /tree shows them.
enum class route_state : std::uint8_t {
  in_service,
  backing_off,  // quarantined: every request is refused, or none came since the wait was over
  probing,      // one request was let through, the others are refused
  stopped,      // for good: a temporary child has failed
};
[[nodiscard]] std::string_view to_string(route_state s) noexcept;

// What becomes of one request.
struct admission {
  enum class kind : std::uint8_t { serve, probe, refuse };
  kind how = kind::serve;
  std::chrono::milliseconds wait{0};  // refused: for Retry-After

  [[nodiscard]] bool refused() const noexcept { return how == kind::refuse; }
};

class quarantine {
 public:
  // Stands for a child that is not started again.
  static constexpr std::chrono::milliseconds for_good = std::chrono::milliseconds::max();
  // What others are told while a probe is out: it is likely to be answered sooner than its slot
  // says.
  static constexpr std::chrono::milliseconds soon = std::chrono::seconds(1);

  // -- questions

  // One relaxed load: asked by every request.
  [[nodiscard]] bool in_service() const noexcept {
    return refused_until_.load(std::memory_order_relaxed) == 0;
  }
  [[nodiscard]] bool probing() const noexcept { return probing_.load(std::memory_order_relaxed); }
  [[nodiscard]] route_state state(runtime::steady_time now) const noexcept;
  // How long every request will be refused; nothing when the next one would be let through.
  [[nodiscard]] std::optional<std::chrono::milliseconds> refuses(
      runtime::steady_time now) const noexcept;

  // -- changes

  // Lets the request through, as a probe if it has to be one, or refuses it. `request`: its id.
  [[nodiscard]] admission enter(std::uint64_t request, runtime::steady_time now) noexcept;
  [[nodiscard]] bool is_probe(std::uint64_t request) const noexcept;
  // A probe was answered: true if this has put the route back in service. Other requests, which
  // were let in before the quarantine, say nothing.
  bool succeeded(std::uint64_t request) noexcept;
  // A probe that no handler has seen: the next request may be one at once.
  void give_back(std::uint64_t request, runtime::steady_time now) noexcept;
  void close(std::chrono::milliseconds wait, runtime::steady_time now) noexcept;
  void close_for_good() noexcept;

 private:
  void refuse_until(runtime::steady_time t) noexcept;
  void forget_probes() noexcept;

  // Nanoseconds of the steady clock; 0: in service.
  std::atomic<std::int64_t> refused_until_{0};
  std::atomic<bool> probing_{false};  // probes_ has one
  std::chrono::milliseconds wait_{0};
  std::chrono::milliseconds slot_{0};
  // Those that nothing was heard of yet: handlers may take longer than a slot. When there are more,
  // the latest gives way, so that the first ones are still known when they are answered.
  std::array<std::uint64_t, 8> probes_{};
  std::size_t count_ = 0;
};

}  // namespace bulkhead::supervision
