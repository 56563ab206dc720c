// What a program that embeds Bulkhead looks like. Arguments: where to listen, certificate, key.
#include <bulkhead/bulkhead.hpp>
#include <bulkhead/version.hpp>

#include <cstdio>
#include <string>
#include <utility>

int main(int, char** argv) {
  bulkhead::router routes;
  routes.get("/hello/:name", [](const bulkhead::request& request) {
    return bulkhead::response::text("hello " + std::string{request.param("name")});
  });
  std::printf("bulkhead %s\n", bulkhead::version_string.data());
  std::fflush(stdout);
  bulkhead::server server{{.listen = {argv[1]}, .tls = bulkhead::tls_files(argv[2], argv[3])},
                          std::move(routes)};
  return server.run();
}
