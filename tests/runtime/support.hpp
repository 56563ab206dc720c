// What the runtime tests share: socket pairs, bounded loops, an owner that records what it hears.
#pragma once

#include <bulkhead/runtime/shard.hpp>
#include <bulkhead/runtime/unique_fd.hpp>

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace bulkhead::runtime::testing {

// A deadline that never fires within a test; it bounds a turn that would otherwise block for ever.
constexpr milliseconds patience{5'000};

// Turns the loop until `done` or until patience is out. Blocks in the loop, never sleeps itself.
inline bool turn_until(shard& s, const std::function<bool()>& done) {
  timer give_up([](void*) noexcept {}, nullptr);
  s.timers().arm(give_up, s.time().now() + patience);
  while (!done() && give_up.armed()) s.turn(true);
  return done();
}

inline std::pair<unique_fd, unique_fd> unix_pair() {
  std::array<int, 2> fds{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()) == 0);
  return {unique_fd(fds[0]), unique_fd(fds[1])};
}

inline std::pair<unique_fd, unique_fd> tcp_pair() {
  const unique_fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  REQUIRE(::bind(server.get(), generic, length) == 0);
  REQUIRE(::listen(server.get(), 1) == 0);
  REQUIRE(::getsockname(server.get(), generic, &length) == 0);
  unique_fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(client.get(), generic, length) == 0);
  unique_fd accepted(::accept4(server.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  REQUIRE(accepted);
  REQUIRE(::fcntl(client.get(), F_SETFL, O_NONBLOCK) == 0);
  return {std::move(accepted), std::move(client)};
}

// Closes with a reset instead of an end.
inline void reset_connection(unique_fd& fd) {
  const linger now{1, 0};
  REQUIRE(::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now) == 0);
  fd.reset();
}

inline void write_all(const unique_fd& fd, std::string_view bytes) {
  REQUIRE(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
}

enum class peer_end { none, fin, reset };

// What can be read without blocking.
inline std::string read_some(const unique_fd& fd, peer_end& end) {
  std::string out(64 * 1024, '\0');
  const ssize_t n = ::recv(fd.get(), out.data(), out.size(), MSG_DONTWAIT);
  end = n == 0 ? peer_end::fin : n < 0 && errno == ECONNRESET ? peer_end::reset : peer_end::none;
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return out;
}

inline bool wait_readable(const unique_fd& fd) {
  pollfd p{fd.get(), POLLIN, 0};
  return ::poll(&p, 1, static_cast<int>(patience.count())) == 1;
}

// Everything until the peer ends its direction; says how.
inline std::string read_to_end(const unique_fd& fd, peer_end& end) {
  std::string all;
  end = peer_end::none;
  while (end == peer_end::none && wait_readable(fd)) all += read_some(fd, end);
  return all;
}

// An owner that records, and does in each callback what the test asks for.
struct recorder final : transport_events {
  std::string received;
  int receives = 0;
  int fins = 0;
  int resets = 0;
  int sents = 0;
  std::function<void()> when_received = [] {};
  std::function<void(receive_end)> when_ended = [](receive_end) {};
  std::function<void()> when_sent = [] {};

  void on_received(std::span<const std::byte> bytes) noexcept override {
    received.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    ++receives;
    when_received();
  }
  void on_receive_end(receive_end how) noexcept override {
    ++(how == receive_end::fin ? fins : resets);
    when_ended(how);
  }
  void on_sent() noexcept override {
    ++sents;
    when_sent();
  }
};

inline block block_of(buffer_pool& pool, std::string_view text) {
  block b = pool.lease();
  b.append(std::as_bytes(std::span(text)));
  return b;
}

}  // namespace bulkhead::runtime::testing
