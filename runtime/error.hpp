// An error as a value: what kind, what was wrong and where, and what to do about it.
//
// Crosses every layer boundary; belongs to no thread. Exceptions are left to handlers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace bulkhead {

enum class error_category {
  usage,          // a wrong argument: exit status 2
  configuration,  // a wrong option, certificate or file: exit status 2
  resource,       // the machine refused: port in use, out of descriptors
  network,        // the peer or the path to it
  protocol,       // the peer broke TLS or HTTP
  internal,       // a defect of ours
};

[[nodiscard]] std::string_view to_string(error_category category) noexcept;

class error {
 public:
  // `message` names the thing, what is wrong with it and what to do.
  error(error_category category, std::string message)
      : category_(category), message_(std::move(message)) {}

  [[nodiscard]] error_category category() const noexcept { return category_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }

 private:
  error_category category_;
  std::string message_;
};

// "strerror(errno_value)", thread-safe.
[[nodiscard]] std::string errno_text(int errno_value);

// Either a value or the error that explains why there is none.
template <class T>
class [[nodiscard]] result {
 public:
  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(*-explicit-*)
  result(error why) : state_(std::in_place_index<1>, std::move(why)) {}  // NOLINT(*-explicit-*)

  [[nodiscard]] explicit operator bool() const noexcept { return state_.index() == 0; }
  [[nodiscard]] T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  [[nodiscard]] T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  [[nodiscard]] T* operator->() noexcept { return std::get_if<0>(&state_); }
  [[nodiscard]] const T* operator->() const noexcept { return std::get_if<0>(&state_); }
  [[nodiscard]] const bulkhead::error& why() const noexcept { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, bulkhead::error> state_;
};

template <>
class [[nodiscard]] result<void> {
 public:
  result() = default;
  result(error why) : why_(std::in_place_index<1>, std::move(why)) {}  // NOLINT(*-explicit-*)

  [[nodiscard]] explicit operator bool() const noexcept { return why_.index() == 0; }
  [[nodiscard]] const bulkhead::error& why() const noexcept { return *std::get_if<1>(&why_); }

 private:
  std::variant<std::monostate, bulkhead::error> why_;
};

}  // namespace bulkhead
