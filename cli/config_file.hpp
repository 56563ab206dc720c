// The TOML configuration of `bulkhead serve`.
#pragma once

#include <bulkhead/cli/serve.hpp>
#include <bulkhead/runtime/error.hpp>

#include <string>

namespace bulkhead::cli {

// Reads `path` over the defaults in `into`. An unknown key is refused with the nearest known one;
// a wrong type or range is refused with key, line and what is expected.
[[nodiscard]] result<void> read_config(const std::string& path, serve_settings& into);

// The closest of `known` by edit distance, if it is close enough to be a slip; else empty.
[[nodiscard]] std::string nearest(const std::string& word, const std::vector<std::string>& known);

}  // namespace bulkhead::cli
