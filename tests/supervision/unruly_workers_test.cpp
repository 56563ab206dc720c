// Random trees of workers with a will of their own: they answer late, die meanwhile, ignore a stop.
// No reference knows what must happen then; but some things hold whatever does.
#include <algorithm>

#include "random_tree.hpp"

namespace bulkhead::supervision {
namespace {

using namespace testing;

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
