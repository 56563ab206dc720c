// A TLS client on a wire to a connection, both in memory.
#pragma once

#include <tests/tls/harness.hpp>

#include "support.hpp"

namespace bulkhead::actors::testing {

// A certificate and a context, made once: keys cost time.
inline const std::shared_ptr<const tls::context>& shared_context() {
  static const tests::fixture made;
  static const std::shared_ptr<const tls::context> context = made.context();
  return context;
}

struct secure_bench : bench {
  secure_bench() { env.tls = shared_context(); }
};

struct secure_line : line {
  explicit secure_line(bench& on, const tests::client_options& o = {})
      : line(on, true), client(o) {}

  // Both ends until neither has anything to say. Delivers in pieces of `piece` bytes.
  void talk(std::size_t piece = std::string::npos) {
    for (;;) {
      client.step();
      const std::string up = client.take();
      for (std::size_t at = 0; at < up.size(); at += std::min(piece, up.size() - at)) {
        deliver(std::string_view(up).substr(at, piece));
      }
      const std::string down = wire.take_sent();
      last_wire += down;
      client.give(down);
      if (up.empty() && down.empty()) return;
    }
  }
  void ask(std::string_view request) {
    last_wire.clear();
    client.send(request);
    talk();
  }
  [[nodiscard]] std::string received() { return std::exchange(client.received, {}); }
  // Application records in what the server has sent since the last ask().
  [[nodiscard]] std::size_t records() const {
    std::size_t n = 0;
    for (std::size_t at = 0; at + 5 <= last_wire.size();) {
      const auto byte = [&](std::size_t i) {
        return static_cast<unsigned char>(last_wire[at + i]);
      };
      n += byte(0) == 23 ? 1 : 0;
      at += 5 + byte(3) * 256U + byte(4);
    }
    return n;
  }

  tests::client client;
  std::string last_wire;
};

}  // namespace bulkhead::actors::testing
