// Who is at the other end of a TLS session, and how the session was agreed.
#pragma once

#include <string>
#include <vector>

namespace bulkhead::tls {

// A verified client certificate (mTLS). Handlers get it as request.client().
struct client_identity {
  std::string subject;  // RFC 2253 form: "CN=alice,O=Example"
  std::string issuer;
  std::string serial;                  // hexadecimal, upper case
  std::string sha256;                  // fingerprint of the DER certificate, lower-case hexadecimal
  std::vector<std::string> dns_names;  // subjectAltName, dNSName
  std::vector<std::string> emails;     // subjectAltName, rfc822Name
  std::vector<std::string> uris;       // subjectAltName, URI (SPIFFE and the like)
};

// For logs and introspection.
struct session_facts {
  std::string protocol;     // "TLSv1.3"
  std::string cipher;       // "TLS_AES_128_GCM_SHA256"
  std::string group;        // "X25519"
  std::string server_name;  // SNI as the client sent it; empty without
  std::string alpn;
  bool resumed = false;
};

}  // namespace bulkhead::tls
