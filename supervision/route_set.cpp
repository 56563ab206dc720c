#include <bulkhead/supervision/route_set.hpp>
#include <bulkhead/supervision/spec_check.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

namespace bulkhead::supervision {

std::shared_ptr<handler> first_instance(const supervised_route& r) {
  try {
    return r.what.make();
  } catch (...) {
    const exception_text text = describe(std::current_exception());
    throw std::runtime_error("route " + r.what.spec.id + ": its factory threw " + text.type + ": " +
                             text.what);
  }
}

route_set::route_set(ledger& faults, abandonment late)
    : faults_(faults), threads_(late.threads, std::move(late.on_change)) {}

result<std::unique_ptr<route_set>> route_set::make(const router& r, const runtime::clock& time,
                                                   ledger& faults, actors::actor_runtime* actors,
                                                   abandonment late) {
  auto set = std::make_unique<route_set>(faults, std::move(late));
  for (const route& given : r.routes()) {
    supervised_route s{given, nullptr, nullptr, nullptr};
    child_spec& spec = s.what.spec;
    if (spec.id.empty()) {
      spec.id = std::string(http::to_string(given.method)) + ' ' + given.pattern;
    }
    if (auto ok = check(spec, "route " + spec.id); !ok) return ok.why();
    if (auto added = set->table_.add(given.method, given.pattern, set->routes_.size()); !added) {
      return added.why();
    }
    s.supervisor = std::make_unique<route_supervisor>(spec, time, faults);
    if (spec.placement == placement::actor && actors != nullptr) {
      s.pool = std::make_unique<handler_pool>(*actors, *s.supervisor, given.make, set->threads_);
    }
    if (spec.placement == placement::cell) s.cells = std::make_unique<cell_figures>();
    set->routes_.push_back(std::move(s));
  }
  return set;
}

std::uint64_t route_set::restarts() const noexcept {
  std::uint64_t sum = 0;
  for (const supervised_route& s : routes_) sum += s.supervisor->restarts();
  return sum;
}

bool route_set::stop(runtime::milliseconds limit) {
  // One limit for all of them: each may have a handler that does not come back.
  const auto until = std::chrono::steady_clock::now() + limit;
  bool quiet = true;
  for (supervised_route& s : routes_) {
    const auto left =
        std::chrono::duration_cast<runtime::milliseconds>(until - std::chrono::steady_clock::now());
    if (s.pool) quiet = s.pool->stop(std::max(left, runtime::milliseconds(0))) && quiet;
  }
  return quiet;
}

}  // namespace bulkhead::supervision
