#include <bulkhead/runtime/listener.hpp>

#include <doctest/doctest.h>

#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/un.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support.hpp"

namespace bulkhead::runtime {
namespace {

using namespace testing;

endpoint parsed(const std::string& text) {
  const auto e = endpoint::parse(text);
  REQUIRE(e);
  return *e;
}

unique_fd client_of(const endpoint& where) {
  unique_fd client(::socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(client.get(), where.address(), where.length()) == 0);
  return client;
}

// A folder of its own that goes with the test.
struct scratch {
  std::string path;
  scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "bulkhead-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~scratch() { std::filesystem::remove_all(path); }
};

bool says(const error& why, std::string_view part) {
  return why.message().find(part) != std::string::npos;
}

// -- binding --------------------------------------------------------------------------------------

TEST_CASE("port 0 gives all shards one port") {
  const auto bound = bind_endpoint(parsed("127.0.0.1:0"), 4);
  REQUIRE(bound);
  CHECK(bound->sockets.size() == 4);
  CHECK(bound->where.port() != 0);
  for (const auto& socket : bound->sockets) {
    sockaddr_in in{};
    socklen_t length = sizeof in;
    REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&in), &length) == 0);
    CHECK(ntohs(in.sin_port) == bound->where.port());
  }
}

TEST_CASE("a port in use is found though its owner shares it") {
  const auto first = bind_endpoint(parsed("127.0.0.1:0"), 2);
  REQUIRE(first);
  const auto second = bind_endpoint(first->where, 2);
  REQUIRE_FALSE(second);
  CHECK(second.why().category() == error_category::resource);
  CHECK(says(second.why(), first->where.to_string()));
  CHECK(says(second.why(), "in use"));
}

TEST_CASE("a port is free again as soon as its owner is gone, whatever connections it had") {
  endpoint where = parsed("127.0.0.1:0");
  {
    const auto first = bind_endpoint(where, 1);
    REQUIRE(first);
    where = first->where;
    const unique_fd client = client_of(where);
    const unique_fd server(::accept(first->sockets[0].get(), nullptr, nullptr));
    REQUIRE(::shutdown(server.get(), SHUT_RDWR) == 0);  // ours goes to TIME_WAIT
  }
  CHECK(bind_endpoint(where, 1));
}

TEST_CASE("an address that this machine does not have is named in the error") {
  const auto bound = bind_endpoint(parsed("192.0.2.1:8443"), 1);
  REQUIRE_FALSE(bound);
  CHECK(bound.why().category() == error_category::configuration);
  CHECK(says(bound.why(), "192.0.2.1:8443"));
  CHECK(says(bound.why(), "does not have that address"));
}

TEST_CASE("every address means IPv4 too, and an IPv6 address alone does not") {
  const auto every = bind_endpoint(parsed("*:0"), 1);
  if (!every) return;  // a machine without IPv6
  auto v4 = parsed("127.0.0.1:0");
  v4.set_port(every->where.port());
  (void)client_of(v4);
  const auto six = bind_endpoint(parsed("[::]:0"), 1);
  REQUIRE(six);
  v4.set_port(six->where.port());
  const unique_fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  CHECK(::connect(client.get(), v4.address(), v4.length()) != 0);
}

// -- Unix paths -----------------------------------------------------------------------------------

TEST_CASE("a stale Unix socket is replaced, a live one is in use") {
  const scratch folder;
  const endpoint where = parsed("unix:" + folder.path + "/s");
  {
    const auto first = bind_endpoint(where, 3);
    REQUIRE(first);
    CHECK(first->sockets.size() == 3);
    const auto second = bind_endpoint(where, 3);
    REQUIRE_FALSE(second);
    CHECK(says(second.why(), "in use"));
    (void)client_of(where);  // the live one was left alone
  }
  CHECK(std::filesystem::exists(where.unix_path()));  // stale now
  const auto third = bind_endpoint(where, 1);
  REQUIRE(third);
  (void)client_of(where);
}

TEST_CASE("a file that is no socket is never removed") {
  const scratch folder;
  const std::string path = folder.path + "/precious";
  std::ofstream(path) << "data";
  const auto bound = bind_endpoint(parsed("unix:" + path), 1);
  REQUIRE_FALSE(bound);
  CHECK(bound.why().category() == error_category::configuration);
  CHECK(says(bound.why(), "not a socket"));
  CHECK(std::filesystem::file_size(path) == 4);
}

TEST_CASE("a Unix path in a folder that does not exist says so") {
  const scratch folder;
  const auto bound = bind_endpoint(parsed("unix:" + folder.path + "/none/s"), 1);
  REQUIRE_FALSE(bound);
  CHECK(says(bound.why(), "folder does not exist"));
}

// -- accepting ------------------------------------------------------------------------------------

struct accepting {
  virtual_clock time;
  shard s{0, time};
  endpoint where;
  std::vector<unique_fd> sockets;
  std::vector<peer_address> peers;
  std::unique_ptr<listener> l;

  explicit accepting(const std::string& address = "127.0.0.1:0") : where(parsed(address)) {
    auto bound = bind_endpoint(where, 1);
    REQUIRE(bound);
    where = bound->where;
    l = std::make_unique<listener>(s, std::move(bound->sockets[0]),
                                   [this](unique_fd socket, const peer_address& peer) {
                                     sockets.push_back(std::move(socket));
                                     peers.push_back(peer);
                                   });
    l->resume();
  }
};

TEST_CASE("an accepted socket is non-blocking, sends without delay and names its peer") {
  accepting a;
  const unique_fd client = client_of(a.where);
  a.s.turn(false);
  REQUIRE(a.sockets.size() == 1);
  CHECK(a.l->counters().accepted == 1);
  CHECK((::fcntl(a.sockets[0].get(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(a.sockets[0].get(), F_GETFD) & FD_CLOEXEC) != 0);
  int no_delay = 0;
  socklen_t length = sizeof no_delay;
  REQUIRE(::getsockopt(a.sockets[0].get(), IPPROTO_TCP, TCP_NODELAY, &no_delay, &length) == 0);
  CHECK(no_delay == 1);
  CHECK(a.peers[0].to_string().starts_with("127.0.0.1:"));
}

TEST_CASE("a paused listener leaves connections to the kernel until it resumes") {
  accepting a;
  a.l->pause();
  const unique_fd client = client_of(a.where);
  a.s.turn(false);
  CHECK(a.sockets.empty());
  a.l->resume();
  a.s.turn(false);
  CHECK(a.sockets.size() == 1);
}

TEST_CASE("a pause from inside the accept callback holds at once") {
  virtual_clock time;
  shard s(0, time);
  auto bound = bind_endpoint(parsed("127.0.0.1:0"), 1);
  REQUIRE(bound);
  int accepted = 0;
  listener* self = nullptr;
  listener l(s, std::move(bound->sockets[0]), [&](unique_fd, const peer_address&) {
    ++accepted;
    self->pause();
  });
  self = &l;
  l.resume();
  const unique_fd one = client_of(bound->where), two = client_of(bound->where);
  s.turn(false);
  s.turn(false);
  CHECK(accepted == 1);
}

TEST_CASE("no more than 64 connections are accepted in one turn") {
  accepting a;
  std::vector<unique_fd> clients;
  for (int i = 0; i < 70; ++i) clients.push_back(client_of(a.where));
  a.s.turn(false);
  CHECK(a.sockets.size() == 64);
  a.s.turn(false);
  CHECK(a.sockets.size() == 70);
}

// Lowers the limit of open files so that no further one can be opened.
struct no_descriptors {
  rlimit before{};
  no_descriptors() {
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const unique_fd lowest(::dup(2));
    rlimit now = before;
    now.rlim_cur = static_cast<rlim_t>(lowest.get());
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &now) == 0);
  }
  ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before); }
};

TEST_CASE("out of descriptors: accepting pauses without a spin and recovers by itself") {
  accepting a;
  const unique_fd client = client_of(a.where);
  {
    const no_descriptors limit;
    for (int i = 0; i < 10; ++i) a.s.turn(false);
    CHECK(a.l->counters().exhausted == 1);  // once a pause
    a.time.advance(listener::exhausted_pause);
    for (int i = 0; i < 10; ++i) a.s.turn(false);  // the timer, then the next attempt
    CHECK(a.l->counters().exhausted == 2);
    CHECK(a.sockets.empty());
  }
  for (int i = 0; i < 10; ++i) a.s.turn(false);
  CHECK(a.sockets.empty());  // the pause lasts
  a.time.advance(listener::exhausted_pause);
  a.s.turn(false);
  a.s.turn(false);
  CHECK(a.sockets.size() == 1);
}

TEST_CASE("a socket that cannot accept is counted and does not spin the loop") {
  virtual_clock time;
  shard s(0, time);
  // Bound, not listening: EINVAL and a standing EPOLLHUP.
  unique_fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  listener l(s, std::move(socket), [](unique_fd, const peer_address&) {});
  l.resume();
  for (int i = 0; i < 10; ++i) s.turn(false);
  CHECK(l.counters().failed == 1);
  time.advance(listener::exhausted_pause);
  for (int i = 0; i < 10; ++i) s.turn(false);
  CHECK(l.counters().failed == 2);
}

TEST_CASE("shards that share a Unix socket accept each connection once, and close apart") {
  const scratch folder;
  virtual_clock time;
  shard one(0, time), two(1, time);
  auto bound = bind_endpoint(parsed("unix:" + folder.path + "/s"), 2);
  REQUIRE(bound);
  int accepted = 0;
  std::string peer;
  const auto accept = [&](unique_fd, const peer_address& p) {
    ++accepted;
    peer = p.to_string();
  };
  auto first = std::make_unique<listener>(one, std::move(bound->sockets[0]), accept);
  listener second(two, std::move(bound->sockets[1]), accept);
  first->resume();
  second.resume();
  std::vector<unique_fd> clients;
  for (int i = 0; i < 6; ++i) clients.push_back(client_of(bound->where));
  one.turn(false);
  two.turn(false);
  CHECK(accepted == 6);
  CHECK(peer == "unix");
  first.reset();
  clients.push_back(client_of(bound->where));
  one.turn(false);  // must not hear of the socket that it gave up
  CHECK(accepted == 6);
  two.turn(false);
  CHECK(accepted == 7);
}

}  // namespace
}  // namespace bulkhead::runtime
