// What the fields that frame and route a message say, and whether they may (RFC 9112 section 6 and
// 9.3, RFC 9110 sections 7.2 and 10.1.1).
//
// Pure; part of a parser's state, hence small. Each field line is noted once, in wire order.
#pragma once

#include <cstdint>
#include <string_view>

namespace bulkhead::http {

struct refusal {
  std::uint16_t status = 0;  // 0: nothing to refuse
  const char* why = nullptr;

  [[nodiscard]] explicit operator bool() const noexcept { return status != 0; }
};

class field_rules {
 public:
  [[nodiscard]] refusal note(std::string_view name, std::string_view value,
                             unsigned minor_version) noexcept;
  // At the end of the head. `chunked`: what llhttp made of Transfer-Encoding.
  [[nodiscard]] refusal settle(unsigned minor_version, bool chunked) const noexcept;

  [[nodiscard]] bool keep_alive(unsigned minor_version) const noexcept {
    return !close_ && (minor_version >= 1 || keep_alive_);
  }
  [[nodiscard]] bool expects_continue() const noexcept { return expects_continue_; }

 private:
  [[nodiscard]] refusal note_transfer_encoding(std::string_view list) noexcept;

  bool host_ : 1 = false;
  bool close_ : 1 = false;
  bool keep_alive_ : 1 = false;
  bool expects_continue_ : 1 = false;
  bool transfer_encoding_ : 1 = false;
  bool chunked_ : 1 = false;
  bool unknown_coding_ : 1 = false;
};

}  // namespace bulkhead::http
