// A transport over each kind of socket, with its owner, its peer and the shard that it lives on.
#pragma once

#include <bulkhead/runtime/shard.hpp>
#include <bulkhead/runtime/transport.hpp>

#include <string>

#include "support.hpp"

namespace bulkhead::runtime::testing {

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

inline std::string pattern(std::size_t size, std::size_t seed) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>('a' + (i * 7 + seed) % 26);
  return out;
}

// Sends until the kernel takes no more.
inline void fill_up(connection& c) {
  const std::string text = pattern(60'000, 0);
  while (c.wire->send(c.text(text))) {
  }
}

}  // namespace bulkhead::runtime::testing
