// Listening sockets: bound once at start, one for each shard, accepted from on that shard.
#pragma once

#include <bulkhead/runtime/endpoint.hpp>
#include <bulkhead/runtime/error.hpp>
#include <bulkhead/runtime/shard.hpp>
#include <bulkhead/runtime/unique_fd.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace bulkhead::runtime {

// The sockets of one endpoint. IPv4 and IPv6 get one socket a shard with SO_REUSEPORT; a Unix
// path gets one socket that the shards share.
struct bound_endpoint {
  endpoint where;  // with the port that the kernel chose
  std::vector<unique_fd> sockets;
};

// Binds and listens; any thread. Errors name the address and what to do: port in use (found even
// though SO_REUSEPORT would hide it), no permission, no such address, a path that is no socket. A
// stale Unix socket that nobody listens on is replaced; a live one is "in use".
[[nodiscard]] result<bound_endpoint> bind_endpoint(const endpoint& where, unsigned shards,
                                                   int backlog = 4096);

// What accept() met, by kind; written by the shard, readable anywhere.
struct accept_counters {
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> aborted{0};    // the peer was gone before accept()
  std::atomic<std::uint64_t> exhausted{0};  // EMFILE, ENFILE, ENOBUFS, ENOMEM: accepting pauses
  std::atomic<std::uint64_t> failed{0};     // anything else; accepting goes on
};

// Accepts on one shard, from resume() on. TCP_NODELAY is set (inherited from the listening
// socket). `accept` may pause the listener; to destroy it on the shard's thread, bury it.
class listener final : public io_source {
 public:
  using on_accept = std::function<void(unique_fd socket, const peer_address& peer)>;

  // How long accepting pauses after EMFILE and its like, and after an error that would repeat.
  static constexpr milliseconds exhausted_pause{100};

  listener(shard& on, unique_fd socket, on_accept accept);
  ~listener() override;

  // Starts or stops watching the socket; the backlog stays with the kernel meanwhile.
  void resume() noexcept;
  void pause() noexcept;
  [[nodiscard]] const accept_counters& counters() const noexcept { return counters_; }

  void on_ready(std::uint32_t events) noexcept override;

 private:
  void accept_batch() noexcept;
  void back_off(int why) noexcept;

  shard& shard_;
  unique_fd socket_;
  on_accept accept_;
  accept_counters counters_;
  timer pause_timer_;
  bool watching_ = false;
};

}  // namespace bulkhead::runtime
