#include <bulkhead/actors/worker_shard.hpp>
#include <bulkhead/supervision/bare_handlers.hpp>
#include <bulkhead/supervision/supervised_dispatcher.hpp>

#include <exception>
#include <utility>
#include <variant>

namespace bulkhead::supervision {

bare_handlers::bare_handlers(const route_set& routes) : table_(routes.table()) {
  for (const supervised_route& r : routes.routes()) instances_.push_back(first_instance(r));
}

void bare_handlers::operator()(actors::exchange& x) {
  const auto m = table_.find(x.request);
  if (m.what != http::route_table::outcome::found) return answer_without_route(x, m);
  const std::shared_ptr<handler>& h = instances_[m.value];
  outcome o = h->handle(x.request);
  if (auto* r = std::get_if<http::response>(&o)) {
    r->collect();
    return x.answer(std::move(*r));
  }
  const auto done = [](actors::exchange& e, void*) noexcept {
    try {
      e.answer(e.take_task_result());
    } catch (...) {
      actors::worker_trap(std::current_exception());
    }
  };
  if (x.run_task(std::move(*std::get_if<http::task<http::response>>(&o)), h, done, nullptr)) {
    x.answer(x.take_task_result());
  }
}

}  // namespace bulkhead::supervision
