#include <bulkhead/tls/native.hpp>

#include <openssl/x509v3.h>

#include <new>
#include <vector>

namespace bulkhead::tls {

std::string take_reason() {
  // The oldest entry is the cause, those after it say which callers passed it on. But what TLS
  // makes of a cause below it says more: "bad record mac", not "cipher operation failed".
  unsigned long chosen = 0;
  while (const unsigned long next = ERR_get_error())
    if (chosen == 0 || (ERR_GET_LIB(next) == ERR_LIB_SSL && ERR_GET_LIB(chosen) != ERR_LIB_SSL))
      chosen = next;
  if (chosen == 0) return "unknown reason";
  if (ERR_SYSTEM_ERROR(chosen)) return "system error";
  const char* reason = ERR_reason_error_string(chosen);
  return reason != nullptr ? reason : "error " + std::to_string(ERR_GET_REASON(chosen));
}

field_digest::field_digest() : state_(EVP_MD_CTX_new()) {
  if (state_ == nullptr || EVP_DigestInit_ex(state_.get(), EVP_sha256(), nullptr) != 1)
    throw std::bad_alloc();
}

field_digest& field_digest::add(std::string_view field) {
  const std::uint64_t size = field.size();
  EVP_DigestUpdate(state_.get(), &size, sizeof size);
  EVP_DigestUpdate(state_.get(), field.data(), field.size());
  return *this;
}

field_digest& field_digest::add(std::uint64_t number) {
  EVP_DigestUpdate(state_.get(), &number, sizeof number);
  return *this;
}

std::string field_digest::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned size = 0;
  EVP_DigestFinal_ex(state_.get(), out.data(), &size);
  return {out.begin(), out.begin() + size};
}

std::string hexadecimal(std::string_view bytes, letter_case letters) {
  const char* digits = letters == letter_case::lower ? "0123456789abcdef" : "0123456789ABCDEF";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

std::string name_text(const X509_NAME* name) {
  const bio_ptr out(BIO_new(BIO_s_mem()));
  if (out == nullptr) throw std::bad_alloc();
  // RFC 2253 escapes what could be mistaken for syntax, but leaves UTF-8 readable.
  X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::vector<std::string> alternative_names(const X509* certificate, int kind) {
  std::vector<std::string> values;
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  const std::unique_ptr<GENERAL_NAMES, freed_by<GENERAL_NAMES_free>> owner(names);
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type != kind) continue;
    // dNSName, rfc822Name and URI are all IA5String. A NUL inside would let two readers see two
    // different names: such a value is no name.
    const auto size = static_cast<std::size_t>(ASN1_STRING_length(name->d.ia5));
    const std::string_view text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.ia5)),
                                size);
    if (text.find('\0') == std::string_view::npos) values.emplace_back(text);
  }
  return values;
}

}  // namespace bulkhead::tls
