#include <bulkhead/tls/name_index.hpp>

namespace bulkhead::tls {

void name_index::add(std::string_view name, std::size_t identity) {
  if (name.starts_with("*."))
    wildcard_.try_emplace(std::string(name.substr(1)), identity);
  else
    exact_.try_emplace(std::string(name), identity);
}

std::optional<std::size_t> name_index::find(std::string_view name) const {
  if (name.ends_with('.')) name.remove_suffix(1);
  std::string wanted(name);
  for (char& c : wanted)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  if (const auto found = exact_.find(wanted); found != exact_.end()) return found->second;
  const std::size_t dot = wanted.find('.');
  if (dot == std::string::npos || dot == 0) return std::nullopt;
  const auto found = wildcard_.find(std::string_view(wanted).substr(dot));
  if (found == wildcard_.end()) return std::nullopt;
  return found->second;
}

}  // namespace bulkhead::tls
