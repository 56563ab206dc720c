#include <bulkhead/supervision/cell_bell.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <limits>

namespace bulkhead::supervision {

// Not FUTEX_PRIVATE: the word lies in memory that two processes share.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t while_it_is) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAIT, while_it_is, nullptr, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

void wake_worker(cell_bell& bell) noexcept {
  full_fence();
  if (bell.worker_sleeps.load(std::memory_order_relaxed) == 0) return;
  if (bell.worker_sleeps.exchange(0, std::memory_order_relaxed) == 0) return;
  futex_wake_all(bell.worker_sleeps);
}

void wake_server(cell_bell& bell, std::uint32_t what, int eventfd) noexcept {
  full_fence();
  if ((bell.server_waits.load(std::memory_order_relaxed) & what) == 0) return;
  if ((bell.server_waits.exchange(0, std::memory_order_relaxed) & what) == 0) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(eventfd, &one, sizeof one);
}

}  // namespace bulkhead::supervision
