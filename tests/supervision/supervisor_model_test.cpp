// Random trees through thousands of random crashes: what is ordered, and in which order, must be
// what a simple reference orders. It knows the rules and no events: whoever is told obeys at once.
#include <algorithm>
#include <cmath>

#include "random_tree.hpp"

namespace bulkhead::supervision {
namespace {

using namespace testing;

constexpr auto never = runtime::steady_time::max();

// -- the reference --------------------------------------------------------------------------------

// How often within a period, and how long to wait beyond; with all of history in hand.
struct record {
  std::vector<runtime::steady_time> restarts;
  int waits = 0;
  runtime::steady_time good_from{};  // after so long without a fault the waits are forgotten

  // Nothing: at once.
  std::optional<milliseconds> fault(runtime::steady_time now, restart_intensity i,
                                    restart_backoff b) {
    if (now >= good_from) waits = 0;
    const auto recent =
        std::count_if(restarts.begin(), restarts.end(), [&](auto t) { return now - t < i.period; });
    std::optional<milliseconds> wait;
    if (waits == 0 && recent < static_cast<long>(i.restarts)) {
      restarts.push_back(now);
      good_from = {};
      return wait;
    }
    const double grown = static_cast<double>(b.initial.count()) * std::pow(b.factor, waits);
    wait = milliseconds(std::lround(std::min(grown, static_cast<double>(b.cap.count()))));
    ++waits;
    good_from = now + *wait + i.period;
    return wait;
  }
};

struct model_node {
  const tree_spec* spec = nullptr;
  model_node* parent = nullptr;
  std::vector<std::unique_ptr<model_node>> children;
  bool up = false;
  bool over = false;                      // not to be started again
  runtime::steady_time start_at = never;  // waits until then
  record own;                             // as a child
  record all;                             // of its children together

  [[nodiscard]] const std::string& id() const { return spec->spec.id; }
  [[nodiscard]] bool worker() const { return !spec->supervisor; }
};

struct model {
  explicit model(const tree_spec& spec) : root(build(spec, nullptr)) {}

  std::unique_ptr<model_node> root;
  std::string said;
  runtime::steady_time now{};

  std::unique_ptr<model_node> build(const tree_spec& spec, model_node* parent) {
    auto n = std::make_unique<model_node>();
    n->spec = &spec;
    n->parent = parent;
    for (const tree_spec& c : spec.children) n->children.push_back(build(c, n.get()));
    return n;
  }
  void say(const std::string& word) { said += (said.empty() ? "" : " ") + word; }

  void start(model_node& n) {
    n.start_at = never;
    n.up = true;
    if (n.worker()) return say("+" + n.id());
    n.all = {};
    for (auto& c : n.children) {
      c->own = {};
      c->over = false;
      start(*c);
    }
    if (n.parent == nullptr) say("up");
  }
  void stop(model_node& n) {
    n.start_at = never;
    if (!n.up) return;
    n.up = false;
    if (n.worker()) return say("-" + n.id());
    for (auto c = n.children.rbegin(); c != n.children.rend(); ++c) stop(**c);
  }

  void exits(model_node& n, exit_reason how) {
    n.up = false;
    const child_spec& s = n.spec->spec;
    if (n.parent == nullptr) {
      restart_intensity none = s.intensity;
      none.restarts = 0;
      n.start_at = now + *n.own.fault(now, none, s.backoff);
      return;
    }
    model_node& p = *n.parent;
    if (s.restart == restart_type::temporary ||
        (s.restart == restart_type::transient && how != exit_reason::fault)) {
      n.over = true;
      return;
    }
    const supervisor_flags& f = *p.spec->supervisor;
    if (p.all.fault(now, f.intensity, {})) {
      for (auto c = p.children.rbegin(); c != p.children.rend(); ++c) stop(**c);
      return exits(p, exit_reason::fault);
    }
    const auto wait = n.own.fault(now, s.intensity, s.backoff);
    n.start_at = now + wait.value_or(milliseconds(0));
    const auto at =
        static_cast<std::size_t>(std::find_if(p.children.begin(), p.children.end(),
                                              [&](const auto& c) { return c.get() == &n; }) -
                                 p.children.begin());
    const std::size_t first = f.strategy == strategy::one_for_one    ? p.children.size()
                              : f.strategy == strategy::rest_for_one ? at + 1
                                                                     : 0;
    for (std::size_t i = p.children.size(); i-- > first;) {
      model_node& c = *p.children[i];
      if (&c == &n) continue;
      const auto waits = c.start_at;
      stop(c);
      c.over = c.spec->spec.restart == restart_type::temporary;
      if (!c.over) c.start_at = waits == never ? now : waits;
    }
    start_due(p);
  }

  // Starts those whose time has come and who need not wait for another.
  void start_due(model_node& p) {
    const strategy s = p.spec->supervisor->strategy;
    if (s == strategy::one_for_all &&
        std::any_of(p.children.begin(), p.children.end(), [&](const auto& c) {
          return !c->up && c->start_at != never && c->start_at > now;
        })) {
      return;
    }
    for (auto& c : p.children) {
      if (!c->up && c->start_at != never) {
        if (c->start_at <= now) {
          start(*c);
        } else if (s == strategy::rest_for_one) {
          return;
        }
      }
    }
  }
  void tick(model_node& n) {
    if (n.worker()) return;
    if (n.parent == nullptr && !n.up) {
      if (n.start_at <= now) start(n);
      return;
    }
    if (!n.up) return;
    start_due(n);
    for (auto& c : n.children) tick(*c);
  }
  runtime::steady_time next_due(const model_node& n) {
    auto due = n.start_at > now ? n.start_at : never;
    for (auto& c : n.children) due = std::min(due, next_due(*c));
    return due;
  }
  void pass(milliseconds by) {
    const auto until = now + by;
    for (auto due = next_due(*root); due <= until; due = next_due(*root)) {
      now = due;
      tick(*root);
    }
    now = until;
  }
};

// -- random crashes -------------------------------------------------------------------------------

void workers_up(const model_node& n, std::vector<const model_node*>& into) {
  if (n.worker() && n.up) into.push_back(&n);
  for (const auto& c : n.children) workers_up(*c, into);
}

TEST_CASE("thousands of crash sequences order exactly what a simple reference model orders") {
  constexpr std::uint64_t first_seed = 20'261'201;
  for (std::uint64_t seed = first_seed; seed < first_seed + 3'000; ++seed) {
    CAPTURE(seed);
    dice d(seed);
    int named = 0;
    const tree_spec spec = random_tree(d, 2, named);
    tree_bench b(spec);
    model reference(spec);
    reference.now = b.time.now();
    reference.start(*reference.root);
    REQUIRE(b.start() == std::exchange(reference.said, {}));
    for (int step = 0; step < 60; ++step) {
      CAPTURE(step);
      const milliseconds by(d.one_in(4) ? d.between(0, 30'000) : d.between(0, 800));
      reference.pass(by);
      REQUIRE(b.pass(by) == std::exchange(reference.said, {}));
      std::vector<const model_node*> up;
      workers_up(*reference.root, up);
      if (up.empty()) continue;
      const auto* victim =
          up[static_cast<std::size_t>(d.between(0, static_cast<long>(up.size()) - 1))];
      const auto how = d.one_in(5) ? exit_reason::normal : exit_reason::fault;
      CAPTURE(victim->id());
      reference.exits(const_cast<model_node&>(*victim), how);
      REQUIRE(b.exits(victim->id(), how) == std::exchange(reference.said, {}));
    }
    const bool waiting = !reference.root->up;
    reference.stop(*reference.root);
    reference.say("end");
    REQUIRE(b.stop() == (waiting ? "end" : std::exchange(reference.said, {})));
    REQUIRE_FALSE(b.tree->next_due());
  }
}

}  // namespace
}  // namespace bulkhead::supervision
