// Readiness as a set of reasons why not.
#include <bulkhead/supervision/readiness.hpp>

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

namespace bulkhead::supervision {
namespace {

using reasons = std::vector<std::string>;

TEST_CASE("ready is the absence of reasons") {
  readiness r;
  CHECK(r.ready());
  r.raise("draining");
  CHECK_FALSE(r.ready());
  r.raise("cells unavailable");
  CHECK(r.reasons() == reasons{"draining", "cells unavailable"});
  r.clear("draining");
  CHECK_FALSE(r.ready());
  CHECK(r.reasons() == reasons{"cells unavailable"});
  r.clear("cells unavailable");
  CHECK(r.ready());
  CHECK(r.reasons().empty());
}

TEST_CASE("a reason holds once, and clearing what does not hold changes nothing") {
  readiness r;
  r.raise("a");
  r.raise("a");
  r.clear("b");
  CHECK(r.reasons() == reasons{"a"});
  r.clear("a");
  CHECK(r.ready());
}

TEST_CASE("whoever watches is told of each change, and finds it made") {
  readiness r;
  std::vector<bool> seen;
  r.on_change([&] { seen.push_back(r.ready()); });
  r.raise("a");
  r.raise("a");
  r.raise("b");
  r.clear("c");
  r.clear("a");
  r.clear("b");
  CHECK(seen == std::vector<bool>{false, false, false, true});
}

TEST_CASE("threads that raise and clear their own reasons leave nothing of them behind") {
  readiness r;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&r, mine = "part " + std::to_string(t)] {
      for (int i = 0; i < 500; ++i) {
        r.raise(mine);
        static_cast<void>(r.ready());
        static_cast<void>(r.reasons());
        r.clear(mine);
      }
    });
  }
  for (auto& t : threads) t.join();
  CHECK(r.reasons().empty());
}

}  // namespace
}  // namespace bulkhead::supervision
