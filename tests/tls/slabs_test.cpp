// The allocator behind OpenSSL: contents survive, memory is reused, threads come and go.
#include <bulkhead/tls/slabs.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace bulkhead::tls {
namespace {

struct piece {
  std::uint8_t* at;
  std::size_t size;
  std::uint8_t mark;
};

piece make(std::size_t size, std::uint8_t mark) {
  auto* at = static_cast<std::uint8_t*>(slab_allocate(size));
  std::memset(at, mark, size);
  return {at, size, mark};
}

bool intact(const piece& p) {
  return std::all_of(p.at, p.at + p.size, [&](std::uint8_t b) { return b == p.mark; });
}

TEST_CASE("every size from 1 byte to beyond the largest class is aligned and keeps its content") {
  std::vector<piece> all;
  for (std::size_t size = 1; size < 70'000; size += size < 1'200 ? 1 : 97) {
    all.push_back(make(size, static_cast<std::uint8_t>(size)));
    CHECK(reinterpret_cast<std::uintptr_t>(all.back().at) % 16 == 0);  // NOLINT
  }
  for (const piece& p : all) {
    CHECK(intact(p));
    slab_release(p.at);
  }
}

TEST_CASE("no bytes are no memory, and releasing nothing is allowed") {
  CHECK(slab_allocate(0) == nullptr);
  slab_release(nullptr);
  CHECK(slab_resize(slab_allocate(10), 0) == nullptr);
}

TEST_CASE("a second crowd takes no more from the system than the first") {
  std::mt19937 chance(7);  // NOLINT(cert-msc*): the same crowd each time
  const auto crowd = [&](unsigned seed) {
    std::mt19937 sizes(seed);
    std::vector<void*> all;
    for (int i = 0; i < 2'000; ++i) all.push_back(slab_allocate(1 + sizes() % 20'000));
    std::shuffle(all.begin(), all.end(), chance);
    for (void* p : all) slab_release(p);
  };
  crowd(1);
  const std::size_t after_first = slab_bytes();
  for (int i = 0; i < 20; ++i) crowd(1);
  CHECK(slab_bytes() == after_first);
}

TEST_CASE("resizing keeps the content, whether the piece moves or not") {
  std::mt19937 chance(11);  // NOLINT(cert-msc*)
  piece p = make(100, 0x5a);
  for (int i = 0; i < 3'000; ++i) {
    const std::size_t size = 1 + chance() % 80'000;
    p.at = static_cast<std::uint8_t*>(slab_resize(p.at, size));
    p.size = std::min(p.size, size);
    REQUIRE(intact(p));
    if (size > p.size) std::memset(p.at, p.mark, size);
    p.size = size;
  }
  slab_release(p.at);
}

TEST_CASE("a piece may be released by another thread, and serves whoever needs one next") {
  std::vector<void*> made;
  std::thread([&] {
    for (int i = 0; i < 1'000; ++i) made.push_back(slab_allocate(500));
  }).join();
  for (void* p : made) slab_release(p);
  std::sort(made.begin(), made.end());
  void* again = nullptr;
  std::thread([&] {
    again = slab_allocate(500);
    slab_release(again);
  }).join();
  CHECK(std::binary_search(made.begin(), made.end(), again));
}

// Regression: the pieces stayed with the thread that released them, and the other took new ones.
TEST_CASE("pieces that one thread takes and another releases come back to the first") {
  std::vector<void*> all;
  std::size_t after_first = 0;
  constexpr int rounds = 20;
  std::barrier turn(2);
  std::thread releases([&] {
    for (int i = 0; i < rounds; ++i) {
      turn.arrive_and_wait();
      for (void* p : all) slab_release(p);
      all.clear();
      turn.arrive_and_wait();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    for (int n = 0; n < 1'000; ++n) all.push_back(slab_allocate(700));
    turn.arrive_and_wait();
    turn.arrive_and_wait();
    if (i == 0) after_first = slab_bytes();
  }
  releases.join();
  CHECK(slab_bytes() == after_first);
}

TEST_CASE("what a thread had free serves those that come after it") {
  const auto one_life = [] {
    std::vector<void*> all;
    for (int i = 0; i < 1'000; ++i) all.push_back(slab_allocate(3'000));
    for (void* p : all) slab_release(p);
  };
  std::thread(one_life).join();
  const std::size_t after_first = slab_bytes();
  for (int i = 0; i < 5; ++i) std::thread(one_life).join();
  CHECK(slab_bytes() == after_first);
}

TEST_CASE("threads that exchange pieces all the time lose none") {
  constexpr int each = 20'000;
  std::vector<std::thread> threads;
  std::vector<std::vector<piece>> lots(4);
  for (auto& lot : lots) {
    for (int i = 0; i < 100; ++i) lot.push_back(make(200, 1));
  }
  for (std::size_t t = 0; t < lots.size(); ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 chance(static_cast<unsigned>(t));
      for (int i = 0; i < each; ++i) {
        piece& p = lots[t][chance() % lots[t].size()];
        if (!intact(p)) std::abort();
        slab_release(p.at);
        p = make(1 + chance() % 2'000, static_cast<std::uint8_t>(t));
      }
    });
  }
  for (auto& t : threads) t.join();
  for (auto& lot : lots) {
    for (const piece& p : lot) {
      CHECK(intact(p));
      slab_release(p.at);
    }
  }
}

}  // namespace
}  // namespace bulkhead::tls
