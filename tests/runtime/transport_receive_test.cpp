// The socket transport: how bytes and ends arrive, the same over TCP and over a Unix socket.
#include <doctest/doctest.h>

#include <string>

#include "connection.hpp"

namespace bulkhead::runtime {
namespace {

using namespace testing;

// -- receiving ------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("bytes arrive in the order in which the peer wrote them", socket, over_tcp,
                   over_unix) {
  connection c(socket::tcp);
  write_all(c.peer, "hello ");
  CHECK(turn_until(c.s, [&] { return c.owner.received == "hello "; }));
  write_all(c.peer, "world");
  CHECK(turn_until(c.s, [&] { return c.owner.received == "hello world"; }));
  CHECK(c.owner.fins == 0);
}

TEST_CASE_TEMPLATE("the peer's end is said once and does not keep the loop busy", socket, over_tcp,
                   over_unix) {
  connection c(socket::tcp);
  write_all(c.peer, "last");
  REQUIRE(::shutdown(c.peer.get(), SHUT_WR) == 0);
  CHECK(turn_until(c.s, [&] { return c.owner.fins == 1; }));
  CHECK(c.owner.received == "last");
  CHECK(c.turns_while_idle() <= connection::idle);
  CHECK(c.owner.fins == 1);
  CHECK(c.owner.resets == 0);
}

TEST_CASE_TEMPLATE("after the peer's end, sending goes on", socket, over_tcp, over_unix) {
  connection c(socket::tcp);
  REQUIRE(::shutdown(c.peer.get(), SHUT_WR) == 0);
  REQUIRE(turn_until(c.s, [&] { return c.owner.fins == 1; }));
  CHECK(c.wire->send(c.text("answer")));
  peer_end end{};
  REQUIRE(wait_readable(c.peer));
  CHECK(read_some(c.peer, end) == "answer");
}

TEST_CASE_TEMPLATE("when both directions are finished, the loop rests", socket, over_tcp,
                   over_unix) {
  connection c(socket::tcp);
  c.wire->shutdown_send();
  REQUIRE(::shutdown(c.peer.get(), SHUT_WR) == 0);
  REQUIRE(turn_until(c.s, [&] { return c.owner.fins == 1; }));
  CHECK(c.turns_while_idle() <= connection::idle);
  CHECK(c.owner.fins == 1);
  CHECK(c.owner.resets == 0);
}

TEST_CASE("a reset is said once") {
  connection c(true);
  reset_connection(c.peer);
  CHECK(turn_until(c.s, [&] { return c.owner.resets == 1; }));
  CHECK(c.turns_while_idle() <= connection::idle);
  CHECK(c.owner.resets == 1);
  CHECK(c.owner.fins == 0);
  CHECK(c.wire->send(c.text("into the void")));
  CHECK(c.turns_while_idle() <= connection::idle);
  CHECK(c.owner.resets == 1);
}

TEST_CASE("a reset after the end is said too") {
  connection c(true);
  REQUIRE(::shutdown(c.peer.get(), SHUT_WR) == 0);
  REQUIRE(turn_until(c.s, [&] { return c.owner.fins == 1; }));
  reset_connection(c.peer);
  // The peer has been reset before it could say so: the next bytes tell.
  (void)c.wire->send(c.text("x"));
  (void)c.wire->send(c.text("y"));
  CHECK(turn_until(c.s, [&] { return c.owner.resets == 1; }));
}

// -- back-pressure --------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("while paused nothing is read, and after resume nothing is missing", socket,
                   over_tcp, over_unix) {
  connection c(socket::tcp);
  c.wire->pause_receiving();
  write_all(c.peer, "held");
  REQUIRE(::shutdown(c.peer.get(), SHUT_WR) == 0);
  CHECK(c.turns_while_idle() <= connection::idle);
  CHECK(c.owner.received.empty());
  CHECK(c.owner.fins == 0);
  c.wire->resume_receiving();
  CHECK(turn_until(c.s, [&] { return c.owner.fins == 1; }));
  CHECK(c.owner.received == "held");
}

TEST_CASE_TEMPLATE("a pause from inside on_received holds from the next byte on", socket, over_tcp,
                   over_unix) {
  connection c(socket::tcp);
  c.owner.when_received = [&] { c.wire->pause_receiving(); };
  write_all(c.peer, "one");
  REQUIRE(turn_until(c.s, [&] { return c.owner.received == "one"; }));
  write_all(c.peer, "two");
  CHECK(c.turns_while_idle() <= connection::idle);
  CHECK(c.owner.received == "one");
  c.wire->resume_receiving();
  CHECK(turn_until(c.s, [&] { return c.owner.received == "onetwo"; }));
}

TEST_CASE_TEMPLATE("resume never delivers from inside the call", socket, over_tcp, over_unix) {
  connection c(socket::tcp);
  c.wire->pause_receiving();
  write_all(c.peer, "held");
  c.s.turn(false);
  c.wire->resume_receiving();
  CHECK(c.owner.received.empty());
  CHECK(turn_until(c.s, [&] { return c.owner.received == "held"; }));
}

TEST_CASE("a reset is said though receiving is paused") {
  connection c(true);
  c.wire->pause_receiving();
  reset_connection(c.peer);
  CHECK(turn_until(c.s, [&] { return c.owner.resets == 1; }));
}

TEST_CASE_TEMPLATE("both directions finished while paused: the loop rests and the bytes wait",
                   socket, over_tcp, over_unix) {
  connection c(socket::tcp);
  c.wire->pause_receiving();
  c.wire->shutdown_send();
  write_all(c.peer, "held");
  c.peer.reset();
  CHECK(c.turns_while_idle() <= connection::idle);
  CHECK(c.owner.received.empty());
  c.wire->resume_receiving();
  CHECK(turn_until(c.s, [&] { return c.owner.fins == 1; }));
  CHECK(c.owner.received == "held");
}

}  // namespace
}  // namespace bulkhead::runtime
