// What all connections of one shard share: its loop, its handlers, its counters, scratch memory.
//
// Lives on the shard. Connections hold a reference; it outlives them.
#pragma once

#include <bulkhead/actors/counters.hpp>
#include <bulkhead/actors/dispatcher.hpp>
#include <bulkhead/actors/exchange.hpp>
#include <bulkhead/actors/output.hpp>
#include <bulkhead/actors/settings.hpp>
#include <bulkhead/http/request_parser.hpp>
#include <bulkhead/http/serializer.hpp>
#include <bulkhead/runtime/shard.hpp>
#include <bulkhead/tls/configuration.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bulkhead::actors {

struct environment {
  environment(runtime::shard& on, const connection_settings& s, dispatcher& handlers_,
              std::string server_name)
      : shard(on), settings(s), handlers(handlers_), serializer(std::move(server_name)) {}

  runtime::shard& shard;
  connection_settings settings;
  dispatcher& handlers;
  http::serializer serializer;
  shard_counters counters;
  exchange_pool exchanges;
  // Parsers between two requests: an idle connection holds none.
  std::vector<std::unique_ptr<http::request_parser>> parsers;
  static constexpr std::size_t parsers_kept = 64;
  // What the next TLS session gets; replaced whole by a rotation.
  std::shared_ptr<const tls::context> tls;
  std::uint32_t pending_handshakes = 0;
  bool draining = false;
  std::uint64_t next_request_id = 0;

  // The wall clock, at most 100 ms old: for the Date field, without a clock read a response.
  [[nodiscard]] runtime::wall_time wall() noexcept {
    if (shard.now() - wall_read_ >= runtime::milliseconds(100)) {
      wall_ = shard.time().wall();
      wall_read_ = shard.now();
    }
    return wall_;
  }

  // -- scratch of the connection whose turn it is
  bool busy = false;  // a connection's turn is on: another one's answer waits for the loop
  turn_output output;
  std::array<std::byte, 16384 + 512> plaintext;

 private:
  runtime::steady_time wall_read_{};
  runtime::wall_time wall_{};
};

}  // namespace bulkhead::actors
