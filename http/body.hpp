// Bytes of a response body: owned, shared, static, or still to be produced. Moving one never copies
// bytes.
#pragma once

#include <bulkhead/http/body_source.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace bulkhead::http {

// Gives content away piece by piece; may block until there is room for it.
using body_writer = std::function<void(std::string_view piece)>;
// Produces content, after the head of the response may have been sent.
using body_producer = std::function<void(const body_writer& write)>;

class body {
 public:
  body() = default;
  explicit body(std::string owned) : bytes_(std::move(owned)) {}
  explicit body(std::shared_ptr<const std::string> shared) : bytes_(std::move(shared)) {}
  // `forever` must outlive the program's last response: a literal, a mapped file.
  [[nodiscard]] static body of_static(std::string_view forever) noexcept {
    body b;
    b.bytes_ = forever;
    return b;
  }

  explicit body(std::shared_ptr<body_source> source) : bytes_(std::move(source)) {}
  explicit body(body_producer producer) : bytes_(std::move(producer)) {}

  // Null unless it comes piece by piece.
  [[nodiscard]] const std::shared_ptr<body_source>& source() const noexcept {
    static const std::shared_ptr<body_source> none;
    const auto* s = std::get_if<std::shared_ptr<body_source>>(&bytes_);
    return s != nullptr ? *s : none;
  }
  // Null unless a handler made it so. Where it runs is the placement's business: see
  // response::produced().
  [[nodiscard]] const body_producer* producer() const noexcept {
    return std::get_if<body_producer>(&bytes_);
  }

  // The bytes that are there: none of a source or a producer.
  [[nodiscard]] std::string_view view() const noexcept {
    if (const auto* v = std::get_if<std::string_view>(&bytes_)) return *v;
    if (const auto* s = std::get_if<std::string>(&bytes_)) return *s;
    const auto* p = std::get_if<std::shared_ptr<const std::string>>(&bytes_);
    return p != nullptr && *p ? std::string_view(**p) : std::string_view();
  }
  [[nodiscard]] std::size_t size() const noexcept { return view().size(); }

 private:
  std::variant<std::string_view, std::string, std::shared_ptr<const std::string>,
               std::shared_ptr<body_source>, body_producer>
      bytes_;
};

}  // namespace bulkhead::http
