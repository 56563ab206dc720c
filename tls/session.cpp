#include <bulkhead/tls/client_identity.hpp>
#include <bulkhead/tls/context_native.hpp>
#include <bulkhead/tls/incoming.hpp>
#include <bulkhead/tls/session.hpp>
#include <bulkhead/tls/wire.hpp>

#include <algorithm>
#include <new>

namespace bulkhead::tls {

namespace {

// A ClientHello, a client's certificates and its Finished fit many times over; what is longer is
// an attempt to keep us busy.
constexpr std::uint32_t handshake_limit = 128 * 1024;
// KeyUpdates, empty records and refused renegotiations in a row, without application data between
// them. Each costs us more than the peer, and an honest one sends hardly any.
constexpr std::uint16_t barren_limit = 1000;

enum class progress : std::uint8_t { done, needs_input, needs_room, peer_closed, fatal };

progress after(const SSL* ssl, int answer) {
  switch (SSL_get_error(ssl, answer)) {
    case SSL_ERROR_NONE:
      return progress::done;
    case SSL_ERROR_WANT_READ:
      return progress::needs_input;
    case SSL_ERROR_WANT_WRITE:
      return progress::needs_room;
    case SSL_ERROR_ZERO_RETURN:
      return progress::peer_closed;
    default:
      return progress::fatal;
  }
}

// As in options.groups; empty when a resumption needed none.
std::string group_name(SSL* ssl) {
  const auto id = static_cast<int>(SSL_get_negotiated_group(ssl));
  const char* name = id != 0 ? SSL_group_to_name(ssl, id) : nullptr;
  const std::string_view text = name != nullptr ? name : "";
  if (text == "x25519") return "X25519";
  if (text == "secp256r1") return "P-256";
  if (text == "secp384r1") return "P-384";
  if (text == "secp521r1") return "P-521";
  return std::string(text);
}

}  // namespace

// Small on purpose: there is one for each idle connection.
struct session::native {
  ssl_ptr ssl;
  std::shared_ptr<const context> of;
  std::shared_ptr<const client_identity> client;
  std::unique_ptr<std::string> failure;
  incoming input;
  std::uint32_t handshake_bytes = 0;
  std::uint16_t barren = 0;
  status state = status::more;
  bool established : 1 = false;
  bool close_sent : 1 = false;
  bool starved : 1 = false;   // OpenSSL waits for room in the block
  bool leftover : 1 = false;  // OpenSSL holds plaintext of a record already taken

  // Runs one SSL_* call over the buffers.
  template <class Call>
  progress run(std::span<const std::byte> in, runtime::block& out, Call call) {
    // SSL_get_error() blames this call for whatever is in the thread's queue.
    if (ERR_peek_error() != 0) ERR_clear_error();
    const wire_scope wire(in, out);
    const int answer = call();
    input.consume(wire.consumed());
    return answer == 1 ? progress::done : after(ssl.get(), answer);
  }

  read_result fail(std::string why) {
    failure = std::make_unique<std::string>(std::move(why));
    state = status::failed;
    input.clear();
    ERR_clear_error();
    return {0, state};
  }
  read_result fail_by_openssl();
  read_result closed() {
    state = status::closed;
    input.clear();
    return {0, state};
  }
  void finish_handshake();
};

session::read_result session::native::fail_by_openssl() {
  const int code = ERR_GET_REASON(ERR_peek_error());
  std::string why = take_reason();
  // Reasons above this offset are alerts that the peer sent.
  if (code > SSL_AD_REASON_OFFSET) why = "the client refused: " + why;
  if (const long verified = SSL_get_verify_result(ssl.get()); verified != X509_V_OK)
    why += std::string(": client certificate: ") + X509_verify_cert_error_string(verified);
  return fail((established ? "TLS session: " : "TLS handshake: ") + why);
}

void session::native::finish_handshake() {
  established = true;
  SSL_free_buffers(ssl.get());
  client = verified_client(ssl.get());
}

session::session(std::shared_ptr<const context> of) : native_(std::make_unique<native>()) {
  native& n = *native_;
  n.of = std::move(of);
  n.ssl.reset(SSL_new(n.of->native_->ctx.get()));
  if (n.ssl == nullptr) {
    ERR_clear_error();
    throw std::bad_alloc();
  }
  BIO* wire = wire_bio();
  BIO_up_ref(wire);
  SSL_set_bio(n.ssl.get(), wire, wire);
  SSL_set_accept_state(n.ssl.get());
}

session::~session() {
  // OpenSSL takes a session that ends without close_notify for broken and forbids its resumption;
  // whether ours was cut is the connection's business.
  SSL_set_shutdown(native_->ssl.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

// -- receiving -----------------------------------------------------------------------------------

void session::feed(std::span<const std::byte> ciphertext) {
  if (native_->state == status::more) native_->input.feed(ciphertext);
}

void session::end_feed() {
  native_->input.end_feed();
}

bool session::has_unread() const noexcept {
  const native& n = *native_;
  return n.state == status::more && (n.leftover || n.starved || !n.input.next().empty());
}

std::size_t session::held() const noexcept {
  return native_->input.held();
}

session::read_result session::read(std::span<std::byte> plaintext, runtime::block& out) {
  native& n = *native_;
  SSL* ssl = n.ssl.get();
  while (n.state == status::more) {
    // One record a call, so that what a peer makes OpenSSL do between two looks is bounded.
    const auto record = n.input.next();
    if (record.empty() && !n.starved && !n.leftover) return {};
    if (n.established && plaintext.empty()) return {};
    const bool malformed = !record.empty() && n.input.malformed();

    std::size_t bytes = 0;
    progress p = progress::done;
    if (n.established) {
      p = n.run(record, out,
                [&] { return SSL_read_ex(ssl, plaintext.data(), plaintext.size(), &bytes); });
    } else {
      n.handshake_bytes += static_cast<std::uint32_t>(record.size());
      if (n.handshake_bytes > handshake_limit)
        return n.fail("TLS handshake: more than 128 KiB without an end");
      p = n.run(record, out, [&] { return SSL_do_handshake(ssl); });
      if (p == progress::done) n.finish_handshake();
    }

    n.starved = p == progress::needs_room;
    n.leftover = false;
    switch (p) {
      case progress::done:
        if (bytes == 0) continue;  // the handshake ended: what follows may be a request
        n.barren = 0;
        n.leftover = bytes == plaintext.size() && SSL_pending(ssl) > 0;
        return {bytes, n.state};
      case progress::needs_input:
        if (malformed) return n.fail("TLS session: bytes that are no TLS record");
        if (n.established && ++n.barren > barren_limit)
          return n.fail("TLS session: 1000 records in a row without application data");
        continue;
      case progress::needs_room:
        return {};
      case progress::peer_closed:
        return n.closed();
      case progress::fatal:
        return n.fail_by_openssl();
    }
  }
  return {0, n.state};
}

// -- sending -------------------------------------------------------------------------------------

std::optional<std::size_t> session::write(std::span<const std::byte> plaintext,
                                          runtime::block& out) {
  native& n = *native_;
  if (n.state == status::failed || n.close_sent) return std::nullopt;
  if (!n.established) return 0;
  std::size_t taken = 0;
  while (taken < plaintext.size()) {
    const auto record = plaintext.subspan(taken, std::min(plaintext.size() - taken, max_plaintext));
    // With this room the record cannot get stuck, and a pending KeyUpdate or alert fits before it.
    if (out.room_left() < record.size() + max_overhead) break;
    std::size_t written = 0;
    const progress p = n.run(
        {}, out, [&] { return SSL_write_ex(n.ssl.get(), record.data(), record.size(), &written); });
    if (p == progress::fatal || p == progress::peer_closed) {
      n.fail_by_openssl();
      return std::nullopt;
    }
    if (p != progress::done) break;  // OpenSSL keeps the record: the same bytes must come again
    taken += written;
  }
  return taken;
}

void session::close(runtime::block& out) {
  native& n = *native_;
  if (n.state == status::failed || n.close_sent || !n.established) return;
  // Without room now, a later call tries again.
  const std::size_t before = out.room_left();
  n.run({}, out, [&] { return SSL_shutdown(n.ssl.get()) >= 0 ? 1 : -1; });
  n.close_sent = out.room_left() != before;
  ERR_clear_error();
  SSL_free_buffers(n.ssl.get());
}

// -- facts ---------------------------------------------------------------------------------------

bool session::established() const noexcept {
  return native_->established;
}

const std::string& session::failure() const noexcept {
  static const std::string none;
  return native_->failure != nullptr ? *native_->failure : none;
}

std::string session::alpn() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(native_->ssl.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

session_facts session::facts() const {
  const SSL* ssl = native_->ssl.get();
  session_facts f;
  if (!native_->established) return f;
  f.protocol = SSL_get_version(ssl);
  if (const SSL_CIPHER* cipher = SSL_get_current_cipher(ssl); cipher != nullptr)
    if (const char* name = SSL_CIPHER_standard_name(cipher); name != nullptr) f.cipher = name;
  f.group = group_name(native_->ssl.get());
  if (const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name); name != nullptr)
    f.server_name = name;
  f.alpn = alpn();
  f.resumed = SSL_session_reused(ssl) == 1;
  return f;
}

const std::shared_ptr<const client_identity>& session::client() const noexcept {
  return native_->client;
}

// -- private configuration -----------------------------------------------------------------------

void session::restrict_versions(version min, version max) {
  SSL_set_min_proto_version(native_->ssl.get(), native_version(min));
  SSL_set_max_proto_version(native_->ssl.get(), native_version(max));
}

void session::require_client(client_auth mode) {
  SSL* ssl = native_->ssl.get();
  SSL_set_verify(ssl, context::native::verify_flags(mode), nullptr);
  // With the mode goes its fence, or a ticket from a session that asked for nothing would do.
  const std::string& fence = native_->of->native_->parts->fences[static_cast<std::size_t>(mode)];
  SSL_set_session_id_context(ssl, reinterpret_cast<const unsigned char*>(fence.data()),
                             static_cast<unsigned>(fence.size()));
}

}  // namespace bulkhead::tls
