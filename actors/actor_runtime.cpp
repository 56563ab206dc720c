#include <bulkhead/actors/actor_runtime.hpp>
#include <bulkhead/actors/caf_compat.hpp>
#include <bulkhead/actors/messages.hpp>
#include <bulkhead/runtime/signals.hpp>

#include <algorithm>
#include <cstddef>
#include <thread>

namespace bulkhead::actors {

struct actor_runtime::native {
  explicit native(unsigned threads) {
    compat::set_policy_sharing(config);  // work stealing polls: 7 ms CPU a second (caf.md 4.4)
    config.set(compat::threads_key, caf::config_value{std::size_t{threads}});
    const runtime::all_signals_blocked for_its_threads;
    system = std::make_unique<caf::actor_system>(config);
    compat::forget_logger();
  }
  caf::actor_system_config config;
  std::unique_ptr<caf::actor_system> system;
};

actor_runtime::actor_runtime(unsigned scheduler_threads)
    : threads_(scheduler_threads != 0 ? scheduler_threads
                                      : std::max(1U, std::thread::hardware_concurrency())) {
  compat::global_initialization();
  BULKHEAD_REGISTER_MESSAGES(bulkhead_actors);
  native_ = std::make_unique<native>(threads_);
}

actor_runtime::~actor_runtime() = default;

caf::actor_system& actor_runtime::native_system() noexcept {
  return *native_->system;
}

void actor_runtime::abandon() noexcept {
  static_cast<void>(native_.release());
}

}  // namespace bulkhead::actors
