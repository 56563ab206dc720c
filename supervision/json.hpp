// Just enough JSON to write what the admin listener and the counters print.
#pragma once

#include <string>
#include <string_view>

namespace bulkhead::supervision {

// The text as a JSON string, quotes included (RFC 8259 section 7). Bytes that are no valid UTF-8
// become U+FFFD; control characters are escaped, those that only terminals obey too.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace bulkhead::supervision
