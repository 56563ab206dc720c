// Makes the TLS 1.3 records that no honest client sends, from a client's traffic secret.
#pragma once

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace bulkhead::tests {

// For TLS_AES_128_GCM_SHA256, after the handshake, while the client itself sends nothing.
class record_forge {
 public:
  // `secret`: CLIENT_TRAFFIC_SECRET_0, 32 bytes.
  explicit record_forge(std::string_view secret)
      : key_(expand(secret, "key", 16)), iv_(expand(secret, "iv", 12)) {}

  // RFC 8446 section 5.2: `type` goes inside, after the content.
  [[nodiscard]] std::string seal(std::string content, char type) {
    content += type;
    const std::size_t size = content.size() + 16;
    std::string record("\x17\x03\x03", 3);
    record += static_cast<char>(size >> 8U);
    record += static_cast<char>(size & 0xffU);
    std::string nonce = iv_;
    for (unsigned i = 0; i < 8; ++i)
      nonce[11 - i] = static_cast<char>(static_cast<unsigned char>(nonce[11 - i]) ^
                                        ((sequence_ >> (8U * i)) & 0xffU));
    ++sequence_;
    const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> c(EVP_CIPHER_CTX_new(),
                                                                       &EVP_CIPHER_CTX_free);
    std::string sealed(size, '\0');
    int n = 0;
    EVP_EncryptInit_ex(c.get(), EVP_aes_128_gcm(), nullptr, octets(key_), octets(nonce));
    EVP_EncryptUpdate(c.get(), nullptr, &n, octets(record), 5);
    auto* out = reinterpret_cast<unsigned char*>(sealed.data());
    EVP_EncryptUpdate(c.get(), out, &n, octets(content), static_cast<int>(content.size()));
    EVP_EncryptFinal_ex(c.get(), out + n, &n);
    EVP_CIPHER_CTX_ctrl(c.get(), EVP_CTRL_AEAD_GET_TAG, 16, out + content.size());
    return record + sealed;
  }

 private:
  static const unsigned char* octets(const std::string& text) {
    return reinterpret_cast<const unsigned char*>(text.data());
  }
  // HKDF-Expand-Label without context, for at most one block (RFC 8446 section 7.1).
  static std::string expand(std::string_view secret, std::string_view label, std::size_t size) {
    std::string info{'\0', static_cast<char>(size), static_cast<char>(label.size() + 6)};
    info += "tls13 ";
    info += label;
    info += std::string("\0\1", 2);
    std::array<unsigned char, 32> block{};
    HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), octets(info), info.size(),
         block.data(), nullptr);
    return {reinterpret_cast<const char*>(block.data()), size};
  }

  std::string key_, iv_;
  std::uint64_t sequence_ = 0;
};

}  // namespace bulkhead::tests
