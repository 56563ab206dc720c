#include <bulkhead/supervision/route_supervisor.hpp>

#include <cxxabi.h>

#include <algorithm>
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

admission route_supervisor::enter_quarantine(std::uint64_t request) noexcept {
  // Most are refused, and need no lock for that.
  const auto now = time_.now();
  if (const auto wait = quarantine_.refuses(now)) return {admission::kind::refuse, *wait};
  const std::lock_guard lock(mutex_);
  return quarantine_.enter(request, now);
}

void route_supervisor::probe_succeeded(std::uint64_t request) noexcept {
  const std::lock_guard lock(mutex_);
  if (quarantine_.succeeded(request)) window_.worked(time_.now());
}

void route_supervisor::give_back(std::uint64_t request) noexcept {
  if (quarantine_.in_service()) return;
  const std::lock_guard lock(mutex_);
  quarantine_.give_back(request, time_.now());
}

bool route_supervisor::fault(std::exception_ptr why, const place& where) {
  return note(describe(std::move(why)), where, /*in_factory=*/false);
}

bool route_supervisor::fault(const exception_text& what, const place& where) {
  return note(what, where, /*in_factory=*/false);
}

std::shared_ptr<handler> route_supervisor::make_instance(const handler_factory& make,
                                                         bool is_restart, unsigned shard) {
  try {
    const std::lock_guard lock(making_);
    const auto began = time_.now();
    auto made = make();
    if (is_restart) restarted_in(time_.now() - began);
    return made;
  } catch (...) {
    static_cast<void>(
        note(describe(std::current_exception()), {.shard = shard}, /*in_factory=*/true));
    return nullptr;
  }
}

bool route_supervisor::note(const exception_text& what, const place& where, bool in_factory) {
  faults_.fetch_add(1, std::memory_order_relaxed);
  verdict v = judge(where, in_factory);
  const std::uint64_t number =
      ledger_.record({.when = time_.wall(),
                      .child = spec_.id,
                      .kind = what.type,
                      .what = in_factory ? "in its factory: " + what.what : what.what,
                      .route = where.route,
                      .request = where.request,
                      .shard = where.shard,
                      .action = std::move(v.action),
                      .signal = where.signal,
                      .requests_failed = in_factory ? 0U : 1U,
                      .detail = where.detail});
  if (!in_factory) unrestarted_.store(number, std::memory_order_relaxed);
  return v.restart_now;
}

route_supervisor::verdict route_supervisor::judge(const place& where, bool in_factory) {
  const std::lock_guard lock(mutex_);
  const auto now = time_.now();
  if (spec_.restart == restart_type::temporary && !in_factory) {
    quarantine_.close_for_good();
    return {.action = "not restarted: the child is temporary"};
  }
  restart_window::decision d;
  if (quarantine_.in_service()) {
    d = window_.fault(now);
    if (d.restart_now) {
      return {.restart_now = true,
              .action = in_factory ? "tried again with the next request" : "restarted"};
    }
  } else {
    const bool of_the_probe =
        where.request == 0 ? quarantine_.probing() : quarantine_.is_probe(where.request);
    if (!of_the_probe) return {.action = "none: the route is quarantined already"};
    d = window_.failed_again(now);
  }
  quarantine_.close(d.wait, now);
  return {.action = "backing off for " + std::to_string(d.wait.count()) + " ms"};
}

// Instances that fault at the same moment may swap their times: the factory is the same.
void route_supervisor::restarted_in(std::chrono::nanoseconds took) {
  restarts_.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t number = unrestarted_.exchange(0, std::memory_order_relaxed);
  const auto known = std::chrono::ceil<std::chrono::microseconds>(took);
  if (number != 0) ledger_.restarted(number, std::max(known, std::chrono::microseconds(1)));
}

}  // namespace bulkhead::supervision
