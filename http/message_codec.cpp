#include <bulkhead/http/message_codec.hpp>

#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace bulkhead::http {
namespace {

template <class T>
void put(std::string& out, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);  // NOLINT(*-reinterpret-cast)
}

void put_text(std::string& out, std::string_view text) {
  put(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

// Takes values off the front; once anything is missing, everything is.
class reader {
 public:
  explicit reader(std::string_view bytes) noexcept : rest_(bytes) {}

  template <class T>
  [[nodiscard]] T take() noexcept {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (rest_.size() < sizeof value) {
      fail();
      return value;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return value;
  }
  [[nodiscard]] std::string_view take_text() noexcept {
    const auto size = take<std::uint32_t>();
    if (size > rest_.size()) {
      fail();
      return {};
    }
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return text;
  }
  // A count of things of at least `each` bytes: never more than the bytes can hold.
  [[nodiscard]] std::uint32_t take_count(std::size_t each) noexcept {
    const auto n = take<std::uint32_t>();
    if (n > rest_.size() / each) fail();
    return failed_ ? 0 : n;
  }
  [[nodiscard]] bool finished() const noexcept { return !failed_ && rest_.empty(); }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

 private:
  void fail() noexcept {
    failed_ = true;
    rest_ = {};
  }
  std::string_view rest_;
  bool failed_ = false;
};

void put_list(std::string& out, const std::vector<std::string>& texts) {
  put(out, static_cast<std::uint32_t>(texts.size()));
  for (const std::string& t : texts) put_text(out, t);
}

std::vector<std::string> take_list(reader& from) {
  std::vector<std::string> texts;
  for (std::uint32_t n = from.take_count(sizeof(std::uint32_t)); n != 0; --n) {
    texts.emplace_back(from.take_text());
  }
  return texts;
}

void put_identity(std::string& out, const tls::client_identity& c) {
  put_text(out, c.subject);
  put_text(out, c.issuer);
  put_text(out, c.serial);
  put_text(out, c.sha256);
  put_list(out, c.dns_names);
  put_list(out, c.emails);
  put_list(out, c.uris);
}

std::shared_ptr<const tls::client_identity> take_identity(reader& from) {
  auto c = std::make_shared<tls::client_identity>();
  c->subject = from.take_text();
  c->issuer = from.take_text();
  c->serial = from.take_text();
  c->sha256 = from.take_text();
  c->dns_names = take_list(from);
  c->emails = take_list(from);
  c->uris = take_list(from);
  return c;
}

struct request_facts {
  std::uint64_t id;
  std::uint64_t body_size;
  runtime::peer_address remote;
  method what;
  std::uint8_t minor;
  bool secure;
  bool keep_alive;
  bool has_client;
};

struct response_facts {
  std::uint16_t status;
  bool closes;
  bool valid;
};

}  // namespace

// All texts in a row, their sizes before them: the reader copies them once and points into that.
void message_codec::encode_head(const request& r, std::string& out) {
  const request_facts facts{.id = r.id_,
                            .body_size = r.body_.size(),
                            .remote = r.remote_,
                            .what = r.method_,
                            .minor = r.minor_,
                            .secure = r.secure_,
                            .keep_alive = r.keep_alive_,
                            .has_client = r.client_ != nullptr};
  put(out, facts);
  if (r.client_) put_identity(out, *r.client_);
  put(out, static_cast<std::uint32_t>(r.fields_.size()));
  put(out, static_cast<std::uint32_t>(r.params_.size()));
  const auto each_text = [&r](auto&& f) {
    f(r.method_name_);
    f(r.target_);
    f(r.path_);
    f(r.query_);
    for (std::size_t i = 0; i < r.fields_.size(); ++i) {
      const field_view line = r.field_at(i);
      f(line.name);
      f(line.value);
    }
    for (const request::bound_param& p : r.params_) {
      f(p.name);
      f(p.value);
    }
  };
  each_text([&](std::string_view t) { put(out, static_cast<std::uint32_t>(t.size())); });
  each_text([&](std::string_view t) { out.append(t); });
}

bool message_codec::decode_head(std::string_view bytes, request& into, std::uint64_t& body_size) {
  reader from(bytes);
  const auto facts = from.take<request_facts>();
  if (facts.has_client) into.client_ = take_identity(from);
  constexpr std::size_t two_sizes = 2 * sizeof(std::uint32_t);
  const auto fields = from.take<std::uint32_t>();
  const auto params = from.take_count(two_sizes);
  if (from.failed() || fields > bytes.size() / two_sizes) return false;
  const std::size_t texts = 4 + (std::size_t{fields} + params) * 2;
  std::vector<std::uint32_t> sizes;
  sizes.reserve(texts);
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < texts; ++i) {
    sizes.push_back(from.take<std::uint32_t>());
    all += sizes.back();
  }
  if (from.failed() || all != from.rest().size()) return false;
  into.text_ = from.rest();

  std::size_t at = 0;
  std::size_t next = 0;
  const auto place = [&] {
    const std::pair<std::uint32_t, std::uint32_t> p{static_cast<std::uint32_t>(at), sizes[next]};
    at += sizes[next++];
    return p;
  };
  const auto text = [&] {
    const auto [where, size] = place();
    return std::string_view(into.text_).substr(where, size);
  };
  into.method_name_ = text();
  into.target_ = text();
  into.path_ = text();
  into.query_ = text();
  for (std::uint32_t i = 0; i < fields; ++i) {
    const auto [name_at, name_size] = place();
    const auto [value_at, value_size] = place();
    into.fields_.push_back({name_at, name_size, value_at, value_size});
  }
  for (std::uint32_t i = 0; i < params; ++i) {
    const auto name = text();
    into.params_.push_back({name, text()});
  }
  into.id_ = facts.id;
  into.remote_ = facts.remote;
  into.method_ = facts.what;
  into.minor_ = facts.minor;
  into.secure_ = facts.secure;
  into.keep_alive_ = facts.keep_alive;
  body_size = facts.body_size;
  return true;
}

std::string& message_codec::body_of(request& r) noexcept {
  return r.body_;
}

void message_codec::encode_head(const response& r, std::string& out) {
  put(out, response_facts{.status = r.status(), .closes = r.closes(), .valid = r.valid()});
  put_text(out, r.content_type());
  put_text(out, r.field_lines());
}

std::optional<response> message_codec::decode_head(std::string_view bytes) {
  reader from(bytes);
  // Booleans of a stranger may be neither true nor false: read as the numbers that they are.
  const auto status = from.take<std::uint16_t>();
  const bool closes = from.take<std::uint8_t>() != 0;
  const bool valid = from.take<std::uint8_t>() != 0;
  static_assert(sizeof(response_facts) == 4 && sizeof(bool) == 1);
  const std::string_view type = from.take_text();
  std::string_view lines = from.take_text();
  if (!from.finished()) return std::nullopt;
  response r(status);
  if (closes) r.close();
  if (!type.empty()) r.field("Content-Type", type);
  while (!lines.empty()) {
    const std::size_t end = lines.find("\r\n");
    const std::size_t colon = lines.substr(0, end).find(": ");
    if (end == std::string_view::npos || colon == std::string_view::npos) return std::nullopt;
    r.field(lines.substr(0, colon), lines.substr(colon + 2, end - colon - 2));
    lines.remove_prefix(end + 2);
  }
  if (!valid) r.field("", "");  // stays invalid: the connection answers 500
  return r;
}

}  // namespace bulkhead::http
