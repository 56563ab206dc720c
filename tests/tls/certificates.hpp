// Certificates made while a test runs: an authority and what it issues, ECDSA P-256, no files in
// the tree that could expire. Also a directory that goes with its test.
#pragma once

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bulkhead::tests {

class temporary_directory {
 public:
  temporary_directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "bulkhead-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = pattern;
  }
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const { return (path_ / name).string(); }
  // Writes in place, over what is there; answers the path.
  std::string write(std::string_view name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary | std::ios::trunc) << text;
    return file(name);
  }
  // Replaces by rename, as careful tools do.
  std::string replace(std::string_view name, std::string_view text) const {
    write(std::string(name) + ".new", text);
    std::filesystem::rename(path_ / (std::string(name) + ".new"), path_ / name);
    return file(name);
  }

 private:
  std::filesystem::path path_;
};

// A certificate with its key.
struct credential {
  std::shared_ptr<X509> certificate;
  std::shared_ptr<EVP_PKEY> key;

  [[nodiscard]] std::string certificate_pem() const {
    return pem([&](BIO* out) { return PEM_write_bio_X509(out, certificate.get()); });
  }
  [[nodiscard]] std::string key_pem() const {
    return pem([&](BIO* out) {
      return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }
  [[nodiscard]] std::string encrypted_key_pem(std::string pass_phrase) const {
    return pem([&](BIO* out) {
      return PEM_write_bio_PrivateKey(out, key.get(), EVP_aes_256_cbc(), nullptr, 0, nullptr,
                                      pass_phrase.data());
    });
  }

 private:
  template <class Write>
  static std::string pem(Write write) {
    const std::unique_ptr<BIO, int (*)(BIO*)> out(BIO_new(BIO_s_mem()), &BIO_free);
    if (write(out.get()) != 1) throw std::runtime_error("PEM");
    char* data = nullptr;
    const long size = BIO_get_mem_data(out.get(), &data);
    return {data, static_cast<std::size_t>(size)};
  }
};

struct certificate_request {
  std::string common_name = "server.test";
  std::string organisation;  // left out when empty
  // As in openssl.cnf: "DNS:server.test,email:a@b.test,URI:spiffe://x". Left out when empty.
  std::string alternative_names = "DNS:server.test";
  std::string usage = "serverAuth";  // extendedKeyUsage; left out when empty
  bool authority = false;
  int from_days = -1;
  int until_days = 30;
};

// Self-signed when `issuer` is null.
[[nodiscard]] inline credential issue(const certificate_request& wanted, const credential* issuer) {
  static std::atomic<long> next_serial{0x1001};
  credential made;
  made.key.reset(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  made.certificate.reset(X509_new(), &X509_free);
  X509* x = made.certificate.get();
  X509_set_version(x, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(x), next_serial++);
  X509_gmtime_adj(X509_getm_notBefore(x), wanted.from_days * 86400L);
  X509_gmtime_adj(X509_getm_notAfter(x), wanted.until_days * 86400L);
  X509_set_pubkey(x, made.key.get());
  const std::unique_ptr<X509_NAME, void (*)(X509_NAME*)> name(X509_NAME_new(), &X509_NAME_free);
  const auto add_name = [&](const char* field, const std::string& value) {
    if (value.empty()) return;
    X509_NAME_add_entry_by_txt(name.get(), field, MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(value.data()),
                               static_cast<int>(value.size()), -1, 0);
  };
  add_name("O", wanted.organisation);
  add_name("CN", wanted.common_name);
  X509_set_subject_name(x, name.get());
  X509* by = issuer != nullptr ? issuer->certificate.get() : x;
  X509_set_issuer_name(x, X509_get_subject_name(by));

  X509V3_CTX context;
  X509V3_set_ctx(&context, by, x, nullptr, nullptr, 0);
  const auto add_extension = [&](int kind, const std::string& value) {
    if (value.empty()) return;
    X509_EXTENSION* made_extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    if (made_extension == nullptr) throw std::runtime_error("extension " + value);
    X509_add_ext(x, made_extension, -1);
    X509_EXTENSION_free(made_extension);
  };
  add_extension(NID_basic_constraints, wanted.authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (wanted.authority) add_extension(NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(NID_subject_key_identifier, "hash");
  if (!wanted.authority) {
    add_extension(NID_ext_key_usage, wanted.usage);
    add_extension(NID_subject_alt_name, wanted.alternative_names);
  }
  X509_sign(x, issuer != nullptr ? issuer->key.get() : made.key.get(), EVP_sha256());
  return made;
}

[[nodiscard]] inline credential make_authority(const std::string& common_name) {
  certificate_request wanted;
  wanted.common_name = common_name;
  wanted.authority = true;
  return issue(wanted, nullptr);
}

[[nodiscard]] inline credential issue_server(const credential& authority, const std::string& name) {
  certificate_request wanted;
  wanted.common_name = name;
  wanted.alternative_names = "DNS:" + name;
  return issue(wanted, &authority);
}

[[nodiscard]] inline credential issue_client(const credential& authority, const std::string& name,
                                             int until_days = 30) {
  certificate_request wanted;
  wanted.common_name = name;
  wanted.alternative_names = "email:" + name + "@example.test";
  wanted.usage = "clientAuth";
  wanted.from_days = -60;
  wanted.until_days = until_days;
  return issue(wanted, &authority);
}

}  // namespace bulkhead::tests
