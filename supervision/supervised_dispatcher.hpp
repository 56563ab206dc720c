// Brings a request to its route's handler, wherever that is placed, and contains what it throws.
//
// One a shard, on the shard's thread. This is the one place that catches what handlers throw (for
// placement actor: handler_pool).
#pragma once

#include <bulkhead/actors/dispatcher.hpp>
#include <bulkhead/supervision/call_deadlines.hpp>
#include <bulkhead/supervision/cell_pool.hpp>
#include <bulkhead/supervision/route_set.hpp>

#include <memory>
#include <vector>

namespace bulkhead::supervision {

class supervised_dispatcher final : public actors::dispatcher {
 public:
  // Makes this shard's instances and workers; what a factory throws goes through, and a worker that
  // cannot start is a std::runtime_error. On the server's thread. `zygote`: null without cells.
  supervised_dispatcher(const route_set& routes, unsigned shard,
                        const cell_zygote* zygote = nullptr);

  void start(runtime::shard& loop) override;
  void dispatch(actors::exchange& x) override;

 private:
  // This shard's instance of a route's handler.
  struct child {
    const supervised_route* route = nullptr;
    std::shared_ptr<handler> instance = {};          // null: a restart waits for the next request
    std::unique_ptr<call_deadlines> deadlines = {};  // placement actor with a deadline only
    std::unique_ptr<cell_pool> cells = {};           // placement cell only
  };

  void run_inline(actors::exchange& x, child& c);
  [[nodiscard]] bool ensure_instance(child& c) noexcept;
  void trapped(actors::exchange& x, child& c) noexcept;
  static void answered(actors::exchange& x, const child& c, http::response r) noexcept;
  static void task_done(actors::exchange& x, void* child_of_it) noexcept;

  const http::route_table& table_;
  unsigned shard_;
  std::vector<child> children_;
};

// What a route table answers by itself: 404, 405 with Allow, 204 to OPTIONS. Also used by the
// worker twin.
void answer_without_route(actors::exchange& x, const http::route_table::match& m);

}  // namespace bulkhead::supervision
