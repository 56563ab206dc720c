#include <bulkhead/runtime/buffer_pool.hpp>

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

namespace bulkhead::runtime {
namespace {

TEST_CASE("a pool keeps no more free blocks than it was told") {
  buffer_pool pool(2);
  {
    std::vector<block> out;
    for (int i = 0; i < 5; ++i) out.push_back(pool.lease());
    CHECK(pool.leased() == 5);
    CHECK(pool.idle() == 0);
  }
  CHECK(pool.leased() == 0);
  CHECK(pool.idle() == 2);
}

TEST_CASE("a block that came back is leased again") {
  buffer_pool pool(2);
  const std::byte* first = nullptr;
  {
    block b = pool.lease();
    first = b.room().data();
  }
  const block again = pool.lease();
  CHECK(pool.idle() == 0);
  CHECK(again.bytes().data() == first);
  CHECK(again.empty());
}

TEST_CASE("a block gives out what was appended, from where it was consumed") {
  buffer_pool pool;
  block b = pool.lease();
  CHECK(b.room_left() == block::size);
  constexpr std::string_view text = "bulkhead";
  b.append(std::as_bytes(std::span(text)));
  b.consume(4);
  CHECK(b.bytes().size() == 4);
  CHECK(b.bytes()[0] == std::byte{'h'});
  CHECK(b.room_left() == block::size - 8);
  b.consume(4);
  CHECK(b.empty());
}

TEST_CASE("a moved block is returned once, and the empty one has no capacity") {
  buffer_pool pool;
  block a = pool.lease();
  block b = std::move(a);
  CHECK_FALSE(a);  // NOLINT(bugprone-use-after-move): that is what is tested
  CHECK(a.room_left() == 0);
  CHECK(pool.leased() == 1);
  b = pool.lease();
  CHECK(pool.leased() == 1);
  b = block();
  CHECK(pool.leased() == 0);
}

}  // namespace
}  // namespace bulkhead::runtime
