#include "runtime/io/remote/xml.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace tensorfleet {
namespace {

std::string Decoded(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&lt;", "<"},
                                    {"&gt;", ">"},
                                    {"&quot;", "\""},
                                    {"&#34;", "\""},
                                    {"&apos;", "'"},
                                    {"&#39;", "'"},
                                    {"&amp;", "&"}});
}

}  // namespace

std::vector<std::string> XmlElements(absl::string_view xml, absl::string_view name) {
  const std::string open = absl::StrCat("<", name, ">"), close = absl::StrCat("</", name, ">");
  std::vector<std::string> found;
  for (;;) {
    const size_t begin = xml.find(open);
    if (begin == absl::string_view::npos) return found;
    xml.remove_prefix(begin + open.size());
    const size_t end = xml.find(close);
    if (end == absl::string_view::npos) return found;
    found.emplace_back(xml.substr(0, end));
    xml.remove_prefix(end + close.size());
  }
}

std::string XmlText(absl::string_view xml, absl::string_view name) {
  const std::vector<std::string> found = XmlElements(xml, name);
  return found.empty() ? "" : Decoded(found[0]);
}

}  // namespace tensorfleet
