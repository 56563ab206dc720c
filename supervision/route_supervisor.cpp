#include <bulkhead/supervision/route_supervisor.hpp>

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <typeinfo>
#include <utility>

namespace bulkhead::supervision {

namespace {

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

route_supervisor::route_supervisor(child_spec spec, const runtime::clock& time, ledger& faults)
    : spec_(std::move(spec)),
      time_(time),
      ledger_(faults),
      window_(spec_.intensity, spec_.backoff, random_chance()) {}

std::optional<std::chrono::milliseconds> route_supervisor::backing_off() const noexcept {
  const std::int64_t until = closed_until_.load(std::memory_order_relaxed);
  if (until == 0) return std::nullopt;
  const auto left = std::chrono::nanoseconds(until) - time_.now().time_since_epoch();
  if (left <= std::chrono::nanoseconds::zero()) return std::nullopt;
  return std::chrono::ceil<std::chrono::milliseconds>(left);
}

bool route_supervisor::fault(std::exception_ptr why, const place& where) {
  faults_.fetch_add(1, std::memory_order_relaxed);
  exception_text text = describe(std::move(why));
  restart_window::decision d;
  {
    const std::lock_guard lock(mutex_);
    d = window_.fault(time_.now());
    if (!d.restart_now) {
      closed_until_.store(
          std::chrono::nanoseconds((time_.now() + d.wait).time_since_epoch()).count(),
          std::memory_order_relaxed);
    }
  }
  ledger_.record({.when = time_.wall(),
                  .child = spec_.id,
                  .kind = std::move(text.type),
                  .what = std::move(text.what),
                  .route = where.route,
                  .request = where.request,
                  .shard = where.shard,
                  .action = d.restart_now
                                ? "restarted"
                                : "backing off for " + std::to_string(d.wait.count()) + " ms"});
  return d.restart_now;
}

}  // namespace bulkhead::supervision
