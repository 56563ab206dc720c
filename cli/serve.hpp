// `bulkhead serve`: the demo server, configured by options and a TOML file.
#pragma once

#include <bulkhead/runtime/error.hpp>
#include <bulkhead/runtime/log.hpp>
#include <bulkhead/supervision/options.hpp>

#include <string>

namespace CLI {
class App;
}

namespace bulkhead::cli {

// What the command line and the file say, together: an option wins over the file.
struct serve_settings {
  supervision::server_options server;
  runtime::log::level log_level = runtime::log::level::info;
  bool test_routes = false;
};

class serve_command {
 public:
  explicit serve_command(CLI::App& program);
  // Exit status: 0 after a clean stop, 1 after a stop that had to cut something off, 2 for a wrong
  // option, configuration or certificate.
  int run();

 private:
  [[nodiscard]] result<serve_settings> settle() const;

  CLI::App* app_;
  std::string config_file_;
  std::vector<std::string> listen_, plain_listen_;
  std::string cert_, key_, admin_listen_, mode_, log_level_, client_ca_, client_auth_;
  unsigned threads_ = 0;
  std::uint32_t capacity_ = 0;
  bool test_routes_ = false;
};

}  // namespace bulkhead::cli
