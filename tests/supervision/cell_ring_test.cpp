// Frames in shared memory: all sizes, all offsets, and a writer that lies.
#include <bulkhead/supervision/cell_ring.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace bulkhead::supervision {
namespace {

struct ring {
  ring_positions positions;
  std::vector<std::byte> bytes = std::vector<std::byte>(4096);
  ring_writer writer{positions, bytes};
  ring_reader reader{positions, bytes};
  frame_header header;
  std::string content;

  ring_reader::outcome read() { return reader.read(header, content); }
};

TEST_CASE("frames of every size arrive in order, at every offset of the ring") {
  ring r;
  std::mt19937 chance(5);  // NOLINT(cert-msc*): the same sizes each time
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  std::vector<std::string> waiting;
  while (read < 20'000) {
    const std::string text(chance() % 700, static_cast<char>('a' + written % 26));
    if (r.writer.write(
            frame_kind::body, written,
            {text.substr(0, text.size() / 2), std::string_view(text).substr(text.size() / 2)})) {
      waiting.push_back(text);
      ++written;
    } else {
      CHECK(text.size() > r.writer.room());
      for (const std::string& expected : waiting) {
        REQUIRE(r.read() == ring_reader::outcome::frame);
        CHECK(r.content == expected);
        CHECK(r.header.request == read++);
      }
      waiting.clear();
      CHECK(r.read() == ring_reader::outcome::nothing);
      CHECK(r.writer.drained());
    }
  }
}

TEST_CASE("a frame as large as the room fits, and one byte more does not") {
  ring r;
  const std::size_t most = r.writer.room();
  CHECK(most == 4096 - sizeof(frame_header));
  CHECK_FALSE(r.writer.write(frame_kind::body, 1, {std::string(most + 1, 'x')}));
  CHECK(r.writer.write(frame_kind::body, 1, {std::string(most, 'x')}));
  CHECK(r.writer.room() == 0);
  CHECK_FALSE(r.writer.write(frame_kind::body, 2, {}));
  CHECK(r.read() == ring_reader::outcome::frame);
  CHECK(r.content.size() == most);
}

TEST_CASE("an empty ring starts over at its front, so that quiet traffic stays in few pages") {
  ring_positions positions;
  std::vector<std::byte> bytes(256UL * 1024);
  ring_writer writer(positions, bytes);
  ring_reader reader(positions, bytes);
  frame_header header;
  std::string content;
  for (int i = 0; i < 10'000; ++i) {
    REQUIRE(writer.write(frame_kind::body, 1, {std::string(1'000, 'x')}));
    REQUIRE(reader.read(header, content) == ring_reader::outcome::frame);
    CHECK(content.size() == 1'000);
  }
  for (std::size_t at = 12UL * 1024; at < bytes.size(); ++at) {
    REQUIRE(bytes[at] == std::byte{0});
  }
}

TEST_CASE("a writer that publishes what cannot be is nonsense, whatever it wrote") {
  ring r;
  REQUIRE(r.writer.write(frame_kind::body, 1, {"content"}));
  SUBCASE("more than the ring holds") {
    r.positions.written = 5'000;
  }
  SUBCASE("a position before the reader's") {
    REQUIRE(r.read() == ring_reader::outcome::frame);
    r.positions.written = 3;
  }
  SUBCASE("less than a header") {
    r.positions.written = 8;
  }
  SUBCASE("a size beyond what is there") {
    const std::uint32_t size = 4'000;
    std::memcpy(r.bytes.data(), &size, sizeof size);
  }
  SUBCASE("a size that overflows") {
    const std::uint32_t size = 0xffff'fffe;
    std::memcpy(r.bytes.data(), &size, sizeof size);
  }
  CHECK(r.read() == ring_reader::outcome::nonsense);
}

TEST_CASE("a reader that publishes what cannot be breaks the writer, which then writes nothing") {
  ring r;
  REQUIRE(r.writer.write(frame_kind::body, 1, {"content"}));
  SUBCASE("ahead of what was written") {
    r.positions.read = 100;
  }
  SUBCASE("back") {
    REQUIRE(r.read() == ring_reader::outcome::frame);
    REQUIRE(r.writer.drained());
    r.positions.read = 0;
  }
  CHECK_FALSE(r.writer.write(frame_kind::body, 2, {}));
  CHECK(r.writer.broken());
}

TEST_CASE("random bytes in a ring are never read beyond it") {
  std::mt19937 chance(9);  // NOLINT(cert-msc*): the same bytes each time
  for (int i = 0; i < 3'000; ++i) {
    ring r;
    for (std::byte& b : r.bytes) b = static_cast<std::byte>(chance());
    for (std::size_t at = 0; at + 8 <= r.bytes.size(); at += 8) {
      if (chance() % 2 == 0) std::memset(r.bytes.data() + at, 0, 8);
    }
    r.positions.written = chance() % 4'200;
    for (int n = 0; n < 100 && r.read() == ring_reader::outcome::frame; ++n) {
      CHECK(r.content.size() <= 4096);
    }
  }
}

TEST_CASE("two threads pass a million bytes without a lock") {
  ring r;
  std::thread writes([&] {
    for (std::uint64_t n = 0; n < 20'000;) {
      if (r.writer.write(frame_kind::body, n, {std::string(n % 300, static_cast<char>(n))})) ++n;
    }
  });
  for (std::uint64_t n = 0; n < 20'000;) {
    if (r.read() != ring_reader::outcome::frame) continue;
    if (r.content != std::string(n % 300, static_cast<char>(n)) || r.header.request != n) {
      FAIL_CHECK("frame " << n);
      break;
    }
    ++n;
  }
  writes.join();
}

}  // namespace
}  // namespace bulkhead::supervision
