// OpenSSL's objects as owned values, for the sources of tls/ alone: no header that others include
// includes this one.
#pragma once

#include <bulkhead/tls/options.hpp>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bulkhead::tls {

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};
inline void free_certificates(STACK_OF(X509) * chain) noexcept {
  sk_X509_pop_free(chain, X509_free);
}

using bio_ptr = std::unique_ptr<BIO, freed_by<BIO_free>>;
using cipher_ptr = std::unique_ptr<EVP_CIPHER, freed_by<EVP_CIPHER_free>>;
using digest_ptr = std::unique_ptr<EVP_MD_CTX, freed_by<EVP_MD_CTX_free>>;
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<X509_free>>;
using certificates_ptr = std::unique_ptr<STACK_OF(X509), freed_by<free_certificates>>;
using ssl_ptr = std::unique_ptr<SSL, freed_by<SSL_free>>;
using ssl_ctx_ptr = std::unique_ptr<SSL_CTX, freed_by<SSL_CTX_free>>;

// Why the last OpenSSL call failed, from its fixed texts only: no file content, no secret. Empties
// the thread's error queue, so that the next call is not blamed for it.
[[nodiscard]] std::string take_reason();

// SHA-256 over fields; each is preceded by its length, so that fields cannot run into each other.
class field_digest {
 public:
  field_digest();  // throws std::bad_alloc
  field_digest& add(std::string_view field);
  field_digest& add(std::uint64_t number);
  [[nodiscard]] std::string finish();  // 32 bytes

 private:
  digest_ptr state_;
};

[[nodiscard]] constexpr int native_version(version v) noexcept {
  return v == version::tls1_2 ? TLS1_2_VERSION : TLS1_3_VERSION;
}

enum class letter_case : std::uint8_t { lower, upper };
[[nodiscard]] std::string hexadecimal(std::string_view bytes, letter_case letters);

// "CN=alice,O=Example" (RFC 2253).
[[nodiscard]] std::string name_text(const X509_NAME* name);
// The values of one kind (GEN_DNS, GEN_EMAIL, GEN_URI) in the subjectAltName.
[[nodiscard]] std::vector<std::string> alternative_names(const X509* certificate, int kind);

}  // namespace bulkhead::tls
