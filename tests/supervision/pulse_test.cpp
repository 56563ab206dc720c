// Whether a loop still turns: one that the test turns by hand, on a virtual clock.
#include <bulkhead/supervision/pulse.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <memory>

namespace bulkhead::supervision {
namespace {

using std::chrono::milliseconds;

struct bench {
  runtime::virtual_clock time;
  runtime::shard loop{1, time};
  pulse beat{loop, milliseconds(100)};

  void pass(milliseconds by) { time.advance(by); }
};

TEST_CASE("a loop that turns beats, however rarely one asks") {
  bench b;
  b.beat.begin();
  for (int i = 0; i < 5; ++i) {
    CHECK(b.beat.beats());
    b.loop.turn(false);
    b.pass(milliseconds(1'000));
  }
}

TEST_CASE("a loop that hangs for longer than the limit does not beat, until it turns again") {
  bench b;
  b.beat.begin();
  CHECK(b.beat.beats());
  b.pass(milliseconds(100));
  CHECK(b.beat.beats());
  b.pass(milliseconds(1));
  CHECK_FALSE(b.beat.beats());
  CHECK_FALSE(b.beat.beats());
  b.loop.turn(false);
  CHECK(b.beat.beats());
}

TEST_CASE("a loop that is not meant to turn yet counts as alive") {
  bench b;
  CHECK(b.beat.beats());
  b.pass(milliseconds(10'000));
  CHECK(b.beat.beats());
}

TEST_CASE("a question costs a loop that hangs one post, however often it is asked") {
  bench b;
  b.beat.begin();
  const auto before = b.loop.wake_ups();
  for (int i = 0; i < 10; ++i) static_cast<void>(b.beat.beats());
  CHECK(b.loop.wake_ups() - before <= 1);
}

TEST_CASE("a loop may answer a pulse that is gone") {
  runtime::virtual_clock time;
  runtime::shard loop(1, time);
  auto beat = std::make_unique<pulse>(loop, milliseconds(100));
  beat->begin();
  CHECK(beat->beats());
  beat.reset();
  loop.turn(false);
}

}  // namespace
}  // namespace bulkhead::supervision
