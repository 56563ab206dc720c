#include <doctest/doctest.h>
#include <bulkhead/http/request_parser.hpp>
#include <bulkhead/http/route_table.hpp>
#include <bulkhead/http/serializer.hpp>
#include <bulkhead/http/task.hpp>
using namespace bulkhead::http;
TEST_CASE("a request is parsed") {
  request_parser p{limits{}};
  request r;
  auto s = p.parse("GET /a%20b?x=1 HTTP/1.1\r\nHost: x\r\n\r\nGET", r);
  CHECK(p.error_reason() == "");
  CHECK(int(s.state) == int(request_parser::progress::complete));
  CHECK(s.consumed == 36);
  CHECK(r.path() == "/a b");
}
