#include <bulkhead/tls/native.hpp>
#include <bulkhead/tls/ticket_keys.hpp>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <stdexcept>

namespace bulkhead::tls {

namespace {

// Null when the machine gives no random bytes.
std::shared_ptr<const ticket_key> make_key(runtime::steady_time now) {
  auto key = std::make_shared<ticket_key>();
  key->made = now;
  const auto fill = [](auto& bytes) {
    return RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1;
  };
  if (fill(key->name) && fill(key->aes) && fill(key->hmac)) return key;
  ERR_clear_error();
  return nullptr;
}

}  // namespace

ticket_key::~ticket_key() {
  OPENSSL_cleanse(aes.data(), aes.size());
  OPENSSL_cleanse(hmac.data(), hmac.size());
}

ticket_key_ring::ticket_key_ring(runtime::steady_time now, std::size_t keep)
    : keep_(std::max<std::size_t>(keep, 1)) {
  auto first = make_key(now);
  if (first == nullptr) throw std::runtime_error("session-ticket keys: no random bytes");
  keys_ = std::make_shared<const keys>(keys{std::move(first)});
}

void ticket_key_ring::rotate(runtime::steady_time now) {
  auto newest = make_key(now);
  if (newest == nullptr) return;  // an old key is better than none; the next call tries again
  const std::scoped_lock lock(mutex_);
  keys next{std::move(newest)};
  for (const auto& key : *keys_)
    if (next.size() < keep_) next.push_back(key);
  keys_ = std::make_shared<const keys>(std::move(next));
}

std::shared_ptr<const ticket_key_ring::keys> ticket_key_ring::snapshot() const {
  const std::scoped_lock lock(mutex_);
  return keys_;
}

}  // namespace bulkhead::tls
