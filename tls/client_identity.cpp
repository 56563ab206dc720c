#include <bulkhead/tls/client_identity.hpp>

#include <openssl/bn.h>
#include <openssl/x509v3.h>

namespace bulkhead::tls {

namespace {

std::string serial_text(const X509* certificate) {
  const ASN1_INTEGER* serial = X509_get0_serialNumber(certificate);
  const std::unique_ptr<BIGNUM, freed_by<BN_free>> number(ASN1_INTEGER_to_BN(serial, nullptr));
  if (number == nullptr) return {};
  char* text = BN_bn2hex(number.get());
  std::string copy = text != nullptr ? text : "";
  OPENSSL_free(text);
  return copy;
}

std::string fingerprint(const X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> print{};
  unsigned size = 0;
  if (X509_digest(certificate, EVP_sha256(), print.data(), &size) != 1) return {};
  return hexadecimal({reinterpret_cast<const char*>(print.data()), size}, letter_case::lower);
}

}  // namespace

std::shared_ptr<const client_identity> verified_client(const SSL* ssl) {
  if ((SSL_get_verify_mode(ssl) & SSL_VERIFY_PEER) == 0) return nullptr;
  const X509* certificate = SSL_get0_peer_certificate(ssl);
  if (certificate == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) return nullptr;
  auto who = std::make_shared<client_identity>();
  who->subject = name_text(X509_get_subject_name(certificate));
  who->issuer = name_text(X509_get_issuer_name(certificate));
  who->serial = serial_text(certificate);
  who->sha256 = fingerprint(certificate);
  who->dns_names = alternative_names(certificate, GEN_DNS);
  who->emails = alternative_names(certificate, GEN_EMAIL);
  who->uris = alternative_names(certificate, GEN_URI);
  return who;
}

}  // namespace bulkhead::tls
