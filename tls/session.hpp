// One TLS session as a pure engine: ciphertext in, plaintext out, and back. No socket.
//
// Lives on one shard, with its connection. Created only when a connection's first full record has
// arrived (see first_flight.hpp), so that a silent connection costs no TLS memory. OpenSSL reads
// from the caller's bytes and writes into the caller's block, one of each a turn.
#pragma once

#include <bulkhead/runtime/buffer_pool.hpp>
#include <bulkhead/tls/configuration.hpp>
#include <bulkhead/tls/peer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace bulkhead::tls {

class session {
 public:
  // Copies the frozen context: from here on, nothing that happens to another session or to the
  // store changes this one. Throws std::bad_alloc when OpenSSL is out of memory.
  explicit session(std::shared_ptr<const context> of);
  ~session();  // frees without a close_notify: see close()
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  enum class status : std::uint8_t {
    more,    // all complete records are consumed: feed more
    closed,  // the peer sent close_notify: a clean end of its direction
    failed,  // a fatal error; an alert for the peer, if any, is in the output block
  };
  struct read_result {
    std::size_t bytes = 0;  // plaintext now in the caller's span; 0 with status::more: none left
    status state = status::more;
  };

  // -- receiving ---------------------------------------------------------------------------------

  // Gives ciphertext, in any split. The span must stay valid until end_feed(). Partial records
  // never reach OpenSSL: what is incomplete is kept here (at most one record), exactly sized.
  void feed(std::span<const std::byte> ciphertext);
  // Drives the handshake and decrypts: call until it answers 0 bytes. Whatever must go to the
  // peer (handshake flights, tickets, alerts) is appended to `out`; what does not fit waits, and
  // reading with it. An empty block will do where nothing is to be sent: almost always, once
  // established; a fatal alert, however, does not wait.
  [[nodiscard]] read_result read(std::span<std::byte> plaintext, runtime::block& out);
  // Ends the turn: keeps what was fed and not yet read, so that the span may go.
  void end_feed();
  // read() would get on without more to feed: complete records wait, kept by end_feed() before
  // they were read, or what must go to the peer did not fit the block of the last read().
  [[nodiscard]] bool has_unread() const noexcept;
  // Bytes of ciphertext kept between turns; 0 for an idle session.
  [[nodiscard]] std::size_t held() const noexcept;

  // -- sending -----------------------------------------------------------------------------------

  // The most plaintext that one record takes (RFC 8446 section 5.1).
  static constexpr std::size_t max_plaintext = 16384;
  // What a record may add to its plaintext.
  static constexpr std::size_t max_overhead = 256;

  // Encrypts from the front of `plaintext` into `out`, as full records, as long as `out` has room
  // for one; answers how many bytes were taken, or nothing after a fatal error.
  [[nodiscard]] std::optional<std::size_t> write(std::span<const std::byte> plaintext,
                                                 runtime::block& out);
  // Appends close_notify, once. Nothing can be written after it.
  void close(runtime::block& out);

  // -- facts -------------------------------------------------------------------------------------

  [[nodiscard]] bool established() const noexcept;            // the handshake is complete
  [[nodiscard]] const std::string& failure() const noexcept;  // after status::failed, for the log
  [[nodiscard]] std::string alpn() const;
  [[nodiscard]] session_facts facts() const;
  // The verified client certificate; null without one. Shared with the requests of the session.
  [[nodiscard]] const std::shared_ptr<const client_identity>& client() const noexcept;

  // -- private configuration: this session's only, before the handshake --------------------------

  void restrict_versions(version min, version max);
  void require_client(client_auth mode);

 private:
  struct native;
  std::unique_ptr<native> native_;
};

}  // namespace bulkhead::tls
