// The supervision tree as JSON: who supervises whom, and how it fares.
#pragma once

#include <bulkhead/actors/serving_group.hpp>
#include <bulkhead/supervision/route_set.hpp>

#include <string>

namespace bulkhead::supervision {

// `supervised` is false in worker mode.
[[nodiscard]] std::string tree_json(const actors::serving_group& group, const route_set& routes,
                                    bool supervised);

}  // namespace bulkhead::supervision
