#include <bulkhead/runtime/listener.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>

#include <cerrno>

namespace bulkhead::runtime {

namespace {

// -- what went wrong ------------------------------------------------------------------------------

error refused(const endpoint& where, std::string_view what) {
  return {error_category::resource,
          "cannot listen on " + where.to_string() + ": " + std::string(what)};
}

error explain(const endpoint& where, int why) {
  switch (why) {
    case EADDRINUSE:
      return refused(where, "in use by another process; stop it or choose another address");
    case EACCES:
    case EPERM:
      return refused(where, where.family() == AF_UNIX
                                ? "no permission to create the socket; choose another folder"
                                : "no permission; a port below 1024 needs CAP_NET_BIND_SERVICE, "
                                  "or choose a port from 1024 up");
    case EADDRNOTAVAIL:
      return {error_category::configuration,
              "cannot listen on " + where.to_string() +
                  ": this machine does not have that address; see `ip address`"};
    case EAFNOSUPPORT:
      return {error_category::configuration,
              "cannot listen on " + where.to_string() +
                  ": this machine has no such protocol; choose an IPv4 address"};
    case ENOENT:
    case ENOTDIR:
      return {error_category::configuration,
              "cannot listen on " + where.to_string() + ": its folder does not exist; create it"};
    case EMFILE:
    case ENFILE:
      return refused(where, errno_text(why) + "; raise the limit of open files (ulimit -n)");
    default:
      return refused(where, errno_text(why));
  }
}

// -- sockets --------------------------------------------------------------------------------------

unique_fd stream_socket(int family) noexcept {
  return unique_fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

[[nodiscard]] bool set(const unique_fd& socket, int protocol, int option, int value) noexcept {
  return ::setsockopt(socket.get(), protocol, option, &value, sizeof value) == 0;
}

// An unbound socket of the right kind; empty (errno set) when refused.
unique_fd prepare(const endpoint& where, bool share_port) noexcept {
  unique_fd socket = stream_socket(where.family());
  if (!socket) return {};
  const bool ready = set(socket, SOL_SOCKET, SO_REUSEADDR, 1) &&  // not held up by TIME_WAIT
                     (!share_port || set(socket, SOL_SOCKET, SO_REUSEPORT, 1)) &&
                     (where.family() != AF_INET6 ||
                      set(socket, IPPROTO_IPV6, IPV6_V6ONLY, where.dual_stack() ? 0 : 1)) &&
                     set(socket, IPPROTO_TCP, TCP_NODELAY, 1);  // accepted sockets inherit it
  if (ready) return socket;
  const int why = errno;
  socket.reset();
  errno = why;
  return {};
}

[[nodiscard]] bool bind_to(const unique_fd& socket, const endpoint& where) noexcept {
  return ::bind(socket.get(), where.address(), where.length()) == 0;
}

std::uint16_t port_of(const unique_fd& socket) noexcept {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);  // NOLINT(*-reinterpret-cast)
  if (::getsockname(socket.get(), address, &length) != 0) return 0;
  return peer_address::from(address).port;
}

result<bound_endpoint> bind_ip(const endpoint& where, unsigned shards, int backlog) {
  bound_endpoint out{where, {}};
  if (where.port() != 0) {
    // SO_REUSEPORT would share the port with a stranger of the same user; this one refuses.
    const unique_fd probe = prepare(where, false);
    if (!probe || !bind_to(probe, where)) return explain(where, errno);
  }
  for (unsigned i = 0; i < shards; ++i) {
    unique_fd socket = prepare(where, true);
    if (!socket || !bind_to(socket, out.where)) return explain(out.where, errno);
    if (out.where.port() == 0) out.where.set_port(port_of(socket));
    out.sockets.push_back(std::move(socket));
  }
  for (const unique_fd& socket : out.sockets) {
    if (::listen(socket.get(), backlog) != 0) return explain(out.where, errno);
  }
  return out;
}

// -- Unix paths -----------------------------------------------------------------------------------

// Makes room for a new socket file: removes one that nobody listens on, and nothing else.
result<void> clear_path(const endpoint& where) {
  const std::string path = where.unix_path();
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return {};
    return explain(where, errno);
  }
  if (!S_ISSOCK(found.st_mode)) {
    return error{error_category::configuration,
                 "cannot listen on " + where.to_string() +
                     ": something that is not a socket is there; remove it or choose another path"};
  }
  const unique_fd probe = stream_socket(AF_UNIX);
  if (!probe) return explain(where, errno);
  if (::connect(probe.get(), where.address(), where.length()) == 0) {
    return explain(where, EADDRINUSE);
  }
  if (errno == EAGAIN) return explain(where, EADDRINUSE);  // alive, and its backlog is full
  if (errno != ECONNREFUSED) return explain(where, errno);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return explain(where, errno);
  return {};
}

result<bound_endpoint> bind_unix(const endpoint& where, unsigned shards, int backlog) {
  if (auto cleared = clear_path(where); !cleared) return cleared.why();
  unique_fd socket = stream_socket(AF_UNIX);
  if (!socket || !bind_to(socket, where)) return explain(where, errno);
  if (::listen(socket.get(), backlog) != 0) return explain(where, errno);
  bound_endpoint out{where, {}};
  out.sockets.push_back(std::move(socket));
  while (out.sockets.size() < shards) {
    unique_fd shared(::fcntl(out.sockets.front().get(), F_DUPFD_CLOEXEC, 0));
    if (!shared) return explain(where, errno);
    out.sockets.push_back(std::move(shared));
  }
  return out;
}

}  // namespace

result<bound_endpoint> bind_endpoint(const endpoint& where, unsigned shards, int backlog) {
  if (shards == 0) return error{error_category::internal, "bind_endpoint: no shard to bind for"};
  if (where.family() == AF_UNIX) return bind_unix(where, shards, backlog);
  return bind_ip(where, shards, backlog);
}

}  // namespace bulkhead::runtime
