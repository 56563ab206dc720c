#include <bulkhead/http/field_rules.hpp>
#include <bulkhead/http/head_lines.hpp>
#include <bulkhead/http/request_parser.hpp>
#include <bulkhead/http/target.hpp>
#include <bulkhead/http/token.hpp>

#include <llhttp.h>

#include <algorithm>
#include <cstring>

namespace bulkhead::http {
namespace {

// RFC 9112 section 2.2 asks for one; a client that sends many is not a client.
constexpr unsigned max_leading_bytes = 8;  // four empty lines

// CRLF after the last chunk's data, 16 digits, CRLF. What a chunk's size line has beyond that is
// charged as a field line would be.
constexpr std::uint32_t plain_chunk_line = 20;

method method_of(std::uint8_t m) noexcept {
  switch (m) {
    case HTTP_GET:
      return method::get;
    case HTTP_HEAD:
      return method::head;
    case HTTP_POST:
      return method::post;
    case HTTP_PUT:
      return method::put;
    case HTTP_DELETE:
      return method::delete_;
    case HTTP_CONNECT:
      return method::connect;
    case HTTP_OPTIONS:
      return method::options;
    case HTTP_TRACE:
      return method::trace;
    case HTTP_PATCH:
      return method::patch;
    default:
      return method::other;
  }
}

std::string_view name_of(std::uint8_t m) noexcept {
  return llhttp_method_name(static_cast<llhttp_method_t>(m));
}

}  // namespace

// A connection keeps one for its lifetime: no strings, no allocation, small.
struct request_parser::state : llhttp_t {
  // The piece being parsed; lives on parse()'s stack, `data` points to it.
  struct piece {
    request& into;
    const char* begin;
    const char* mark;  // where the size line of a chunk begins, or what of it is in this piece
  };
  enum class stage : std::uint8_t { idle, head, body, trailers, closed, failed };
  enum class stop : std::uint8_t { head, chunk, complete };
  enum class spot : std::uint8_t { between, name, value };

  head_lines lines;
  std::uint64_t body_limit;
  const char* reason_text = "";
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

  bool skip_empty_lines(const char*& p, const char* end) noexcept;
  void begin_request() noexcept;
  int finish_head();
  int finish_field();
  int finish_chunk_line(const char* end) noexcept;
  bool count_chunk_line(const char* end) noexcept;
  void explain(int error, const char* where, const piece& in, std::uint32_t line_before,
               const char* end) noexcept;

  // -- llhttp's callbacks -----------------------------------------------------------------------

  static int on_method_complete(llhttp_t* p) {
    // There is no resource that CONNECT could be allowed on (405): we are no proxy. llhttp also
    // knows the methods of RTSP.
    if (p->method == HTTP_CONNECT || (p->method >= HTTP_DESCRIBE && p->method <= HTTP_FLUSH)) {
      return of(p).fail(501, "method not implemented");
    }
    return 0;
  }

  static int on_url(llhttp_t* p, const char* at, std::size_t size) {
    state& s = of(p);
    request& r = s.into();
    if (r.text_.empty() && s.lines.before(at, s.current().begin, 2) == ' ') {
      return s.fail(400, "more than one space before the target");
    }
    if (r.text_.size() + size > s.lines.request_line_limit()) return s.fail(414, "target too long");
    r.text_.append(at, size);
    return 0;
  }

  static int on_version(llhttp_t* p, const char* at, std::size_t size) {
    state& s = of(p);
    if (s.version_bytes == 0) {
      // llhttp takes RTSP/1.0 and ICE/1.0 too, and any number of spaces.
      static constexpr std::string_view expected = " HTTP/";
      const char* begin = s.current().begin;
      for (unsigned i = 0; i < expected.size(); ++i) {
        if (s.lines.before(at, begin, static_cast<unsigned>(expected.size()) - i) != expected[i]) {
          return s.fail(400, "not an HTTP request line");
        }
      }
      if (s.lines.before(at, begin, 7) == ' ') {
        return s.fail(400, "more than one space after the target");
      }
    }
    s.version_bytes = static_cast<std::uint8_t>(s.version_bytes + size);
    if (s.version_bytes >= 3 && (p->http_major != 1 || p->http_minor > 1)) {
      return s.fail(505, "neither HTTP/1.1 nor HTTP/1.0");
    }
    return 0;
  }

  static int on_header_field(llhttp_t* p, const char* at, std::size_t size) {
    state& s = of(p);
    if (s.at == stage::trailers) {  // checked, bounded and dropped (RFC 9110 section 6.5.1)
      if (size != 0) s.field_spot = spot::name;
      return 0;
    }
    request& r = s.into();
    const auto end = static_cast<std::uint32_t>(r.text_.size());
    if (s.field_spot != spot::name) {
      s.field_spot = spot::name;
      r.fields_.push_back({end, 0, end, 0});
    }
    r.text_.append(at, size);
    r.fields_.back().name_size += static_cast<std::uint32_t>(size);
    return 0;
  }

  static int on_header_value(llhttp_t* p, const char* at, std::size_t size) {
    state& s = of(p);
    if (s.field_spot == spot::between) return s.fail(400, "empty field name");
    if (s.at == stage::trailers) return 0;
    request& r = s.into();
    request::line& line = r.fields_.back();
    if (s.field_spot == spot::name) {
      s.field_spot = spot::value;
      line.value_at = static_cast<std::uint32_t>(r.text_.size());
    }
    r.text_.append(at, size);
    line.value_size += static_cast<std::uint32_t>(size);
    return 0;
  }

  static int on_header_value_complete(llhttp_t* p) {
    state& s = of(p);
    const bool unnamed = s.field_spot == spot::between;
    s.field_spot = spot::between;
    if (unnamed) return s.fail(400, "empty field name");
    return s.at == stage::trailers ? 0 : s.finish_field();
  }

  static int on_headers_complete(llhttp_t* p) {
    state& s = of(p);
    if (s.finish_head() != 0) return -1;
    s.upgrade = 0;  // an Upgrade is an offer that we may ignore (RFC 9110 section 7.8)
    if ((s.flags & F_CHUNKED) == 0 && s.content_length == 0) return 0;
    s.stopped = stop::head;
    return HPE_PAUSED;
  }

  static int on_body(llhttp_t* p, const char* at, std::size_t size) {
    state& s = of(p);
    s.into().body_.append(at, size);
    s.current().mark = at + size;
    return 0;
  }

  static int on_chunk_header(llhttp_t* p) {
    of(p).stopped = stop::chunk;
    return HPE_PAUSED;
  }

  static int on_message_complete(llhttp_t* p) {
    of(p).stopped = stop::complete;
    return HPE_PAUSED;
  }

  static const llhttp_settings_t settings;
};

const llhttp_settings_t request_parser::state::settings = [] {
  llhttp_settings_t s;
  llhttp_settings_init(&s);
  s.on_method_complete = &state::on_method_complete;
  s.on_url = &state::on_url;
  s.on_version = &state::on_version;
  s.on_header_field = &state::on_header_field;
  s.on_header_value = &state::on_header_value;
  s.on_header_value_complete = &state::on_header_value_complete;
  s.on_headers_complete = &state::on_headers_complete;
  s.on_body = &state::on_body;
  s.on_chunk_header = &state::on_chunk_header;
  s.on_message_complete = &state::on_message_complete;
  return s;
}();

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
  chunk_line = 0;
  leading = 0;
  version_bytes = 0;
  awaiting_continue = false;
}

int request_parser::state::finish_field() {
  request& r = into();
  request::line& line = r.fields_.back();
  if (line.name_size == 0) return fail(400, "empty field name");
  const char* text = r.text_.data();
  while (line.value_size != 0 && is_blank(text[line.value_at + line.value_size - 1])) {
    --line.value_size;
  }
  const refusal refused = rules.note({text + line.name_at, line.name_size},
                                     {text + line.value_at, line.value_size}, http_minor);
  return refused ? fail(refused) : 0;
}

int request_parser::state::finish_head() {
  request& r = into();
  if (version_bytes != 3) return fail(400, "no HTTP version in the request line");
  r.method_ = method_of(method);
  r.method_name_ = name_of(method);
  r.minor_ = http_minor;
  r.keep_alive_ = rules.keep_alive(http_minor);

  const bool chunked = (flags & F_CHUNKED) != 0;
  if (const refusal refused = rules.settle(http_minor, chunked)) return fail(refused);

  const std::size_t target_size = r.fields_.empty() ? r.text_.size() : r.fields_.front().name_at;
  r.target_ = std::string_view(r.text_).substr(0, target_size);
  target_parts parts;
  if (const char* wrong = split_target(r.method_, r.target_, r.decoded_, parts)) {
    return fail(400, wrong);
  }
  r.path_ = parts.path;
  r.query_ = parts.query;

  if (!chunked && content_length > body_limit) return fail(413, "body too large");
  awaiting_continue = rules.expects_continue() && (chunked || content_length != 0);
  return 0;
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
void request_parser::state::explain(int error_number, const char* where, const piece& in,
                                    std::uint32_t line_before, const char* end) noexcept {
  if (status != 0) return;
  fail(400, reason != nullptr ? reason : "invalid request");
  if (error_number == HPE_INVALID_METHOD && where != end &&
      (token_chars(*where) || (*where == ' ' && lines.before(where, in.begin, 1) != '\0'))) {
    fail(501, "unknown method");  // RFC 9110 section 9.1
  }
  if (error_number == HPE_INVALID_URL) {
    // The same answer as when the target had come in pieces: see on_url().
    const auto target_at = static_cast<std::uint32_t>(name_of(method).size() + 1);
    const auto here = line_before + static_cast<std::uint32_t>(where - in.begin);
    const bool spaced =
        line_before <= target_at && here > target_at && in.begin[target_at - line_before] == ' ';
    if (!spaced && here - target_at > lines.request_line_limit()) fail(414, "target too long");
  }
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
    state::piece in{into, p, p};
    s.data = &in;
    head_lines::found lines{end, head_lines::verdict::more, 0, nullptr};
    const std::uint32_t line_before = s.lines.request_line_bytes();
    if (s.at == stage::body) {
      s.awaiting_continue = false;
    } else {
      lines = s.lines.scan(p, end);
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
      s.explain(error, where, in, line_before, end);
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

}  // namespace bulkhead::http
