#include <bulkhead/http/response.hpp>
#include <bulkhead/supervision/admin.hpp>
#include <bulkhead/supervision/admin_query.hpp>
#include <bulkhead/supervision/exposition.hpp>
#include <bulkhead/supervision/json.hpp>

#include <array>
#include <string_view>

namespace bulkhead::supervision {

namespace {

struct listed {
  std::string_view path, about;
};
constexpr std::array pages = {
    listed{"/", "this list"},
    listed{"/live", "200 while the control loop turns, otherwise 503"},
    listed{"/ready", "200 while new requests are wanted, otherwise 503 with the reasons"},
    listed{"/metrics", "all figures, for Prometheus"},
    listed{"/counters", "the counters of all shards together"},
    listed{"/faults", "the fault ledger; takes limit=N, child=ID and since=NUMBER"},
    listed{"/faults.txt", "the same as text"},
    listed{"/tree", "the supervision tree"},
    listed{"/tree.txt", "the same as text"},
};

http::response json_line(std::string json) {
  return http::response::json(std::move(json) + '\n');
}

http::response list(bool as_text) {
  std::string text;
  std::string json = "{\"pages\":[";
  for (const listed& p : pages) {
    text.append(p.path).append(14 - p.path.size(), ' ').append(p.about).append("\n");
    if (json.back() != '[') json += ',';
    json += "{\"path\":" + json_string(p.path) + ",\"about\":" + json_string(p.about) + '}';
  }
  return as_text ? http::response::text(std::move(text)) : json_line(json + "]}");
}

}  // namespace

void admin_dispatcher::dispatch(actors::exchange& x) {
  const http::method m = x.request.method();
  if (m != http::method::get && m != http::method::head) {
    return x.answer(http::response::problem(405).field("Allow", "GET, HEAD"));
  }
  x.answer(std::move(page(x.request).field("Cache-Control", "no-store")));
}

http::response admin_dispatcher::page(const http::request& r) const {
  const std::string_view path = r.path();
  const bool as_text = prefers_text(r);
  const auto by_accept = [](http::response chosen) {
    return std::move(chosen.field("Vary", "Accept"));
  };
  if (path == "/") return by_accept(list(as_text));
  if (path == "/live") return live();
  if (path == "/ready") return ready();
  if (path == "/counters") return json_line(sources_.counters());
  if (path == "/metrics")
    return http::response::bytes(sources_.metrics(), exposition::content_type);
  if (path == "/faults") return by_accept(faults(r, as_text));
  if (path == "/faults.txt") return faults(r, /*as_text=*/true);
  if (path == "/tree.txt" || (path == "/tree" && as_text)) {
    http::response text = http::response::text(tree_text(sources_.tree()));
    return path == "/tree" ? by_accept(std::move(text)) : text;
  }
  if (path == "/tree") return by_accept(json_line(tree_json(sources_.tree())));
  return http::response::problem(404, "no such page; / lists them");
}

http::response admin_dispatcher::live() const {
  if (sources_.live()) return json_line("{\"live\":true}");
  return std::move(json_line("{\"live\":false}").status(503));
}

http::response admin_dispatcher::ready() const {
  const std::vector<std::string> reasons = sources_.not_ready();
  if (reasons.empty()) return json_line("{\"ready\":true}");
  std::string json = "{\"ready\":false,\"reasons\":[";
  for (const std::string& reason : reasons) {
    if (json.back() != '[') json += ',';
    json += json_string(reason);
  }
  return std::move(json_line(json + "]}").status(503));
}

http::response admin_dispatcher::faults(const http::request& r, bool as_text) const {
  const auto asked = parse_fault_query(r.query());
  if (!asked) return http::response::problem(400, asked.why().message());
  return as_text ? http::response::text(sources_.faults->to_text(*asked))
                 : json_line(sources_.faults->to_json(*asked));
}

}  // namespace bulkhead::supervision
