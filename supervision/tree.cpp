#include <bulkhead/supervision/json.hpp>
#include <bulkhead/supervision/printable.hpp>
#include <bulkhead/supervision/tree.hpp>

#include <string_view>

namespace bulkhead::supervision {

namespace {

void add_json(std::string& out, const tree_node& node) {
  out += "{\"id\":" + json_string(node.id) + ",\"kind\":" + json_string(node.kind);
  if (!node.state.empty()) out += ",\"state\":" + json_string(node.state);
  for (const auto& [name, value] : node.facts) {
    out += ',' + json_string(name) + ':';
    const auto* number = std::get_if<std::uint64_t>(&value);
    out += number != nullptr ? std::to_string(*number) : json_string(std::get<std::string>(value));
  }
  out += ",\"children\":[";
  for (const tree_node& child : node.children) {
    if (&child != node.children.data()) out += ',';
    add_json(out, child);
  }
  out += "]}";
}

std::string fact_text(const tree_node::fact& value) {
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return std::to_string(*number);
  const std::string text = printable(std::get<std::string>(value));
  return text.find(' ') == std::string::npos ? text : '"' + text + '"';
}

// `indent` is what stands before the branches of the node's children.
void add_text(std::string& out, const tree_node& node, const std::string& indent) {
  out += printable(node.kind) + ' ' + printable(node.id);
  if (!node.state.empty()) out += " [" + printable(node.state) + ']';
  for (const auto& [name, value] : node.facts) {
    out += ' ' + printable(name) + '=' + fact_text(value);
  }
  out += '\n';
  for (const tree_node& child : node.children) {
    const bool last = &child == &node.children.back();
    out += indent + (last ? "└─ " : "├─ ");
    add_text(out, child, indent + (last ? "   " : "│  "));
  }
}

}  // namespace

std::string tree_json(const tree_node& root) {
  std::string out;
  add_json(out, root);
  return out;
}

std::string tree_text(const tree_node& root) {
  std::string out;
  add_text(out, root, {});
  return out;
}

}  // namespace bulkhead::supervision
