#include <bulkhead/tls/native.hpp>
#include <bulkhead/tls/options_check.hpp>

#include <cctype>
#include <new>

namespace bulkhead::tls {

namespace {

error wrong(std::string what) {
  return {error_category::configuration, std::move(what)};
}

std::vector<std::string> split(const std::string& list, const char* separators) {
  std::vector<std::string> items;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find_first_of(separators, at), list.size());
    if (end > at) items.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return items;
}

// OpenSSL skips unknown suites of a list without a word, so each is tried alone.
bool knows_suite(SSL_CTX* scratch, const std::string& name) {
  if (SSL_CTX_set_ciphersuites(scratch, name.c_str()) != 1) return false;
  const STACK_OF(SSL_CIPHER)* ciphers = SSL_CTX_get_ciphers(scratch);
  for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); ++i)
    if (name == SSL_CIPHER_get_name(sk_SSL_CIPHER_value(ciphers, i))) return true;
  return false;
}

result<void> check_names(const options& o) {
  const ssl_ctx_ptr scratch(SSL_CTX_new(TLS_server_method()));
  if (scratch == nullptr) throw std::bad_alloc();

  const auto suites = split(o.ciphersuites, ":");
  if (suites.empty() && o.max_version == version::tls1_3)
    return wrong("ciphersuites: the list is empty; name at least TLS_AES_128_GCM_SHA256");
  for (const std::string& suite : suites)
    if (!knows_suite(scratch.get(), suite))
      return wrong("ciphersuites: \"" + suite + "\" is unknown; see: openssl ciphers -s -tls1_3");
  // The list of TLS 1.2 is a small language; only its plain words can be unknown.
  for (const std::string& word : split(o.cipher_list, ": ,;"))
    if (std::isalnum(static_cast<unsigned char>(word.front())) != 0 &&
        SSL_CTX_set_cipher_list(scratch.get(), word.c_str()) != 1)
      return wrong("cipher_list: \"" + word + "\" matches no cipher; see: openssl ciphers -tls1_2");
  if (o.min_version == version::tls1_2 &&
      SSL_CTX_set_cipher_list(scratch.get(), o.cipher_list.c_str()) != 1)
    return wrong("cipher_list: \"" + o.cipher_list +
                 "\" leaves no cipher; see: openssl ciphers -tls1_2");
  if (SSL_CTX_set1_groups_list(scratch.get(), o.groups.c_str()) != 1) {
    for (const std::string& group : split(o.groups, ":"))
      if (SSL_CTX_set1_groups_list(scratch.get(), group.c_str()) != 1)
        return wrong("groups: \"" + group + "\" is unknown; known are X25519, P-256, P-384, P-521");
    return wrong("groups: \"" + o.groups + "\" is no list of groups; example: X25519:P-256");
  }
  return {};
}

}  // namespace

result<void> check(const options& o) {
  if (o.identities.empty())
    return wrong("no identity is given; name a certificate file and a key file");
  if (o.min_version > o.max_version)
    return wrong("min_version is above max_version; no client could connect");
  if (o.clients != client_auth::none && o.client_ca.empty())
    return wrong(
        "client certificates are asked for, but client_ca names no file; give the CA "
        "certificates that issue them");
  for (const std::string& protocol : o.alpn)
    if (protocol.empty() || protocol.size() > 255)
      return wrong("alpn: a protocol name has 1 to 255 bytes (RFC 7301 section 3.1)");
  if (o.tickets > 16) return wrong("tickets: more than 16 a handshake only waste time");
  if (o.ticket_lifetime < std::chrono::seconds(1) || o.ticket_lifetime > std::chrono::hours(168))
    return wrong("ticket_lifetime: must be between 1 second and 7 days (RFC 8446 section 4.6.1)");
  auto known = check_names(o);
  ERR_clear_error();
  return known;
}

}  // namespace bulkhead::tls
