// A response as a handler makes it. A plain value; belongs to no thread.
#pragma once

#include <bulkhead/http/body.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace bulkhead::http {

class response {
 public:
  response() = default;
  explicit response(std::uint16_t status) noexcept : status_(status) {}

  // text/plain; charset=utf-8
  [[nodiscard]] static response text(std::string content);
  [[nodiscard]] static response html(std::string content);
  [[nodiscard]] static response json(std::string content);
  // `content_type` must be a literal or outlive the response.
  [[nodiscard]] static response bytes(std::string content,
                                      std::string_view content_type = "application/octet-stream");
  // The same immutable bytes for many responses, without a copy.
  [[nodiscard]] static response shared(std::shared_ptr<const std::string> content,
                                       std::string_view content_type);
  // `forever` is never copied and must outlive the program's last response.
  [[nodiscard]] static response of_static(std::string_view forever, std::string_view content_type);
  // Content that is produced after the head: under placement cell it is sent while `producer` runs
  // in the worker, and a fault then cuts the response. Under the other placements it is collected
  // first, so that a fault still becomes a 500. What `producer` captures must outlive it.
  [[nodiscard]] static response produced(std::string_view content_type, body_producer producer);
  // RFC 9457 problem details: {"type":"about:blank","title":...,"status":...,"detail":...}.
  // `detail` is shown to the client: never put what() of an exception there. Empty: left out.
  [[nodiscard]] static response problem(std::uint16_t status, std::string_view detail = {});
  [[nodiscard]] static response empty(std::uint16_t status) noexcept { return response(status); }

  response& status(std::uint16_t s) noexcept {
    status_ = s;
    return *this;
  }
  // Adds a field line. A name that is no token, a value with CR, LF or NUL, and fields that the
  // server owns (Content-Length, Transfer-Encoding, Connection, Date, Server) mark the response
  // as invalid: the client then gets a 500 and nothing of it (RFC 9110 section 5.5).
  response& field(std::string_view name, std::string_view value);
  // The same rule for a value holds here.
  response& content_type(std::string_view literal) noexcept;
  response& content(body b) noexcept {
    body_ = std::move(b);
    return *this;
  }
  // Closes the connection after this response.
  response& close() noexcept {
    close_ = true;
    return *this;
  }

  [[nodiscard]] std::uint16_t status() const noexcept { return status_; }
  [[nodiscard]] std::string_view content_type() const noexcept { return content_type_; }
  [[nodiscard]] const body& content() const noexcept { return body_; }
  [[nodiscard]] body take_content() noexcept { return std::move(body_); }
  // Runs the producer, if there is one, and keeps what it writes. Throws what it throws.
  void collect();
  [[nodiscard]] std::string_view field_lines() const noexcept { return lines_; }
  // Also false for a status that cannot end an exchange: interim (1xx) or not of three digits.
  [[nodiscard]] bool valid() const noexcept {
    return !invalid_ && status_ >= 200 && status_ <= 599;
  }
  [[nodiscard]] bool closes() const noexcept { return close_; }

 private:
  std::uint16_t status_ = 200;
  bool close_ = false;
  bool invalid_ = false;
  std::string_view content_type_;
  std::string lines_;  // "Name: value\r\n" ...
  body body_;
};

}  // namespace bulkhead::http
