// A connection actor on a wire in memory, watched by a probe.
#pragma once

#include <bulkhead/actors/connection.hpp>
#include <bulkhead/runtime/memory_transport.hpp>

#include "actor_support.hpp"
#include "support.hpp"

namespace bulkhead::actors::testing {

struct connection_bench : actor_bench {
  scripted handlers;
  environment env{loop, connection_settings{}, handlers, "test"};
  runtime::memory_wire wire;
  probe::record watcher;
  caf::actor watching = spawn_on<probe>(unit, watcher);
  caf::actor_addr address;

  ~connection_bench() {
    on([this] { handlers.held.clear(); });
    if (auto c = handle()) {
      compat::post_exit(c, caf::exit_reason::kill);
      c = nullptr;
    }
    settle();
  }
  void on(const std::function<void()>& f) {
    loop.post(f);
    settle();
  }
  // As actor_shard::open_connection() does it.
  void open(bool secure = false) {
    on([this, secure] {
      auto made = spawn_on<connection>(unit, env);
      auto* c = caf::actor_cast<connection*>(made);
      env.counters.admitted.add();
      monitor(made, watching);
      address = made.address();
      c->keep_alive_by(std::move(made));
      c->open(wire.open(*c), {}, secure);
    });
  }
  [[nodiscard]] caf::actor handle() const { return caf::actor_cast<caf::actor>(address); }
  void deliver(std::string_view bytes) {
    on([&] { wire.deliver(bytes); });
  }
  [[nodiscard]] counters_snapshot counters() const {
    counters_snapshot s;
    s.add(env.counters);
    return s;
  }
};

}  // namespace bulkhead::actors::testing
