// An address to listen on or to name a peer by: IPv4, IPv6 or a Unix socket path.
#pragma once

#include <bulkhead/runtime/error.hpp>

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace bulkhead::runtime {

// A peer's address as the kernel gave it, in 20 bytes. Formatted only on demand.
struct peer_address {
  std::uint8_t bytes[16] = {};
  std::uint16_t port = 0;   // host byte order
  std::uint8_t family = 0;  // AF_INET, AF_INET6, AF_UNIX or 0 (unknown)

  [[nodiscard]] static peer_address from(const sockaddr* address) noexcept;
  [[nodiscard]] std::string to_string() const;  // "127.0.0.1:4711", "[::1]:4711", "unix"
};

// Where to listen. `parse` accepts "127.0.0.1:8443", "[::1]:8443", "localhost:8443", "*:8443"
// (every IPv4 and IPv6 address), ":8443" (the same) and "unix:/path"; port 0 lets the kernel pick.
class endpoint {
 public:
  [[nodiscard]] static result<endpoint> parse(std::string_view text);

  [[nodiscard]] const sockaddr* address() const noexcept {
    return reinterpret_cast<const sockaddr*>(&storage_);  // NOLINT(*-reinterpret-cast)
  }
  [[nodiscard]] socklen_t length() const noexcept { return length_; }
  [[nodiscard]] int family() const noexcept { return storage_.ss_family; }
  [[nodiscard]] bool dual_stack() const noexcept { return dual_stack_; }
  [[nodiscard]] std::uint16_t port() const noexcept;
  void set_port(std::uint16_t port) noexcept;
  [[nodiscard]] std::string unix_path() const;
  [[nodiscard]] std::string to_string() const;

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
  bool dual_stack_ = false;
};

}  // namespace bulkhead::runtime
