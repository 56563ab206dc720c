// The zygote: a small process with one thread, forked before the server has any other, from which
// all workers of cells are forked. It holds no socket, no key and no listener.
//
// Made, used and ended on the server's thread; the channels that it gives out belong to shards.
#pragma once

#include <bulkhead/runtime/error.hpp>
#include <bulkhead/runtime/unique_fd.hpp>
#include <bulkhead/supervision/router.hpp>

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace bulkhead::supervision {

// From a shard to the zygote, with two descriptors: the segment and the bell.
struct spawn_order {
  std::uint32_t token = 0;  // names the worker in the reports
};

// From the zygote to a shard, on the same channel.
struct zygote_report {
  enum class kind : std::uint32_t {
    spawned,  // with one descriptor, the worker's pidfd
    refused,  // `status` is errno of fork() or pidfd_open()
    exited,   // `status` is that of waitpid()
  };
  kind what{};
  std::uint32_t token = 0;
  std::int32_t pid = 0;
  std::int32_t status = 0;
  std::uint64_t peak_kib = 0;      // of resident memory, once exited
  std::uint64_t microseconds = 0;  // CPU time, once exited
};

class cell_zygote {
 public:
  // Forks it. Fails when this process has more than one thread: a fork would copy locks that
  // nobody releases. `routes` is what its workers serve, by index.
  [[nodiscard]] static result<std::unique_ptr<cell_zygote>> start(const std::vector<route>& routes);
  // Ends it, and it ends every worker that is left.
  ~cell_zygote();
  cell_zygote(const cell_zygote&) = delete;
  cell_zygote& operator=(const cell_zygote&) = delete;

  // A channel on which workers of that route can be ordered: SOCK_SEQPACKET, non-blocking. When it
  // is closed, the zygote kills what was ordered on it.
  [[nodiscard]] result<runtime::unique_fd> open_channel(std::uint32_t route) const;
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  // Before the first channel is opened: called, on any shard, when the zygote turns out to be gone.
  std::function<void()> on_gone;

 private:
  cell_zygote(pid_t pid, runtime::unique_fd control) noexcept;

  pid_t pid_;
  runtime::unique_fd control_;
};

// One message with at most two descriptors over a Unix socket. False with errno set; 0 bytes read:
// the other side is gone.
[[nodiscard]] bool send_message(int socket, const void* bytes, std::size_t size,
                                std::initializer_list<int> descriptors) noexcept;
// Answers the size; -1 with errno set. Descriptors beyond `most` are closed.
[[nodiscard]] ssize_t receive_message(int socket, void* bytes, std::size_t size,
                                      runtime::unique_fd* descriptors, std::size_t most) noexcept;

}  // namespace bulkhead::supervision
