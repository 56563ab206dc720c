// The process's CAF actor system: its scheduler runs handlers that may block.
//
// This header is free of CAF; internal sources reach the system through native_system().
#pragma once

#include <memory>

namespace caf {
class actor_system;
}

namespace bulkhead::actors {

class actor_runtime {
 public:
  // `scheduler_threads`: how many handlers with placement `actor` run at once; 0: one a core.
  explicit actor_runtime(unsigned scheduler_threads);
  // Waits for every actor that is not hidden; see abandon().
  ~actor_runtime();
  actor_runtime(const actor_runtime&) = delete;
  actor_runtime& operator=(const actor_runtime&) = delete;

  [[nodiscard]] unsigned scheduler_threads() const noexcept { return threads_; }
  [[nodiscard]] caf::actor_system& native_system() noexcept;
  // Leaves the system and its threads behind: for a stop that must end although a handler does
  // not. The memory is lost on purpose.
  void abandon() noexcept;

 private:
  struct native;
  unsigned threads_;
  std::unique_ptr<native> native_;
};

}  // namespace bulkhead::actors
