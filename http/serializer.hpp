// Response heads as bytes. A pure engine; one a shard, since it caches the Date line.
#pragma once

#include <bulkhead/http/request.hpp>
#include <bulkhead/http/response.hpp>
#include <bulkhead/runtime/clock.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace bulkhead::http {

// How a response is to be framed, as far as the request decides it.
struct framing {
  bool head_only = false;  // HEAD: the same head, no content (RFC 9110 section 9.3.2)
  bool keep_alive = true;  // what the client asked for and the server grants
  unsigned minor_version = 1;
};

class serializer {
 public:
  // `server`: the Server field; empty leaves it out.
  explicit serializer(std::string server = "Bulkhead");

  // Writes the head of `r` to the end of `out`: status line, Server, Date, Content-Type, the
  // response's own field lines, Content-Length (unless the status forbids it), or Transfer-Encoding
  // for content whose size is not known, and Connection where it is needed. Content is not written:
  // see content_follows(). Precondition: r.valid().
  void write_head(const response& r, const framing& f, runtime::wall_time now, std::string& out);

  // Whether r's content goes on the wire after the head.
  [[nodiscard]] static bool content_follows(const response& r, const framing& f) noexcept {
    return !f.head_only && (r.content().size() != 0 || r.content().source() != nullptr) &&
           !(r.status() < 200 || r.status() == 204 || r.status() == 304);
  }

  // Content of unknown size for HTTP/1.1 goes in chunks (RFC 9112 section 7.1); a client of
  // HTTP/1.0 reads until the connection is closed, which the caller sees to.
  [[nodiscard]] static bool is_chunked(const response& r, const framing& f) noexcept {
    return f.minor_version != 0 && r.content().source() != nullptr &&
           !r.content().source()->size().has_value();
  }
  // The line before a chunk of so many bytes; after it comes "\r\n".
  static void write_chunk_size(std::size_t size, std::string& out);
  static constexpr std::string_view last_chunk = "0\r\n\r\n";

  // "HTTP/1.1 100 Continue\r\n\r\n"
  static constexpr std::string_view interim_continue = "HTTP/1.1 100 Continue\r\n\r\n";

 private:
  void refresh(runtime::wall_time now);

  std::string server_;
  std::int64_t second_ = -1;
  std::string common_;  // "Server: ...\r\nDate: ...\r\n"
  std::string ok_;      // "HTTP/1.1 200 OK\r\n" + common_
};

}  // namespace bulkhead::http
