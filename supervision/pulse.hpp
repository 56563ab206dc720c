// Whether a shard's loop still turns, found out from another thread: something is posted to it, and
// if that is not run within a limit, the loop hangs.
//
// beats() on one thread, the admin shard's. It posts only when asked, so an idle loop sleeps on; a
// loop that hangs is therefore found out by the second question.
#pragma once

#include <bulkhead/runtime/clock.hpp>
#include <bulkhead/runtime/shard.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace bulkhead::supervision {

class pulse {
 public:
  pulse(runtime::shard& loop, runtime::milliseconds limit);

  // From now on the loop is meant to turn; until then beats() is true. Any thread.
  void begin() noexcept;
  [[nodiscard]] bool beats();

 private:
  runtime::shard& loop_;
  runtime::milliseconds limit_;
  std::atomic<bool> begun_{false};
  // Shared with what was posted: the loop may run it when we are gone.
  std::shared_ptr<std::atomic<std::uint64_t>> answered_;
  std::uint64_t asked_ = 0;
  runtime::steady_time asked_at_{};
};

}  // namespace bulkhead::supervision
