// Supervisors within supervisors: what a fault costs ends at the subtree that is guilty.
//
// A pure engine like the supervisor; one thread at a time. A supervisor that exceeds its intensity
// stops its children and has then failed as a child of its parent, whose strategy, restart type,
// intensity and back-off apply to it. The root has no parent: it waits, longer each time, and is
// started again. It never ends by itself. Source: OTP Design Principles, "Supervision Principles".
#pragma once

#include <bulkhead/runtime/error.hpp>
#include <bulkhead/supervision/supervisor.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bulkhead::supervision {

// One child and, if it is a supervisor, what is below it.
struct tree_spec {
  child_spec spec = {};
  std::optional<supervisor_flags> supervisor = std::nullopt;  // nothing: a worker
  std::vector<tree_spec> children = {};                       // in start order

  [[nodiscard]] static tree_spec worker(child_spec spec) { return {.spec = std::move(spec)}; }
  // Its children have shutdown times of their own, so that it has none.
  [[nodiscard]] static tree_spec of(std::string id, supervisor_flags flags,
                                    std::vector<tree_spec> children) {
    return {.spec = {.id = std::move(id), .shutdown = infinity},
            .supervisor = flags,
            .children = std::move(children)};
  }
};

// Names a worker: its supervisor (0 is the root, the others count in the order of the spec, each
// before its children) and its number there.
struct worker_ref {
  std::size_t supervisor = 0;
  child_number child = 0;

  [[nodiscard]] bool operator==(const worker_ref&) const = default;
};

// Carries out what the tree decides: as supervisor_orders, for workers anywhere in it.
class tree_orders {
 public:
  virtual void start_worker(worker_ref w) noexcept = 0;
  virtual void stop_worker(worker_ref w) noexcept = 0;
  virtual void kill_worker(worker_ref w) noexcept = 0;
  // Every worker was started, for the first time or after the root had failed.
  virtual void tree_started() noexcept = 0;
  // After stop(), when no worker is left.
  virtual void tree_ended() noexcept = 0;

 protected:
  ~tree_orders() = default;
};

class supervisor_tree {
 public:
  // Fails on a spec that makes no sense, naming the supervisor, the child and the field. The root's
  // own spec.backoff says how long it waits after it has failed. `chance`: see supervisor.
  [[nodiscard]] static result<std::unique_ptr<supervisor_tree>> make(
      const tree_spec& root, tree_orders& orders, const std::function<double()>& chance);
  ~supervisor_tree();
  supervisor_tree(const supervisor_tree&) = delete;
  supervisor_tree& operator=(const supervisor_tree&) = delete;

  // As those of supervisor; events that were not asked for, or come late, are ignored.
  void start(runtime::steady_time now);
  void stop(runtime::steady_time now);
  void worker_started(worker_ref w, runtime::steady_time now);
  void worker_exited(worker_ref w, exit_reason how, runtime::steady_time now);
  [[nodiscard]] std::optional<runtime::steady_time> next_due() const;
  void tick(runtime::steady_time now);

  // Of a supervisor with simple_one_for_one.
  std::optional<worker_ref> start_child(std::size_t supervisor, runtime::steady_time now);
  bool terminate_child(worker_ref w, runtime::steady_time now);

  [[nodiscard]] std::size_t supervisors() const noexcept { return nodes_.size(); }
  [[nodiscard]] const supervisor& at(std::size_t supervisor) const;
  [[nodiscard]] const std::string& id(std::size_t supervisor) const;

 private:
  struct node;
  supervisor_tree(const child_spec& root, tree_orders& orders,
                  const std::function<double()>& chance);
  result<void> add(const tree_spec& spec, node* parent, child_number number,
                   const std::function<double()>& chance);
  void root_ended(exit_reason how);

  tree_orders& orders_;
  std::vector<std::unique_ptr<node>> nodes_;
  runtime::steady_time now_{};
  // Of the root.
  restart_window failures_;
  std::optional<runtime::steady_time> restart_root_at_;
};

}  // namespace bulkhead::supervision
