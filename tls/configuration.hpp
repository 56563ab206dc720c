// An immutable, validated TLS configuration, and its frozen per-shard form.
//
// `configuration` is a value that any thread may hold. `context` is one SSL_CTX made from it for
// one shard, never changed after it is made: SSL_new copies it, so that each session's
// configuration is private (what OpenSSL reads live from an SSL_CTX is in docs/tls.md).
#pragma once

#include <bulkhead/runtime/error.hpp>
#include <bulkhead/tls/options.hpp>
#include <bulkhead/tls/ticket_keys.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bulkhead::tls {

class session;

class configuration {
 public:
  // Reads every file and checks it: chain and key belong together, the CA file holds a CA, names
  // are known. Errors name the file and what to do; secrets are in none of them. Any thread.
  [[nodiscard]] static result<std::shared_ptr<const configuration>> load(const options& o);

  ~configuration();
  configuration(const configuration&) = delete;
  configuration& operator=(const configuration&) = delete;

  [[nodiscard]] const options& source() const noexcept;
  // SHA-256 over the content of all files and options: equal for configurations that are the same.
  [[nodiscard]] const std::string& digest() const noexcept;
  // "CN=..., expires 2027-01-31" of each identity, for logs.
  [[nodiscard]] std::vector<std::string> describe() const;
  // RFC 8446 section 4.6.1 leaves it to the server which tickets it honours. A ticket is only
  // honoured under the same client-auth policy: mode and CA set are hashed into the session-id
  // context, or a ticket issued without client authentication would pass one that requires it.
  [[nodiscard]] const std::string& ticket_fence() const noexcept;

 private:
  friend class context;
  struct parts;
  explicit configuration(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;
};

class context {
 public:
  // Makes the frozen SSL_CTX (about 130 us): on the thread that loads, not on the shard. Ticket
  // keys are shared on purpose: without that, resumption would work only on the same shard.
  [[nodiscard]] static result<std::shared_ptr<const context>> make(
      std::shared_ptr<const configuration> of, std::shared_ptr<ticket_key_ring> keys);

  ~context();
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  [[nodiscard]] const configuration& of() const noexcept { return *configuration_; }

 private:
  friend class session;
  struct native;  // SSL_CTX and what its callbacks need
  context(std::shared_ptr<const configuration> of, std::unique_ptr<native> n);
  std::shared_ptr<const configuration> configuration_;
  std::unique_ptr<native> native_;
};

}  // namespace bulkhead::tls
