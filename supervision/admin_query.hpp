// What a request to the admin listener asks for: its query parameters, and JSON or text.
//
// Pure; any thread.
#pragma once

#include <bulkhead/http/request.hpp>
#include <bulkhead/runtime/error.hpp>
#include <bulkhead/supervision/ledger.hpp>

#include <string_view>

namespace bulkhead::supervision {

// "limit=N", "child=ID", "since=NUMBER", form-encoded, each at most once. The error begins with the
// name of the parameter that is wrong.
[[nodiscard]] result<fault_query> parse_fault_query(std::string_view query);

// Whether its Accept fields want text/plain rather than application/json (RFC 9110 section 12.5.1);
// JSON when they do not say.
[[nodiscard]] bool prefers_text(const http::request& r);

}  // namespace bulkhead::supervision
