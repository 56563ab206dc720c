// A TLS client in memory, for tests: OpenSSL's own, over two memory BIOs.
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "certificates.hpp"

namespace bulkhead::tests {

struct client_options {
  int version = 0;  // TLS1_2_VERSION, TLS1_3_VERSION, or 0 for both
  std::string server_name;
  std::vector<std::string> alpn;
  const credential* certificate = nullptr;
  std::string groups;
  std::shared_ptr<SSL_SESSION> resume;
};

class client {
 public:
  explicit client(const client_options& o = {}) {
    ctx_.reset(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
    SSL_CTX_set_session_cache_mode(ctx_.get(),
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_sess_set_new_cb(ctx_.get(), [](SSL* ssl, SSL_SESSION* session) {
      static_cast<client*>(SSL_get_ex_data(ssl, 0))
          ->tickets.emplace_back(session, &SSL_SESSION_free);
      return 1;
    });
    SSL_CTX_set_keylog_callback(ctx_.get(), [](const SSL* ssl, const char* line) {
      static_cast<client*>(SSL_get_ex_data(ssl, 0))->note_secret(line);
    });
    ssl_.reset(SSL_new(ctx_.get()), &SSL_free);
    SSL* s = ssl_.get();
    SSL_set_ex_data(s, 0, this);
    SSL_set_bio(s, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    BIO_set_mem_eof_return(SSL_get_rbio(s), -1);
    SSL_set_connect_state(s);
    if (o.version != 0) {
      SSL_set_min_proto_version(s, o.version);
      SSL_set_max_proto_version(s, o.version);
    }
    if (!o.server_name.empty()) {
      std::string name = o.server_name;  // the macro for this casts as C does
      SSL_ctrl(s, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
    }
    std::string protocols;
    for (const std::string& name : o.alpn) protocols += static_cast<char>(name.size()) + name;
    if (!protocols.empty())
      SSL_set_alpn_protos(s, reinterpret_cast<const unsigned char*>(protocols.data()),
                          static_cast<unsigned>(protocols.size()));
    if (o.certificate != nullptr) {
      SSL_use_certificate(s, o.certificate->certificate.get());
      SSL_use_PrivateKey(s, o.certificate->key.get());
    }
    if (!o.groups.empty()) SSL_set1_groups_list(s, o.groups.c_str());
    if (o.resume != nullptr) SSL_set_session(s, o.resume.get());
  }
  // An end without close_notify would make OpenSSL forbid the tickets of the session.
  ~client() { SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); }
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  // Goes on with the handshake, or reads what has come.
  void step() {
    if (!error.empty() || closed) return;
    if (SSL_is_init_finished(ssl_.get()) == 0) note(SSL_do_handshake(ssl_.get()));
    while (error.empty() && !closed && SSL_is_init_finished(ssl_.get()) != 0) {
      char buffer[16384];
      const int n = SSL_read(ssl_.get(), buffer, sizeof buffer);
      if (n <= 0) {
        note(n);
        break;
      }
      received.append(buffer, static_cast<std::size_t>(n));
    }
  }
  void send(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); at += 16384) {
      const auto part = text.substr(at, 16384);
      note(SSL_write(ssl_.get(), part.data(), static_cast<int>(part.size())));
    }
  }
  void close() { SSL_shutdown(ssl_.get()); }

  // The wire.
  [[nodiscard]] std::string take() {
    char* data = nullptr;
    const long size = BIO_get_mem_data(SSL_get_wbio(ssl_.get()), &data);
    std::string bytes(data, static_cast<std::size_t>(size));
    static_cast<void>(BIO_reset(SSL_get_wbio(ssl_.get())));
    return bytes;
  }
  void give(std::string_view bytes) {
    if (!bytes.empty())
      BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(bytes.size()));
  }

  [[nodiscard]] SSL* native() { return ssl_.get(); }
  [[nodiscard]] bool connected() { return SSL_is_init_finished(ssl_.get()) != 0; }
  [[nodiscard]] bool resumed() { return SSL_session_reused(ssl_.get()) == 1; }
  [[nodiscard]] std::string server_common_name() {
    X509* peer = SSL_get0_peer_certificate(ssl_.get());
    if (peer == nullptr) return {};
    char name[128] = {};
    X509_NAME_get_text_by_NID(X509_get_subject_name(peer), NID_commonName, name, sizeof name);
    return name;
  }
  [[nodiscard]] std::string alpn() {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }
  // The newest; null when the server sent none.
  [[nodiscard]] std::shared_ptr<SSL_SESSION> ticket() const {
    return tickets.empty() ? nullptr : tickets.back();
  }

  std::string received;
  std::string error;    // OpenSSL's reason; empty while all is well
  bool closed = false;  // the server's close_notify arrived
  std::vector<std::shared_ptr<SSL_SESSION>> tickets;
  std::string traffic_secret;  // CLIENT_TRAFFIC_SECRET_0 of TLS 1.3, for record_forge

 private:
  void note_secret(std::string_view line) {
    if (!line.starts_with("CLIENT_TRAFFIC_SECRET_0 ")) return;
    const std::string hex(line.substr(line.rfind(' ') + 1));
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      traffic_secret += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  void note(int answer) {
    if (answer > 0) return;
    const int kind = SSL_get_error(ssl_.get(), answer);
    if (kind == SSL_ERROR_ZERO_RETURN) closed = true;
    if (kind == SSL_ERROR_SSL || kind == SSL_ERROR_SYSCALL) {
      const char* reason = ERR_reason_error_string(ERR_peek_error());
      error = reason != nullptr ? reason : "unknown";
    }
    ERR_clear_error();
  }

  std::shared_ptr<SSL_CTX> ctx_;
  std::shared_ptr<SSL> ssl_;
};

}  // namespace bulkhead::tests
