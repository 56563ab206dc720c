// What a peer may make us do without sending a request is bounded, in work and in memory.
#include "harness.hpp"
#include "record_forge.hpp"

using namespace bulkhead;
using namespace bulkhead::tests;
using status = tls::session::status;

namespace {

constexpr char alert = 21, handshake = 22, data = 23;

client_options tls1_3() {
  client_options o;
  o.version = TLS1_3_VERSION;
  return o;
}

// An established session whose client's records the test forges.
struct forged : fixture {
  forged() : ends(context(), tls1_3()), forge(ends.c.traffic_secret) {
    REQUIRE(ends.established());
    REQUIRE(ends.c.traffic_secret.size() == 32);
  }
  pair_of_ends ends;
  record_forge forge;
};

void flood(pair_of_ends& ends, int times, int kind) {
  for (int i = 0; i < times; ++i) {
    SSL_key_update(ends.c.native(), kind);
    SSL_do_handshake(ends.c.native());
  }
  ends.s.deliver(ends.c.take());
}

}  // namespace

TEST_CASE("a flood of KeyUpdates fails at its limit, counted from the last application data") {
  const fixture f;
  pair_of_ends ends(f.context(), tls1_3());
  flood(ends, 900, SSL_KEY_UPDATE_NOT_REQUESTED);
  ends.c.send("still here");
  ends.s.deliver(ends.c.take());
  CHECK(ends.s.received == "still here");
  flood(ends, 900, SSL_KEY_UPDATE_NOT_REQUESTED);
  CHECK(ends.s.state == status::more);
  CHECK(ends.s.take().empty());
  flood(ends, 101, SSL_KEY_UPDATE_NOT_REQUESTED);
  CHECK(ends.s.state == status::failed);
  CHECK(ends.s.session.failure() == "TLS session: 1000 records in a row without application data");
}

TEST_CASE("answers to KeyUpdates wait for room and take no memory of their own") {
  const fixture f;
  pair_of_ends ends(f.context(), tls1_3());
  for (int i = 0; i < 500; ++i) {
    SSL_key_update(ends.c.native(), SSL_KEY_UPDATE_REQUESTED);
    SSL_do_handshake(ends.c.native());
  }
  ends.c.send("done");
  const std::string wire = ends.c.take();
  runtime::block none;
  std::array<std::byte, 100> plaintext{};
  ends.s.session.feed(bytes_of(wire));
  for (int i = 0; i < 3; ++i) {
    const auto got = ends.s.session.read(plaintext, none);
    CHECK(got.bytes == 0);
    CHECK(got.state == status::more);
  }
  ends.s.session.end_feed();
  CHECK(ends.s.session.has_unread());
  CHECK(ends.s.session.held() <= wire.size());
  ends.s.drain();
  CHECK(ends.s.received == "done");
  ends.c.give(ends.s.take());
  ends.c.give(ends.s.encrypt("answer"));
  ends.c.step();
  CHECK(ends.c.received == "answer");
}

TEST_CASE("a forged record is as good as the client's") {
  forged f;
  for (const char* part : {"hello", "", " again"}) f.ends.s.deliver(f.forge.seal(part, data));
  CHECK(f.ends.s.received == "hello again");
}

TEST_CASE("a flood of empty records fails") {
  forged f;
  std::string records;
  for (int i = 0; i < 1100; ++i) records += f.forge.seal("", data);
  f.ends.s.deliver(records);
  CHECK(f.ends.s.state == status::failed);
  CHECK(f.ends.s.session.held() == 0);
}

TEST_CASE("handshake messages that have no place after the handshake fail the session") {
  // ClientHello, NewSessionTicket, Certificate.
  for (const char type : {'\1', '\4', '\13'}) {
    CAPTURE(static_cast<int>(type));
    forged f;
    f.ends.s.deliver(f.forge.seal(std::string{type, 0, 0, 1, 0}, handshake));
    CHECK(f.ends.s.state == status::failed);
    CHECK_FALSE(f.ends.s.take().empty());
  }
}

TEST_CASE("a record of padding alone, or of an unknown type, fails the session") {
  for (const char type : {'\0', '\30', 'c'}) {
    CAPTURE(static_cast<int>(type));
    forged f;
    f.ends.s.deliver(f.forge.seal(std::string(20, '\0'), type));
    CHECK(f.ends.s.state == status::failed);
  }
}

TEST_CASE("an encrypted fatal alert fails the session, and close_notify closes it") {
  forged f;
  f.ends.s.deliver(f.forge.seal(std::string("\x02\x30", 2), alert));
  CHECK(f.ends.s.state == status::failed);
  CHECK(f.ends.s.session.failure() == "TLS session: the client refused: tlsv1 alert unknown ca");
  forged g;
  g.ends.s.deliver(g.forge.seal(std::string("\x01\x00", 2), alert));
  CHECK(g.ends.s.state == status::closed);
}
