// The bulkhead program: reads the command line and runs one of its commands.
#include <bulkhead/cli/serve.hpp>
#include <bulkhead/version.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <string>

namespace {

constexpr int usage_error = 2;

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Bulkhead: an HTTPS server in which a crashed handler costs one request."};
  app.set_version_flag("--version", std::string(bulkhead::version_string));
  app.require_subcommand(0, 1);
  app.failure_message([](const CLI::App*, const CLI::Error& e) {
    return std::string("bulkhead: ") + e.what() + "\nRun with --help for the options.\n";
  });

  bulkhead::cli::serve_command serve(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const int status = app.exit(e);
    return status == 0 ? 0 : usage_error;
  }
  if (app.get_subcommands().empty()) {
    std::fprintf(stderr, "bulkhead: a subcommand is required. Run with --help for the list.\n");
    return usage_error;
  }
  try {
    return serve.run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bulkhead: %s\n", e.what());
    return 1;
  }
}
