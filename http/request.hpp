// A request as a handler sees it: complete, owned, read-only.
//
// Made by the connection's shard; may be handed to one other thread with its exchange.
#pragma once

#include <bulkhead/runtime/endpoint.hpp>
#include <bulkhead/tls/peer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bulkhead::http {

class message_codec;
class request_parser;

// RFC 9110 section 9; `other` is a method that llhttp knows and we do not name.
enum class method : std::uint8_t {
  get,
  head,
  post,
  put,
  delete_,
  connect,
  options,
  trace,
  patch,
  other
};

[[nodiscard]] std::string_view to_string(method m) noexcept;

struct field_view {
  std::string_view name;  // as the client wrote it
  std::string_view value;
};

class request {
 public:
  request() = default;
  request(const request&) = delete;
  request& operator=(const request&) = delete;

  [[nodiscard]] http::method method() const noexcept { return method_; }
  [[nodiscard]] std::string_view method_name() const noexcept { return method_name_; }
  // As sent: "/a%20b?x=1", or "*" for OPTIONS.
  [[nodiscard]] std::string_view target() const noexcept { return target_; }
  // Percent-decoded once, without the query: "/a b".
  [[nodiscard]] std::string_view path() const noexcept { return path_; }
  // After the first '?', undecoded; empty without.
  [[nodiscard]] std::string_view query() const noexcept { return query_; }
  // 0 or 1, for HTTP/1.0 and HTTP/1.1.
  [[nodiscard]] unsigned minor_version() const noexcept { return minor_; }

  // The first field line of that name (case-insensitive, RFC 9110 section 5.1); empty without.
  [[nodiscard]] std::string_view field(std::string_view name) const noexcept;
  [[nodiscard]] bool has_field(std::string_view name) const noexcept;
  [[nodiscard]] std::size_t field_count() const noexcept { return fields_.size(); }
  [[nodiscard]] field_view field_at(std::size_t i) const noexcept;

  // What ":name" or "*name" of the route matched, percent-decoded; empty for an unknown name.
  [[nodiscard]] std::string_view param(std::string_view name) const noexcept;

  [[nodiscard]] std::string_view body() const noexcept { return body_; }

  // Of this process's lifetime; the same number stands in the log and the fault ledger.
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] std::string remote() const { return remote_.to_string(); }
  [[nodiscard]] bool secure() const noexcept { return secure_; }
  // The verified client certificate (mTLS); null without one.
  [[nodiscard]] const tls::client_identity* client() const noexcept { return client_.get(); }

  // -- for the layers that make requests, not for handlers ---------------------------------------

  void reset() noexcept;  // empties, keeps the capacity
  void set_origin(std::uint64_t id, const runtime::peer_address& remote, bool secure,
                  std::shared_ptr<const tls::client_identity> client) noexcept;
  // `name` must outlive the request (it points into the route table); `value` into path().
  void add_param(std::string_view name, std::string_view value);
  void clear_params() noexcept { params_.clear(); }
  [[nodiscard]] bool keep_alive() const noexcept { return keep_alive_; }
  [[nodiscard]] std::size_t memory() const noexcept;  // bytes held, this object included

 private:
  friend class request_parser;
  friend class message_codec;
  struct line {
    std::uint32_t name_at, name_size, value_at, value_size;  // in text_
  };
  struct bound_param {
    std::string_view name, value;
  };

  http::method method_ = http::method::get;
  std::uint8_t minor_ = 1;
  bool secure_ = false;
  bool keep_alive_ = true;
  std::string_view method_name_;
  std::string_view target_, path_, query_;  // in text_, decoded_ or a literal
  std::string text_;                        // the head as it came
  std::string decoded_;                     // the path, when it had percent-escapes
  std::string body_;
  std::vector<line> fields_;
  std::vector<bound_param> params_;
  std::uint64_t id_ = 0;
  runtime::peer_address remote_;
  std::shared_ptr<const tls::client_identity> client_;
};

}  // namespace bulkhead::http
