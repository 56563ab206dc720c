// A plain client over a real socket, for the few tests that need one. Every wait is bounded.
#pragma once

#include <bulkhead/runtime/unique_fd.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>
#include <string_view>

namespace bulkhead::tests {

class loopback {
 public:
  // "127.0.0.1:4711".
  explicit loopback(const std::string& address)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  [[nodiscard]] bool connected() const noexcept { return connected_; }
  void send(std::string_view bytes) const {
    static_cast<void>(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  void finish() const { ::shutdown(socket_.get(), SHUT_WR); }
  // Reads until `text` has come, or the end, or nothing for 20 s.
  std::string read_until(std::string_view text) {
    std::string all;
    while (text.empty() || all.find(text) == std::string::npos) {
      pollfd p{socket_.get(), POLLIN, 0};
      if (::poll(&p, 1, 20'000) != 1) break;
      char buffer[4096];
      const auto n = ::recv(socket_.get(), buffer, sizeof buffer, 0);
      if (n <= 0) {
        ended_ = true;
        break;
      }
      all.append(buffer, static_cast<std::size_t>(n));
    }
    return all;
  }
  std::string read_to_end() { return read_until({}); }
  [[nodiscard]] bool ended() const noexcept { return ended_; }

 private:
  runtime::unique_fd socket_;
  bool connected_ = false;
  bool ended_ = false;
};

// One request, one answer, then the end.
inline std::string ask_once(const std::string& address, const std::string& method_and_target) {
  loopback c(address);
  c.send(method_and_target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  return c.read_to_end();
}

}  // namespace bulkhead::tests
