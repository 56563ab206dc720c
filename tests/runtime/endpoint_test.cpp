#include <bulkhead/runtime/endpoint.hpp>

#include <doctest/doctest.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <string>

namespace bulkhead::runtime {
namespace {

TEST_CASE("each way to write an address is understood") {
  struct row {
    std::string text, canonical;
    int family;
    unsigned port;
    bool dual_stack;
  };
  const row rows[] = {
      {"127.0.0.1:8443", "127.0.0.1:8443", AF_INET, 8443, false},
      {"0.0.0.0:0", "0.0.0.0:0", AF_INET, 0, false},
      {"localhost:1", "127.0.0.1:1", AF_INET, 1, false},
      {"[::1]:65535", "[::1]:65535", AF_INET6, 65535, false},
      {"[::]:443", "[::]:443", AF_INET6, 443, false},
      {"[2001:DB8:0:0::7]:443", "[2001:db8::7]:443", AF_INET6, 443, false},
      {"*:8443", "*:8443", AF_INET6, 8443, true},
      {":8443", "*:8443", AF_INET6, 8443, true},
      {"unix:/run/b.sock", "unix:/run/b.sock", AF_UNIX, 0, false},
      {"unix:/odd:80", "unix:/odd:80", AF_UNIX, 0, false},
  };
  for (const row& r : rows) {
    CAPTURE(r.text);
    const auto parsed = endpoint::parse(r.text);
    REQUIRE(parsed);
    CHECK(parsed->to_string() == r.canonical);
    CHECK(parsed->family() == r.family);
    CHECK(parsed->port() == r.port);
    CHECK(parsed->dual_stack() == r.dual_stack);
  }
}

TEST_CASE("a wrong address is refused with the reason and the remedy") {
  struct row {
    std::string text, says;
  };
  const row rows[] = {
      {"", "has no port"},
      {"127.0.0.1", "has no port: write ADDRESS:PORT"},
      {"[::1]", "has no port"},
      {"127.0.0.1:", "the port must be a number from 0 to 65535"},
      {"127.0.0.1:65536", "the port must be a number"},
      {"127.0.0.1:-1", "the port must be a number"},
      {"127.0.0.1:80x", "the port must be a number"},
      {"127.0.0.1: 80", "the port must be a number"},
      {"::1:8443", "goes in brackets: [::1]:8443"},
      {"[::1:8443", "the closing ] is missing"},
      {"[::g]:8443", "\"::g\" is not an IPv6 address"},
      {"[127.0.0.1]:8443", "is not an IPv6 address"},
      {"[]:8443", "is not an IPv6 address"},
      {"127.0.0.256:80", "\"127.0.0.256\" is not an IP address, and names are not looked up"},
      {"example.com:443", "names are not looked up"},
      {std::string("127.0.0.1\0.evil:80", 18), "zero byte"},
      {"unix:", "needs an absolute path"},
      {"unix:run/b.sock", "needs an absolute path"},
      {"unix:/" + std::string(107, 'x'), "at most 107 bytes"},
      {std::string("unix:/a\0b", 9), "zero byte"},
  };
  for (const row& r : rows) {
    CAPTURE(r.text);
    const auto parsed = endpoint::parse(r.text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.why().category() == error_category::configuration);
    CHECK_MESSAGE(parsed.why().message().find(r.says) != std::string::npos, parsed.why().message());
  }
}

TEST_CASE("the longest path that the kernel takes is accepted whole") {
  const std::string path = "/" + std::string(106, 'x');
  const auto parsed = endpoint::parse("unix:" + path);
  REQUIRE(parsed);
  CHECK(parsed->unix_path() == path);
}

TEST_CASE("setting the port changes the port alone") {
  auto v6 = endpoint::parse("[::1]:0");
  REQUIRE(v6);
  v6->set_port(4711);
  CHECK(v6->to_string() == "[::1]:4711");
  auto local = endpoint::parse("unix:/run/b.sock");
  REQUIRE(local);
  local->set_port(4711);
  CHECK(local->to_string() == "unix:/run/b.sock");
}

TEST_CASE("a peer's address is kept in 20 bytes and printed on demand") {
  CHECK(sizeof(peer_address) == 20);
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(4711);
  v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(peer_address::from(reinterpret_cast<sockaddr*>(&v4)).to_string() == "127.0.0.1:4711");
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(4711);
  v6.sin6_addr = in6addr_loopback;
  CHECK(peer_address::from(reinterpret_cast<sockaddr*>(&v6)).to_string() == "[::1]:4711");
  sockaddr local{};
  local.sa_family = AF_UNIX;
  CHECK(peer_address::from(&local).to_string() == "unix");
  CHECK(peer_address{}.to_string() == "unknown");
}

TEST_CASE("an IPv4 peer of a dual-stack socket is an IPv4 peer") {
  sockaddr_in6 mapped{};
  mapped.sin6_family = AF_INET6;
  mapped.sin6_port = htons(4711);
  REQUIRE(::inet_pton(AF_INET6, "::ffff:192.0.2.1", &mapped.sin6_addr) == 1);
  CHECK(peer_address::from(reinterpret_cast<sockaddr*>(&mapped)).to_string() == "192.0.2.1:4711");
}

}  // namespace
}  // namespace bulkhead::runtime
