// What a request_parser keeps between two pieces of bytes. Private to http/.
#pragma once

#include <bulkhead/http/field_rules.hpp>
#include <bulkhead/http/head_lines.hpp>
#include <bulkhead/http/request_parser.hpp>

#include <llhttp.h>

namespace bulkhead::http {

// A connection keeps one for its lifetime: no strings, no allocation, small.
struct request_parser::state : llhttp_t {
  // The piece being parsed; lives on parse()'s stack, `data` points to it.
  struct piece {
    request& into;
    const char* begin;
    std::size_t text_at;  // where `begin` stands in the request's text
    const char* mark;     // where the size line of a chunk begins, or what of it is in this piece
  };
  enum class stage : std::uint8_t { idle, head, body, trailers, closed, failed };
  enum class stop : std::uint8_t { head, chunk, complete };
  enum class spot : std::uint8_t { between, name, value };

  head_lines lines;
  std::uint64_t body_limit;
  const char* reason_text = "";
  std::uint32_t target_size = 0;
  std::uint32_t chunk_line = 0;  // bytes of it in earlier pieces
  std::uint16_t status = 0;
  stage at = stage::idle;
  stop stopped = stop::head;
  spot field_spot = spot::between;
  field_rules rules;
  std::uint8_t leading = 0;        // bytes of empty lines before the request line
  std::uint8_t version_bytes = 0;  // of "1.1"
  bool awaiting_continue = false;

  explicit state(const limits& l) noexcept : llhttp_t{}, lines(l), body_limit(l.body) {}

  static state& of(llhttp_t* p) noexcept { return *static_cast<state*>(p); }
  piece& current() noexcept { return *static_cast<piece*>(data); }
  request& into() noexcept { return current().into; }

  int fail(std::uint16_t s, const char* why) noexcept {
    status = s;
    reason_text = why;
    return -1;
  }
  int fail(const refusal& r) noexcept { return fail(r.status, r.why); }

  // Where in the request's text p stands: the text is the head as it came, copied once a piece.
  std::uint32_t place(const char* p) noexcept {
    const piece& in = current();
    return static_cast<std::uint32_t>(in.text_at + static_cast<std::size_t>(p - in.begin));
  }
  std::size_t target_at() noexcept { return into().method_name_.size() + 1; }

  bool skip_empty_lines(const char*& p, const char* end) noexcept;
  void begin_request() noexcept;
  int finish_head();
  int finish_field();
  int finish_chunk_line(const char* end) noexcept;
  bool count_chunk_line(const char* end) noexcept;
  void explain(int error, const char* where, const char* end) noexcept;
  // Whether the target is over its limit when it reaches to p. Asked of the position in the line
  // alone, so that the answer is the same for any split.
  bool target_too_long(const char* p) noexcept {
    return place(p) > target_at() + lines.request_line_limit();
  }

  // -- llhttp's callbacks -----------------------------------------------------------------------

  static int on_method_complete(llhttp_t* p);
  static int on_url(llhttp_t* p, const char* at, std::size_t size);
  static int on_version(llhttp_t* p, const char* at, std::size_t size);
  static int on_header_field(llhttp_t* p, const char* at, std::size_t size);
  static int on_header_value(llhttp_t* p, const char* at, std::size_t size);
  static int on_header_value_complete(llhttp_t* p);
  static int on_headers_complete(llhttp_t* p);
  static int on_body(llhttp_t* p, const char* at, std::size_t size);
  static int on_chunk_header(llhttp_t* p);
  static int on_message_complete(llhttp_t* p);

  static const llhttp_settings_t settings;
};

}  // namespace bulkhead::http
