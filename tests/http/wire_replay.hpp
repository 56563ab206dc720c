// Feeds bytes to a parser in given pieces and writes down what happens, a line an event.
#pragma once

#include <bulkhead/http/limits.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bulkhead::http::test {

// `cuts`: offsets in rising order at which the bytes are split.
[[nodiscard]] std::string replay(std::string_view bytes, const limits& l,
                                 const std::vector<std::size_t>& cuts = {});
[[nodiscard]] std::string replay_byte_by_byte(std::string_view bytes, const limits& l);

// Bytes as wire files write them: "\r", "\n", "\xHH" and "\\".
[[nodiscard]] std::string escaped(std::string_view bytes);

}  // namespace bulkhead::http::test
