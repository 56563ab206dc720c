#include <bulkhead/tls/context_native.hpp>

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <cstring>

namespace bulkhead::tls {

namespace {

// Where on_ticket(), which OpenSSL gives no argument, finds its context.
int self_index() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

bool set_mac_key(EVP_MAC_CTX* mac, const ticket_key& key) {
  std::array<char, 7> digest{"SHA256"};
  std::array<unsigned char, 32> secret = key.hmac;
  const std::array<OSSL_PARAM, 3> parameters = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, secret.data(), secret.size()),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_end()};
  const bool set = EVP_MAC_CTX_set_params(mac, parameters.data()) == 1;
  OPENSSL_cleanse(secret.data(), secret.size());
  return set;
}

}  // namespace

void context::native::set_callbacks() {
  SSL_CTX* c = ctx.get();
  SSL_CTX_set_ex_data(c, self_index(), this);
  // The macro for this casts as C does.
  SSL_CTX_callback_ctrl(c, SSL_CTRL_SET_TLSEXT_SERVERNAME_CB,
                        reinterpret_cast<void (*)()>(on_server_name));
  SSL_CTX_set_tlsext_servername_arg(c, this);
  if (parts->identities.size() > 1) SSL_CTX_set_cert_cb(c, on_certificate, this);
  if (keys != nullptr) SSL_CTX_set_tlsext_ticket_key_evp_cb(c, on_ticket);
  for (const std::string& protocol : parts->source.alpn) {
    alpn_protocols += static_cast<char>(protocol.size());
    alpn_protocols += protocol;
  }
  if (!alpn_protocols.empty()) SSL_CTX_set_alpn_select_cb(c, on_alpn, this);
}

std::optional<std::size_t> context::native::named_identity(SSL* ssl) const {
  const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (name == nullptr) return std::nullopt;
  return parts->names.find(name);
}

// RFC 6066 section 3: a server that uses the name says so; one that falls back to its default
// certificate does not.
int context::native::on_server_name(SSL* ssl, int*, void* self) noexcept {
  const bool known = static_cast<const native*>(self)->named_identity(ssl).has_value();
  return known ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

int context::native::on_certificate(SSL* ssl, void* self) noexcept {
  const auto& n = *static_cast<const native*>(self);
  const std::size_t chosen = n.named_identity(ssl).value_or(0);
  if (chosen == 0) return 1;  // in place already, copied from the SSL_CTX
  const identity& one = n.parts->identities[chosen];
  // Otherwise the default stays in the slot of another kind of key, and may be preferred.
  SSL_certs_clear(ssl);
  return SSL_use_cert_and_key(ssl, one.leaf.get(), one.key.get(), one.chain.get(), 1);
}

int context::native::on_alpn(SSL*, const unsigned char** out, unsigned char* out_size,
                             const unsigned char* in, unsigned in_size, void* self) noexcept {
  const std::string& ours = static_cast<const native*>(self)->alpn_protocols;
  unsigned char* chosen = nullptr;
  // "server" is the list whose order counts.
  const int outcome =
      SSL_select_next_proto(&chosen, out_size, reinterpret_cast<const unsigned char*>(ours.data()),
                            static_cast<unsigned>(ours.size()), in, in_size);
  if (outcome != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

// Encrypting: 1, or 0 for no ticket. Decrypting: 0 for a full handshake, 1 to resume, 2 to resume
// and send a new ticket. RFC 8446 section C.4 wants each ticket used once, so TLS 1.3 always
// renews: without, a client that obeys would fall back to full handshakes.
int context::native::on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv,
                               EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, int encrypt) noexcept {
  const auto* n =
      static_cast<const native*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), self_index()));
  if (n == nullptr) return 0;
  const auto ring = n->keys->snapshot();
  if (encrypt != 0) {
    const ticket_key& newest = *ring->front();
    if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(n->ticket_cipher.get())) != 1) return 0;
    std::memcpy(name, newest.name.data(), newest.name.size());
    return static_cast<int>(
        EVP_EncryptInit_ex(cipher, n->ticket_cipher.get(), nullptr, newest.aes.data(), iv) == 1 &&
        set_mac_key(mac, newest));
  }
  for (const auto& key : *ring) {
    if (std::memcmp(name, key->name.data(), key->name.size()) != 0) continue;
    if (EVP_DecryptInit_ex(cipher, n->ticket_cipher.get(), nullptr, key->aes.data(), iv) != 1 ||
        !set_mac_key(mac, *key))
      return 0;
    return SSL_version(ssl) == TLS1_3_VERSION || key != ring->front() ? 2 : 1;
  }
  return 0;
}

}  // namespace bulkhead::tls
