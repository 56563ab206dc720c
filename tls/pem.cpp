#include <bulkhead/runtime/unique_fd.hpp>
#include <bulkhead/tls/pem.hpp>

#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

namespace bulkhead::tls {

namespace {

constexpr std::size_t largest_file = 1U << 20U;

error wrong(const std::string& role, const std::string& path, const std::string& what) {
  return {error_category::configuration, role + " " + path + ": " + what};
}

bio_ptr open_text(const file_text& text) {
  bio_ptr bio(BIO_new_mem_buf(text.view().data(), static_cast<int>(text.view().size())));
  if (bio == nullptr) throw std::bad_alloc();
  return bio;
}

// A server never asks for a pass phrase: it would wait for an answer at a terminal that nobody
// watches. `asked` notes that one would have been needed.
int no_pass_phrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

// All certificates of the file, in order; at least one.
result<std::vector<certificate_ptr>> parse_certificates(const std::string& role,
                                                        const std::string& path,
                                                        const file_text& text) {
  std::vector<certificate_ptr> found;
  const bio_ptr in = open_text(text);
  bool asked = false;
  while (X509* next = PEM_read_bio_X509(in.get(), nullptr, no_pass_phrase, &asked))
    found.emplace_back(next);
  const unsigned long last = ERR_peek_last_error();
  const bool at_end =
      ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  const std::string reason = take_reason();
  if (!at_end)
    return wrong(role, path,
                 "certificate " + std::to_string(found.size() + 1) + " is damaged (" + reason +
                     "); write the file again");
  if (found.empty())
    return wrong(role, path,
                 "holds no PEM certificate; give a file with \"-----BEGIN CERTIFICATE-----\" "
                 "(convert DER with: openssl x509 -inform DER)");
  return found;
}

result<key_ptr> parse_key(const std::string& path, const file_text& text) {
  const std::string role = "key file";
  const bio_ptr in = open_text(text);
  bool asked = false;
  key_ptr key(PEM_read_bio_PrivateKey(in.get(), nullptr, no_pass_phrase, &asked));
  const std::string reason = take_reason();
  if (asked)
    return wrong(role, path,
                 "is encrypted, and nobody is there to type a pass phrase; decrypt it (openssl "
                 "pkey -in FILE -out NEW) and protect the new file with permissions");
  if (key == nullptr && text.view().find("PRIVATE KEY-----") == std::string_view::npos)
    return wrong(role, path,
                 "holds no PEM private key; give a file with \"-----BEGIN PRIVATE KEY-----\"");
  if (key == nullptr)
    return wrong(role, path, "the private key is damaged (" + reason + "); write the file again");
  return key;
}

std::vector<std::string> dns_names(const X509* leaf) {
  std::vector<std::string> names = alternative_names(leaf, GEN_DNS);
  for (std::string& name : names)
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
      return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    });
  return names;
}

bool belong_together(X509* certificate, EVP_PKEY* key) {
  const bool yes = X509_check_private_key(certificate, key) == 1;
  ERR_clear_error();
  return yes;
}

}  // namespace

file_text::~file_text() {
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

result<file_text> file_text::read(const std::string& role, const std::string& path) {
  if (path.empty())
    return error(error_category::configuration, role + ": no path is given; name a PEM file");
  const auto failed = [&](int why) {
    return wrong(role, path,
                 "cannot be read (" + errno_text(why) + "); check the path and its permissions");
  };
  // Non-blocking, or a FIFO without a writer would stop the start for ever.
  const runtime::unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return failed(errno);
  // Sized before reading: a vector that grows would leave copies of a key behind.
  struct stat facts {};
  if (::fstat(fd.get(), &facts) != 0) return failed(errno);
  if (!S_ISREG(facts.st_mode)) return wrong(role, path, "is not a regular file; name a PEM file");
  const auto size = static_cast<std::size_t>(facts.st_size);
  if (size > largest_file) return wrong(role, path, "is larger than 1 MiB; name a PEM file");
  file_text text{std::vector<char>(size)};
  std::size_t have = 0;
  while (have < size) {
    const ssize_t n = ::read(fd.get(), text.bytes_.data() + have, size - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(errno);
    if (n == 0) break;  // cut while we read: what is missing shows in the parse
    have += static_cast<std::size_t>(n);
  }
  text.bytes_.resize(have);
  if (have == 0) return wrong(role, path, "is empty; write the PEM text into it");
  return text;
}

result<identity> load_identity(const identity_files& files, field_digest& content) {
  auto certificate_text = file_text::read("certificate file", files.certificate);
  if (!certificate_text) return certificate_text.why();
  auto key_text = file_text::read("key file", files.key);
  if (!key_text) return key_text.why();
  content.add(certificate_text->view()).add(key_text->view());

  auto certificates = parse_certificates("certificate file", files.certificate, *certificate_text);
  if (!certificates) return certificates.why();
  auto key = parse_key(files.key, *key_text);
  if (!key) return key.why();

  if (!belong_together(certificates->front().get(), key->get())) {
    const bool later = std::any_of(certificates->begin(), certificates->end(), [&](const auto& c) {
      return belong_together(c.get(), key->get());
    });
    if (later)
      return wrong("certificate file", files.certificate,
                   "the certificate of key " + files.key + " is not the first; put the leaf first");
    return wrong("key file", files.key,
                 "does not belong to the certificate in " + files.certificate +
                     "; give the pair that was issued together");
  }

  identity loaded;
  loaded.key = std::move(*key);
  loaded.leaf = std::move(certificates->front());
  loaded.chain.reset(sk_X509_new_null());
  for (std::size_t i = 1; i < certificates->size(); ++i) {
    if (sk_X509_push(loaded.chain.get(), (*certificates)[i].get()) == 0) throw std::bad_alloc();
    static_cast<void>((*certificates)[i].release());
  }
  // Lets OpenSSL work out and cache the extensions now, not in the first handshake.
  X509_check_purpose(loaded.leaf.get(), -1, 0);
  loaded.names = dns_names(loaded.leaf.get());
  return loaded;
}

result<std::vector<certificate_ptr>> load_authorities(const std::string& path,
                                                      field_digest& content) {
  const std::string role = "client CA file";
  auto text = file_text::read(role, path);
  if (!text) return text.why();
  content.add(text->view());
  auto authorities = parse_certificates(role, path, *text);
  if (!authorities) return authorities.why();
  for (const auto& authority : *authorities) {
    if (X509_check_ca(authority.get()) != 0) continue;
    ERR_clear_error();
    return wrong(role, path,
                 "\"" + name_text(X509_get_subject_name(authority.get())) +
                     "\" is no CA certificate; give the certificates that issue the clients'");
  }
  return authorities;
}

}  // namespace bulkhead::tls
