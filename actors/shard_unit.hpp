// A shard as CAF's execution unit. Internal: never installed.
#pragma once

#include <bulkhead/actors/caf_compat.hpp>

namespace bulkhead::actors {

// Passed to every actor that lives on the shard. CAF calls run_later() for actors that get
// unblocked by a message sent from here; those of the shard schedule themselves (slim_actor), so
// what comes through belongs to CAF's own scheduler, never to the shard's thread.
class shard_unit final : public compat::unit_base {
 public:
  // Messages that one actor may handle before the others have their turn (caf.md 4.5).
  static constexpr std::size_t throughput = 64;

  shard_unit(caf::actor_system& system, runtime::shard& on)
      : compat::unit_base(system), shard_(on) {}

  [[nodiscard]] runtime::shard& shard() noexcept { return shard_; }

 protected:
  void run_later(caf::resumable* job) override { compat::to_scheduler(system(), job); }

 private:
  runtime::shard& shard_;
};

}  // namespace bulkhead::actors
