// The admin address: one listener and one shard of its own, which serves the admin pages.
//
// Made, started and stopped by the server's thread.
#pragma once

#include <bulkhead/actors/worker_shard.hpp>
#include <bulkhead/runtime/error.hpp>
#include <bulkhead/supervision/admin.hpp>

#include <memory>
#include <string>

namespace bulkhead::supervision {

class admin_listener {
 public:
  // Binds and serves. `time` outlives it, and so does all that the sources look at.
  [[nodiscard]] static result<std::unique_ptr<admin_listener>> open(const std::string& where,
                                                                    const runtime::clock& time,
                                                                    const std::string& server_name,
                                                                    admin_sources sources);
  admin_listener(const admin_listener&) = delete;
  admin_listener& operator=(const admin_listener&) = delete;

  // With the port that the kernel chose.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  void stop_and_join() { shard_->stop_and_join(); }

 private:
  admin_listener() = default;

  std::string address_;
  actors::admission admissions_{64};
  std::unique_ptr<actors::worker_shard> shard_;
};

}  // namespace bulkhead::supervision
