#include <bulkhead/runtime/endpoint.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>

namespace bulkhead::runtime {

namespace {

constexpr std::string_view unix_prefix = "unix:";

// sockaddr_storage may be read as what its family says; memcpy keeps the compiler's aliasing rules.
template <class Address>
Address view(const void* storage) noexcept {
  Address out;
  std::memcpy(&out, storage, sizeof out);
  return out;
}

template <class Address>
void store(sockaddr_storage& storage, const Address& address) noexcept {
  std::memcpy(&storage, &address, sizeof address);
}

std::string host_and_port(int family, const void* bytes, std::uint16_t port) {
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(family, bytes, text, sizeof text);
  std::string out = family == AF_INET6 ? "[" : "";
  out += text;
  out += family == AF_INET6 ? "]:" : ":";
  out += std::to_string(port);
  return out;
}

std::optional<std::uint16_t> parse_port(std::string_view digits) noexcept {
  std::uint16_t port = 0;
  const char* end = digits.data() + digits.size();
  const auto [stopped, why] = std::from_chars(digits.data(), end, port);
  if (why != std::errc() || stopped != end) return std::nullopt;
  return port;
}

error wrong(std::string_view text, std::string_view what) {
  return {error_category::configuration,
          "address \"" + std::string(text) + "\": " + std::string(what)};
}

}  // namespace

// -- peer_address ---------------------------------------------------------------------------------

peer_address peer_address::from(const sockaddr* address) noexcept {
  peer_address out;
  if (address == nullptr) return out;
  if (address->sa_family == AF_INET) {
    const auto in = view<sockaddr_in>(address);
    out.family = AF_INET;
    out.port = ntohs(in.sin_port);
    std::memcpy(out.bytes, &in.sin_addr, sizeof in.sin_addr);
  } else if (address->sa_family == AF_INET6) {
    const auto in = view<sockaddr_in6>(address);
    out.port = ntohs(in.sin6_port);
    if (IN6_IS_ADDR_V4MAPPED(&in.sin6_addr)) {  // an IPv4 peer of a dual-stack socket
      out.family = AF_INET;
      std::memcpy(out.bytes, &in.sin6_addr.s6_addr[12], 4);
    } else {
      out.family = AF_INET6;
      std::memcpy(out.bytes, &in.sin6_addr, sizeof in.sin6_addr);
    }
  } else if (address->sa_family == AF_UNIX) {
    out.family = AF_UNIX;
  }
  return out;
}

std::string peer_address::to_string() const {
  if (family == AF_INET || family == AF_INET6) return host_and_port(family, bytes, port);
  return family == AF_UNIX ? "unix" : "unknown";
}

// -- endpoint -------------------------------------------------------------------------------------

result<endpoint> endpoint::parse(std::string_view text) {
  endpoint out;
  if (text.find('\0') != text.npos) return wrong(text, "contains a zero byte");
  if (text.starts_with(unix_prefix)) {
    const std::string_view path = text.substr(unix_prefix.size());
    sockaddr_un un{};
    un.sun_family = AF_UNIX;
    if (!path.starts_with('/')) return wrong(text, "needs an absolute path: unix:/run/name.sock");
    if (path.size() >= sizeof un.sun_path) {
      return wrong(text, "the path is too long: a Unix socket's path has at most " +
                             std::to_string(sizeof un.sun_path - 1) + " bytes");
    }
    std::copy(path.begin(), path.end(), un.sun_path);
    store(out.storage_, un);
    out.length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
    return out;
  }

  const std::size_t colon = text.rfind(':');
  if (colon == text.npos || text.ends_with(']')) {
    return wrong(text, "has no port: write ADDRESS:PORT, for example 127.0.0.1:8443");
  }
  const auto port = parse_port(text.substr(colon + 1));
  if (!port) return wrong(text, "the port must be a number from 0 to 65535");
  std::string host(text.substr(0, colon));
  if (host.empty() || host == "*" || host.starts_with('[')) {
    sockaddr_in6 in{};  // all zero is "every address"
    in.sin6_family = AF_INET6;
    out.dual_stack_ = !host.starts_with('[');
    if (!out.dual_stack_) {
      if (!host.ends_with(']')) return wrong(text, "the closing ] is missing");
      host = host.substr(1, host.size() - 2);
      if (::inet_pton(AF_INET6, host.c_str(), &in.sin6_addr) != 1) {
        return wrong(text, "\"" + host + "\" is not an IPv6 address");
      }
    }
    store(out.storage_, in);
    out.length_ = sizeof in;
  } else {
    if (host.find(':') != host.npos) {
      return wrong(text, "an IPv6 address goes in brackets: [::1]:8443");
    }
    if (host == "localhost") host = "127.0.0.1";
    sockaddr_in in{};
    in.sin_family = AF_INET;
    if (::inet_pton(AF_INET, host.c_str(), &in.sin_addr) != 1) {
      return wrong(text, "\"" + host + "\" is not an IP address, and names are not looked up");
    }
    store(out.storage_, in);
    out.length_ = sizeof in;
  }
  out.set_port(*port);
  return out;
}

std::uint16_t endpoint::port() const noexcept {
  if (family() == AF_INET) return ntohs(view<sockaddr_in>(&storage_).sin_port);
  if (family() == AF_INET6) return ntohs(view<sockaddr_in6>(&storage_).sin6_port);
  return 0;
}

void endpoint::set_port(std::uint16_t port) noexcept {
  if (family() == AF_INET) {
    auto in = view<sockaddr_in>(&storage_);
    in.sin_port = htons(port);
    store(storage_, in);
  } else if (family() == AF_INET6) {
    auto in = view<sockaddr_in6>(&storage_);
    in.sin6_port = htons(port);
    store(storage_, in);
  }
}

std::string endpoint::unix_path() const {
  if (family() != AF_UNIX) return {};
  return view<sockaddr_un>(&storage_).sun_path;  // ends in a zero: parse() left room for it
}

std::string endpoint::to_string() const {
  if (dual_stack_) return "*:" + std::to_string(port());
  if (family() == AF_UNIX) return std::string(unix_prefix) + unix_path();
  if (family() == AF_INET) {
    const auto in = view<sockaddr_in>(&storage_);
    return host_and_port(AF_INET, &in.sin_addr, port());
  }
  const auto in = view<sockaddr_in6>(&storage_);
  return host_and_port(AF_INET6, &in.sin6_addr, port());
}

}  // namespace bulkhead::runtime
