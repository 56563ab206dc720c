// The socket transport, over TCP and over a Unix socket pair: the same promises for both.
#include <bulkhead/runtime/shard.hpp>
#include <bulkhead/runtime/transport.hpp>

#include <doctest/doctest.h>

#include <string>

#include "support.hpp"

namespace bulkhead::runtime {
namespace {

using namespace testing;

struct connection {
  system_clock time;
  shard s{0, time};
  recorder owner;
  unique_fd peer;
  transport_ptr wire;

  explicit connection(bool tcp) {
    auto [ours, theirs] = tcp ? tcp_pair() : unix_pair();
    peer = std::move(theirs);
    wire = s.adopt(std::move(ours), owner);
    REQUIRE(wire);
  }
  block text(std::string_view t) { return block_of(s.buffers(), t); }

  // What the peer has read so far, by a reader in the same loop; stops reading at the end.
  struct reading final : io_source {
    connection& c;
    std::string got;
    peer_end end{};
    explicit reading(connection& of) : c(of) { REQUIRE(c.s.watch(c.peer.get(), EPOLLIN, *this)); }
    ~reading() override { c.s.unwatch(c.peer.get()); }
    void on_ready(std::uint32_t) noexcept override {
      got += read_some(c.peer, end);
      if (end != peer_end::none) c.s.unwatch(c.peer.get());
    }
  };

  // Turns until a timer of 30 ms expires and counts: an idle loop sleeps through it.
  int turns_while_idle() {
    timer pause([](void*) noexcept {}, nullptr);
    s.timers().arm(pause, time.now() + milliseconds(30));
    int turns = 0;
    for (; pause.armed(); ++turns) s.turn(true);
    return turns;
  }
  static constexpr int idle = 5;
};

struct over_tcp {
  static constexpr bool tcp = true;
};
struct over_unix {
  static constexpr bool tcp = false;
};

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

// -- sending --------------------------------------------------------------------------------------

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

std::string pattern(std::size_t size, std::size_t seed) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + (i * 7 + seed) % 26);
  return out;
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

// Sends until the kernel takes no more.
void fill_up(connection& c) {
  const std::string text = pattern(60'000, 0);
  while (c.wire->send(c.text(text))) {
  }
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

// -- re-entrance and the end ----------------------------------------------------------------------

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
