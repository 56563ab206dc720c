#include <bulkhead/runtime/shard.hpp>
#include <bulkhead/runtime/transport.hpp>

#include <sys/socket.h>

#include <cerrno>
#include <new>

namespace bulkhead::runtime {

namespace {

// A connected TCP or Unix stream socket in a shard's loop.
//
// The kernel is told only what it must know: a pause costs a system call if bytes arrive during
// it, a resume if such a pause came before. Every callback may dispose of the object; it is freed
// after the batch, and a null `events_` says so until then.
class socket_transport final : public transport, public io_source {
 public:
  socket_transport(shard& on, unique_fd socket, transport_events& events) noexcept
      : shard_(on), events_(&events), socket_(std::move(socket)) {}

  [[nodiscard]] bool start() noexcept {
    return shard_.watch(socket_.get(), watched_ = EPOLLIN, *this);
  }

  // -- transport: from the owner ------------------------------------------------------------------

  [[nodiscard]] bool send(block bytes) noexcept override;
  void pause_receiving() noexcept override { paused_ = true; }
  void resume_receiving() noexcept override;
  void shutdown_send() noexcept override;
  void dispose(bool abort) noexcept override;

  // -- io_source: from the loop -------------------------------------------------------------------

  void on_ready(std::uint32_t events) noexcept override;

 private:
  // Each answers whether the object is still in use.
  [[nodiscard]] bool send_rest() noexcept;
  [[nodiscard]] bool receive() noexcept;
  [[nodiscard]] bool report_reset() noexcept;

  [[nodiscard]] bool send_some(block& bytes) noexcept;  // false: the connection is gone
  void fail_later() noexcept;
  void watch_for(std::uint32_t events) noexcept;
  [[nodiscard]] int pending_error() const noexcept;

  shard& shard_;
  transport_events* events_;  // null: disposed of
  unique_fd socket_;
  std::uint32_t watched_ = 0;  // what the kernel was told last
  block unsent_;
  bool paused_ : 1 = false;
  bool ended_ : 1 = false;        // on_receive_end(fin) was said
  bool gone_ : 1 = false;         // on_receive_end(reset) was said
  bool failed_ : 1 = false;       // ... is to be said: send() met an error
  bool fin_follows_ : 1 = false;  // shutdown_send() waits for `unsent_`
};

static_assert(sizeof(socket_transport) <= 96, "an idle connection pays for each byte");

// -- sending --------------------------------------------------------------------------------------

bool socket_transport::send_some(block& bytes) noexcept {
  for (;;) {
    const auto rest = bytes.bytes();
    const ssize_t n = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      bytes.consume(static_cast<std::size_t>(n));
      return true;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
    if (errno != EINTR) return false;
  }
}

bool socket_transport::send(block bytes) noexcept {
  if (gone_ || failed_ || bytes.empty()) return true;
  if (!send_some(bytes)) {
    fail_later();
    return true;
  }
  if (bytes.empty()) return true;
  unsent_ = std::move(bytes);
  watch_for(watched_ | EPOLLOUT);
  return false;
}

// With both directions shut, EPOLLHUP stands until somebody looks, whatever the kernel thought of
// the socket before: the report comes from the loop and cannot be missed.
void socket_transport::fail_later() noexcept {
  failed_ = true;
  ::shutdown(socket_.get(), SHUT_RDWR);
  watch_for(EPOLLOUT);
}

bool socket_transport::send_rest() noexcept {
  if (!send_some(unsent_)) return report_reset();
  if (!unsent_.empty()) return true;
  unsent_ = block();
  if (fin_follows_) ::shutdown(socket_.get(), SHUT_WR);
  events_->on_sent();
  return events_ != nullptr;
}

void socket_transport::shutdown_send() noexcept {
  if (unsent_) {
    fin_follows_ = true;
  } else {
    ::shutdown(socket_.get(), SHUT_WR);
  }
}

// -- receiving ------------------------------------------------------------------------------------

void socket_transport::resume_receiving() noexcept {
  paused_ = false;
  if (ended_ || gone_ || failed_) return;
  watch_for((watched_ | EPOLLIN) & ~std::uint32_t{EPOLLET});
}

bool socket_transport::receive() noexcept {
  const auto room = shard_.receive_buffer();
  const ssize_t n = ::recv(socket_.get(), room.data(), room.size(), 0);
  if (n > 0) {
    events_->on_received({room.data(), static_cast<std::size_t>(n)});
  } else if (n == 0) {
    ended_ = true;
    events_->on_receive_end(receive_end::fin);
  } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
    return report_reset();
  }
  return events_ != nullptr;
}

bool socket_transport::report_reset() noexcept {
  gone_ = true;
  unsent_ = block();
  shard_.unwatch(socket_.get());
  events_->on_receive_end(receive_end::reset);
  return false;
}

// -- the loop -------------------------------------------------------------------------------------

void socket_transport::on_ready(std::uint32_t events) noexcept {
  if (events_ == nullptr || gone_) return;  // an event of the same batch as its end
  if (failed_) {
    (void)report_reset();
    return;
  }
  constexpr std::uint32_t hang_up = EPOLLHUP | EPOLLERR;
  if (unsent_ && (events & (EPOLLOUT | hang_up)) != 0) {
    if (!send_rest() || failed_) return;
  }
  std::uint32_t wanted = watched_;
  if ((events & (EPOLLIN | hang_up)) != 0) {
    if (!paused_ && !ended_) {
      if (!receive()) return;
      wanted = watched_;
      if (ended_) wanted &= ~std::uint32_t{EPOLLIN};
    } else {
      wanted &= ~std::uint32_t{EPOLLIN};
      if ((events & hang_up) != 0) {
        if (pending_error() != 0) {
          (void)report_reset();
          return;
        }
        // Both directions are finished. The kernel would say so at every turn: once is enough.
        wanted |= EPOLLET;
      }
    }
  }
  if (failed_) return;  // on_received()'s send() met the end: reported at the next turn
  if (!unsent_) wanted &= ~std::uint32_t{EPOLLOUT};
  watch_for(wanted);
}

void socket_transport::watch_for(std::uint32_t events) noexcept {
  if (events == watched_) return;
  watched_ = events;
  shard_.rewatch(socket_.get(), events, *this);
}

int socket_transport::pending_error() const noexcept {
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

void socket_transport::dispose(bool abort) noexcept {
  events_ = nullptr;
  // Bytes that never left make the end of the stream a lie: better none than a false one.
  if (abort || unsent_) {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  unsent_ = block();
  // A child process between fork() and exec() may hold the socket too, and then close() alone
  // would leave it in the epoll set.
  if (!gone_) shard_.unwatch(socket_.get());
  socket_.reset();
  shard_.bury(std::unique_ptr<io_source>(this));
}

}  // namespace

transport_ptr shard::adopt(unique_fd socket, transport_events& events) {
  auto adopted = std::make_unique<socket_transport>(*this, std::move(socket), events);
  if (!adopted->start()) {
    const int why = errno;
    adopted.reset();
    errno = why;
    return nullptr;
  }
  return transport_ptr(adopted.release());
}

}  // namespace bulkhead::runtime
