#include <bulkhead/http/request_parser_state.hpp>
#include <bulkhead/http/token.hpp>

#include <algorithm>
#include <cstring>

namespace bulkhead::http {
namespace {

// RFC 9112 section 2.2 asks for one; a client that sends many is not a client.
constexpr unsigned max_leading_bytes = 8;  // four empty lines

// CRLF after the last chunk's data, 16 digits, CRLF. What a chunk's size line has beyond that is
// charged as a field line would be.
constexpr std::uint32_t plain_chunk_line = 20;

}  // namespace

// False when they are no empty lines or too many.
bool request_parser::state::skip_empty_lines(const char*& p, const char* end) noexcept {
  for (; p != end; ++p) {
    const bool after_cr = leading % 2 != 0;
    if (*p != (after_cr ? '\n' : '\r')) {
      if (!after_cr && *p != '\n') return true;
      fail(400, after_cr ? "bare CR" : "bare LF");
      return false;
    }
    if (++leading > max_leading_bytes) {
      fail(400, "too many empty lines before the request line");
      return false;
    }
  }
  return true;
}

void request_parser::state::begin_request() noexcept {
  llhttp_init(this, HTTP_REQUEST, &settings);
  lines.start_request();
  rules = {};
  at = stage::head;
  field_spot = spot::between;
  target_size = 0;
  chunk_line = 0;
  leading = 0;
  version_bytes = 0;
  awaiting_continue = false;
}

// [mark, end) belongs to the size line of a chunk.
bool request_parser::state::count_chunk_line(const char* end) noexcept {
  const auto more = static_cast<std::uint32_t>(
      std::min<std::ptrdiff_t>(end - current().mark, std::ptrdiff_t{1} << 30));
  const std::uint32_t before = std::max(chunk_line, plain_chunk_line);
  chunk_line += more;
  const std::uint32_t after = std::max(chunk_line, plain_chunk_line);
  if (after == before || lines.charge(after - before)) return true;
  fail(400, "chunk extensions too large");
  return false;
}

// Stopped at the end of a chunk's size line; its size is in content_length.
int request_parser::state::finish_chunk_line(const char* end) noexcept {
  if (!count_chunk_line(end)) return -1;
  chunk_line = 0;
  if (content_length > body_limit - into().body_.size()) return fail(413, "body too large");
  if (content_length == 0) {
    at = stage::trailers;
    lines.start_trailers();
  }
  return 0;
}

// Says what llhttp stumbled over, where a callback has not.
void request_parser::state::explain(int error_number, const char* where, const char* end) noexcept {
  if (status != 0) return;
  if (at == stage::body && (flags & F_CHUNKED) != 0 && !count_chunk_line(where)) return;
  fail(400, reason != nullptr ? reason : "invalid request");
  if (error_number == HPE_INVALID_URL && target_too_long(where)) fail(414, "target too long");
  // RFC 9110 section 9.1: a method may be unknown, but it must be a token.
  const bool in_method = where != end && error_number == HPE_INVALID_METHOD;
  const bool begun = lines.before(where, current().begin, 1) != '\0';
  if (in_method && (token_chars(*where) || (*where == ' ' && begun))) fail(501, "unknown method");
}

request_parser::request_parser(const limits& l) : state_(std::make_unique<state>(l)) {}
request_parser::~request_parser() = default;

request_parser::step request_parser::parse(std::string_view bytes, request& into) {
  using stage = state::stage;
  state& s = *state_;
  const char* const first = bytes.data();
  const char* const end = first + bytes.size();
  const char* p = first;
  const auto done = [&](progress how) { return step{how, static_cast<std::size_t>(p - first)}; };
  const auto failed = [&] {
    s.at = stage::failed;
    return done(progress::failed);
  };

  if (s.at == stage::failed) return done(progress::failed);
  if (s.at == stage::closed) return {progress::more, bytes.size()};
  if (s.at == stage::idle) {
    if (!s.skip_empty_lines(p, end)) return failed();
    if (p == end) return done(progress::more);
    s.begin_request();
  }

  while (p != end) {
    state::piece in{into, p, into.text_.size(), p};
    s.data = &in;
    head_lines::found lines{end, head_lines::verdict::more, 0, nullptr};
    if (s.at == stage::body) {
      s.awaiting_continue = false;
    } else {
      lines = s.lines.scan(p, end);
      if (s.at == stage::head) into.text_.append(p, lines.upto);
    }
    const llhttp_errno_t error =
        lines.upto == p ? HPE_OK : llhttp_execute(&s, p, static_cast<std::size_t>(lines.upto - p));

    if (error == HPE_OK) {
      p = lines.upto;
      if (lines.what == head_lines::verdict::refused) s.fail(lines.status, lines.why);
      if (lines.what == head_lines::verdict::end) s.fail(400, "invalid head");
      if (s.at == stage::body) {
        if ((s.flags & F_CHUNKED) != 0) (void)s.count_chunk_line(end);
      } else {
        s.lines.remember(in.begin, p);
      }
      if (s.status != 0) return failed();
      continue;
    }
    if (error != HPE_PAUSED) {
      const char* where = llhttp_get_error_pos(&s);
      if (where == nullptr || where < p || where > end) where = p;
      s.explain(error, where, end);
      p = where;
      return failed();
    }
    p = llhttp_get_error_pos(&s);
    llhttp_resume(&s);
    switch (s.stopped) {
      case state::stop::head:
        s.at = stage::body;
        return done(progress::head);
      case state::stop::chunk:
        if (s.finish_chunk_line(p) != 0) return failed();
        break;
      case state::stop::complete:
        // What follows a last request is never looked at (RFC 9112 section 9.6).
        s.at = into.keep_alive() ? stage::idle : stage::closed;
        return done(progress::complete);
    }
  }
  return done(progress::more);
}

bool request_parser::in_request() const noexcept {
  return state_->at == state::stage::head || state_->at == state::stage::body ||
         state_->at == state::stage::trailers;
}

bool request_parser::expects_continue() const noexcept {
  return state_->awaiting_continue;
}

std::uint16_t request_parser::error_status() const noexcept {
  return state_->status;
}

std::string_view request_parser::error_reason() const noexcept {
  return state_->reason_text;
}

std::size_t request_parser::memory() noexcept {
  return sizeof(request_parser) + sizeof(state);
}

}  // namespace bulkhead::http
