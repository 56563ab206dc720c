#include "harness.hpp"

using namespace bulkhead;
using namespace bulkhead::tests;
using status = tls::session::status;

namespace {

void echo(client& c, server_end& s, std::size_t piece = std::string::npos) {
  c.send("ping");
  talk(c, s, piece);
  REQUIRE(s.received == "ping");
  c.give(s.encrypt("pong"));
  c.step();
  REQUIRE(c.received == "pong");
}

}  // namespace

TEST_CASE("a session shakes hands and carries bytes both ways, in both versions") {
  const fixture f;
  const auto context = f.context();
  for (const int version : both_versions) {
    CAPTURE(version);
    client_options o;
    o.version = version;
    client c(o);
    server_end s(context);
    CHECK_FALSE(s.session.established());
    talk(c, s);
    CHECK(s.session.established());
    CHECK(s.session.failure().empty());
    echo(c, s);
    const auto facts = s.session.facts();
    CHECK(facts.protocol == (version == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3"));
    CHECK(facts.cipher == (version == TLS1_2_VERSION ? "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
                                                     : "TLS_AES_128_GCM_SHA256"));
    CHECK(facts.group == "X25519");
    CHECK_FALSE(facts.resumed);
  }
}

TEST_CASE("a handshake and an echo succeed with the client's bytes arriving one by one") {
  const fixture f;
  const auto context = f.context();
  for (const int version : both_versions) {
    CAPTURE(version);
    client_options o;
    o.version = version;
    client c(o);
    server_end s(context);
    talk(c, s, 1);
    REQUIRE(s.session.established());
    echo(c, s, 1);
  }
}

TEST_CASE("a handshake and an echo succeed with a cut at every single byte") {
  const fixture f;
  const auto context = f.context();
  for (const int version : both_versions) {
    CAPTURE(version);
    client_options o;
    o.version = version;
    std::size_t longest = 1;
    for (std::size_t cut = 1; cut <= longest; ++cut) {
      CAPTURE(cut);
      client c(o);
      server_end s(context);
      // Each flight in two parts; the echo goes with the last of the handshake.
      for (int flight = 0; flight < 4; ++flight) {
        c.step();
        if (c.connected() && c.received.empty() && s.received.empty()) c.send("ping");
        const std::string up = c.take();
        longest = std::max(longest, up.size());
        s.deliver(std::string_view(up).substr(0, cut));
        if (up.size() > cut) s.deliver(std::string_view(up).substr(cut));
        c.give(s.take());
      }
      REQUIRE(s.session.established());
      REQUIRE(s.received == "ping");
    }
    CHECK(longest > 100);
  }
}

TEST_CASE("a full block makes a handshake wait, not fail") {
  const fixture f;
  client c;
  server_end s(f.context());
  c.step();
  const std::string hello = c.take();
  runtime::block none;
  s.session.feed(bytes_of(hello));
  std::array<std::byte, 64> plaintext{};
  const auto got = s.session.read(plaintext, none);
  CHECK(got.bytes == 0);
  CHECK(got.state == status::more);
  s.session.end_feed();
  REQUIRE(s.session.has_unread());
  s.drain();
  CHECK_FALSE(s.session.has_unread());
  talk(c, s);
  CHECK(s.session.established());
  echo(c, s);
}

TEST_CASE("many handshakes at once share one thread's wire without mixing") {
  const fixture f;
  const auto context = f.context();
  std::vector<std::unique_ptr<client>> clients;
  std::vector<std::unique_ptr<server_end>> servers;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(std::make_unique<client>());
    servers.push_back(std::make_unique<server_end>(context));
  }
  for (int round = 0; round < 4; ++round) {
    if (round == 1) servers[2].reset();  // one gives up in the middle
    for (std::size_t i = 0; i < clients.size(); ++i) {
      if (servers[i] == nullptr) continue;
      clients[i]->step();
      servers[i]->deliver(clients[i]->take());
      clients[i]->give(servers[i]->take());
    }
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    if (servers[i] == nullptr) continue;
    REQUIRE(servers[i]->session.established());
    echo(*clients[i], *servers[i]);
  }
}

TEST_CASE("a version outside the configuration's range is refused with an alert") {
  fixture f;
  f.options.min_version = tls::version::tls1_3;
  client_options o;
  o.version = TLS1_2_VERSION;
  pair_of_ends ends(f.context(), o);
  CHECK_FALSE(ends.established());
  CHECK(ends.s.state == status::failed);
  CHECK(ends.s.session.failure() == "TLS handshake: unsupported protocol");
  CHECK(ends.c.error == "tlsv1 alert protocol version");
}

TEST_CASE("no common group is refused with an alert") {
  fixture f;
  f.options.groups = "X25519";
  client_options o;
  o.version = TLS1_3_VERSION;
  o.groups = "P-384";
  pair_of_ends ends(f.context(), o);
  CHECK(ends.s.state == status::failed);
  CHECK(ends.c.error == "sslv3 alert handshake failure");
}

TEST_CASE("a group that the client offers no share of takes one more round") {
  fixture f;
  f.options.groups = "P-384";
  client_options o;
  o.version = TLS1_3_VERSION;
  o.groups = "X25519:P-384";
  pair_of_ends ends(f.context(), o);
  CHECK(ends.established());
  CHECK(ends.s.session.facts().group == "P-384");
}

TEST_CASE("the server's order of cipher suites counts") {
  fixture f;
  f.options.ciphersuites = "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256";
  client_options o;
  o.version = TLS1_3_VERSION;
  pair_of_ends ends(f.context(), o);
  CHECK(ends.s.session.facts().cipher == "TLS_CHACHA20_POLY1305_SHA256");
}

TEST_CASE("a handshake fails at 128 KiB, even if OpenSSL would take more") {
  const fixture f;
  server_end s(f.context());
  // A ClientHello that claims 131,390 bytes: OpenSSL's own limit is 131,396.
  std::string hello{'\1', '\2', '\1', '\x3e'};
  hello.resize(16384);
  for (int i = 0; i < 7; ++i) {
    s.deliver(std::string("\x16\x03\x01\x40\x00", 5) + hello);
    REQUIRE(s.state == status::more);
    hello.assign(16384, '\0');
  }
  s.deliver(std::string("\x16\x03\x01\x40\x00", 5) + hello);
  CHECK(s.state == status::failed);
  CHECK(s.session.failure() == "TLS handshake: more than 128 KiB without an end");
}

TEST_CASE("a flood of change_cipher_spec records fails a handshake") {
  const fixture f;
  server_end s(f.context());
  client c;
  c.step();
  s.deliver(c.take());
  // RFC 8446 appendix D.4 lets a client send one.
  std::string records;
  for (int i = 0; i < 1000; ++i) records += std::string("\x14\x03\x03\x00\x01\x01", 6);
  for (int i = 0; i < 30 && s.state == status::more; ++i) s.deliver(records);
  CHECK(s.state == status::failed);
  CHECK_FALSE(s.session.established());
}

TEST_CASE("what is no TLS record fails with an alert and is never waited for") {
  const fixture f;
  server_end s(f.context());
  s.deliver("GET / HTTP/1.1\r\n\r\n");
  CHECK(s.state == status::failed);
  CHECK_FALSE(s.session.failure().empty());
}

TEST_CASE("a record longer than TLS allows fails with record_overflow") {
  const fixture f;
  server_end s(f.context());
  s.deliver(std::string("\x16\x03\x01\x48\x01", 5));  // 18433
  CHECK(s.state == status::failed);
  CHECK((s.take() == std::string("\x15\x03\x03\x00\x02\x02\x16", 7)));
}

TEST_CASE("after a failure a session answers failed, takes nothing and writes nothing") {
  const fixture f;
  server_end s(f.context());
  s.deliver("nonsense");
  REQUIRE(s.state == status::failed);
  client c;
  c.step();
  s.deliver(c.take());
  CHECK(s.state == status::failed);
  CHECK_FALSE(s.session.has_unread());
  auto block = s.pool.lease();
  CHECK_FALSE(s.session.write(bytes_of("x"), block).has_value());
  s.session.close(block);
  CHECK(block.empty());
}

TEST_CASE("nothing is written before the handshake is complete") {
  const fixture f;
  server_end s(f.context());
  auto block = s.pool.lease();
  CHECK(s.session.write(bytes_of("early"), block) == 0);
  s.session.close(block);
  CHECK(block.empty());
}
