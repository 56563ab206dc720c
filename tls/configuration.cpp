#include <bulkhead/tls/configuration_parts.hpp>
#include <bulkhead/tls/options_check.hpp>

#include <algorithm>
#include <ctime>

namespace bulkhead::tls {

namespace {

void add_options(field_digest& content, const options& o) {
  content.add(o.identities.size());
  content.add(static_cast<std::uint64_t>(o.min_version))
      .add(static_cast<std::uint64_t>(o.max_version))
      .add(static_cast<std::uint64_t>(o.clients))
      .add(o.alpn.size());
  for (const std::string& protocol : o.alpn) content.add(protocol);
  content.add(o.ciphersuites).add(o.cipher_list).add(o.groups).add(o.tickets);
  content.add(static_cast<std::uint64_t>(o.ticket_lifetime.count()));
}

// Two configurations share a fence when a client that satisfied one satisfies the other. Without
// client authentication there is nothing to satisfy, so the authorities do not matter. Neither do
// the server's own certificates: a renewal keeps tickets valid.
std::string fence(client_auth mode, const std::vector<certificate_ptr>& authorities) {
  field_digest policy;
  policy.add("bulkhead ticket fence 1").add(static_cast<std::uint64_t>(mode));
  if (mode == client_auth::none) return policy.finish();
  std::vector<std::string> prints;
  for (const auto& authority : authorities) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> print{};
    unsigned size = 0;
    X509_digest(authority.get(), EVP_sha256(), print.data(), &size);
    prints.emplace_back(print.begin(), print.begin() + size);
  }
  std::sort(prints.begin(), prints.end());
  prints.erase(std::unique(prints.begin(), prints.end()), prints.end());
  for (const std::string& print : prints) policy.add(print);
  return policy.finish();
}

std::string day(const ASN1_TIME* when) {
  std::tm parts{};
  std::array<char, 16> text{};
  if (ASN1_TIME_to_tm(when, &parts) != 1) return "at an unreadable time";
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts)};
}

}  // namespace

configuration::configuration(std::unique_ptr<parts> p) : parts_(std::move(p)) {}
configuration::~configuration() = default;

result<std::shared_ptr<const configuration>> configuration::load(const options& o) {
  if (auto sound = check(o); !sound) return sound.why();
  auto p = std::make_unique<parts>();
  p->source = o;
  field_digest content;
  add_options(content, o);
  for (const identity_files& files : o.identities) {
    auto loaded = load_identity(files, content);
    if (!loaded) return loaded.why();
    for (const std::string& name : loaded->names) p->names.add(name, p->identities.size());
    p->identities.push_back(std::move(*loaded));
  }
  // Also without client authentication: a single session may still ask for it.
  if (!o.client_ca.empty()) {
    auto authorities = load_authorities(o.client_ca, content);
    if (!authorities) return authorities.why();
    p->client_authorities = std::move(*authorities);
  }
  p->digest = hexadecimal(content.finish(), letter_case::lower);
  for (const auto mode : {client_auth::none, client_auth::optional, client_auth::required})
    p->fences[static_cast<std::size_t>(mode)] = fence(mode, p->client_authorities);
  return std::shared_ptr<const configuration>(new configuration(std::move(p)));
}

const options& configuration::source() const noexcept {
  return parts_->source;
}
const std::string& configuration::digest() const noexcept {
  return parts_->digest;
}
const std::string& configuration::ticket_fence() const noexcept {
  return parts_->fences[static_cast<std::size_t>(parts_->source.clients)];
}

std::vector<std::string> configuration::describe() const {
  std::vector<std::string> lines;
  for (const identity& one : parts_->identities) {
    const X509* leaf = one.leaf.get();
    const ASN1_TIME* from = X509_get0_notBefore(leaf);
    const ASN1_TIME* until = X509_get0_notAfter(leaf);
    std::string line = name_text(X509_get_subject_name(leaf));
    if (line.empty() && !one.names.empty()) line = one.names.front();
    if (X509_cmp_current_time(until) < 0)
      line += ", EXPIRED " + day(until);
    else if (X509_cmp_current_time(from) > 0)
      line += ", NOT VALID BEFORE " + day(from);
    else
      line += ", expires " + day(until);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace bulkhead::tls
