#include <bulkhead/tls/context_native.hpp>

#include <openssl/x509v3.h>

#include <new>

namespace bulkhead::tls {

namespace {

error refused(const std::string& what) {
  return {error_category::configuration, what + ": OpenSSL refuses it (" + take_reason() + ")"};
}

}  // namespace

context::context(std::shared_ptr<const configuration> of, std::unique_ptr<native> n)
    : configuration_(std::move(of)), native_(std::move(n)) {}
context::~context() = default;

result<std::shared_ptr<const context>> context::make(std::shared_ptr<const configuration> of,
                                                     std::shared_ptr<ticket_key_ring> keys) {
  auto n = std::make_unique<native>();
  n->parts = of->parts_.get();
  n->keys = std::move(keys);
  n->ctx.reset(SSL_CTX_new(TLS_server_method()));
  n->ticket_cipher.reset(EVP_CIPHER_fetch(nullptr, "AES-256-CBC", nullptr));
  if (n->ctx == nullptr || n->ticket_cipher == nullptr) {
    ERR_clear_error();
    throw std::bad_alloc();
  }
  if (auto why = n->set_policy()) return *why;
  if (auto why = n->set_default_identity()) return *why;
  if (auto why = n->set_client_authorities()) return *why;
  n->set_callbacks();
  // The first SSL_new of a context fills caches: let no client wait for that.
  const ssl_ptr warm_up(SSL_new(n->ctx.get()));
  if (warm_up == nullptr) return refused("TLS configuration");
  ERR_clear_error();
  return std::shared_ptr<const context>(new context(std::move(of), std::move(n)));
}

std::optional<error> context::native::set_policy() {
  const options& o = parts->source;
  SSL_CTX* c = ctx.get();
  SSL_CTX_set_options(
      c, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_COMPRESSION);
  // RELEASE_BUFFERS: an idle session holds no 16 KiB buffers. NO_AUTO_CHAIN: a chain of only a
  // leaf would otherwise be searched and verified in every handshake.
  SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                          SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_read_ahead(c, 0);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_early_data(c, 0);  // RFC 8446 section 8: 0-RTT data can be replayed

  if (SSL_CTX_set_min_proto_version(c, native_version(o.min_version)) != 1 ||
      SSL_CTX_set_max_proto_version(c, native_version(o.max_version)) != 1)
    return refused("versions");
  if (o.max_version == version::tls1_3 && SSL_CTX_set_ciphersuites(c, o.ciphersuites.c_str()) != 1)
    return refused("ciphersuites \"" + o.ciphersuites + "\"");
  if (o.min_version == version::tls1_2 && SSL_CTX_set_cipher_list(c, o.cipher_list.c_str()) != 1)
    return refused("cipher_list \"" + o.cipher_list + "\"");
  if (SSL_CTX_set1_groups_list(c, o.groups.c_str()) != 1)
    return refused("groups \"" + o.groups + "\"");

  const unsigned tickets = keys == nullptr ? 0 : o.tickets;
  SSL_CTX_set_num_tickets(c, tickets);
  if (tickets == 0) SSL_CTX_set_options(c, SSL_OP_NO_TICKET);
  SSL_CTX_set_timeout(c, static_cast<long>(o.ticket_lifetime.count()));
  return std::nullopt;
}

std::optional<error> context::native::set_default_identity() {
  const auto use = [](auto set, auto* object, const identity& one) {
    return set(object, one.leaf.get(), one.key.get(), one.chain.get(), 1) == 1;
  };
  for (std::size_t i = 0; i < parts->identities.size(); ++i) {
    const identity& one = parts->identities[i];
    const std::string name = "certificate file " + parts->source.identities[i].certificate;
    if (i == 0) {
      if (!use(SSL_CTX_use_cert_and_key, ctx.get(), one)) return refused(name);
      continue;
    }
    // Set within a handshake when a client names them: what could fail there fails here.
    const ssl_ptr trial(SSL_new(ctx.get()));
    if (trial == nullptr || !use(SSL_use_cert_and_key, trial.get(), one)) return refused(name);
  }
  return std::nullopt;
}

std::optional<error> context::native::set_client_authorities() {
  const client_auth mode = parts->source.clients;
  SSL_CTX* c = ctx.get();
  SSL_CTX_set_verify(c, verify_flags(mode), nullptr);
  SSL_CTX_set_verify_depth(c, 8);
  const std::string& fence = parts->fences[static_cast<std::size_t>(mode)];
  if (SSL_CTX_set_session_id_context(c, reinterpret_cast<const unsigned char*>(fence.data()),
                                     static_cast<unsigned>(fence.size())) != 1 ||
      SSL_CTX_set_purpose(c, X509_PURPOSE_SSL_CLIENT) != 1)
    return refused("client authentication");
  // What the file holds is trusted, be it a root or not (RFC 5280 section 6.1.1).
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(c), X509_V_FLAG_PARTIAL_CHAIN);

  X509_STORE* trusted = SSL_CTX_get_cert_store(c);
  for (const auto& authority : parts->client_authorities)
    if (X509_STORE_add_cert(trusted, authority.get()) != 1 ||
        SSL_CTX_add_client_CA(c, authority.get()) != 1)
      return refused("client CA file " + parts->source.client_ca);
  return std::nullopt;
}

int context::native::verify_flags(client_auth mode) noexcept {
  switch (mode) {
    case client_auth::none:
      return SSL_VERIFY_NONE;
    case client_auth::optional:
      return SSL_VERIFY_PEER;
    case client_auth::required:
      break;
  }
  return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
}

}  // namespace bulkhead::tls
