// What goes out of a turn: the same bytes in the same order, in as few TLS records as possible.
#include <bulkhead/actors/output.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>

namespace bulkhead::actors {
namespace {

constexpr std::size_t record = turn_output::record;

std::string noise(std::mt19937& random, std::size_t size) {
  std::string s(size, '\0');
  for (char& c : s) c = static_cast<char>(random());
  return s;
}

// Takes everything; appends to `wire` and counts the records that TLS would make of the pieces.
auto greedy(std::string& wire, std::size_t& records) {
  return [&](std::span<const std::byte> bytes) {
    wire.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    records += (bytes.size() + record - 1) / record;
    return bytes.size();
  };
}

TEST_CASE("a head and its body take as few TLS records as their bytes need") {
  std::mt19937 random(7);
  for (int round = 0; round < 3'000; ++round) {
    const std::size_t head = std::uniform_int_distribution<std::size_t>(1, 700)(random);
    const std::size_t size = std::uniform_int_distribution<std::size_t>(0, 5 * record)(random);
    CAPTURE(head);
    CAPTURE(size);
    turn_output output;
    output.text().append(head, 'h');
    output.add(http::body(std::string(size, 'b')));
    std::string wire;
    std::size_t records = 0;
    REQUIRE(output.drain(greedy(wire, records)));
    CHECK(records == (head + size + record - 1) / record);
  }
}

TEST_CASE("a large body is not copied, except for what saves a record") {
  turn_output output;
  output.text().append(200, 'h');
  const auto shared = std::make_shared<const std::string>(std::string(2 * record + 100, 'b'));
  output.add(http::body(shared));
  CHECK(output.text().size() == 300);
  CHECK(output.size() == 200 + shared->size());
}

TEST_CASE("a body just over the copy limit, and just at it, arrive whole") {
  for (const std::size_t size : {turn_output::small_body - 1, turn_output::small_body,
                                 turn_output::small_body + 1, record - 1, record, record + 1}) {
    CAPTURE(size);
    turn_output output;
    output.text() = "head";
    output.add(http::body(std::string(size, 'b')));
    output.text() += "next";
    std::string wire;
    std::size_t records = 0;
    CHECK(output.drain(greedy(wire, records)));
    CHECK(wire == "head" + std::string(size, 'b') + "next");
  }
}

TEST_CASE("any texts and bodies, taken in any steps, come out as they went in") {
  std::mt19937 random(2026);
  const auto up_to = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n)(random);
  };
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    std::string expected, wire;
    turn_output output;
    backlog waiting;
    bool has_backlog = false;
    std::size_t window = 0;
    const auto take = [&](std::span<const std::byte> bytes) {
      const std::size_t n = std::min(bytes.size(), window);
      wire.append(reinterpret_cast<const char*>(bytes.data()), n);
      window -= n;
      return n;
    };
    for (std::size_t turn = 1 + up_to(5); turn > 0; --turn) {
      for (std::size_t piece = up_to(4); piece > 0; --piece) {
        const std::string text = noise(random, up_to(300));
        output.text() += text;
        std::string body = noise(random, up_to(3) == 0 ? up_to(3 * record) : up_to(5'000));
        expected += text + body;
        output.add(http::body(std::move(body)));
      }
      // As connection_core::flush() does it.
      window = up_to(2) == 0 ? 0 : up_to(3 * record);
      if (has_backlog) {
        waiting.take_rest(output);
        has_backlog = !waiting.drain(take);
      } else if (!output.drain(take)) {
        waiting.take_rest(output);
        has_backlog = true;
      }
      output.clear();
    }
    while (has_backlog) {
      window = 1 + up_to(record);
      has_backlog = !waiting.drain(take);
    }
    CHECK(wire == expected);
    CHECK(waiting.empty());
  }
}

TEST_CASE("an emptied output starts afresh") {
  turn_output output;
  output.text() = "old";
  output.add(http::body(std::string(record, 'o')));
  output.clear();
  CHECK(output.empty());
  CHECK(output.size() == 0);
  output.text() += "new";
  std::string wire;
  std::size_t records = 0;
  CHECK(output.drain(greedy(wire, records)));
  CHECK(wire == "new");
}

}  // namespace
}  // namespace bulkhead::actors
