// Intensity over a sliding period, then back-off: a table, and thousands of fault sequences against
// a naive reference.
#include <bulkhead/supervision/restart_window.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace bulkhead::supervision {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr runtime::steady_time start{std::chrono::hours(1)};

std::function<double()> always(double chance) {
  return [chance] { return chance; };
}

// Faults at these seconds; answers "r r w1000 w2000": restarts, and waits in milliseconds.
std::string story(const std::vector<double>& at, restart_intensity i = {2, seconds(10)},
                  restart_backoff b = {seconds(1), 2.0, seconds(8), 0.0}) {
  restart_window w(i, b, always(0.5));
  std::string said;
  for (const double t : at) {
    const auto d = w.fault(start + milliseconds(std::lround(t * 1'000)));
    if (!said.empty()) said += ' ';
    said += d.restart_now ? "r" : "w" + std::to_string(d.wait.count());
  }
  return said;
}

TEST_CASE("faults within the intensity are restarted at once") {
  CHECK(story({0, 1}) == "r r");
}
TEST_CASE("one fault beyond the intensity waits") {
  CHECK(story({0, 1, 2}) == "r r w1000");
}
TEST_CASE("the period slides: a restart that is a period old does not count") {
  CHECK(story({0, 5, 10, 15, 20}) == "r r r r r");
}
TEST_CASE("a restart counts until just before the period is over") {
  CHECK(story({0, 5, 9.999}) == "r r w1000");
}
TEST_CASE("waits grow by the factor up to the cap") {
  CHECK(story({0, 0, 0, 1, 3, 7, 15, 23}) == "r r w1000 w2000 w4000 w8000 w8000 w8000");
}
TEST_CASE("a factor of one keeps the wait as it is") {
  CHECK(story({0, 0, 1, 2}, {0, seconds(10)}, {seconds(1), 1.0, seconds(8), 0.0}) ==
        "w1000 w1000 w1000 w1000");
}
TEST_CASE("no restarts allowed: the first fault waits") {
  CHECK(story({0}, {0, seconds(10)}) == "w1000");
}
// Regression: once the first restarts had left the period, back-off began anew with restarts, so a
// child that failed at every probe never waited longer than the period.
TEST_CASE(
    "a child that fails at each probe is not restarted at once again, however long it lasts") {
  CHECK(story({0, 0, 0, 1, 3, 7, 15, 23, 31, 39}).substr(4) ==
        "w1000 w2000 w4000 w8000 w8000 w8000 w8000 w8000");
}
TEST_CASE("a whole period without a fault, after the wait, forgets the back-off") {
  // The wait of 1 s ends at 1 s; the period of 10 s at 11 s.
  CHECK(story({0, 0, 0, 11}) == "r r w1000 r");
  CHECK(story({0, 0, 0, 10.999}) == "r r w1000 w2000");
}
TEST_CASE("a back-off that was forgotten starts small again") {
  CHECK(story({0, 0, 0, 1, 13, 13, 13}) == "r r w1000 w2000 r r w1000");
}

TEST_CASE("what fails again after a wait waits longer, however late it was tried") {
  restart_window w({0, seconds(10)}, {seconds(1), 2.0, seconds(8), 0.0}, always(0.5));
  CHECK(w.fault(start).wait == seconds(1));
  CHECK(w.failed_again(start + std::chrono::hours(1)).wait == seconds(2));
  CHECK(w.failed_again(start + std::chrono::hours(2)).wait == seconds(4));
}
TEST_CASE("after a late success the waits are forgotten a whole period from then") {
  for (const auto& [later, wait] : {std::pair{milliseconds(9'999), 2}, {milliseconds(10'000), 1}}) {
    restart_window w({0, seconds(10)}, {seconds(1), 2.0, seconds(8), 0.0}, always(0.5));
    CHECK(w.fault(start).wait == seconds(1));
    const auto success = start + std::chrono::hours(1);
    w.worked(success);
    CHECK(w.fault(success + later).wait == seconds(wait));
  }
}

TEST_CASE("jitter varies a wait by its share and no more") {
  const restart_backoff b{seconds(10), 2.0, seconds(60), 0.2};
  for (const auto& [chance, wait] : {std::pair{0.0, 8'000}, {0.5, 10'000}, {0.999999, 12'000}}) {
    restart_window w({0, seconds(10)}, b, always(chance));
    CHECK(w.fault(start).wait == milliseconds(wait));
  }
}
TEST_CASE("a wait is never nothing") {
  restart_window w({0, seconds(10)}, {milliseconds(1), 2.0, seconds(1), 1.0}, always(0.0));
  CHECK(w.fault(start).wait == milliseconds(1));
}
TEST_CASE("a back-off that lasts for ever neither overflows nor leaves its cap") {
  restart_window w({0, seconds(10)}, {seconds(1), 10.0, seconds(30), 0.0}, always(0.5));
  for (int i = 0; i < 10'000; ++i) CHECK(w.fault(start).wait <= seconds(30));
}

// As the header says it, with all of history in hand and no cleverness.
class reference {
 public:
  reference(restart_intensity i, restart_backoff b) : i_(i), b_(b) {}

  restart_window::decision fault(runtime::steady_time now, double chance) {
    if (waits_ != 0 && now >= last_ + wait_ + i_.period) waits_ = 0;
    last_ = now;
    const auto recent = std::count_if(restarts_.begin(), restarts_.end(),
                                      [&](auto t) { return now - t < i_.period; });
    if (waits_ == 0 && recent < static_cast<long>(i_.restarts)) {
      restarts_.push_back(now);
      return {.restart_now = true};
    }
    double base = static_cast<double>(b_.initial.count());
    for (int k = 0; k < waits_ && base < static_cast<double>(b_.cap.count()); ++k)
      base *= b_.factor;
    base = std::min(base, static_cast<double>(b_.cap.count()));
    ++waits_;
    wait_ = milliseconds(std::max(1L, std::lround(base * (1 + b_.jitter * (2 * chance - 1)))));
    return {.restart_now = false, .wait = wait_};
  }

 private:
  restart_intensity i_;
  restart_backoff b_;
  std::vector<runtime::steady_time> restarts_;
  runtime::steady_time last_{};
  milliseconds wait_{0};
  int waits_ = 0;
};

TEST_CASE("thousands of fault sequences agree with a naive reference") {
  std::mt19937_64 random(20'261'201);
  const auto between = [&](long a, long z) {
    return std::uniform_int_distribution<long>(a, z)(random);
  };
  for (int sequence = 0; sequence < 4'000; ++sequence) {
    const restart_intensity i{static_cast<std::uint32_t>(between(0, 5)),
                              milliseconds(between(1, 20'000))};
    restart_backoff b;
    b.initial = milliseconds(between(1, 2'000));
    b.cap = b.initial + milliseconds(between(0, 20'000));
    b.factor = 1.0 + static_cast<double>(between(0, 30)) / 10.0;
    b.jitter = static_cast<double>(between(0, 10)) / 10.0;
    double chance = 0.5;
    restart_window window(i, b, [&] { return chance; });
    reference naive(i, b);
    auto now = start;
    for (int f = 0; f < 40; ++f) {
      now += milliseconds(between(0, 3) == 0 ? between(0, 60'000) : between(0, 1'500));
      chance = static_cast<double>(between(0, 999)) / 1'000.0;
      const auto got = window.fault(now);
      const auto expected = naive.fault(now, chance);
      CAPTURE(sequence);
      CAPTURE(f);
      REQUIRE(got.restart_now == expected.restart_now);
      // Powers and products round differently.
      REQUIRE(std::abs(got.wait.count() - expected.wait.count()) <= 1);
      if (!got.restart_now) {
        REQUIRE(static_cast<double>(got.wait.count()) <=
                static_cast<double>(b.cap.count()) * (1 + b.jitter) + 1);
      }
      REQUIRE(window.restarts_in_period() <= i.restarts);
    }
  }
}

}  // namespace
}  // namespace bulkhead::supervision
