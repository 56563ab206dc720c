// Certificates and keys from PEM files, checked one file at a time.
//
// Errors name the file, what is wrong with it and what to do. What a key file holds is wiped from
// memory once it is parsed, and is in no error.
#pragma once

#include <bulkhead/runtime/error.hpp>
#include <bulkhead/tls/native.hpp>
#include <bulkhead/tls/options.hpp>

#include <string>
#include <vector>

namespace bulkhead::tls {

// A file's bytes, wiped when destroyed.
class file_text {
 public:
  // `role` begins the error: "certificate file".
  [[nodiscard]] static result<file_text> read(const std::string& role, const std::string& path);

  file_text(file_text&&) noexcept = default;
  file_text& operator=(file_text&&) noexcept = default;
  ~file_text();

  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), bytes_.size()}; }

 private:
  explicit file_text(std::vector<char> bytes) noexcept : bytes_(std::move(bytes)) {}
  std::vector<char> bytes_;
};

// One chain with its key. The objects are shared by all contexts of a configuration and counted
// by OpenSSL; nothing changes them after loading.
struct identity {
  certificate_ptr leaf;
  certificates_ptr chain;  // the certificates after the leaf; may be empty, never null
  key_ptr key;
  std::vector<std::string> names;  // DNS names of the leaf, lower case
};

// Adds what was read to `content`.
[[nodiscard]] result<identity> load_identity(const identity_files& files, field_digest& content);
[[nodiscard]] result<std::vector<certificate_ptr>> load_authorities(const std::string& path,
                                                                    field_digest& content);

}  // namespace bulkhead::tls
