// The socket transport: what callbacks may do, and how it ends, the same over TCP and over a Unix
// socket.
#include <doctest/doctest.h>

#include <string>

#include "connection.hpp"

namespace bulkhead::runtime {
namespace {

using namespace testing;

TEST_CASE_TEMPLATE("on_received may send", socket, over_tcp, over_unix) {
  connection c(socket::tcp);
  c.owner.when_received = [&] { (void)c.wire->send(c.text("pong")); };
  write_all(c.peer, "ping");
  CHECK(turn_until(c.s, [&] { return c.owner.receives == 1; }));
  REQUIRE(wait_readable(c.peer));
  peer_end end{};
  CHECK(read_some(c.peer, end) == "pong");
}

TEST_CASE_TEMPLATE("the transport may be disposed of in on_received, after a send and a pause",
                   socket, over_tcp, over_unix) {
  connection c(socket::tcp);
  c.owner.when_received = [&] {
    (void)c.wire->send(c.text("bye"));
    c.wire->pause_receiving();
    c.wire.reset();
  };
  write_all(c.peer, "quit");
  CHECK(turn_until(c.s, [&] { return c.owner.receives == 1; }));
  peer_end end{};
  CHECK(read_to_end(c.peer, end) == "bye");
  CHECK(end == peer_end::fin);
  CHECK(c.owner.fins + c.owner.resets == 0);
}

TEST_CASE_TEMPLATE("the transport may be disposed of in on_receive_end", socket, over_tcp,
                   over_unix) {
  connection c(socket::tcp);
  c.owner.when_ended = [&](receive_end) { c.wire.reset(); };
  SUBCASE("of a fin") {
    REQUIRE(::shutdown(c.peer.get(), SHUT_WR) == 0);
  }
  SUBCASE("of a reset") {
    fill_up(c);
    c.peer.reset();
  }
  CHECK(turn_until(c.s, [&] { return c.wire == nullptr; }));
  c.s.turn(false);
  CHECK(c.owner.fins + c.owner.resets == 1);
}

TEST_CASE_TEMPLATE("the transport may be disposed of in on_sent", socket, over_tcp, over_unix) {
  connection c(socket::tcp);
  c.owner.when_sent = [&] { c.wire.reset(); };
  fill_up(c);
  write_all(c.peer, "more to receive in the same event");
  const connection::reading reader(c);
  CHECK(turn_until(c.s, [&] { return c.wire == nullptr; }));
  CHECK(c.owner.receives <= 1);
}

TEST_CASE("nothing is said after dispose, though events of the batch are left") {
  const system_clock time;
  shard s(0, time);
  recorder first, second;
  auto [a, a_peer] = tcp_pair();
  auto [b, b_peer] = tcp_pair();
  transport_ptr one = s.adopt(std::move(a), first);
  transport_ptr two = s.adopt(std::move(b), second);
  first.when_received = second.when_received = [&] {
    one.reset();
    two.reset();
  };
  write_all(a_peer, "x");
  write_all(b_peer, "x");
  CHECK(turn_until(s, [&] { return first.receives + second.receives > 0; }));
  s.turn(false);
  CHECK(first.receives + second.receives == 1);
}

TEST_CASE("dispose with abort resets the connection, without abort it ends it") {
  connection c(true);
  peer_end end{};
  SUBCASE("abort") {
    c.wire.release()->dispose(true);
    (void)read_to_end(c.peer, end);
    CHECK(end == peer_end::reset);
  }
  SUBCASE("no abort") {
    c.wire.release()->dispose(false);
    (void)read_to_end(c.peer, end);
    CHECK(end == peer_end::fin);
  }
}

TEST_CASE("dispose with a block unsent never looks like a clean end") {
  connection c(true);
  fill_up(c);
  c.wire.reset();
  peer_end end{};
  (void)read_to_end(c.peer, end);
  CHECK(end == peer_end::reset);
  CHECK(c.s.buffers().leased() == 0);
}

TEST_CASE("a disposed transport leaves the loop though a copy of its socket stays open") {
  const system_clock time;
  shard s(0, time);
  recorder owner;
  auto [ours, theirs] = unix_pair();
  const unique_fd copy(::dup(ours.get()));  // as a forked child would hold it
  transport_ptr wire = s.adopt(std::move(ours), owner);
  wire.reset();
  s.turn(false);  // freed
  write_all(theirs, "for nobody");
  s.turn(false);
  CHECK(owner.receives == 0);
}

TEST_CASE("adopt says why the kernel refused") {
  const system_clock time;
  shard s(0, time);
  recorder owner;
  CHECK(s.adopt(unique_fd(), owner) == nullptr);
  CHECK(errno == EBADF);
}

}  // namespace
}  // namespace bulkhead::runtime
