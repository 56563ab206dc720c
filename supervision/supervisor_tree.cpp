#include <bulkhead/supervision/spec_check.hpp>
#include <bulkhead/supervision/supervisor_tree.hpp>

#include <algorithm>
#include <utility>

namespace bulkhead::supervision {

// A supervisor and its place: its orders go to workers or to the supervisors below, its own life is
// an event of the one above.
struct supervisor_tree::node final : supervisor_orders {
  node(supervisor_tree& t, const tree_spec& spec, node* above, child_number n,
       std::vector<child_spec> specs, const std::function<double()>& chance)
      : tree(t),
        id(spec.spec.id),
        index(t.nodes_.size()),
        parent(above),
        number(n),
        below(spec.children.size(), nullptr),
        engine(*spec.supervisor, std::move(specs), *this, chance) {}

  [[nodiscard]] node* supervisor_below(child_number c) const {
    return c < below.size() ? below[c] : nullptr;
  }
  void start_child(child_number c) noexcept override {
    node* s = supervisor_below(c);
    s != nullptr ? s->engine.start(tree.now_) : tree.orders_.start_worker({index, c});
  }
  void stop_child(child_number c) noexcept override {
    node* s = supervisor_below(c);
    s != nullptr ? s->engine.stop(tree.now_) : tree.orders_.stop_worker({index, c});
  }
  void kill_child(child_number c) noexcept override {
    node* s = supervisor_below(c);
    s != nullptr ? s->engine.kill(tree.now_) : tree.orders_.kill_worker({index, c});
  }
  void supervisor_started() noexcept override {
    parent != nullptr ? parent->engine.child_started(number, tree.now_)
                      : tree.orders_.tree_started();
  }
  void supervisor_ended(exit_reason how) noexcept override {
    parent != nullptr ? parent->engine.child_exited(number, how, tree.now_) : tree.root_ended(how);
  }

  supervisor_tree& tree;
  const std::string id;
  const std::size_t index;
  node* const parent;
  const child_number number;  // of this one, to its parent
  std::vector<node*> below;   // by number; null for a worker
  supervisor engine;
};

supervisor_tree::supervisor_tree(const child_spec& root, tree_orders& orders,
                                 const std::function<double()>& chance)
    : orders_(orders),
      failures_({.restarts = 0, .period = root.intensity.period}, root.backoff, chance) {}

supervisor_tree::~supervisor_tree() = default;

result<std::unique_ptr<supervisor_tree>> supervisor_tree::make(
    const tree_spec& root, tree_orders& orders, const std::function<double()>& chance) {
  if (!root.supervisor) {
    return error(error_category::configuration,
                 "supervision tree: the root must be a supervisor; give it flags");
  }
  if (auto ok = check(root.spec, "supervisor " + root.spec.id); !ok) return ok.why();
  std::unique_ptr<supervisor_tree> tree(new supervisor_tree(root.spec, orders, chance));
  if (auto ok = tree->add(root, nullptr, 0, chance); !ok) return ok.why();
  return tree;
}

result<void> supervisor_tree::add(const tree_spec& spec, node* parent, child_number number,
                                  const std::function<double()>& chance) {
  std::vector<child_spec> specs;
  for (const tree_spec& c : spec.children) {
    specs.push_back(c.spec);
    if (c.supervisor && spec.supervisor->strategy == strategy::simple_one_for_one) {
      return error(error_category::configuration,
                   "supervisor " + spec.spec.id + ", child " + c.spec.id +
                       ": the template of simple_one_for_one must be a worker");
    }
    if (!c.supervisor && !c.children.empty()) {
      return error(error_category::configuration,
                   "supervisor " + spec.spec.id + ", child " + c.spec.id +
                       ": a worker has no children; give it flags to make it a supervisor");
    }
  }
  if (auto ok = check(spec.spec.id, *spec.supervisor, specs); !ok) return ok;
  nodes_.push_back(std::make_unique<node>(*this, spec, parent, number, std::move(specs), chance));
  node* const self = nodes_.back().get();
  if (parent != nullptr) parent->below[number] = self;
  for (std::size_t i = 0; i < spec.children.size(); ++i) {
    if (!spec.children[i].supervisor) continue;
    if (auto ok = add(spec.children[i], self, i, chance); !ok) return ok;
  }
  return {};
}

void supervisor_tree::start(runtime::steady_time now) {
  now_ = now;
  restart_root_at_.reset();
  nodes_.front()->engine.start(now);
}

void supervisor_tree::stop(runtime::steady_time now) {
  now_ = now;
  if (std::exchange(restart_root_at_, std::nullopt)) return orders_.tree_ended();
  nodes_.front()->engine.stop(now);
}

void supervisor_tree::worker_started(worker_ref w, runtime::steady_time now) {
  now_ = now;
  nodes_.at(w.supervisor)->engine.child_started(w.child, now);
}

void supervisor_tree::worker_exited(worker_ref w, exit_reason how, runtime::steady_time now) {
  now_ = now;
  nodes_.at(w.supervisor)->engine.child_exited(w.child, how, now);
}

std::optional<runtime::steady_time> supervisor_tree::next_due() const {
  auto due = restart_root_at_;
  for (const auto& n : nodes_) {
    const auto of_it = n->engine.next_due();
    if (of_it && (!due || *of_it < *due)) due = of_it;
  }
  return due;
}

void supervisor_tree::tick(runtime::steady_time now) {
  now_ = now;
  for (const auto& n : nodes_) n->engine.tick(now);
  if (restart_root_at_ && *restart_root_at_ <= now) start(now);
}

std::optional<worker_ref> supervisor_tree::start_child(std::size_t supervisor,
                                                       runtime::steady_time now) {
  now_ = now;
  const auto n = nodes_.at(supervisor)->engine.start_child(now);
  if (!n) return std::nullopt;
  return worker_ref{supervisor, *n};
}

bool supervisor_tree::terminate_child(worker_ref w, runtime::steady_time now) {
  now_ = now;
  return nodes_.at(w.supervisor)->engine.terminate_child(w.child, now);
}

const supervisor& supervisor_tree::at(std::size_t supervisor) const {
  return nodes_.at(supervisor)->engine;
}

const std::string& supervisor_tree::id(std::size_t supervisor) const {
  return nodes_.at(supervisor)->id;
}

// Nobody is above it: it waits in any case, so that a storm at the root cannot become a spin.
void supervisor_tree::root_ended(exit_reason how) {
  if (how == exit_reason::shutdown) return orders_.tree_ended();
  restart_root_at_ = now_ + failures_.fault(now_).wait;
}

}  // namespace bulkhead::supervision
