// HTTP/1.1 requests from bytes, in any split, on llhttp in strict mode (RFC 9112).
//
// A pure engine on one shard: no socket, no thread, no output.
#pragma once

#include <bulkhead/http/limits.hpp>
#include <bulkhead/http/request.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace bulkhead::http {

class request_parser {
 public:
  explicit request_parser(const limits& l);
  ~request_parser();
  request_parser(const request_parser&) = delete;
  request_parser& operator=(const request_parser&) = delete;

  enum class progress : std::uint8_t {
    more,      // all bytes are consumed, the request is not complete
    head,      // the head is complete and a body follows; called once, before any body byte
    complete,  // the request is complete; the rest of the bytes belongs to the next one
    failed,    // answer error_status() and close; nothing more can be parsed
  };
  struct step {
    progress state = progress::more;
    std::size_t consumed = 0;
  };

  // Parses into `into`, which the caller resets before each request and keeps until it is
  // complete. Stops after the head of a request with a body (so that Expect can be answered and
  // the body refused early) and after each complete request. After a complete request that is not
  // keep_alive() all bytes are consumed unread: a client may not send another one there.
  [[nodiscard]] step parse(std::string_view bytes, request& into);

  // A request line has begun and the request is not complete: the head deadline counts.
  [[nodiscard]] bool in_request() const noexcept;
  // After `head`: the client waits for 100 (Continue) before it sends the body (RFC 9110
  // section 10.1.1). False once a byte of the body has arrived.
  [[nodiscard]] bool expects_continue() const noexcept;

  // After `failed`: 400, 413, 414, 417, 431, 501 or 505, and why, for the log.
  [[nodiscard]] std::uint16_t error_status() const noexcept;
  [[nodiscard]] std::string_view error_reason() const noexcept;

  // Bytes that one parser holds for the lifetime of its connection.
  [[nodiscard]] static std::size_t memory() noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace bulkhead::http
