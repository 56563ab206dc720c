#include "harness.hpp"

using namespace bulkhead;
using namespace bulkhead::tests;
using status = tls::session::status;

namespace {

std::string noise(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 12345;
  for (char& c : text) c = static_cast<char>((state = state * 1664525U + 1013904223U) >> 24U);
  return text;
}

constexpr std::size_t mebibyte = 1U << 20U;

}  // namespace

TEST_CASE("a mebibyte arrives intact, in pieces that fit no record") {
  const fixture f;
  const auto context = f.context();
  const std::string sent = noise(mebibyte);
  for (const int version : both_versions) {
    CAPTURE(version);
    client_options o;
    o.version = version;
    pair_of_ends ends(context, o);
    ends.c.send(sent);
    talk(ends.c, ends.s, 10007);
    CHECK((ends.s.received == sent));
    CHECK_FALSE(ends.s.session.has_unread());
  }
}

TEST_CASE("a mebibyte leaves intact") {
  const fixture f;
  const auto context = f.context();
  const std::string sent = noise(mebibyte);
  for (const int version : both_versions) {
    CAPTURE(version);
    client_options o;
    o.version = version;
    pair_of_ends ends(context, o);
    ends.c.give(ends.s.encrypt(sent));
    ends.c.step();
    CHECK((ends.c.received == sent));
  }
}

TEST_CASE("write stops when the block has no room for a record, and goes on in the next") {
  const fixture f;
  pair_of_ends ends(f.context(), {});
  const std::string sent = noise(5 * 16384);
  auto first = ends.s.pool.lease();
  const auto taken = ends.s.session.write(bytes_of(sent), first);
  REQUIRE(taken == 4U * 16384U);
  CHECK(first.room_left() < 16384 + 256);
  CHECK(ends.s.session.write(bytes_of(sent).subspan(*taken), first) == 0);
  auto second = ends.s.pool.lease();
  CHECK(ends.s.session.write(bytes_of(sent).subspan(*taken), second) == 16384U);
  for (const auto* b : {&first, &second})
    ends.c.give({reinterpret_cast<const char*>(b->bytes().data()), b->bytes().size()});
  ends.c.step();
  CHECK((ends.c.received == sent));
}

TEST_CASE("write makes full records, and a last one of what is left") {
  const fixture f;
  client_options o;
  o.version = TLS1_3_VERSION;
  pair_of_ends ends(f.context(), o);
  const std::string wire = ends.s.encrypt(noise(2 * 16384 + 100));
  std::vector<std::size_t> sizes;
  for (std::size_t at = 0; at < wire.size();) {
    const std::size_t size = static_cast<std::size_t>(static_cast<unsigned char>(wire[at + 3]))
                                 << 8U |
                             static_cast<unsigned char>(wire[at + 4]);
    sizes.push_back(size - 17);  // content type and tag
    at += 5 + size;
  }
  CHECK(sizes == std::vector<std::size_t>{16384, 16384, 100});
}

TEST_CASE("a short rest still goes into a block that has no room for a full record") {
  const fixture f;
  pair_of_ends ends(f.context(), {});
  auto block = ends.s.pool.lease();
  block.filled(block.room_left() - 400);
  CHECK(ends.s.session.write(bytes_of(noise(145)), block) == 0U);
  CHECK(ends.s.session.write(bytes_of(noise(144)), block) == 144U);
}

TEST_CASE("a record is read in one call, and into a smaller span in several") {
  const fixture f;
  pair_of_ends ends(f.context(), {});
  const std::string sent = noise(1000);
  ends.c.send(sent);
  ends.s.deliver(ends.c.take());
  CHECK(ends.s.reads == 1);

  ends.c.send(sent);
  const std::string wire = ends.c.take();
  auto& session = ends.s.session;
  session.feed(bytes_of(wire));
  std::string received;
  std::array<std::byte, 300> small{};
  for (int i = 0; i < 4; ++i) {
    CHECK(session.has_unread());
    const auto got = session.read(small, ends.s.out);
    received.append(reinterpret_cast<const char*>(small.data()), got.bytes);
    session.end_feed();
  }
  CHECK((received == sent));
  CHECK_FALSE(session.has_unread());
  CHECK(session.read(small, ends.s.out).bytes == 0);
}

TEST_CASE("records that were fed and not read survive the end of the turn") {
  const fixture f;
  pair_of_ends ends(f.context(), {});
  ends.c.send("first");
  ends.c.send("second");
  {
    const std::string wire = ends.c.take();
    ends.s.session.feed(bytes_of(wire));
    ends.s.session.end_feed();
  }
  CHECK(ends.s.session.has_unread());
  ends.s.drain();
  CHECK(ends.s.received == "firstsecond");
  CHECK_FALSE(ends.s.session.has_unread());
}

TEST_CASE("a session holds bytes only while a record of them is incomplete") {
  const fixture f;
  server_end s(f.context());
  client c;
  CHECK(s.session.held() == 0);
  const auto in_two = [&](std::size_t first) {
    c.step();
    const std::string wire = c.take();
    s.deliver(std::string_view(wire).substr(0, first));
    CHECK(s.session.held() == first);
    CHECK_FALSE(s.session.has_unread());
    s.deliver(std::string_view(wire).substr(first));
    CHECK(s.session.held() == 0);
    c.give(s.take());
  };
  in_two(100);
  talk(c, s);
  REQUIRE(s.session.established());
  CHECK(s.session.held() == 0);
  c.send(noise(3000));
  in_two(2999);
  c.send("abc");
  in_two(4);
}

TEST_CASE("an established session reads without a block") {
  const fixture f;
  pair_of_ends ends(f.context(), {});
  ends.c.send("data");
  const std::string wire = ends.c.take();
  runtime::block none;
  std::array<std::byte, 100> plaintext{};
  ends.s.session.feed(bytes_of(wire));
  CHECK(ends.s.session.read(plaintext, none).bytes == 4);
  ends.s.session.end_feed();
}

TEST_CASE("KeyUpdates of the peer are followed and answered") {
  const fixture f;
  client_options o;
  o.version = TLS1_3_VERSION;
  pair_of_ends ends(f.context(), o);
  for (int i = 0; i < 3; ++i) {
    SSL_key_update(ends.c.native(), SSL_KEY_UPDATE_REQUESTED);
    ends.c.send("x");
    talk(ends.c, ends.s);
    ends.c.give(ends.s.encrypt("y"));
    ends.c.step();
  }
  CHECK(ends.s.received == "xxx");
  CHECK(ends.c.received == "yyy");
}
