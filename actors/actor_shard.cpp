#include <bulkhead/actors/actor_shard.hpp>

#include <caf/deep_to_string.hpp>

#include <cerrno>
#include <stdexcept>
#include <string>
#include <utility>

namespace bulkhead::actors {

connection_supervisor::connection_supervisor(caf::actor_config& config, on_child_over over)
    : slim_actor(config), over_(std::move(over)) {}

void connection_supervisor::start_child(caf::actor connection) {
  // A monitor, not a link: a kill that travels along a link would take the supervisor with it
  // (caf.md 4.7).
  actors::monitor(connection, caf::actor_cast<caf::actor>(ctrl()));
  children_.emplace(connection.id(), connection.address());
}

void connection_supervisor::on_down_message(caf::down_msg& x) {
  if (children_.erase(x.source.id()) == 0) return;
  const bool fault =
      x.reason && x.reason != caf::exit_reason::user_shutdown && x.reason != caf::exit_reason::kill;
  over_(fault, fault ? caf::deep_to_string(x.reason) : std::string());
}

actor_shard::actor_shard(plan p, caf::actor_system& system,
                         std::function<void(const std::string& why)> on_connection_fault)
    : serving_shard(std::move(p)),
      unit_(system, loop_),
      on_connection_fault_(std::move(on_connection_fault)) {
  supervisor_ = spawn_on<connection_supervisor>(unit_, [this](bool fault, const std::string& why) {
    if (fault) on_connection_fault_(why);
    connection_over();
  });
}

actor_shard::~actor_shard() {
  stop_and_join();
  // Thrown away without a drain: connections keep themselves alive until they end, so those that
  // are still open end here. The supervisor goes first, or it would be queued to hear of it.
  auto& supervisor = *caf::actor_cast<connection_supervisor*>(supervisor_);
  supervisor.terminate(caf::exit_reason::user_shutdown);
  supervisor.for_each([](const caf::actor& child) {
    caf::actor_cast<connection*>(child)->terminate(caf::exit_reason::user_shutdown);
  });
  loop_.turn(false);  // lets go of what other threads queued after the loop ended
}

void actor_shard::on_start() {
  compat::forget_logger();
}

void actor_shard::open_connection(arrival a) {
  auto made = spawn_on<connection>(unit_, env_);
  auto* c = caf::actor_cast<connection*>(made);
  auto transport = loop_.adopt(std::move(a.socket), *c);
  if (!transport) throw std::runtime_error("epoll: " + errno_text(errno));
  caf::actor_cast<connection_supervisor*>(supervisor_)->start_child(made);
  c->keep_alive_by(std::move(made));
  c->open(std::move(transport), a.peer, a.secure);
}

void actor_shard::drain_connections() {
  caf::actor_cast<connection_supervisor*>(supervisor_)->for_each([](const caf::actor& child) {
    compat::post(child, drain_message{});
  });
}

void actor_shard::abort_connections() {
  caf::actor_cast<connection_supervisor*>(supervisor_)->for_each([](const caf::actor& child) {
    compat::post_exit(child, caf::exit_reason::user_shutdown);
  });
}

}  // namespace bulkhead::actors
