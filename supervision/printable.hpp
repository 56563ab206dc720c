// Text of clients and handlers, made fit for a terminal and a page.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bulkhead::supervision {

// Length of the valid UTF-8 sequence at the front; 0 if there is none (RFC 3629 section 4).
[[nodiscard]] std::size_t utf8_length(std::string_view text) noexcept;

// The control character at the front: U+0000 to U+001F, U+007F to U+009F, which terminals obey.
inline constexpr char32_t no_control = 0xFFFF'FFFF;
[[nodiscard]] char32_t control_character(std::string_view text) noexcept;

// On one line, in valid UTF-8: control characters and broken bytes become \n, \r, \t or \xNN.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace bulkhead::supervision
