// All serving shards of a server with what they share: addresses, admissions, the TLS store.
//
// Lives on the server's control thread; counters() and ready() on any.
#pragma once

#include <bulkhead/actors/actor_runtime.hpp>
#include <bulkhead/actors/counters.hpp>
#include <bulkhead/actors/serving_shard.hpp>
#include <bulkhead/actors/settings.hpp>
#include <bulkhead/runtime/endpoint.hpp>
#include <bulkhead/runtime/error.hpp>
#include <bulkhead/runtime/shard.hpp>
#include <bulkhead/tls/configuration_store.hpp>
#include <bulkhead/tls/options.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace bulkhead::actors {

enum class serving_mode : std::uint8_t {
  actor,   // connections are actors under supervision
  worker,  // the twin: plain objects, no supervision; the first trap ends the process
};

class serving_group {
 public:
  struct options {
    std::vector<runtime::endpoint> secure;
    std::vector<runtime::endpoint> plain;
    tls::options tls;  // needed when `secure` is not empty
    serving_mode mode = serving_mode::actor;
    unsigned shards = 1;
    bool own_openssl_memory = true;
    std::uint32_t capacity = 10'000;  // connections of all shards together
    connection_settings connections;
    std::string server_name;
    runtime::milliseconds certificate_check = runtime::seconds(1);
    std::function<std::unique_ptr<dispatcher>(unsigned shard)> make_dispatcher;
    // A connection died of a defect of ours. On its shard's thread.
    std::function<void(unsigned shard, const std::string& why)> on_connection_fault;
  };

  // `actors` is null in worker mode. Binds every address and loads the TLS identity; nothing
  // serves yet.
  [[nodiscard]] static result<std::unique_ptr<serving_group>> open(options o,
                                                                   runtime::shard& control,
                                                                   actor_runtime* actors);
  ~serving_group();

  void start();
  // Reads the TLS files again, as on SIGHUP.
  void reload();
  // Stops accepting, answers what is in flight, closes; cuts off what is left after `limit`.
  // `done` is called on the control shard.
  void drain(runtime::milliseconds limit, std::function<void()> done);
  void stop_and_join();
  // The same, but gives up after `limit`: false when a shard's thread never came back. The group
  // must then be left alone for ever.
  [[nodiscard]] bool stop_within(runtime::milliseconds limit);
  // The drain ran out of time.
  [[nodiscard]] bool cut_off() const noexcept;

  // With the ports that the kernel chose: secure ones first.
  [[nodiscard]] std::vector<std::string> addresses() const;
  [[nodiscard]] counters_snapshot counters() const;
  [[nodiscard]] const std::vector<std::unique_ptr<serving_shard>>& shards() const noexcept {
    return shards_;
  }
  [[nodiscard]] const tls::configuration_store* store() const noexcept { return store_.get(); }

 private:
  serving_group(options o, runtime::shard& control);
  void remove_unix_sockets() noexcept;
  void crowd_left() noexcept;

  options options_;
  runtime::shard& control_;
  admission admissions_;
  std::unique_ptr<tls::configuration_store> store_;
  std::vector<runtime::endpoint> bound_;
  std::vector<std::unique_ptr<serving_shard>> shards_;
  runtime::timer trim_timer_;
  unsigned draining_ = 0;
};

}  // namespace bulkhead::actors
