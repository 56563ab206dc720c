// What a server is made of. Behaviour first, then performance; every field has a default that
// suits a server on the open network.
#pragma once

#include <bulkhead/actors/settings.hpp>
#include <bulkhead/tls/options.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace bulkhead::supervision {

enum class mode : std::uint8_t {
  actor,   // connections are actors, handlers are supervised: what this library is for
  worker,  // the matched baseline: no actors, no supervision; the first trap ends the process
};

struct server_options {
  // -- behaviour

  // HTTPS addresses: "127.0.0.1:8443", "[::1]:8443", "*:443", "unix:/run/x.sock"; port 0 is chosen
  // by the kernel, see server::addresses().
  std::vector<std::string> listen = {};
  // HTTP without TLS: behind a proxy that ends TLS, or on a Unix socket.
  std::vector<std::string> plain_listen = {};
  // Liveness, readiness, metrics, faults and the tree, in plain HTTP. Keep it on loopback: it asks
  // nobody who they are.
  std::string admin_listen = {};
  tls::options tls = {};
  supervision::mode mode = supervision::mode::actor;
  actors::connection_settings connections = {};
  // Connections of all shards together; over: refused with an alert or a 503, and counted.
  std::uint32_t capacity = 10'000;
  // How long a stop waits for requests that are in flight.
  std::chrono::milliseconds drain_limit = std::chrono::seconds(30);
  // How long the control loop may be silent before /live says that it hangs. Longer than what the
  // slowest disk with certificates may take: who reads /live kills the process.
  std::chrono::milliseconds liveness_limit = std::chrono::seconds(10);
  // Threads that handlers which overran their child_spec::deadline may hold at once. Each is
  // replaced until there are so many; then the routes that have such handlers answer 503 and
  // ready() is false, until one comes back. At least 1.
  std::uint32_t abandoned_threads = 64;
  // A shard that is held up by one thing for so long is reported: an inline handler that blocks
  // keeps all connections of its shard waiting. 0: nobody looks.
  std::chrono::milliseconds stall_threshold{25};
  // How often the certificate files are looked at.
  std::chrono::milliseconds certificate_check = std::chrono::seconds(1);
  // SIGTERM and SIGINT stop, SIGHUP reloads. Off: the program that embeds us sees to it.
  bool handle_signals = true;
  // The Server field; empty leaves it out.
  std::string server_name = "Bulkhead";

  // -- performance

  unsigned threads = 0;          // shards; 0: one a core
  unsigned handler_threads = 0;  // for placement actor; 0: one a core
  // OpenSSL's allocations come from slabs of ours, in the whole process: cheaper handshakes, and
  // memory that stays flat after a peak. Has no effect when the program used OpenSSL before.
  bool own_openssl_memory = true;
};

}  // namespace bulkhead::supervision
