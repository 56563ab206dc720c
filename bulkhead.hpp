// Bulkhead: an actor-model HTTPS server runtime with fault containment. The whole public interface.
#pragma once

#include <bulkhead/http/request.hpp>
#include <bulkhead/http/response.hpp>
#include <bulkhead/http/task.hpp>
#include <bulkhead/runtime/error.hpp>
#include <bulkhead/runtime/log.hpp>
#include <bulkhead/runtime/sleep.hpp>
#include <bulkhead/supervision/child_spec.hpp>
#include <bulkhead/supervision/handler.hpp>
#include <bulkhead/supervision/options.hpp>
#include <bulkhead/supervision/router.hpp>
#include <bulkhead/supervision/server.hpp>
#include <bulkhead/tls/options.hpp>

#include <string>
#include <utility>

namespace bulkhead {

using http::method;
using http::request;
using http::response;
using http::task;
using runtime::sleep_for;
using supervision::cell_options;
using supervision::child_spec;
using supervision::factory;
using supervision::mode;
using supervision::placement;
using supervision::restart_backoff;
using supervision::restart_intensity;
using supervision::router;
using supervision::server;
using supervision::server_options;
using supervision::syscall_filter;
namespace log = runtime::log;

// A certificate chain and its key, from PEM files; everything else at its default.
[[nodiscard]] inline tls::options tls_files(std::string certificate, std::string key) {
  return tls::files(std::move(certificate), std::move(key));
}

}  // namespace bulkhead
