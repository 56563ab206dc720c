#include <bulkhead/http/request.hpp>
#include <bulkhead/http/token.hpp>

namespace bulkhead::http {
namespace {

// What one huge request may leave behind in an object that waits for the next one.
constexpr std::size_t kept_bytes = 64UL * 1024;
constexpr std::size_t kept_lines = 256;

void empty(std::string& s) noexcept {
  if (s.capacity() > kept_bytes) {
    std::string().swap(s);
  } else {
    s.clear();
  }
}

template <class T>
void empty(std::vector<T>& v) noexcept {
  if (v.capacity() > kept_lines) {
    std::vector<T>().swap(v);
  } else {
    v.clear();
  }
}

}  // namespace

std::string_view to_string(method m) noexcept {
  switch (m) {
    case method::get:
      return "GET";
    case method::head:
      return "HEAD";
    case method::post:
      return "POST";
    case method::put:
      return "PUT";
    case method::delete_:
      return "DELETE";
    case method::connect:
      return "CONNECT";
    case method::options:
      return "OPTIONS";
    case method::trace:
      return "TRACE";
    case method::patch:
      return "PATCH";
    case method::other:
      break;
  }
  return "other";
}

field_view request::field_at(std::size_t i) const noexcept {
  const line& l = fields_[i];
  const char* text = text_.data();
  return {{text + l.name_at, l.name_size}, {text + l.value_at, l.value_size}};
}

std::string_view request::field(std::string_view name) const noexcept {
  const char* text = text_.data();
  for (const line& l : fields_) {
    if (l.name_size == name.size() && equals_ignoring_case({text + l.name_at, l.name_size}, name)) {
      return {text + l.value_at, l.value_size};
    }
  }
  return {};
}

bool request::has_field(std::string_view name) const noexcept {
  const char* text = text_.data();
  for (const line& l : fields_) {
    if (equals_ignoring_case({text + l.name_at, l.name_size}, name)) return true;
  }
  return false;
}

std::string_view request::param(std::string_view name) const noexcept {
  for (const bound_param& p : params_) {
    if (p.name == name) return p.value;
  }
  return {};
}

void request::reset() noexcept {
  method_ = http::method::get;
  minor_ = 1;
  secure_ = false;
  keep_alive_ = true;
  method_name_ = target_ = path_ = query_ = {};
  empty(text_);
  empty(decoded_);
  empty(body_);
  empty(fields_);
  empty(params_);
  id_ = 0;
  remote_ = {};
  client_.reset();
}

void request::set_origin(std::uint64_t id, const runtime::peer_address& remote, bool secure,
                         std::shared_ptr<const tls::client_identity> client) noexcept {
  id_ = id;
  remote_ = remote;
  secure_ = secure;
  client_ = std::move(client);
}

void request::add_param(std::string_view name, std::string_view value) {
  params_.push_back({name, value});
}

std::size_t request::memory() const noexcept {
  return sizeof(*this) + text_.capacity() + decoded_.capacity() + body_.capacity() +
         fields_.capacity() * sizeof(line) + params_.capacity() * sizeof(bound_param);
}

}  // namespace bulkhead::http
