#include <bulkhead/supervision/cell_limits.hpp>
#include <bulkhead/supervision/route_set.hpp>

#include <exception>
#include <stdexcept>
#include <utility>

namespace bulkhead::supervision {

namespace {

result<void> check(const child_spec& s) {
  const auto bad = [&](const std::string& what) {
    return error(error_category::configuration, "route " + s.id + ": " + what);
  };
  if (s.intensity.period <= std::chrono::milliseconds(0)) {
    return bad("restart_intensity.period must be positive");
  }
  if (s.backoff.initial <= std::chrono::milliseconds(0) || s.backoff.cap < s.backoff.initial) {
    return bad("restart_backoff needs 0 < initial <= cap");
  }
  if (s.backoff.factor < 1.0) return bad("restart_backoff.factor must be at least 1");
  if (s.backoff.jitter < 0.0 || s.backoff.jitter > 1.0) {
    return bad("restart_backoff.jitter must be from 0 to 1");
  }
  if (s.placement != placement::inline_ && s.queue == 0) return bad("queue must be at least 1");
  if (s.placement != placement::cell) return {};
  const cell_options& c = s.cell;
  if (c.workers == 0 || c.workers > 1024) return bad("cell.workers must be from 1 to 1024");
  if (c.spares == 0 || c.spares > 1024) {
    return bad("cell.spares must be from 1 to 1024: a death is covered by a ready worker");
  }
  if (c.deadline < std::chrono::milliseconds(0)) return bad("cell.deadline must not be negative");
  if (c.grace < std::chrono::milliseconds(0)) return bad("cell.grace must not be negative");
  if (c.cpu < std::chrono::seconds(0)) return bad("cell.cpu must not be negative");
  if (auto ok = can_filter(c.syscalls); !ok) return bad(ok.why().message());
  return {};
}

}  // namespace

std::shared_ptr<handler> first_instance(const supervised_route& r) {
  try {
    return r.what.make();
  } catch (...) {
    const exception_text text = describe(std::current_exception());
    throw std::runtime_error("route " + r.what.spec.id + ": its factory threw " + text.type + ": " +
                             text.what);
  }
}

result<std::unique_ptr<route_set>> route_set::make(const router& r, const runtime::clock& time,
                                                   ledger& faults, actors::actor_runtime* actors) {
  auto set = std::make_unique<route_set>();
  for (const route& given : r.routes()) {
    supervised_route s{given, nullptr, nullptr};
    child_spec& spec = s.what.spec;
    if (spec.id.empty()) {
      spec.id = std::string(http::to_string(given.method)) + ' ' + given.pattern;
    }
    if (auto ok = check(spec); !ok) return ok.why();
    if (auto added = set->table_.add(given.method, given.pattern, set->routes_.size()); !added) {
      return added.why();
    }
    s.supervisor = std::make_unique<route_supervisor>(spec, time, faults);
    if (spec.placement == placement::actor && actors != nullptr) {
      s.pool = std::make_unique<handler_pool>(
          *actors, *s.supervisor, given.make,
          spec.instances != 0 ? spec.instances : actors->scheduler_threads(), spec.queue);
    }
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
  bool quiet = true;
  for (supervised_route& s : routes_) {
    if (s.pool) quiet = s.pool->stop(limit) && quiet;
  }
  return quiet;
}

}  // namespace bulkhead::supervision
