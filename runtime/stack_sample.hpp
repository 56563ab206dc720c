// Where another thread is at this moment: its stack, taken by itself in a signal handler.
//
// For threads that agreed to it by may_be_sampled; no other thread gets the signal.
#pragma once

#include <bulkhead/runtime/clock.hpp>
#include <bulkhead/runtime/heartbeat.hpp>

#include <semaphore.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bulkhead::runtime {

struct stack_sample {
  stack_sample() noexcept;
  ~stack_sample();
  stack_sample(const stack_sample&) = delete;
  stack_sample& operator=(const stack_sample&) = delete;

  // -- written by the sampled thread, in its signal handler
  std::array<void*, 64> frames{};
  int depth = 0;
  std::uint64_t task = 0;        // heartbeat::task, cut to what fits; 0: none
  std::array<char, 256> what{};  // method and path
  std::size_t what_size = 0;
  sem_t answered;

  std::atomic<bool> asked{false};  // until it has answered
  pid_t thread = 0;
  const heartbeat* heart = nullptr;
};

// While it exists, the calling thread answers; it is the one that `heart` belongs to.
class may_be_sampled {
 public:
  explicit may_be_sampled(heartbeat& heart) noexcept;
  ~may_be_sampled();
  may_be_sampled(const may_be_sampled&) = delete;
  may_be_sampled& operator=(const may_be_sampled&) = delete;

 private:
  heartbeat& heart_;
  stack_sample sample_;
};

struct stack_trace {
  std::uint64_t task = 0;
  std::string what;                 // "GET /path"; empty: nothing that has a name
  std::vector<std::string> frames;  // innermost first: "function+0x12 (library+0x3456)"
};

// A real-time signal, because those are never merged with others: SIGRTMAX - 2.
[[nodiscard]] int sampling_signal() noexcept;

// Before the first look: takes over the signal for good, if the program has no use for it. False if
// it has: then looks find nothing.
[[nodiscard]] bool prepare_stack_samples() noexcept;

// Asks the thread of `heart` and waits at most `patience`; an empty trace when it does not answer.
// Costs the thread some ten microseconds. Its waits in system calls go on, or end with EINTR.
[[nodiscard]] stack_trace look_at(heartbeat& heart, milliseconds patience);

// How long the thread of `heart` has waited for a processor so far, although it was ready to run:
// not its own fault. Zero when it cannot be asked.
[[nodiscard]] std::chrono::nanoseconds waited_for_processor(heartbeat& heart);

}  // namespace bulkhead::runtime
