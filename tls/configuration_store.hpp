// Which configuration the next connection gets, and how it is replaced while serving.
//
// Lives on the control shard. A reload that fails (a torn, mismatched or unreadable pair) keeps
// the last good configuration and says so once; unchanged content is no rotation at all.
#pragma once

#include <bulkhead/runtime/clock.hpp>
#include <bulkhead/runtime/error.hpp>
#include <bulkhead/runtime/timer_wheel.hpp>
#include <bulkhead/tls/configuration.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bulkhead::tls {

class configuration_store {
 public:
  // Called with one fresh context for each shard when a new configuration is in force.
  using publish = std::function<void(std::vector<std::shared_ptr<const context>>)>;

  // Loads once and fails if that fails: a server without a valid identity does not start.
  [[nodiscard]] static result<std::unique_ptr<configuration_store>> open(
      options o, unsigned shards, runtime::timer_wheel& timers, const runtime::clock& time);
  ~configuration_store();

  // The contexts of the configuration in force, one for each shard.
  [[nodiscard]] const std::vector<std::shared_ptr<const context>>& contexts() const noexcept;

  // Watches the files every `interval`: by what stat(2) says after following symbolic links, so
  // that a swapped link is seen as well, on every kind of file system. Rotates ticket keys when
  // they are due.
  void watch(runtime::milliseconds interval, publish p);

  enum class reload_outcome { rotated, unchanged, kept_last_good };
  // Now, as on SIGHUP.
  reload_outcome reload();

  [[nodiscard]] std::uint64_t rotations() const noexcept;
  [[nodiscard]] std::uint64_t failed_reloads() const noexcept;
  // Why the last reload kept the last good configuration; empty once one succeeded.
  [[nodiscard]] const std::string& last_failure() const noexcept;
  [[nodiscard]] const std::shared_ptr<ticket_key_ring>& keys() const noexcept;

 private:
  struct state;
  explicit configuration_store(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace bulkhead::tls
