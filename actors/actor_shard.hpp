// A serving shard whose connections are actors under a connection supervisor. Internal.
#pragma once

#include <bulkhead/actors/connection.hpp>
#include <bulkhead/actors/serving_shard.hpp>
#include <bulkhead/actors/shard_unit.hpp>

#include <functional>
#include <unordered_map>

namespace bulkhead::actors {

// Watches the connections of one shard: dynamic, temporary children (OTP's simple_one_for_one with
// restart type temporary). A connection that dies of a fault is reported and not restarted: its
// peer is gone with it.
class connection_supervisor final : public slim_actor {
 public:
  using on_child_over = std::function<void(bool fault, const std::string& why)>;

  connection_supervisor(caf::actor_config& config, on_child_over over);

  void start_child(caf::actor connection);
  [[nodiscard]] std::size_t children() const noexcept { return children_.size(); }
  template <class F>
  void for_each(F&& f) {
    // A child may end while it is visited.
    std::vector<caf::actor> all;
    all.reserve(children_.size());
    for (auto& [id, child] : children_) {
      if (auto strong = caf::actor_cast<caf::actor>(child)) all.push_back(std::move(strong));
    }
    for (auto& child : all) f(child);
  }

 private:
  void on_message(caf::mailbox_element&) override {}
  void on_down_message(caf::down_msg& x) override;

  std::unordered_map<caf::actor_id, caf::actor_addr> children_;
  on_child_over over_;
};

class actor_shard final : public serving_shard {
 public:
  actor_shard(plan p, caf::actor_system& system,
              std::function<void(const std::string& why)> on_connection_fault);
  ~actor_shard() override;

 private:
  void on_start() override;
  void open_connection(arrival a) override;
  void drain_connections() override;
  void abort_connections() override;

  shard_unit unit_;
  std::function<void(const std::string&)> on_connection_fault_;
  caf::actor supervisor_;
};

}  // namespace bulkhead::actors
