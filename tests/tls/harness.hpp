// The server's end of an in-memory conversation, and the conversation itself.
#pragma once

#include <bulkhead/tls/session.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "certificates.hpp"
#include "client.hpp"

namespace bulkhead::tests {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Does what a connection does: leases a block, feeds, reads until nothing is left.
class server_end {
 public:
  explicit server_end(std::shared_ptr<const tls::context> of) : session(std::move(of)) {}

  void deliver(std::string_view bytes) {
    // A copy that ends with the turn: what the session still points at is then found out.
    const std::string fed(bytes);
    session.feed(bytes_of(fed));
    drain();
    session.end_feed();
  }
  void drain() {
    if (!out) out = pool.lease();
    for (;;) {
      const auto got = session.read(plaintext, out);
      state = got.state;
      if (got.bytes == 0) return;
      ++reads;
      received.append(reinterpret_cast<const char*>(plaintext.data()), got.bytes);
    }
  }
  // Encrypts all of it, a block at a time.
  [[nodiscard]] std::string encrypt(std::string_view text) {
    std::string wire;
    while (!text.empty()) {
      auto block = pool.lease();
      const auto taken = session.write(bytes_of(text), block);
      REQUIRE(taken.has_value());
      REQUIRE(*taken > 0);
      text.remove_prefix(*taken);
      append(wire, block);
    }
    return wire;
  }
  void close() {
    if (!out) out = pool.lease();
    session.close(out);
  }
  [[nodiscard]] std::string take() {
    std::string wire;
    append(wire, out);
    out = pool.lease();
    if (session.has_unread()) drain();
    return wire;
  }

  runtime::buffer_pool pool;
  tls::session session;
  runtime::block out;
  std::string received;
  std::size_t reads = 0;
  tls::session::status state = tls::session::status::more;

 private:
  static void append(std::string& wire, const runtime::block& b) {
    wire.append(reinterpret_cast<const char*>(b.bytes().data()), b.bytes().size());
  }
  std::array<std::byte, tls::session::max_plaintext> plaintext{};
};

// Both ends until neither has anything to say. The client's bytes arrive in pieces of `piece`.
inline void talk(client& c, server_end& s, std::size_t piece = std::string::npos) {
  for (;;) {
    c.step();
    const std::string up = c.take();
    for (std::size_t at = 0; at < up.size();) {
      const std::string_view part = std::string_view(up).substr(at, piece);
      s.deliver(part);
      at += part.size();
    }
    const std::string down = s.take();
    c.give(down);
    if (up.empty() && down.empty()) return;
  }
}

// An authority, a server certificate of "server.test" in files, and options that name them.
struct fixture {
  temporary_directory directory;
  credential authority = make_authority("Server CA");
  credential client_authority = make_authority("Client CA");
  credential leaf = issue_server(authority, "server.test");
  tls::options options = write_pair("server", leaf);

  tls::options write_pair(const std::string& name, const credential& pair) const {
    return tls::files(directory.write(name + ".pem", pair.certificate_pem()),
                      directory.write(name + ".key", pair.key_pem()));
  }
  void ask_clients(tls::client_auth mode) { ask_clients(mode, client_authority); }
  void ask_clients(tls::client_auth mode, const credential& trusted) {
    options.clients = mode;
    options.client_ca = directory.write("clients.pem", trusted.certificate_pem());
  }

  std::shared_ptr<tls::ticket_key_ring> keys =
      std::make_shared<tls::ticket_key_ring>(runtime::steady_time{});
  [[nodiscard]] std::shared_ptr<const tls::configuration> load() const {
    auto loaded = tls::configuration::load(options);
    if (!loaded) FAIL(loaded.why().message());
    return *loaded;
  }
  [[nodiscard]] std::shared_ptr<const tls::context> context() const { return context(load()); }
  [[nodiscard]] std::shared_ptr<const tls::context> context(
      std::shared_ptr<const tls::configuration> of) const {
    auto made = tls::context::make(std::move(of), keys);
    if (!made) FAIL(made.why().message());
    return *made;
  }
};

// A handshake between fresh ends, for tests about what was agreed.
struct pair_of_ends {
  pair_of_ends(const std::shared_ptr<const tls::context>& of, const client_options& o)
      : c(o), s(of) {
    talk(c, s);
  }
  [[nodiscard]] bool established() { return c.connected() && s.session.established(); }
  client c;
  server_end s;
};

// Names for both protocol versions in messages and loops.
inline constexpr std::array<int, 2> both_versions = {TLS1_2_VERSION, TLS1_3_VERSION};

}  // namespace bulkhead::tests
