// The socket transport: how bytes leave, the same over TCP and over a Unix socket.
#include <doctest/doctest.h>

#include <string>

#include "connection.hpp"

namespace bulkhead::runtime {
namespace {

using namespace testing;

TEST_CASE_TEMPLATE("a block that fits is with the kernel when send returns", socket, over_tcp,
                   over_unix) {
  connection c(socket::tcp);
  CHECK(c.wire->send(c.text("at once")));
  CHECK(c.s.buffers().leased() == 0);
  REQUIRE(wait_readable(c.peer));
  peer_end end{};
  CHECK(read_some(c.peer, end) == "at once");
  CHECK(c.owner.sents == 0);
}

TEST_CASE_TEMPLATE("a slow reader gets every byte, and on_sent follows each partial send once",
                   socket, over_tcp, over_unix) {
  connection c(socket::tcp);
  constexpr std::size_t size = 60'000;
  std::string expected;
  int partial = 0, blocks = 0;
  const std::function<void()> fill = [&] {
    while (blocks < 200) {
      const std::string text = pattern(size, static_cast<std::size_t>(blocks++));
      expected += text;
      if (!c.wire->send(c.text(text))) {
        ++partial;
        return;
      }
    }
    c.wire->shutdown_send();
  };
  c.owner.when_sent = fill;
  fill();
  REQUIRE(partial > 0);
  CHECK(c.s.buffers().leased() == 1);
  connection::reading reader(c);
  CHECK(turn_until(c.s, [&] { return reader.end != peer_end::none; }));
  CHECK(reader.end == peer_end::fin);
  const std::string& got = reader.got;
  CHECK(got.size() == expected.size());
  CHECK((got == expected));  // in parentheses: megabytes are not worth printing
  CHECK(c.owner.sents == partial);
  CHECK(c.s.buffers().leased() == 0);
  CHECK(c.turns_while_idle() <= connection::idle);  // EPOLLOUT is disarmed
}

TEST_CASE_TEMPLATE("shutdown_send waits for what is unsent", socket, over_tcp, over_unix) {
  connection c(socket::tcp);
  fill_up(c);
  c.wire->shutdown_send();
  connection::reading reader(c);
  CHECK(turn_until(c.s, [&] { return reader.end != peer_end::none; }));
  CHECK(reader.end == peer_end::fin);
  CHECK(reader.got.size() % 60'000 == 0);
  CHECK(c.owner.sents == 1);
}

TEST_CASE_TEMPLATE("a send to a peer that is gone answers true, and the reset comes from the loop",
                   socket, over_tcp, over_unix) {
  connection c(socket::tcp);
  c.peer.reset();
  while (c.owner.resets == 0) {
    const int before = c.owner.resets;
    REQUIRE(c.wire->send(c.text("anybody?")));
    REQUIRE(c.owner.resets == before);  // not from inside send()
    c.s.turn(false);
  }
  CHECK(c.turns_while_idle() <= connection::idle);
  CHECK(c.owner.resets == 1);
  CHECK(c.owner.fins <= 1);
}

TEST_CASE_TEMPLATE("a send after our own end fails and is reported from a loop that had gone quiet",
                   socket, over_tcp, over_unix) {
  connection c(socket::tcp);
  c.wire->shutdown_send();
  REQUIRE(::shutdown(c.peer.get(), SHUT_WR) == 0);
  REQUIRE(turn_until(c.s, [&] { return c.owner.fins == 1; }));
  REQUIRE(c.turns_while_idle() <= connection::idle);
  CHECK(c.wire->send(c.text("too late")));
  CHECK(c.owner.resets == 0);
  CHECK(turn_until(c.s, [&] { return c.owner.resets == 1; }));
}

TEST_CASE_TEMPLATE("a peer that goes away in the middle of a block costs a reset, no on_sent",
                   socket, over_tcp, over_unix) {
  connection c(socket::tcp);
  fill_up(c);
  c.peer.reset();  // with unread bytes: a reset
  CHECK(turn_until(c.s, [&] { return c.owner.resets == 1; }));
  CHECK(c.owner.sents == 0);
  CHECK(c.s.buffers().leased() == 0);
}

}  // namespace
}  // namespace bulkhead::runtime
