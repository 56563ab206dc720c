// The frozen SSL_CTX of a context, and what its callbacks read: for the sources of tls/ alone.
//
// OpenSSL reads these callbacks and the cipher lists live from the SSL_CTX, so nothing here
// changes once make() has returned.
#pragma once

#include <bulkhead/tls/configuration_parts.hpp>
#include <bulkhead/tls/native.hpp>
#include <bulkhead/tls/ticket_keys.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>

namespace bulkhead::tls {

struct context::native {
  ssl_ctx_ptr ctx;
  const configuration::parts* parts = nullptr;  // owned by the context's configuration
  std::shared_ptr<ticket_key_ring> keys;
  cipher_ptr ticket_cipher;    // fetched once: a fetch by name takes locks
  std::string alpn_protocols;  // as on the wire: a length octet before each

  // Each step of make(); empty, or what OpenSSL refused.
  [[nodiscard]] std::optional<error> set_policy();
  [[nodiscard]] std::optional<error> set_default_identity();
  [[nodiscard]] std::optional<error> set_client_authorities();
  void set_callbacks();

  // How SSL_set_verify takes a mode.
  [[nodiscard]] static int verify_flags(client_auth mode) noexcept;

  // -- OpenSSL's callbacks; each runs on the session's thread, inside its SSL_do_handshake -------
  static int on_server_name(SSL* ssl, int* alert, void* self) noexcept;
  static int on_certificate(SSL* ssl, void* self) noexcept;
  static int on_alpn(SSL* ssl, const unsigned char** out, unsigned char* out_size,
                     const unsigned char* in, unsigned in_size, void* self) noexcept;
  static int on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                       EVP_MAC_CTX* mac, int encrypt) noexcept;

 private:
  [[nodiscard]] std::optional<std::size_t> named_identity(SSL* ssl) const;
};

}  // namespace bulkhead::tls
