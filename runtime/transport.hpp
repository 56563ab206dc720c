// A byte stream to one peer, completion-shaped: "these bytes arrived", "that block was sent".
//
// Lives on one shard. The layers above never see readiness, so epoll, io_uring and the in-memory
// pair of the tests are interchangeable below this line.
#pragma once

#include <bulkhead/runtime/buffer_pool.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace bulkhead::runtime {

enum class receive_end {
  fin,    // the peer finished its direction
  reset,  // the connection is gone in both directions
};

// Who owns a transport hears of it through these, on the shard's thread. Each may close and
// dispose of the transport.
class transport_events {
 public:
  // The bytes live in the shard's own buffer and only until this returns: consume or copy.
  virtual void on_received(std::span<const std::byte> bytes) noexcept = 0;
  // Nothing more will arrive. After `reset`, nothing can be sent either, and an on_sent() that was
  // due does not come. Each is said at most once; a reset may follow a fin.
  virtual void on_receive_end(receive_end how) noexcept = 0;
  // All bytes of the block given to send() are with the kernel. Only called when send() answered
  // `false`.
  virtual void on_sent() noexcept = 0;

 protected:
  ~transport_events() = default;
};

class transport {
 public:
  // Takes the block and answers whether all of it went out at once. If not, on_sent() follows and
  // no other block may be given until then. After a failure (the peer is gone) it answers true
  // and on_receive_end(reset) follows from the loop.
  [[nodiscard]] virtual bool send(block bytes) noexcept = 0;
  // Back-pressure: while paused, nothing is read and the peer's TCP window fills up. A pause
  // defers the end (FIN) as well; a reset is still reported.
  virtual void pause_receiving() noexcept = 0;
  virtual void resume_receiving() noexcept = 0;
  // Finishes our direction (FIN) after what was sent; receiving goes on.
  virtual void shutdown_send() noexcept = 0;
  // Closes and gives the object up: no event follows, and the pointer must not be used again.
  // `abort` discards unsent bytes and resets the connection; so does a block whose on_sent() is
  // still to come, because a clean end after lost bytes would be a false one.
  virtual void dispose(bool abort) noexcept = 0;

 protected:
  virtual ~transport() = default;
};

struct transport_deleter {
  void operator()(transport* t) const noexcept { t->dispose(false); }
};
using transport_ptr = std::unique_ptr<transport, transport_deleter>;

}  // namespace bulkhead::runtime
