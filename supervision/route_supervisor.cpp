#include <bulkhead/supervision/named_fault.hpp>
#include <bulkhead/supervision/route_supervisor.hpp>

#include <cxxabi.h>

#include <cstdlib>
#include <limits>
#include <memory>
#include <random>
#include <typeinfo>
#include <utility>

namespace bulkhead::supervision {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

// Jitter needs no secrecy, only that children differ.
std::function<double()> random_chance() {
  return [engine = std::mt19937_64(std::random_device{}()),
          spread = std::uniform_real_distribution<double>(0.0, 1.0)]() mutable {
    return spread(engine);
  };
}

std::string demangled(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : type.name();
}

}  // namespace

exception_text describe(std::exception_ptr thrown) noexcept {
  try {
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const named_fault& e) {
      return {e.kind(), e.what()};
    } catch (const std::exception& e) {
      return {demangled(typeid(e)), e.what()};
    } catch (...) {
      const std::type_info* type = abi::__cxa_current_exception_type();
      return {type != nullptr ? demangled(*type) : "unknown", "not a std::exception"};
    }
  } catch (...) {
    return {};  // out of memory while describing
  }
}

route_supervisor::place place_of(const http::request& r, unsigned shard) {
  return {.route = std::string(r.method_name()) + ' ' + std::string(r.path()),
          .request = r.id(),
          .shard = shard};
}

route_supervisor::route_supervisor(child_spec spec, const runtime::clock& time, ledger& faults)
    : spec_(std::move(spec)),
      time_(time),
      ledger_(faults),
      window_(spec_.intensity, spec_.backoff, random_chance()) {}

std::optional<std::chrono::milliseconds> route_supervisor::backing_off() const noexcept {
  const std::int64_t until = closed_until_.load(std::memory_order_relaxed);
  if (until == 0) return std::nullopt;
  if (until == never) return for_good;
  const auto left = std::chrono::nanoseconds(until) - time_.now().time_since_epoch();
  if (left <= std::chrono::nanoseconds::zero()) return std::nullopt;
  return std::chrono::ceil<std::chrono::milliseconds>(left);
}

bool route_supervisor::fault(std::exception_ptr why, const place& where) {
  return note(std::move(why), where, /*in_factory=*/false);
}

std::shared_ptr<handler> route_supervisor::make_instance(const handler_factory& make,
                                                         bool is_restart, unsigned shard) {
  try {
    const std::lock_guard lock(making_);
    auto made = make();
    if (is_restart) restarts_.fetch_add(1, std::memory_order_relaxed);
    return made;
  } catch (...) {
    static_cast<void>(note(std::current_exception(), {.shard = shard}, /*in_factory=*/true));
    return nullptr;
  }
}

bool route_supervisor::note(std::exception_ptr why, const place& where, bool in_factory) {
  faults_.fetch_add(1, std::memory_order_relaxed);
  exception_text text = describe(std::move(why));
  std::string action;
  bool restart_now = false;
  if (spec_.restart == restart_type::temporary && !in_factory) {
    closed_until_.store(never, std::memory_order_relaxed);
    action = "not restarted: the child is temporary";
  } else {
    const std::lock_guard lock(mutex_);
    const auto d = window_.fault(time_.now());
    restart_now = d.restart_now;
    if (restart_now) {
      action = in_factory ? "tried again with the next request" : "restarted";
    } else {
      action = "backing off for " + std::to_string(d.wait.count()) + " ms";
      closed_until_.store(
          std::chrono::nanoseconds((time_.now() + d.wait).time_since_epoch()).count(),
          std::memory_order_relaxed);
    }
  }
  ledger_.record({.when = time_.wall(),
                  .child = spec_.id,
                  .kind = std::move(text.type),
                  .what = in_factory ? "in its factory: " + text.what : std::move(text.what),
                  .route = where.route,
                  .request = where.request,
                  .shard = where.shard,
                  .action = std::move(action)});
  return restart_now;
}

}  // namespace bulkhead::supervision
