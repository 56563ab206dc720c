#include <bulkhead/http/route_table.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace bulkhead::http {
namespace {

constexpr std::size_t max_params = 16;
constexpr std::size_t few = 8;  // up to here, looking at each is faster than searching
constexpr std::size_t methods = static_cast<std::size_t>(method::other);

// What a path leads to: the routes of one pattern, a method each.
struct resource {
  resource() { rebuild_allow(); }

  struct route {
    std::size_t value;
    std::vector<std::string> params;
  };
  std::array<std::optional<route>, methods> routes;
  std::string allow;

  [[nodiscard]] const std::optional<route>& at(method m) const {
    return routes[static_cast<std::size_t>(m)];
  }
  void rebuild_allow() {
    allow.clear();
    for (std::size_t i = 0; i < methods; ++i) {
      const auto m = static_cast<method>(i);
      const bool implied = m == method::options || (m == method::head && at(method::get));
      if (!routes[i] && !implied) continue;
      if (!allow.empty()) allow += ", ";
      allow += to_string(m);
    }
  }
};

// What parameters matched, not initialised: most paths have none.
struct captures {
  struct span {
    const char* data;
    std::size_t size;
  };
  std::array<span, max_params> spans;

  void set(std::size_t i, std::string_view s) noexcept { spans[i] = {s.data(), s.size()}; }
  [[nodiscard]] std::string_view at(std::size_t i) const noexcept {
    return {spans[i].data, spans[i].size};
  }
};

error refused(std::string_view pattern, std::string_view why) {
  return {error_category::configuration,
          "route \"" + std::string(pattern) + "\": " + std::string(why)};
}

}  // namespace

// One segment deep for each level; the segment after a trailing slash is empty.
struct route_table::node {
  std::vector<std::pair<std::string, std::unique_ptr<node>>> literals;  // by length, then name
  std::unique_ptr<node> param;
  std::unique_ptr<resource> wild;
  std::unique_ptr<resource> here;

  node* literal(std::string_view segment) const {
    if (literals.size() <= few) {
      for (const auto& [name, child] : literals) {
        if (name == segment) return child.get();
      }
      return nullptr;
    }
    const auto at = lower_bound(segment);
    return at != literals.end() && at->first == segment ? at->second.get() : nullptr;
  }
  node& grow_literal(std::string_view segment) {
    if (node* there = literal(segment)) return *there;
    const auto at = literals.begin() + (lower_bound(segment) - literals.begin());
    return *literals.emplace(at, std::string(segment), std::make_unique<node>())->second;
  }
  const resource* find(std::string_view rest, captures& bound, std::size_t count) const;

 private:
  std::vector<std::pair<std::string, std::unique_ptr<node>>>::const_iterator lower_bound(
      std::string_view segment) const {
    return std::lower_bound(literals.begin(), literals.end(), segment,
                            [](const auto& child, std::string_view s) {
                              const std::string& name = child.first;
                              if (name.size() != s.size()) return name.size() < s.size();
                              return name.compare(s) < 0;
                            });
  }
};

struct route_table::tree {
  node root;
  resource everything;  // each method that any route has: what OPTIONS * asks for
};

// `rest` begins after a slash. Each node is visited at most once, so a path cannot make this
// cost more than the table has nodes.
const resource* route_table::node::find(std::string_view rest, captures& bound,
                                        std::size_t count) const {
  const std::size_t slash = rest.find('/');
  const std::string_view segment = rest.substr(0, slash);
  const bool last = slash == std::string_view::npos;
  if (const node* next = literal(segment)) {
    const resource* found =
        last ? next->here.get() : next->find(rest.substr(slash + 1), bound, count);
    if (found != nullptr) return found;
  }
  if (param && !segment.empty()) {
    bound.set(count, segment);
    const resource* found =
        last ? param->here.get() : param->find(rest.substr(slash + 1), bound, count + 1);
    if (found != nullptr) return found;
  }
  if (wild) bound.set(count, rest);
  return wild.get();
}

route_table::route_table() : tree_(std::make_unique<tree>()) {}
route_table::~route_table() = default;
route_table::route_table(route_table&&) noexcept = default;
route_table& route_table::operator=(route_table&&) noexcept = default;

result<void> route_table::add(method m, std::string_view pattern, std::size_t value) {
  if (m == method::connect || m == method::trace || m == method::other) {
    return refused(pattern, "routes cannot have the method " + std::string(to_string(m)));
  }
  if (pattern.empty() || pattern[0] != '/') return refused(pattern, "must begin with \"/\"");

  // Checked as a whole before the tree grows: a refused pattern leaves no trace.
  std::vector<std::string> params;
  std::vector<std::string_view> segments;
  for (std::string_view rest = pattern; !rest.empty();) {
    rest.remove_prefix(1);
    const std::string_view segment = rest.substr(0, rest.find('/'));
    rest.remove_prefix(segment.size());
    segments.push_back(segment);
    if (segment.empty() || (segment[0] != ':' && segment[0] != '*')) continue;
    std::string name(segment.substr(1));
    if (name.empty()) return refused(pattern, "a parameter needs a name");
    if (segment[0] == '*' && !rest.empty()) {
      return refused(pattern, "\"*" + name + "\" must be the last segment");
    }
    if (std::find(params.begin(), params.end(), name) != params.end()) {
      return refused(pattern, "the name \"" + name + "\" stands twice");
    }
    if (params.size() == max_params) return refused(pattern, "more than 16 parameters");
    params.push_back(std::move(name));
  }

  node* at = &tree_->root;
  std::unique_ptr<resource>* end = &at->here;
  for (const std::string_view segment : segments) {
    if (!segment.empty() && segment[0] == '*') {
      end = &at->wild;
      break;
    }
    if (!segment.empty() && segment[0] == ':') {
      if (!at->param) at->param = std::make_unique<node>();
      at = at->param.get();
    } else {
      at = &at->grow_literal(segment);
    }
    end = &at->here;
  }
  if (!*end) *end = std::make_unique<resource>();
  std::optional<resource::route>& slot = (*end)->routes[static_cast<std::size_t>(m)];
  if (slot) return refused(pattern, "there is one for " + std::string(to_string(m)) + " already");
  slot = resource::route{value, std::move(params)};
  (*end)->rebuild_allow();
  tree_->everything.routes[static_cast<std::size_t>(m)] = resource::route{};
  tree_->everything.rebuild_allow();
  return {};
}

route_table::match route_table::find(request& r) const {
  r.clear_params();
  const std::string_view path = r.path();
  if (path == "*") return {outcome::options, 0, tree_->everything.allow};
  if (path.empty() || path[0] != '/') return {};
  captures bound;
  const resource* found = tree_->root.find(path.substr(1), bound, 0);
  if (found == nullptr) return {};

  method m = r.method();
  if (m == method::other) return {outcome::method_not_allowed, 0, found->allow};
  if (m == method::head && !found->at(m)) m = method::get;
  const std::optional<resource::route>& route = found->at(m);
  if (!route) {
    return {m == method::options ? outcome::options : outcome::method_not_allowed, 0, found->allow};
  }
  for (std::size_t i = 0; i < route->params.size(); ++i) r.add_param(route->params[i], bound.at(i));
  return {outcome::found, route->value, found->allow};
}

}  // namespace bulkhead::http
