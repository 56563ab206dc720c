#include <bulkhead/supervision/supervised_dispatcher.hpp>
#include <bulkhead/supervision/unavailable.hpp>

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <utility>

namespace bulkhead::supervision {

void answer_without_route(actors::exchange& x, const http::route_table::match& m) {
  switch (m.what) {
    case http::route_table::outcome::method_not_allowed:
      return x.answer(http::response::problem(405).field("Allow", m.allow));
    case http::route_table::outcome::options:
      return x.answer(http::response::empty(204).field("Allow", m.allow));
    case http::route_table::outcome::not_found:
    case http::route_table::outcome::found:
      return x.answer(http::response::problem(404));
  }
}

supervised_dispatcher::supervised_dispatcher(const route_set& routes, unsigned shard,
                                             const cell_zygote* zygote)
    : table_(routes.table()), shard_(shard) {
  children_.reserve(routes.routes().size());
  for (const supervised_route& r : routes.routes()) {
    child c{.route = &r};
    const child_spec& spec = r.supervisor->spec();
    if (spec.placement == placement::cell) {
      const auto index = static_cast<std::uint32_t>(&r - routes.routes().data());
      auto pool = cell_pool::start(*zygote, index, *r.supervisor, *r.cells, shard);
      if (!pool) throw std::runtime_error(pool.why().message());
      c.cells = std::move(*pool);
    } else if (!r.pool) {
      c.instance = first_instance(r);
    } else if (spec.deadline > std::chrono::milliseconds(0)) {
      c.deadlines = std::make_unique<call_deadlines>(*r.pool, spec, shard, routes.faults());
    }
    children_.push_back(std::move(c));
  }
}

void supervised_dispatcher::start(runtime::shard& loop) {
  for (child& c : children_) {
    if (c.cells) c.cells->attach(loop);
  }
}

void supervised_dispatcher::dispatch(actors::exchange& x) {
  const auto m = table_.find(x.request);
  if (m.what != http::route_table::outcome::found) return answer_without_route(x, m);
  child& c = children_[m.value];
  const std::uint64_t id = x.request.id();
  const admission a = c.route->supervisor->enter(id);
  if (a.refused()) return x.answer(unavailable(a.wait));
  if (c.cells) {
    if (c.cells->submit(x)) return;
  } else if (!c.route->pool) {
    return run_inline(x, c);
  } else if (auto call = c.route->pool->submit(x, shard_)) {
    if (c.deadlines) c.deadlines->watch(std::move(call));
    return;
  }
  c.route->supervisor->give_back(id);
  x.answer(unavailable(std::chrono::seconds(1)));
}

void supervised_dispatcher::run_inline(actors::exchange& x, child& c) {
  if (!c.instance && !ensure_instance(c)) {
    return x.answer(
        unavailable(c.route->supervisor->backing_off().value_or(std::chrono::milliseconds(1000))));
  }
  try {
    outcome o = c.instance->handle(x.request);
    if (auto* r = std::get_if<http::response>(&o)) {
      r->collect();
      return answered(x, c, std::move(*r));
    }
    auto& task = *std::get_if<http::task<http::response>>(&o);
    if (x.run_task(std::move(task), c.instance, &supervised_dispatcher::task_done, this)) {
      answered(x, c, x.take_task_result());
    } else {
      x.set_child(&c);
    }
  } catch (...) {
    trapped(x, c);
  }
}

// The answer may end the exchange: what the supervisor is told comes before.
void supervised_dispatcher::answered(actors::exchange& x, const child& c,
                                     http::response r) noexcept {
  c.route->supervisor->succeeded(x.request.id());
  x.answer(std::move(r));
}

// A coroutine that was suspended has finished, in a later turn of the loop.
void supervised_dispatcher::task_done(actors::exchange& x, void* self) noexcept {
  auto* d = static_cast<supervised_dispatcher*>(self);
  try {
    answered(x, *static_cast<child*>(x.child()), x.take_task_result());
  } catch (...) {
    d->trapped(x, *static_cast<child*>(x.child()));
  }
}

// Precondition: called from a catch block. The instance's state is not to be trusted any more: it
// is destroyed (requests that are suspended in it keep it until they end) and made anew. A
// coroutine may outlive that: its fault says nothing about the instance which came after.
void supervised_dispatcher::trapped(actors::exchange& x, child& c) noexcept {
  if (x.kept() == nullptr || x.kept() == c.instance.get()) c.instance.reset();
  const bool restart_now =
      c.route->supervisor->fault(std::current_exception(), place_of(x.request, shard_));
  if (restart_now && !c.instance) static_cast<void>(ensure_instance(c));
  x.answer(http::response::problem(500), actors::verdict::trapped);
}

bool supervised_dispatcher::ensure_instance(child& c) noexcept {
  c.instance = c.route->supervisor->make_instance(c.route->what.make, /*is_restart=*/true, shard_);
  return c.instance != nullptr;
}

}  // namespace bulkhead::supervision
