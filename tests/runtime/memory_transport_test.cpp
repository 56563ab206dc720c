// The stand-in keeps the promises of transport.hpp, or the tests above it prove nothing.
#include <bulkhead/runtime/memory_transport.hpp>

#include <doctest/doctest.h>

#include "support.hpp"

namespace bulkhead::runtime {
namespace {

using namespace testing;

struct pair {
  buffer_pool pool;
  memory_wire far;
  recorder owner;
  transport_ptr near = far.open(owner);
  block text(std::string_view t) { return block_of(pool, t); }
};

TEST_CASE("what is delivered is received, what is sent is recorded") {
  pair p;
  p.far.deliver("ping");
  CHECK(p.owner.received == "ping");
  CHECK(p.near->send(p.text("pong")));
  CHECK(p.far.take_sent() == "pong");
  CHECK(p.far.sent().empty());
  CHECK(p.far.sends() == 1);
  CHECK(p.pool.leased() == 0);
}

TEST_CASE("a window keeps the rest back, and on_sent follows when all of it is out") {
  pair p;
  p.far.set_window(3);
  CHECK_FALSE(p.near->send(p.text("abcdef")));
  CHECK(p.far.sent() == "abc");
  p.far.open_window(2);
  CHECK(p.far.sent() == "abcde");
  CHECK(p.owner.sents == 0);
  p.far.open_window(100);
  CHECK(p.far.sent() == "abcdef");
  CHECK(p.owner.sents == 1);
  CHECK(p.pool.leased() == 0);
  CHECK(p.near->send(p.text("g")));
}

TEST_CASE("on_sent may send again and dispose") {
  pair p;
  p.far.set_window(0);
  CHECK_FALSE(p.near->send(p.text("a")));
  SUBCASE("send") {
    p.owner.when_sent = [&] { CHECK(p.near->send(p.text("b"))); };
    p.far.open_window(2);
    CHECK(p.far.sent() == "ab");
  }
  SUBCASE("dispose") {
    p.owner.when_sent = [&] { p.near.reset(); };
    p.far.open_window(1);
    CHECK(p.far.closed());
    CHECK_FALSE(p.far.aborted());
  }
}

TEST_CASE("a pause holds bytes and the end, in order, but not a reset") {
  pair p;
  p.near->pause_receiving();
  CHECK(p.far.paused());
  p.far.deliver("held");
  SUBCASE("fin") {
    p.far.end(receive_end::fin);
    CHECK(p.owner.received.empty());
    CHECK(p.owner.fins == 0);
    p.near->resume_receiving();
    CHECK(p.owner.received == "held");
    CHECK(p.owner.fins == 1);
  }
  SUBCASE("reset") {
    p.far.end(receive_end::reset);
    CHECK(p.owner.resets == 1);
    p.near->resume_receiving();
    CHECK(p.owner.received.empty());
    CHECK(p.near->send(p.text("void")));
    CHECK(p.far.sent().empty());
  }
}

TEST_CASE("a resume inside on_received delivers after it, never within it") {
  pair p;
  bool inside = false;
  p.owner.when_received = [&] {
    CHECK_FALSE(inside);
    inside = true;
    p.near->pause_receiving();
    if (p.owner.receives == 1) p.far.deliver("two");
    p.near->resume_receiving();
    inside = false;
  };
  p.far.deliver("one");
  CHECK(p.owner.received == "onetwo");
  CHECK(p.owner.receives == 2);
}

TEST_CASE("shutdown_send finishes after what is stuck") {
  pair p;
  p.far.set_window(1);
  CHECK_FALSE(p.near->send(p.text("ab")));
  p.near->shutdown_send();
  CHECK_FALSE(p.far.finished());
  p.far.open_window(1);
  CHECK(p.far.finished());
  CHECK_FALSE(p.far.closed());
}

TEST_CASE("dispose says how the connection ended") {
  pair p;
  bool abort = false, expected = false;
  SUBCASE("cleanly") {}
  SUBCASE("by an abort") {
    abort = expected = true;
  }
  SUBCASE("with bytes lost") {
    p.far.set_window(0);
    CHECK_FALSE(p.near->send(p.text("lost")));
    expected = true;
  }
  p.near.release()->dispose(abort);
  CHECK(p.far.closed());
  CHECK(p.far.finished());
  CHECK(p.far.aborted() == expected);
  CHECK(p.pool.leased() == 0);
  p.far.deliver("for nobody");
  p.far.end(receive_end::fin);
  CHECK(p.owner.receives + p.owner.fins == 0);
}

TEST_CASE("the transport may be disposed of in every callback") {
  pair p;
  p.owner.when_received = [&] { p.near.reset(); };
  p.owner.when_ended = [&](receive_end) { p.near.reset(); };
  SUBCASE("on_received from deliver") {
    p.far.deliver("x");
  }
  SUBCASE("on_received from resume") {
    p.near->pause_receiving();
    p.far.deliver("x");
    p.near->resume_receiving();
  }
  SUBCASE("on_receive_end of a fin") {
    p.far.end(receive_end::fin);
  }
  SUBCASE("on_receive_end of a reset") {
    p.far.end(receive_end::reset);
  }
  CHECK(p.far.closed());
}

TEST_CASE("a wire may be opened again for the next connection") {
  pair p;
  p.far.end(receive_end::fin);
  p.near.reset();
  p.near = p.far.open(p.owner);
  CHECK_FALSE(p.far.closed());
  p.far.deliver("again");
  CHECK(p.owner.received == "again");
}

}  // namespace
}  // namespace bulkhead::runtime
