#include <bulkhead/tls/ticket_keys.hpp>

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using bulkhead::runtime::steady_time;
using bulkhead::tls::ticket_key_ring;

TEST_CASE("a ring begins with one key") {
  const ticket_key_ring ring(steady_time(5s));
  REQUIRE(ring.snapshot()->size() == 1);
  CHECK(ring.snapshot()->front()->made == steady_time(5s));
}

TEST_CASE("rotation puts a new key in front and keeps as many as it should") {
  ticket_key_ring ring(steady_time(0s), 3);
  for (int i = 1; i <= 5; ++i) {
    const auto before = ring.snapshot();
    ring.rotate(steady_time(std::chrono::seconds(i)));
    const auto after = ring.snapshot();
    CHECK(after->size() == std::min<std::size_t>(3, static_cast<std::size_t>(i) + 1));
    CHECK(after->front()->made == steady_time(std::chrono::seconds(i)));
    CHECK((*after)[1] == before->front());
  }
}

TEST_CASE("keys differ in every part") {
  ticket_key_ring ring(steady_time{});
  ring.rotate(steady_time{});
  const auto keys = ring.snapshot();
  const auto &a = *(*keys)[0], &b = *(*keys)[1];
  CHECK((a.name != b.name && a.aes != b.aes && a.hmac != b.hmac));
  CHECK(a.aes != a.hmac);
  CHECK(a.aes != decltype(a.aes){});
}

TEST_CASE("a snapshot stays as it is while the ring moves on") {
  ticket_key_ring ring(steady_time{}, 1);
  const auto old = ring.snapshot();
  const auto name = old->front()->name;
  ring.rotate(steady_time{});
  CHECK(old->size() == 1);
  CHECK(old->front()->name == name);
  CHECK(ring.snapshot()->front()->name != name);
}

TEST_CASE("a ring keeps at least one key") {
  ticket_key_ring ring(steady_time{}, 0);
  ring.rotate(steady_time{});
  CHECK(ring.snapshot()->size() == 1);
}
