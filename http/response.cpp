#include <bulkhead/http/response.hpp>
#include <bulkhead/http/status.hpp>
#include <bulkhead/http/token.hpp>

#include <array>

namespace bulkhead::http {
namespace {

constexpr std::array<std::string_view, 5> owned_fields{"content-length", "transfer-encoding",
                                                       "connection", "date", "server"};

bool is_owned(std::string_view name) noexcept {
  for (const std::string_view owned : owned_fields) {
    if (equals_ignoring_case(name, owned)) return true;
  }
  return false;
}

// RFC 9110 section 5.5. A line break here would let a value of a client write our head.
bool is_field_value(std::string_view value) noexcept {
  for (const char c : value) {
    if (c == '\r' || c == '\n' || c == '\0') return false;
  }
  return true;
}

void append_json(std::string& out, std::string_view text) {
  static constexpr std::string_view hex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\u00";
      out += hex[byte >> 4U];
      out += hex[byte & 15U];
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace

response response::text(std::string content) {
  return bytes(std::move(content), "text/plain; charset=utf-8");
}

response response::html(std::string content) {
  return bytes(std::move(content), "text/html; charset=utf-8");
}

response response::json(std::string content) {
  return bytes(std::move(content), "application/json");
}

response response::bytes(std::string content, std::string_view content_type) {
  response r;
  r.body_ = body(std::move(content));
  r.content_type(content_type);
  return r;
}

response response::shared(std::shared_ptr<const std::string> content,
                          std::string_view content_type) {
  response r;
  r.body_ = body(std::move(content));
  r.content_type(content_type);
  return r;
}

response response::of_static(std::string_view forever, std::string_view content_type) {
  response r;
  r.body_ = body::of_static(forever);
  r.content_type(content_type);
  return r;
}

response response::produced(std::string_view content_type, body_producer producer) {
  response r;
  r.body_ = body(std::move(producer));
  r.content_type(content_type);
  return r;
}

void response::collect() {
  const body_producer* producer = body_.producer();
  if (producer == nullptr) return;
  std::string all;
  (*producer)([&all](std::string_view piece) { all += piece; });
  body_ = body(std::move(all));
}

response response::problem(std::uint16_t status, std::string_view detail) {
  std::string json = R"({"type":"about:blank","title":)";
  append_json(json, reason_phrase(status));
  json += ",\"status\":";
  json += std::to_string(status);
  if (!detail.empty()) {
    json += ",\"detail\":";
    append_json(json, detail);
  }
  json += '}';
  response r = bytes(std::move(json), "application/problem+json");
  r.status(status);
  return r;
}

response& response::content_type(std::string_view literal) noexcept {
  if (!is_field_value(literal)) invalid_ = true;
  content_type_ = literal;
  return *this;
}

response& response::field(std::string_view name, std::string_view value) {
  if (!is_token(name) || !is_field_value(value) || is_owned(name)) {
    invalid_ = true;
    return *this;
  }
  lines_.append(name).append(": ").append(value).append("\r\n");
  return *this;
}

}  // namespace bulkhead::http
