// Signals as events of one shard, through signalfd.
#pragma once

#include <bulkhead/runtime/shard.hpp>

#include <csignal>
#include <functional>
#include <initializer_list>

namespace bulkhead::runtime {

// Blocks the signals in the calling thread (and the threads that it starts later), so that only a
// signal_source receives them. Also ignores SIGPIPE. Call before the first thread starts.
void block_signals(std::initializer_list<int> signals);

// While it exists, the calling thread blocks every signal that may be blocked, and so do the
// threads that are started meanwhile, for good: signals belong to the program's own threads.
class all_signals_blocked {
 public:
  all_signals_blocked() noexcept;
  ~all_signals_blocked();
  all_signals_blocked(const all_signals_blocked&) = delete;
  all_signals_blocked& operator=(const all_signals_blocked&) = delete;

 private:
  sigset_t before_;
};

class signal_source final : public io_source {
 public:
  signal_source(shard& on, std::initializer_list<int> signals, std::function<void(int)> handle);
  ~signal_source() override;
  void on_ready(std::uint32_t events) noexcept override;

 private:
  shard& shard_;
  unique_fd fd_;
  std::function<void(int)> handle_;
};

}  // namespace bulkhead::runtime
