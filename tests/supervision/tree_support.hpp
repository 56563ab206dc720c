// What the tests of supervisors share: a tree whose workers obey at once and write down each order,
// on a virtual clock.
#pragma once

#include <bulkhead/runtime/clock.hpp>
#include <bulkhead/supervision/supervisor_tree.hpp>

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bulkhead::supervision::testing {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr supervisor_flags flags(strategy s, std::uint32_t restarts = 50,
                                 milliseconds period = seconds(10)) {
  return {.strategy = s, .intensity = {restarts, period}};
}

// A worker with so many restarts in ten seconds, then waits of 1, 2, 4 and 8 seconds.
inline tree_spec worker(std::string id, std::uint32_t restarts = 10,
                        restart_type type = restart_type::permanent,
                        milliseconds shutdown = seconds(5)) {
  return tree_spec::worker({.id = std::move(id),
                            .restart = type,
                            .intensity = {restarts, seconds(10)},
                            .backoff = {seconds(1), 2.0, seconds(8), 0.0},
                            .shutdown = shutdown});
}

// A supervisor that may fail so often in ten seconds before its parent makes it wait.
inline tree_spec below(std::string id, supervisor_flags f, std::vector<tree_spec> children,
                       std::uint32_t restarts = 10) {
  auto s = tree_spec::of(std::move(id), f, std::move(children));
  s.spec.intensity = {restarts, seconds(10)};
  s.spec.backoff = {seconds(1), 2.0, seconds(8), 0.0};
  return s;
}

struct tree_bench : tree_orders {
  explicit tree_bench(const tree_spec& spec) {
    name(spec);
    auto made = supervisor_tree::make(spec, *this, [] { return 0.5; });
    REQUIRE(made);
    tree = std::move(*made);
  }
  virtual ~tree_bench() = default;

  // -- orders: "+a" start, "-a" stop, "!a" kill, "up" and "end" of the tree
  void start_worker(worker_ref w) noexcept override {
    const std::string id = note('+', w);
    if (slow.count(id) != 0) return;
    if (unstartable[id] > 0) {
      --unstartable[id];
      tree->worker_exited(w, exit_reason::fault, time.now());
    } else {
      tree->worker_started(w, time.now());
    }
  }
  void stop_worker(worker_ref w) noexcept override {
    if (deaf.count(note('-', w)) == 0) tree->worker_exited(w, exit_reason::shutdown, time.now());
  }
  void kill_worker(worker_ref w) noexcept override {
    note('!', w);
    tree->worker_exited(w, exit_reason::fault, time.now());
  }
  void tree_started() noexcept override { say("up"); }
  void tree_ended() noexcept override { say("end"); }

  // -- what happens; each answers the orders that came of it
  std::string start() {
    tree->start(time.now());
    return take();
  }
  std::string stop() {
    tree->stop(time.now());
    return take();
  }
  std::string exits(const std::string& id, exit_reason how = exit_reason::fault) {
    tree->worker_exited(refs.at(id), how, time.now());
    return take();
  }
  std::string started(const std::string& id) {
    tree->worker_started(refs.at(id), time.now());
    return take();
  }
  // Lets time pass, and stops at each point where something is due.
  std::string pass(milliseconds by) {
    const auto until = time.now() + by;
    for (auto due = tree->next_due(); due && *due <= until; due = tree->next_due()) {
      time.advance(std::chrono::ceil<milliseconds>(*due - time.now()));
      tree->tick(time.now());
    }
    time.advance(std::chrono::ceil<milliseconds>(until - time.now()));
    return take();
  }
  std::string take() { return std::exchange(said, {}); }

  runtime::virtual_clock time;
  std::unique_ptr<supervisor_tree> tree;
  std::map<std::string, worker_ref> refs;
  std::string said;
  std::set<std::string> slow;              // answer a start when the test says so
  std::set<std::string> deaf;              // do not end when they are asked to
  std::map<std::string, int> unstartable;  // so many starts end in a fault

 private:
  void name(const tree_spec& s) {
    const std::size_t index = named_++;
    for (std::size_t i = 0; i < s.children.size(); ++i) {
      if (s.children[i].supervisor) continue;
      refs[s.children[i].spec.id] = {index, i};
    }
    for (const tree_spec& c : s.children) {
      if (c.supervisor) name(c);
    }
  }
  std::string note(char what, worker_ref w) {
    std::string id = std::to_string(w.child);  // made at run time: its number
    for (const auto& [known, ref] : refs) {
      if (ref == w) id = known;
    }
    say(what + id);
    return id;
  }
  void say(const std::string& word) { said += (said.empty() ? "" : " ") + word; }

  std::size_t named_ = 0;
};

}  // namespace bulkhead::supervision::testing
