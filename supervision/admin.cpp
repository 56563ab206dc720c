#include <bulkhead/http/response.hpp>
#include <bulkhead/supervision/admin.hpp>

namespace bulkhead::supervision {

void admin_dispatcher::dispatch(actors::exchange& x) {
  const http::method m = x.request.method();
  if (m != http::method::get && m != http::method::head) {
    return x.answer(http::response::problem(405).field("Allow", "GET, HEAD"));
  }
  const std::string_view path = x.request.path();
  http::response r = http::response::problem(404);
  if (path == "/live") {
    r = http::response::json("{\"live\":true}\n");
  } else if (path == "/ready") {
    r = sources_.ready() ? http::response::json("{\"ready\":true}\n")
                         : http::response::json("{\"ready\":false}\n").status(503);
  } else if (path == "/counters") {
    r = http::response::json(sources_.counters() + "\n");
  } else if (path == "/faults") {
    r = http::response::json(sources_.faults() + "\n");
  } else if (path == "/tree") {
    r = http::response::json(sources_.tree() + "\n");
  }
  x.answer(std::move(r.field("Cache-Control", "no-store")));
}

}  // namespace bulkhead::supervision
