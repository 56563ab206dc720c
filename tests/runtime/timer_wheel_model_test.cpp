// The wheel against the obvious thing: a sorted map. Operations are random, the seeds are not.
#include <bulkhead/runtime/timer_wheel.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace bulkhead::runtime {
namespace {

constexpr steady_time zero{};

class model {
 public:
  explicit model(unsigned seed) : random_(seed) {
    for (int i = 0; i < 64; ++i) nodes_.push_back(std::make_unique<node>(*this, i));
  }

  void step() {
    switch (pick(0, 9)) {
      case 0:
        cancel(pick(0, 63));
        break;
      case 1:
        replace(pick(0, 63));
        break;
      case 2:
      case 3:
        advance(now_ + distance());
        break;
      case 4:
        if (const auto next = wheel_.next()) advance_to(*next);
        break;
      default:
        arm(pick(0, 63), now_ - 20 + distance());
    }
    REQUIRE(wheel_.armed() == due_.size());
    const auto next = wheel_.next();
    REQUIRE(next.has_value() == !due_.empty());
    if (next) REQUIRE(*next <= std::max(at(now_), at(due_.begin()->first)));
  }

  [[nodiscard]] long expired() const { return expired_; }

 private:
  struct node {
    model& m;
    int index;
    timer t{[](void* self) noexcept {
              auto* n = static_cast<node*>(self);
              n->m.on_expired(n->index);
            },
            this};
    node(model& of, int i) : m(of), index(i) {}
  };

  static steady_time at(std::int64_t ms) { return zero + milliseconds(ms); }
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  // Mostly near, sometimes beyond the horizon.
  std::int64_t distance() {
    return std::uniform_int_distribution<std::int64_t>(0, 1LL << pick(0, 26))(random_);
  }

  void forget(int i) {
    for (auto it = due_.begin(); it != due_.end(); ++it) {
      if (it->second != i) continue;
      due_.erase(it);
      return;
    }
  }
  void arm(int i, std::int64_t when) {
    forget(i);
    due_.emplace(when, i);
    wheel_.arm(nodes_[static_cast<std::size_t>(i)]->t, at(when));
    armed_in_advance_.insert(i);
  }
  void cancel(int i) {
    forget(i);
    nodes_[static_cast<std::size_t>(i)]->t.cancel();
  }
  void replace(int i) {
    forget(i);
    nodes_[static_cast<std::size_t>(i)] = std::make_unique<node>(*this, i);
  }

  void advance_to(steady_time when) {
    advance(std::max<std::int64_t>(now_, std::chrono::ceil<milliseconds>(when - zero).count()));
  }

  void advance(std::int64_t to) {
    before_ = std::exchange(now_, to);
    last_ = -1000;
    armed_in_advance_.clear();
    advancing_ = true;
    wheel_.advance(at(now_));
    advancing_ = false;
    for (const auto& [when, i] : due_) {
      if (when > now_) break;
      REQUIRE(armed_in_advance_.contains(i));  // all else that was due has run
    }
  }

  void on_expired(int i) {
    ++expired_;
    std::int64_t when = -1;
    for (const auto& [w, index] : due_) {
      if (index == i) when = w;
    }
    REQUIRE(advancing_);
    REQUIRE(when != -1);
    REQUIRE(when <= now_);
    // In order, but for those that were late when they were armed.
    if (when > before_) {
      REQUIRE(when >= last_);
      last_ = when;
    }
    forget(i);
    switch (pick(0, 5)) {
      case 0:
        arm(pick(0, 63), now_ - 5 + distance());
        break;
      case 1:
        arm(i, now_ + distance());
        break;
      case 2:
        cancel(pick(0, 63));
        break;
      case 3:
        replace(pick(0, 63));
        break;
      default:
        break;
    }
  }

  std::mt19937 random_;
  std::int64_t now_ = 0;
  std::int64_t last_ = 0;
  std::int64_t before_ = 0;
  bool advancing_ = false;
  long expired_ = 0;
  timer_wheel wheel_{zero};
  std::multimap<std::int64_t, int> due_;
  std::set<int> armed_in_advance_;
  std::vector<std::unique_ptr<node>> nodes_;
};

TEST_CASE("the wheel does what a sorted map does, over random operations") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    model m(seed);
    for (int i = 0; i < 2000; ++i) m.step();
    CHECK(m.expired() > 200);
  }
}

}  // namespace
}  // namespace bulkhead::runtime
