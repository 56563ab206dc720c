#include "harness.hpp"

using namespace bulkhead;
using namespace bulkhead::tests;
using status = tls::session::status;

namespace {

client_options only(int version) {
  client_options o;
  o.version = version;
  return o;
}

}  // namespace

TEST_CASE("close sends one close_notify, and nothing can be written after it") {
  const fixture f;
  const auto context = f.context();
  for (const int version : both_versions) {
    CAPTURE(version);
    pair_of_ends ends(context, only(version));
    ends.c.give(ends.s.encrypt("bye"));
    ends.s.close();
    const std::string wire = ends.s.take();
    CHECK_FALSE(wire.empty());
    ends.c.give(wire);
    ends.c.step();
    CHECK(ends.c.received == "bye");
    CHECK(ends.c.closed);
    ends.s.close();
    CHECK(ends.s.take().empty());
    auto block = ends.s.pool.lease();
    CHECK_FALSE(ends.s.session.write(bytes_of("more"), block).has_value());
    CHECK(block.empty());
  }
}

TEST_CASE("after our close_notify the peer's bytes are still read") {
  const fixture f;
  pair_of_ends ends(f.context(), only(TLS1_3_VERSION));
  ends.s.close();
  ends.c.send("late");
  ends.c.close();
  ends.s.deliver(ends.c.take());
  CHECK(ends.s.received == "late");
  CHECK(ends.s.state == status::closed);
}

TEST_CASE("close_notify that found no room is sent when there is some") {
  const fixture f;
  pair_of_ends ends(f.context(), {});
  runtime::block none;
  ends.s.session.close(none);
  ends.s.close();
  ends.c.give(ends.s.take());
  ends.c.step();
  CHECK(ends.c.closed);
}

TEST_CASE("the peer's close_notify is a clean end, and we may still answer") {
  const fixture f;
  const auto context = f.context();
  for (const int version : both_versions) {
    CAPTURE(version);
    pair_of_ends ends(context, only(version));
    ends.c.send("last");
    ends.c.close();
    ends.s.deliver(ends.c.take());
    CHECK(ends.s.received == "last");
    CHECK(ends.s.state == status::closed);
    CHECK(ends.s.session.failure().empty());
    CHECK_FALSE(ends.s.session.has_unread());
    CHECK_FALSE(ends.s.encrypt("answer").empty());
  }
}

TEST_CASE("an end without close_notify is never reported as closed") {
  const fixture f;
  pair_of_ends ends(f.context(), {});
  ends.c.send("cut");
  ends.c.send("off");
  std::string wire = ends.c.take();
  wire.pop_back();
  ends.s.deliver(wire);
  CHECK(ends.s.received == "cut");
  CHECK(ends.s.state == status::more);
  CHECK_FALSE(ends.s.session.has_unread());
}

TEST_CASE("a damaged record fails the session with an alert") {
  const fixture f;
  const auto context = f.context();
  for (const int version : both_versions) {
    CAPTURE(version);
    pair_of_ends ends(context, only(version));
    ends.c.send("payload");
    std::string wire = ends.c.take();
    wire.back() = static_cast<char>(wire.back() ^ 1);
    ends.s.deliver(wire);
    CHECK(ends.s.state == status::failed);
    CHECK(ends.s.received.empty());
    CHECK(ends.s.session.failure() == "TLS session: decryption failed or bad record mac");
    ends.c.give(ends.s.take());
    ends.c.step();
    CHECK(ends.c.error == "sslv3 alert bad record mac");
  }
}

TEST_CASE("plaintext after the handshake fails the session with an alert") {
  const fixture f;
  const auto context = f.context();
  for (const std::string& plain :
       {std::string("GET / HTTP/1.1\r\n"), std::string("\x15\x03\x03\x00\x02\x01\x00", 7),
        std::string("\x17\x03\x03\x00\x02hi", 7)}) {
    for (const int version : both_versions) {
      CAPTURE(version);
      CAPTURE(plain);
      pair_of_ends ends(context, only(version));
      ends.s.deliver(plain);
      CHECK(ends.s.state == status::failed);
      CHECK(ends.s.received.empty());
      ends.c.give(ends.s.take());
      ends.c.step();
      CHECK(ends.c.error.find("alert") != std::string::npos);
    }
  }
}

TEST_CASE("a fatal alert of the peer fails the session and names the client as its source") {
  const fixture f;
  server_end s(f.context());
  client c(only(TLS1_3_VERSION));
  c.step();
  s.deliver(c.take());
  // What a client does that does not trust us: unknown_ca, before it has keys to encrypt it.
  s.deliver(std::string("\x15\x03\x03\x00\x02\x02\x30", 7));
  CHECK(s.state == status::failed);
  CHECK(s.session.failure() == "TLS handshake: the client refused: tlsv1 alert unknown ca");
}

TEST_CASE("renegotiation is refused in TLS 1.2, and the session goes on") {
  const fixture f;
  pair_of_ends ends(f.context(), only(TLS1_2_VERSION));
  REQUIRE(ends.established());
  SSL_renegotiate(ends.c.native());
  SSL_do_handshake(ends.c.native());
  ends.s.deliver(ends.c.take());
  CHECK(ends.s.state == status::more);
  ends.c.give(ends.s.take());
  SSL_do_handshake(ends.c.native());
  const char* reason = ERR_reason_error_string(ERR_peek_error());
  CHECK(std::string(reason != nullptr ? reason : "") == "no renegotiation");
  ERR_clear_error();
}

TEST_CASE("an encrypted record over the limit fails the session") {
  const fixture f;
  const auto context = f.context();
  for (const int version : both_versions) {
    CAPTURE(version);
    // 16640 is the most in TLS 1.3, 18432 in TLS 1.2.
    const std::size_t size = version == TLS1_3_VERSION ? 16641 : 18433;
    std::string record("\x17\x03\x03", 3);
    record += static_cast<char>(size >> 8U);
    record += static_cast<char>(size & 0xffU);
    record += std::string(size, 'x');
    pair_of_ends ends(context, only(version));
    ends.s.deliver(record);
    CHECK(ends.s.state == status::failed);
    ends.c.give(ends.s.take());
    ends.c.step();
    CHECK(ends.c.error == "tlsv1 alert record overflow");
  }
}
