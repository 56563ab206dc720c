// Signals as events of one shard, through signalfd.
#pragma once

#include <bulkhead/runtime/shard.hpp>

#include <functional>
#include <initializer_list>

namespace bulkhead::runtime {

// Blocks the signals in the calling thread (and the threads that it starts later), so that only a
// signal_source receives them. Also ignores SIGPIPE. Call before the first thread starts.
void block_signals(std::initializer_list<int> signals);

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
