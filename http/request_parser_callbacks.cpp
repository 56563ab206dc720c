// What llhttp finds, put into the request: each callback says where it is in the text, or refuses.
#include <bulkhead/http/request_parser_state.hpp>
#include <bulkhead/http/target.hpp>
#include <bulkhead/http/token.hpp>

namespace bulkhead::http {
namespace {

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

}  // namespace

int request_parser::state::on_method_complete(llhttp_t* p) {
  state& s = of(p);
  // There is no resource that CONNECT could be allowed on (405): we are no proxy. llhttp also
  // knows the methods of RTSP.
  if (p->method == HTTP_CONNECT || (p->method >= HTTP_DESCRIBE && p->method <= HTTP_FLUSH)) {
    return s.fail(501, "method not implemented");
  }
  request& r = s.into();
  r.method_ = method_of(p->method);
  r.method_name_ = r.method_ == method::other
                       ? llhttp_method_name(static_cast<llhttp_method_t>(p->method))
                       : to_string(r.method_);
  return 0;
}

int request_parser::state::on_url(llhttp_t* p, const char* at, std::size_t size) {
  state& s = of(p);
  if (s.target_too_long(at + size)) return s.fail(414, "target too long");
  s.target_size += static_cast<std::uint32_t>(size);
  return 0;
}

int request_parser::state::on_version(llhttp_t* p, const char* at, std::size_t size) {
  state& s = of(p);
  if (s.version_bytes == 0) {
    // llhttp has seen HTTP/, RTSP/ or ICE/ here,
    if (s.lines.before(at, s.current().begin, 3) != 'T') {
      return s.fail(400, "not an HTTP request line");
    }
    // and any number of spaces (RFC 9112 section 3: one, and one).
    if (s.place(at) != s.target_at() + s.target_size + std::string_view(" HTTP/").size()) {
      return s.fail(400, "more than one space");
    }
  }
  s.version_bytes = static_cast<std::uint8_t>(s.version_bytes + size);
  if (s.version_bytes >= 3 && (p->http_major != 1 || p->http_minor > 1)) {
    return s.fail(505, "neither HTTP/1.1 nor HTTP/1.0");
  }
  return 0;
}

int request_parser::state::on_header_field(llhttp_t* p, const char* at, std::size_t size) {
  state& s = of(p);
  if (s.at == stage::trailers) {  // checked, bounded and dropped (RFC 9110 section 6.5.1)
    if (size != 0) s.field_spot = spot::name;
    return 0;
  }
  request& r = s.into();
  if (s.field_spot != spot::name) {
    s.field_spot = spot::name;
    r.fields_.push_back({s.place(at), 0, s.place(at), 0});
  }
  r.fields_.back().name_size += static_cast<std::uint32_t>(size);
  return 0;
}

int request_parser::state::on_header_value(llhttp_t* p, const char* at, std::size_t size) {
  state& s = of(p);
  if (s.field_spot == spot::between) return s.fail(400, "empty field name");
  if (s.at == stage::trailers) return 0;
  request& r = s.into();
  request::line& line = r.fields_.back();
  if (s.field_spot == spot::name) {
    s.field_spot = spot::value;
    line.value_at = s.place(at);
  }
  line.value_size += static_cast<std::uint32_t>(size);
  return 0;
}

int request_parser::state::on_header_value_complete(llhttp_t* p) {
  state& s = of(p);
  const bool unnamed = s.field_spot == spot::between;
  s.field_spot = spot::between;
  if (unnamed) return s.fail(400, "empty field name");
  return s.at == stage::trailers ? 0 : s.finish_field();
}

int request_parser::state::on_headers_complete(llhttp_t* p) {
  state& s = of(p);
  if (s.finish_head() != 0) return -1;
  if ((s.flags & F_CHUNKED) == 0 && s.content_length == 0) return 0;
  s.stopped = stop::head;
  return HPE_PAUSED;
}

int request_parser::state::on_body(llhttp_t* p, const char* at, std::size_t size) {
  state& s = of(p);
  s.into().body_.append(at, size);
  s.current().mark = at + size;
  return 0;
}

int request_parser::state::on_chunk_header(llhttp_t* p) {
  of(p).stopped = stop::chunk;
  return HPE_PAUSED;
}

int request_parser::state::on_message_complete(llhttp_t* p) {
  of(p).stopped = stop::complete;
  return HPE_PAUSED;
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
  r.minor_ = http_minor;
  r.keep_alive_ = rules.keep_alive(http_minor);

  const bool chunked = (flags & F_CHUNKED) != 0;
  if (const refusal refused = rules.settle(http_minor, chunked)) return fail(refused);

  r.target_ = std::string_view(r.text_).substr(target_at(), target_size);
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

constinit const llhttp_settings_t request_parser::state::settings = [] {
  llhttp_settings_t s{};
  s.on_method_complete = &request_parser::state::on_method_complete;
  s.on_url = &request_parser::state::on_url;
  s.on_version = &request_parser::state::on_version;
  s.on_header_field = &request_parser::state::on_header_field;
  s.on_header_value = &request_parser::state::on_header_value;
  s.on_header_value_complete = &request_parser::state::on_header_value_complete;
  s.on_headers_complete = &request_parser::state::on_headers_complete;
  s.on_body = &request_parser::state::on_body;
  s.on_chunk_header = &request_parser::state::on_chunk_header;
  s.on_message_complete = &request_parser::state::on_message_complete;
  return s;
}();

}  // namespace bulkhead::http
