// The program of README.md. It wants cert.pem and key.pem in the working folder.
#include <bulkhead/bulkhead.hpp>

int main() {
  bulkhead::router routes;
  routes.get("/hello/:name", [](const bulkhead::request& req) {
    return bulkhead::response::text("hello " + std::string{req.param("name")});
  });
  bulkhead::server server{
      {.listen = {"127.0.0.1:8443"}, .tls = bulkhead::tls_files("cert.pem", "key.pem")}, routes};
  return server.run();
}
