// Waking a side that sleeps, and only then: a word in shared memory says whether it does.
//
// The worker sleeps on a futex, the server in its shard's epoll_wait, where an eventfd wakes it.
// Whoever publishes something looks at the word afterwards; whoever is about to sleep sets it and
// then looks for something published (Dekker's pattern: hence the full fences).
#pragma once

#include <atomic>
#include <cstdint>

namespace bulkhead::supervision {

// In shared memory, on a cache line of its own.
struct alignas(64) cell_bell {
  // 1 while the worker sleeps or is about to.
  std::atomic<std::uint32_t> worker_sleeps{0};
  // What the server waits for in its sleep.
  std::atomic<std::uint32_t> server_waits{0};
};

// Bits of server_waits.
inline constexpr std::uint32_t waits_for_frames = 1;
inline constexpr std::uint32_t waits_for_room = 2;

// Orders all that was stored before it before all that is loaded after it. ThreadSanitizer knows no
// fences; what they order here is between processes, where it does not look.
inline void full_fence() noexcept {
#if defined(__SANITIZE_THREAD__)
  std::atomic<int> locked{0};
  locked.fetch_add(1, std::memory_order_seq_cst);  // a full barrier on the machine
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

// Server: after publishing a frame or giving room back.
void wake_worker(cell_bell& bell) noexcept;
// Worker: after publishing (`what`: waits_for_frames) or reading (waits_for_room). Writes the
// eventfd if the server sleeps and waits for that.
void wake_server(cell_bell& bell, std::uint32_t what, int eventfd) noexcept;

// Worker: sleeps until woken; returns at once if `ready` turns out to be true. May return early.
template <class Ready>
void sleep_until(cell_bell& bell, Ready&& ready) noexcept;

// -- details --------------------------------------------------------------------------------------

// In memory that processes share.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t while_it_is) noexcept;
void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept;

template <class Ready>
void sleep_until(cell_bell& bell, Ready&& ready) noexcept {
  bell.worker_sleeps.store(1, std::memory_order_seq_cst);
  full_fence();
  if (!ready()) futex_wait(bell.worker_sleeps, 1);
  bell.worker_sleeps.store(0, std::memory_order_relaxed);
}

}  // namespace bulkhead::supervision
