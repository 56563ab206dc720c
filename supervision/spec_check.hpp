// Whether what a child spec or a supervisor's flags ask for makes sense, before anything starts.
//
// Pure; any thread.
#pragma once

#include <bulkhead/runtime/error.hpp>
#include <bulkhead/supervision/child_spec.hpp>
#include <bulkhead/supervision/supervisor_flags.hpp>

#include <string>
#include <vector>

namespace bulkhead::supervision {

// An error names `who` ("route GET /x"), the field, its range and what was given.
[[nodiscard]] result<void> check(const child_spec& s, const std::string& who);

// The flags of the supervisor `id` with these children: each of them, too; ids must differ, and
// simple_one_for_one has exactly one child, the template.
[[nodiscard]] result<void> check(const std::string& id, const supervisor_flags& flags,
                                 const std::vector<child_spec>& children);

}  // namespace bulkhead::supervision
