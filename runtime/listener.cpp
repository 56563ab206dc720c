#include <bulkhead/runtime/listener.hpp>
#include <bulkhead/runtime/log.hpp>

#include <cerrno>

namespace bulkhead::runtime {

namespace {

// Written by one thread only, so no locked instruction is needed.
void count(std::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

enum class refusal { nothing_left, interrupted, peer_gone, exhausted, broken };

// accept(2) passes on errors that are already pending on the new connection.
refusal classify(int why) noexcept {
  switch (why) {
    case EAGAIN:
      return refusal::nothing_left;
    case EINTR:
      return refusal::interrupted;
    case ECONNABORTED:
    case ECONNRESET:
    case EPROTO:
    case ENOPROTOOPT:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
    case ETIMEDOUT:
    case EPERM:  // a firewall rule
      return refusal::peer_gone;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return refusal::exhausted;
    default:
      return refusal::broken;
  }
}

}  // namespace

listener::listener(shard& on, unique_fd socket, on_accept accept)
    : shard_(on),
      socket_(std::move(socket)),
      accept_(std::move(accept)),
      pause_timer_([](void* self) noexcept { static_cast<listener*>(self)->resume(); }, this) {}

listener::~listener() {
  pause();
}

void listener::resume() noexcept {
  pause_timer_.cancel();
  if (watching_) return;
  // A Unix socket is shared by the shards: one of them is to be woken, not all.
  watching_ = shard_.watch(socket_.get(), EPOLLIN | EPOLLEXCLUSIVE, *this);
  if (!watching_) back_off(errno);
}

void listener::pause() noexcept {
  pause_timer_.cancel();
  if (watching_) shard_.unwatch(socket_.get());
  watching_ = false;
}

void listener::on_ready(std::uint32_t) noexcept {
  if (watching_) accept_batch();
}

void listener::accept_batch() noexcept {
  constexpr int most = 64;  // connections that exist have a right to their turn
  for (int i = 0; i < most && watching_; ++i) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    auto* address = reinterpret_cast<sockaddr*>(&storage);  // NOLINT(*-reinterpret-cast)
    unique_fd socket(::accept4(socket_.get(), address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      count(counters_.accepted);
      accept_(std::move(socket), peer_address::from(address));
      continue;
    }
    const int why = errno;
    switch (classify(why)) {
      case refusal::nothing_left:
        return;
      case refusal::interrupted:
        break;
      case refusal::peer_gone:
        count(counters_.aborted);
        break;
      case refusal::exhausted:
        count(counters_.exhausted);
        back_off(why);
        return;
      case refusal::broken:
        count(counters_.failed);
        back_off(why);
        return;
    }
  }
}

// The socket stays readable after such an error, and a level-triggered loop would spin on it.
void listener::back_off(int why) noexcept {
  pause();
  shard_.timers().arm(pause_timer_, shard_.now() + exhausted_pause);
  try {
    log::warn("listener", "accepting pauses for " + std::to_string(exhausted_pause.count()) +
                              " ms: " + errno_text(why));
  } catch (...) {  // no memory to say it
  }
}

}  // namespace bulkhead::runtime
