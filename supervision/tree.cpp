#include <bulkhead/supervision/json.hpp>
#include <bulkhead/supervision/tree.hpp>

#include <utility>

namespace bulkhead::supervision {

std::string tree_json(const actors::serving_group& group, const route_set& routes,
                      bool supervised) {
  std::string out = "{\"server\":{\"listeners\":[";
  bool first = true;
  for (const std::string& a : group.addresses()) {
    if (!std::exchange(first, false)) out += ',';
    out += json_string(a);
  }
  out += "],\"shards\":[";
  first = true;
  for (const auto& s : group.shards()) {
    if (!std::exchange(first, false)) out += ',';
    out += "{\"connections\":" + std::to_string(s->open()) + '}';
  }
  out += "],\"routes\":[";
  first = true;
  for (const supervised_route& r : routes.routes()) {
    if (!std::exchange(first, false)) out += ',';
    const child_spec& spec = r.what.spec;
    const auto wait = r.supervisor->backing_off();
    out += "{\"id\":" + json_string(spec.id) + ",\"placement\":\"" +
           (spec.placement == placement::actor  ? "actor"
            : spec.placement == placement::cell ? "cell"
                                                : "inline") +
           "\",\"strategy\":\"" + (supervised ? "one_for_one" : "none") +
           "\",\"intensity\":{\"restarts\":" + std::to_string(spec.intensity.restarts) +
           ",\"period_ms\":" + std::to_string(spec.intensity.period.count()) +
           "},\"faults\":" + std::to_string(r.supervisor->faults()) +
           ",\"restarts\":" + std::to_string(r.supervisor->restarts()) + ",\"state\":" +
           (!wait                                 ? "\"in_service\""
            : *wait == route_supervisor::for_good ? "\"stopped\""
                                                  : "\"backing_off\"") +
           (wait && *wait != route_supervisor::for_good
                ? ",\"retry_after_ms\":" + std::to_string(wait->count())
                : "") +
           '}';
  }
  return out + "]}}";
}

}  // namespace bulkhead::supervision
