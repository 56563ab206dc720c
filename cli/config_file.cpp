#include <bulkhead/cli/config_file.hpp>

#include <toml++/toml.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <sstream>
#include <utility>

namespace bulkhead::cli {

namespace {

// What is wrong with one value, without its key and place.
using complaint = std::string;
using setter = std::function<complaint(const toml::node&)>;
using section = std::map<std::string, setter>;

setter text(std::string& into) {
  return [&into](const toml::node& n) -> complaint {
    const auto* v = n.as_string();
    if (v == nullptr) return "expects a string";
    into = v->get();
    return {};
  };
}

setter texts(std::vector<std::string>& into) {
  return [&into](const toml::node& n) -> complaint {
    const auto* a = n.as_array();
    if (a == nullptr) return "expects an array of strings";
    into.clear();
    for (const toml::node& e : *a) {
      const auto* v = e.as_string();
      if (v == nullptr) return "expects an array of strings";
      into.push_back(v->get());
    }
    return {};
  };
}

setter flag(bool& into) {
  return [&into](const toml::node& n) -> complaint {
    const auto* v = n.as_boolean();
    if (v == nullptr) return "expects true or false";
    into = v->get();
    return {};
  };
}

template <class T>
setter number(T& into, std::int64_t least, std::int64_t most) {
  return [&into, least, most](const toml::node& n) -> complaint {
    const auto* v = n.as_integer();
    if (v == nullptr || v->get() < least || v->get() > most) {
      return "expects a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    }
    into = static_cast<T>(v->get());
    return {};
  };
}

// Durations are in milliseconds, as their keys say.
setter duration_ms(std::chrono::milliseconds& into, std::int64_t least = 1) {
  constexpr std::int64_t week = 7L * 24 * 3600 * 1000;
  return [&into, least](const toml::node& n) -> complaint {
    std::int64_t ms = 0;
    complaint c = number(ms, least, week)(n);
    if (c.empty()) into = std::chrono::milliseconds(ms);
    return c;
  };
}

setter number_of_seconds(std::chrono::seconds& into) {
  constexpr std::int64_t week = 7L * 24 * 3600;  // RFC 8446 section 4.6.1
  return [&into](const toml::node& n) -> complaint {
    std::int64_t seconds = 0;
    complaint c = number(seconds, 60, week)(n);
    if (c.empty()) into = std::chrono::seconds(seconds);
    return c;
  };
}

template <class E>
setter choice(E& into, std::vector<std::pair<std::string, E>> choices) {
  return [&into, choices = std::move(choices)](const toml::node& n) -> complaint {
    std::string all;
    for (const auto& [name, value] : choices) {
      if (const auto* v = n.as_string(); v != nullptr && v->get() == name) {
        into = value;
        return {};
      }
      all += (all.empty() ? "\"" : ", \"") + name + '"';
    }
    return "expects one of " + all;
  };
}

setter identities(std::vector<tls::identity_files>& into) {
  return [&into](const toml::node& n) -> complaint {
    const auto* a = n.as_array();
    constexpr const char* expected = "expects [[tls.identity]] tables with certificate and key";
    if (a == nullptr) return expected;
    into.clear();
    for (const toml::node& e : *a) {
      const auto* t = e.as_table();
      if (t == nullptr || t->size() != 2) return expected;
      const auto* certificate = t->get_as<std::string>("certificate");
      const auto* key = t->get_as<std::string>("key");
      if (certificate == nullptr || key == nullptr) return expected;
      into.push_back({certificate->get(), key->get()});
    }
    return {};
  };
}

std::map<std::string, section> known_keys(serve_settings& s) {
  supervision::server_options& o = s.server;
  auto& t = o.connections.timeouts;
  auto& l = o.connections.limits;
  constexpr std::int64_t mega = 1024 * 1024;
  using log_level = runtime::log::level;
  return {
      {"server",
       {{"listen", texts(o.listen)},
        {"plain_listen", texts(o.plain_listen)},
        {"admin_listen", text(o.admin_listen)},
        {"mode", choice(o.mode, {{"actor", supervision::mode::actor},
                                 {"worker", supervision::mode::worker}})},
        {"threads", number(o.threads, 1, 1024)},
        {"handler_threads", number(o.handler_threads, 1, 1024)},
        {"capacity", number(o.capacity, 1, 10'000'000)},
        {"abandoned_threads", number(o.abandoned_threads, 1, 10'000)},
        {"drain_limit_ms", duration_ms(o.drain_limit, 0)},
        {"liveness_limit_ms", duration_ms(o.liveness_limit, 1)},
        {"stall_threshold_ms", duration_ms(o.stall_threshold, 0)},
        {"server_name", text(o.server_name)},
        {"test_routes", flag(s.test_routes)}}},
      {"tls",
       {{"identity", identities(o.tls.identities)},
        {"min_version",
         choice(o.tls.min_version, {{"1.2", tls::version::tls1_2}, {"1.3", tls::version::tls1_3}})},
        {"max_version",
         choice(o.tls.max_version, {{"1.2", tls::version::tls1_2}, {"1.3", tls::version::tls1_3}})},
        {"client_auth", choice(o.tls.clients, {{"none", tls::client_auth::none},
                                               {"optional", tls::client_auth::optional},
                                               {"required", tls::client_auth::required}})},
        {"client_ca", text(o.tls.client_ca)},
        {"ciphersuites", text(o.tls.ciphersuites)},
        {"cipher_list", text(o.tls.cipher_list)},
        {"groups", text(o.tls.groups)},
        {"tickets", number(o.tls.tickets, 0, 16)},
        {"ticket_lifetime_s", number_of_seconds(o.tls.ticket_lifetime)},
        {"certificate_check_ms", duration_ms(o.certificate_check)}}},
      {"timeouts",
       {{"handshake_ms", duration_ms(t.handshake)},
        {"head_ms", duration_ms(t.head)},
        {"body_ms", duration_ms(t.body)},
        {"body_rate", number(t.body_rate, 1, 1024 * mega)},
        {"send_ms", duration_ms(t.send)},
        {"idle_ms", duration_ms(t.idle)},
        {"linger_ms", duration_ms(t.linger)}}},
      {"limits",
       {{"request_line", number(l.request_line, 16, mega)},
        {"field_section", number(l.field_section, 16, 16 * mega)},
        {"fields", number(l.fields, 1, 10'000)},
        {"body", number(l.body, 0, 1024 * mega)},
        {"pipeline_window", number(l.pipeline_window, 1, 10'000)},
        {"pending_handshakes", number(o.connections.pending_handshakes, 1, 1'000'000)},
        {"mailbox_window", number(o.connections.mailbox_window, 1, 1'000'000)}}},
      {"log",
       {{"level", choice(s.log_level, {{"trace", log_level::trace},
                                       {"debug", log_level::debug},
                                       {"info", log_level::info},
                                       {"warn", log_level::warn},
                                       {"error", log_level::error},
                                       {"off", log_level::off}})}}},
  };
}

template <class Map>
std::vector<std::string> names_of(const Map& m) {
  std::vector<std::string> names;
  for (const auto& entry : m) names.push_back(entry.first);
  return names;
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (const std::string& k : known) {
    // Levenshtein, one row at a time.
    std::vector<std::size_t> row(k.size() + 1);
    for (std::size_t j = 0; j <= k.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = std::exchange(row[0], i);
      for (std::size_t j = 1; j <= k.size(); ++j) {
        const std::size_t substituted = diagonal + (word[i - 1] == k[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = k;
    }
  }
  const std::size_t slip = std::max<std::size_t>(2, word.size() / 3);
  return best_distance <= slip ? best : std::string();
}

result<void> read_config(const std::string& path, serve_settings& into) {
  const auto refuse = [&](const std::string& where, const std::string& what) {
    return error(error_category::configuration, path + where + ": " + what);
  };
  std::ifstream file(path, std::ios::binary);
  if (!file) return refuse("", "cannot be read: " + errno_text(errno));
  std::ostringstream content;
  content << file.rdbuf();
  if (file.bad() || !content) return refuse("", "cannot be read");

  toml::table parsed;
  try {
    parsed = toml::parse(content.str(), path);
  } catch (const toml::parse_error& e) {
    return refuse(":" + std::to_string(e.source().begin.line), std::string(e.description()));
  }

  const auto line_of = [](const toml::node& n) {
    return ":" + std::to_string(n.source().begin.line);
  };
  const auto unknown = [&](const toml::node& n, const std::string& what, const std::string& key,
                           const std::string& prefix, const std::vector<std::string>& known) {
    const std::string near = nearest(key, known);
    return refuse(line_of(n),
                  "unknown " + what + " \"" + prefix + key + '"' +
                      (near.empty() ? "" : "; did you mean \"" + prefix + near + "\"?"));
  };
  const auto sections = known_keys(into);
  for (const auto& [section_key, section_node] : parsed) {
    const std::string name(section_key.str());
    const auto found = sections.find(name);
    if (found == sections.end()) {
      return unknown(section_node, "section", name, "", names_of(sections));
    }
    const toml::table* table = section_node.as_table();
    if (table == nullptr) {
      return refuse(line_of(section_node), '"' + name + "\" is a section: write [" + name + "]");
    }
    for (const auto& [key, value] : *table) {
      const std::string k(key.str());
      const auto set = found->second.find(k);
      if (set == found->second.end()) {
        return unknown(value, "key", k, name + ".", names_of(found->second));
      }
      if (const complaint c = set->second(value); !c.empty()) {
        return refuse(line_of(value), "\"" + name + '.' + k + "\" " + c);
      }
    }
  }
  return {};
}

}  // namespace bulkhead::cli
