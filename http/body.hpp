// Bytes of a response body: owned, shared or static. Moving one never copies bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace bulkhead::http {

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

  [[nodiscard]] std::string_view view() const noexcept {
    if (const auto* v = std::get_if<std::string_view>(&bytes_)) return *v;
    if (const auto* s = std::get_if<std::string>(&bytes_)) return *s;
    const auto& p = *std::get_if<std::shared_ptr<const std::string>>(&bytes_);
    return p ? std::string_view(*p) : std::string_view();
  }
  [[nodiscard]] std::size_t size() const noexcept { return view().size(); }

 private:
  std::variant<std::string_view, std::string, std::shared_ptr<const std::string>> bytes_;
};

}  // namespace bulkhead::http
