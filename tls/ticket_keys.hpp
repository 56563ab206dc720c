// Session-ticket keys of the process, rotated on schedule: newest encrypts, older ones decrypt.
//
// Shared by all shards and all configurations on purpose; any thread. RFC 5077 section 4.
#pragma once

#include <bulkhead/runtime/clock.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace bulkhead::tls {

struct ticket_key {
  std::array<std::uint8_t, 16> name{};
  std::array<std::uint8_t, 32> aes{};
  std::array<std::uint8_t, 32> hmac{};
  runtime::steady_time made{};
  ~ticket_key();  // wipes the secrets
};

class ticket_key_ring {
 public:
  // Immutable snapshot, newest first.
  using keys = std::vector<std::shared_ptr<const ticket_key>>;

  // `keep`: how many keys decrypt, the newest included; at least 1.
  explicit ticket_key_ring(runtime::steady_time now, std::size_t keep = 2);

  void rotate(runtime::steady_time now);
  [[nodiscard]] std::shared_ptr<const keys> snapshot() const;

 private:
  std::size_t keep_;
  mutable std::mutex mutex_;
  std::shared_ptr<const keys> keys_;
};

}  // namespace bulkhead::tls
