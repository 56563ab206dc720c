// Random trees through thousands of random crashes: orders, and their order, must be those of a
// simple reference, which knows every rule but no events: whoever is told obeys at once.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "tree_support.hpp"

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

// -- random trees and crashes ---------------------------------------------------------------------

struct dice {
  explicit dice(std::uint64_t seed) : engine(seed) {}
  std::mt19937_64 engine;
  long between(long a, long z) { return std::uniform_int_distribution<long>(a, z)(engine); }
  bool one_in(long n) { return between(1, n) == 1; }
};

child_spec random_child(dice& d, const std::string& id) {
  child_spec s;
  s.id = id;
  s.restart = d.one_in(6)   ? restart_type::temporary
              : d.one_in(4) ? restart_type::transient
                            : restart_type::permanent;
  s.intensity = {static_cast<std::uint32_t>(d.between(0, 4)), milliseconds(d.between(1, 20'000))};
  s.backoff.initial = milliseconds(d.between(1, 2'000));
  s.backoff.cap = s.backoff.initial + milliseconds(d.between(0, 10'000));
  s.backoff.factor = 1.0 + static_cast<double>(d.between(0, 4)) / 2.0;
  s.backoff.jitter = 0;
  s.shutdown = seconds(1);
  return s;
}

tree_spec random_tree(dice& d, int depth, int& named) {
  tree_spec t{.spec = random_child(d, "s" + std::to_string(named++))};
  t.spec.shutdown = infinity;
  t.supervisor =
      flags(static_cast<strategy>(d.between(0, 2)), static_cast<std::uint32_t>(d.between(0, 8)),
            milliseconds(d.between(1, 20'000)));
  for (long n = d.between(1, 4); n > 0; --n) {
    if (depth > 0 && d.one_in(3)) {
      t.children.push_back(random_tree(d, depth - 1, named));
    } else {
      t.children.push_back(tree_spec::worker(random_child(d, "w" + std::to_string(named++))));
    }
  }
  return t;
}

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

// -- workers with a will of their own -------------------------------------------------------------

// Answers late, dies meanwhile, ignores a stop: no reference knows what must happen, but these
// things hold whatever does.
struct unruly : tree_orders {
  unruly(const tree_spec& spec, dice& chance) : d(chance) {
    auto made = supervisor_tree::make(
        spec, *this, [this] { return static_cast<double>(d.between(0, 999)) / 1'000.0; });
    REQUIRE(made);
    tree = std::move(*made);
    note(spec);
  }
  void note(const tree_spec& s) {
    if (s.spec.restart != restart_type::permanent) may_stay_down.insert(s.spec.id);
    for (const tree_spec& c : s.children) note(c);
  }
  virtual ~unruly() = default;

  enum class life : std::uint8_t { down, starting, running, stopping, killed };
  using key = std::pair<std::size_t, child_number>;
  dice& d;
  runtime::virtual_clock time;
  std::unique_ptr<supervisor_tree> tree;
  std::map<key, life> lives;
  bool stopped = false;
  bool tree_is_over = false;
  std::string broken;                   // the rule that was
  std::set<std::string> may_stay_down;  // transient and temporary children

  void rule(bool holds, const char* text) {
    if (!holds && broken.empty()) broken = text;
  }
  life& of(worker_ref w) { return lives[{w.supervisor, w.child}]; }
  void start_worker(worker_ref w) noexcept override {
    rule(of(w) == life::down, "only what is down is started");
    rule(!tree_is_over, "nothing is started when the tree has ended");
    of(w) = life::starting;
    if (d.one_in(3)) answer(w);
  }
  void stop_worker(worker_ref w) noexcept override {
    rule(of(w) == life::starting || of(w) == life::running, "only what lives is stopped, once");
    of(w) = life::stopping;
    if (d.one_in(3)) answer(w);
  }
  void kill_worker(worker_ref w) noexcept override {
    rule(of(w) != life::down && of(w) != life::killed, "only what lives is killed, once");
    of(w) = life::killed;
    if (d.one_in(2)) answer(w);
  }
  void tree_started() noexcept override {}
  void tree_ended() noexcept override {
    rule(stopped, "the tree ends when it was told to, and not by itself");
    rule(alive() == 0, "nobody is left when the tree has ended");
    tree_is_over = true;
  }
  // What was ordered comes true, or the worker dies.
  void answer(worker_ref w) {
    if (of(w) == life::starting && !d.one_in(4)) {
      of(w) = life::running;
      return tree->worker_started(w, time.now());
    }
    of(w) = life::down;
    tree->worker_exited(w, d.one_in(4) ? exit_reason::normal : exit_reason::fault, time.now());
  }
  // Each child of a running supervisor runs, unless it was one that is not started again.
  void all_that_must_run() {
    for (std::size_t s = 0; s < tree->supervisors(); ++s) {
      if (!tree->at(s).running()) continue;
      for (const auto& c : tree->at(s).which_children()) {
        REQUIRE((c.state == child_state::running || may_stay_down.count(c.id) != 0));
      }
    }
  }
  std::size_t alive() const {
    return static_cast<std::size_t>(std::count_if(
        lives.begin(), lives.end(), [](const auto& l) { return l.second != life::down; }));
  }
  void somebody_acts() {
    std::vector<worker_ref> all;
    for (const auto& [k, l] : lives) {
      if (l != life::down) all.push_back({k.first, k.second});
    }
    if (!all.empty()) {
      answer(all[static_cast<std::size_t>(d.between(0, static_cast<long>(all.size()) - 1))]);
    }
  }
  void wait(milliseconds by) {
    time.advance(by);
    if (const auto due = tree->next_due(); due && *due <= time.now()) tree->tick(time.now());
  }
};

tree_spec with_dynamic(tree_spec t, dice& d) {
  auto pool = below("pool", flags(strategy::simple_one_for_one, 6),
                    {tree_spec::worker(random_child(d, "template"))});
  t.children.push_back(std::move(pool));
  return t;
}

TEST_CASE("whatever workers do and whenever, no order is senseless and a stop ends them all") {
  constexpr std::uint64_t first_seed = 4'711;
  for (std::uint64_t seed = first_seed; seed < first_seed + 3'000; ++seed) {
    CAPTURE(seed);
    dice d(seed);
    int named = 0;
    const tree_spec spec = with_dynamic(random_tree(d, 2, named), d);
    unruly u(spec, d);
    const std::size_t pool = u.tree->supervisors() - 1;
    u.tree->start(u.time.now());
    for (int step = 0; step < 150; ++step) {
      u.somebody_acts();
      if (d.one_in(3)) u.wait(milliseconds(d.between(0, 3'000)));
      if (d.one_in(5)) u.tree->start_child(pool, u.time.now());
      if (d.one_in(20)) {
        u.tree->terminate_child({pool, static_cast<child_number>(d.between(0, 30))}, u.time.now());
      }
      REQUIRE(u.broken == "");
      if (d.one_in(100)) break;
    }
    // Left in peace, nothing is lost: after the longest wait everything runs that has to.
    if (d.one_in(2)) {
      bool at_rest = false;
      for (int i = 0; i < 10'000 && !at_rest; ++i) {
        at_rest = !u.tree->next_due();
        for (auto& [k, l] : u.lives) {
          const worker_ref w{k.first, k.second};
          at_rest = at_rest && (l == unruly::life::down || l == unruly::life::running);
          if (l == unruly::life::starting) {
            l = unruly::life::running;
            u.tree->worker_started(w, u.time.now());
          } else if (l == unruly::life::stopping || l == unruly::life::killed) {
            l = unruly::life::down;
            u.tree->worker_exited(w, exit_reason::shutdown, u.time.now());
          }
        }
        if (u.tree->next_due()) u.wait(seconds(1));
      }
      REQUIRE(u.broken == "");
      REQUIRE(at_rest);
      REQUIRE(u.tree->at(0).running());
      u.all_that_must_run();
    }
    u.stopped = true;
    u.tree->stop(u.time.now());
    for (int i = 0; i < 10'000 && !u.tree_is_over; ++i) {
      u.somebody_acts();
      if (u.alive() == 0) u.wait(seconds(1));
    }
    REQUIRE(u.broken == "");
    REQUIRE(u.tree_is_over);
    REQUIRE_FALSE(u.tree->next_due());
  }
}

}  // namespace
}  // namespace bulkhead::supervision
