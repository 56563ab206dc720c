// The first bytes on a TLS port: silence, plain HTTP, garbage, too many handshakes at once.
#include <bulkhead/tls/first_flight.hpp>

#include <string>

#include "secure_support.hpp"

namespace bulkhead::actors {
namespace {

using namespace testing;

TEST_CASE("a client that stays silent is closed at the handshake deadline, from accept") {
  secure_bench b;
  secure_line l(b);
  b.advance(b.env.settings.timeouts.handshake - milliseconds(10));
  REQUIRE_FALSE(l.ended());
  b.advance(milliseconds(20));
  CHECK(l.ended() == ending::timed_out);
  CHECK(b.counters().handshake_timeouts == 1);
  CHECK(l.balances());
}

TEST_CASE("bytes do not move the handshake deadline") {
  for (const bool whole_hello : {false, true}) {
    CAPTURE(whole_hello);
    secure_bench b;
    secure_line l(b);
    b.advance(b.env.settings.timeouts.handshake - milliseconds(100));
    l.client.step();
    const std::string hello = l.client.take();
    l.deliver(whole_hello ? hello : hello.substr(0, 10));
    b.advance(milliseconds(110));
    CHECK(l.ended() == ending::timed_out);
    CHECK(b.counters().handshake_timeouts == 1);
    CHECK(l.balances());
  }
}

TEST_CASE("a silent connection holds no TLS object, and a part of a record neither") {
  secure_bench b;
  secure_line l(b);
  CHECK(b.env.pending_handshakes == 0);
  l.client.step();
  const std::string hello = l.client.take();
  l.deliver(std::string_view(hello).substr(0, hello.size() - 1));
  CHECK(b.env.pending_handshakes == 0);
  l.deliver(std::string_view(hello).substr(hello.size() - 1));
  CHECK(b.env.pending_handshakes == 1);
  CHECK(l.balances());
}

TEST_CASE("plain HTTP on the TLS port gets a short 400 in plain text, then the end") {
  const std::string request = get("/");
  for (const std::size_t piece : {std::size_t{1}, request.size()}) {
    CAPTURE(piece);
    secure_bench b;
    line l(b, true);
    for (std::size_t at = 0; at < request.size(); at += piece) {
      l.deliver(std::string_view(request).substr(at, piece));
    }
    const auto all = answers(l.take());
    REQUIRE(all.size() == 1);
    CHECK(all[0].status == 400);
    CHECK(all[0].says_close());
    CHECK(all[0].body.find("https://") != std::string::npos);
    CHECK(l.wire.finished());
    l.end();
    CHECK(l.ended() == ending::refused);
    CHECK(b.counters().handshake_failures == 1);
    CHECK(l.balances());
  }
}

TEST_CASE("garbage on the TLS port gets an alert, then the end") {
  secure_bench b;
  line l(b, true);
  l.deliver(std::string("\x80\x2e\x01\x00\x02", 5));
  CHECK(l.take() == tls::alert_unexpected_message);
  CHECK(l.wire.finished());
  l.end();
  CHECK(l.ended() == ending::refused);
  CHECK(l.balances());
}

TEST_CASE("a handshake over the limit of pending ones is refused with an alert and counted") {
  secure_bench b;
  b.env.settings.pending_handshakes = 1;
  secure_line first(b), second(b);
  first.client.step();
  first.deliver(first.client.take());  // its flight is out, it has not answered
  REQUIRE(b.env.pending_handshakes == 1);
  second.client.step();
  second.deliver(second.client.take());
  CHECK(second.take() == tls::alert_internal_error);
  CHECK(b.counters().rejected == 1);
  second.end();
  CHECK(second.ended() == ending::refused);
}

TEST_CASE("a handshake that ends, however, makes room for the next") {
  secure_bench b;
  b.env.settings.pending_handshakes = 1;
  secure_line first(b);
  first.client.step();
  first.deliver(first.client.take());
  REQUIRE(b.env.pending_handshakes == 1);
  SUBCASE("by success") {
    first.client.give(first.take()), first.talk();
  }
  SUBCASE("by a reset") {
    first.end(receive_end::reset);
  }
  SUBCASE("by a FIN") {
    first.end();
  }
  SUBCASE("by its deadline") {
    b.advance(b.env.settings.timeouts.handshake + milliseconds(10));
  }
  SUBCASE("by a drain") {
    first.drain();
  }
  SUBCASE("by a bad record") {
    first.deliver(std::string("\x16\x03\x03\x00\x04\x63\x00\x00\x00", 9));
    first.end();
  }
  CHECK(b.env.pending_handshakes == 0);
  secure_line second(b);
  second.talk();
  CHECK(second.client.connected());
}

TEST_CASE("a port scan that connects and leaves is no fault of anyone") {
  secure_bench b;
  line l(b, true);
  l.end();
  CHECK(l.ended() == ending::clean);
  CHECK(b.counters().truncated == 0);
  CHECK(l.balances());
}

TEST_CASE("a drain ends a connection before its handshake is through") {
  secure_bench b;
  SUBCASE("before its first byte") {
    secure_line l(b);
    l.drain();
    CHECK(l.ended() == ending::stopped);
    CHECK(l.balances());
  }
  SUBCASE("in the middle") {
    secure_line l(b);
    l.client.step();
    l.deliver(l.client.take());
    l.drain();
    CHECK(l.ended() == ending::stopped);
    CHECK(l.balances());
  }
}

}  // namespace
}  // namespace bulkhead::actors
