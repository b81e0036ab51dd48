#include "operator/testing/object_store.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace tensorfleet::testing {
namespace {

std::string Now() {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
}

std::string MetaString(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains("metadata") || !object["metadata"].is_object())
    return "";
  const auto it = object["metadata"].find(key);
  return it != object["metadata"].end() && it->is_string() ? it->get<std::string>() : "";
}

bool HasStatusSubresource(const Collection& in) {
  return in.plural == "tfjobs" || in.plural == "pods" || in.plural == "services" ||
         in.plural == "nodes";
}

Refusal Missing(const Collection& in, const std::string& name) {
  return {404, "NotFound", absl::StrCat(in.plural, " \"", name, "\" not found")};
}

Refusal Conflict(const Collection& in, const std::string& name, absl::string_view why) {
  return {409, "Conflict",
          absl::StrCat("Operation cannot be fulfilled on ", in.plural, " \"", name, "\": ", why)};
}

}  // namespace

LabelSelector::LabelSelector(absl::string_view text) {
  for (const absl::string_view term : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    const size_t equals = term.find('=');
    if (equals == absl::string_view::npos) {
      terms_.emplace_back(std::string(term), std::nullopt);
    } else {
      terms_.emplace_back(std::string(term.substr(0, equals)),
                          std::string(term.substr(equals + 1)));
    }
  }
}

bool LabelSelector::Matches(const Json& object) const {
  if (terms_.empty()) return true;
  if (!object.is_object()) return false;
  const Json labels = object.value("/metadata/labels"_json_pointer, Json::object());
  for (const auto& [key, value] : terms_) {
    const auto it = labels.find(key);
    if (it == labels.end() || (value && *it != *value)) return false;
  }
  return true;
}

void ObjectStore::Append(const std::string& type, const Key& key, const Json& object,
                         const Json& old) {
  history_.push_back({version_, type, key.in, key.ns, object, old});
  changed_.NotifyAll();
}

ObjectStore::Result<Json> ObjectStore::Create(const Collection& in, const std::string& ns,
                                              Json object) {
  const std::string name = MetaString(object, "name");
  if (name.empty())
    return {{}, {422, "Invalid", "metadata.name: Required value: name is required"}};
  if (!MetaString(object, "namespace").empty() && MetaString(object, "namespace") != ns) {
    return {{}, {400, "BadRequest", "the namespace of the object does not match the request"}};
  }
  MutexLock lock(&mu_);
  const Key key{in, ns, name};
  if (objects_.contains(key)) {
    return {{}, {409, "AlreadyExists", absl::StrCat(in.plural, " \"", name, "\" already exists")}};
  }
  Json& meta = object["metadata"];
  if (!ns.empty()) meta["namespace"] = ns;
  meta["uid"] = absl::StrFormat("00000000-0000-4000-8000-%012d", next_uid_++);
  meta["resourceVersion"] = absl::StrCat(++version_);
  meta["creationTimestamp"] = Now();
  meta["managedFields"] = Json::array({{{"manager", "fake"}, {"operation", "Update"}}});
  if (HasStatusSubresource(in)) object.erase("status");
  if (in.plural == "pods") object["status"] = {{"phase", "Pending"}};
  uids_.insert(MetaString(object, "uid"));
  objects_[key] = object;
  Append("ADDED", key, object, nullptr);
  // A controller that has not heard of its owner's end yet makes dependents after it.
  if (collect_garbage_ && IsOrphan(object)) Erase(key);
  return {std::move(object), {}};
}

bool ObjectStore::IsOrphan(const Json& object) const {
  const Json owners = object["metadata"].value("ownerReferences", Json::array());
  for (const Json& owner : owners) {
    if (uids_.contains(owner.value("uid", ""))) return false;
  }
  return !owners.empty();
}

ObjectStore::Result<Json> ObjectStore::Get(const Collection& in, const std::string& ns,
                                           const std::string& name) const {
  MutexLock lock(&mu_);
  const auto it = objects_.find(Key{in, ns, name});
  if (it == objects_.end()) return {{}, Missing(in, name)};
  return {it->second, {}};
}

ObjectStore::Result<Json> ObjectStore::Update(const Collection& in, const std::string& ns,
                                              const std::string& name,
                                              absl::string_view subresource,
                                              const std::function<void(Json&)>& change) {
  MutexLock lock(&mu_);
  const Key key{in, ns, name};
  const auto it = objects_.find(key);
  if (it == objects_.end()) return {{}, Missing(in, name)};
  const Json& old = it->second;
  Json wanted = old;
  change(wanted);
  for (const char* field : {"resourceVersion", "uid"}) {
    const std::string given = MetaString(wanted, field);
    if (!given.empty() && given != MetaString(old, field)) {
      return {{},
              Conflict(
                  in, name,
                  "the object has been modified; please apply your changes to the latest version")};
    }
  }
  Json next = old;
  if (subresource == "status") {
    next["status"] = wanted.value("status", Json());
    if (next["status"].is_null()) next.erase("status");
  } else {
    next = wanted;
    if (HasStatusSubresource(in)) {
      next.erase("status");
      if (old.contains("status")) next["status"] = old["status"];
    }
    for (const char* field : {"uid", "creationTimestamp", "name", "namespace", "resourceVersion"}) {
      if (old["metadata"].contains(field)) next["metadata"][field] = old["metadata"][field];
    }
  }
  if (next == old) return {old, {}};
  next["metadata"]["resourceVersion"] = absl::StrCat(++version_);
  const Json before = old;
  it->second = next;
  Append("MODIFIED", key, next, before);
  return {std::move(next), {}};
}

void ObjectStore::Erase(const Key& key) {
  const auto it = objects_.find(key);
  if (it == objects_.end()) return;
  Json object = std::move(it->second);
  objects_.erase(it);
  object["metadata"]["resourceVersion"] = absl::StrCat(++version_);
  Append("DELETED", key, object, object);
  const std::string uid = MetaString(object, "uid");
  uids_.erase(uid);
  if (!collect_garbage_) return;
  std::vector<Key> dependents;
  for (const auto& [other, value] : objects_) {
    for (const Json& owner : value["metadata"].value("ownerReferences", Json::array())) {
      if (owner.value("uid", "") == uid) dependents.push_back(other);
    }
  }
  for (const Key& other : dependents) Erase(other);
}

ObjectStore::Result<Json> ObjectStore::Delete(const Collection& in, const std::string& ns,
                                              const std::string& name, const Json& options) {
  MutexLock lock(&mu_);
  const Key key{in, ns, name};
  const auto it = objects_.find(key);
  if (it == objects_.end()) return {{}, Missing(in, name)};
  const Json preconditions =
      options.is_object() ? options.value("preconditions", Json::object()) : Json::object();
  for (const char* field : {"uid", "resourceVersion"}) {
    const std::string wanted = preconditions.value(field, "");
    const std::string found = MetaString(it->second, field);
    if (!wanted.empty() && wanted != found) {
      return {{},
              Conflict(in, name,
                       absl::StrCat("Precondition failed: ", field, " in precondition: ", wanted,
                                    ", ", field, " in object meta: ", found))};
    }
  }
  const int64_t grace = options.is_object() ? options.value("gracePeriodSeconds", 30) : 30;
  const bool runs =
      in.plural == "pods" && it->second.value("/status/phase"_json_pointer, "") == "Running";
  if (runs && grace > 0) {
    if (!it->second["metadata"].contains("deletionTimestamp")) {
      const Json before = it->second;
      it->second["metadata"]["deletionTimestamp"] = Now();
      it->second["metadata"]["deletionGracePeriodSeconds"] = grace;
      it->second["metadata"]["resourceVersion"] = absl::StrCat(++version_);
      Append("MODIFIED", key, it->second, before);
    }
    return {it->second, {}};
  }
  Json object = it->second;
  Erase(key);
  return {std::move(object), {}};
}

void ObjectStore::Finalize(const Collection& in, const std::string& ns, const std::string& name) {
  MutexLock lock(&mu_);
  Erase(Key{in, ns, name});
}

ObjectStore::Result<ObjectStore::Page> ObjectStore::List(const Collection& in,
                                                         const std::string& ns,
                                                         const LabelSelector& selector, int limit,
                                                         const std::string& token) const {
  MutexLock lock(&mu_);
  Page page;
  page.version = version_;
  std::string after_ns, after_name;
  if (!token.empty()) {
    const std::vector<std::string> parts = absl::StrSplit(token, '|');
    if (parts.size() != 3 || !absl::SimpleAtoi(parts[0], &page.version) || page.version < oldest_) {
      return {{}, {410, "Expired", "The provided continue parameter is too old"}};
    }
    after_ns = parts[1];
    after_name = parts[2];
  }
  for (const auto& [key, object] : objects_) {
    if (key.in != in || (!ns.empty() && key.ns != ns) || !selector.Matches(object)) continue;
    if (!token.empty() && std::tie(key.ns, key.name) <= std::tie(after_ns, after_name)) continue;
    if (limit > 0 && static_cast<int>(page.items.size()) == limit) {
      const Json& last = page.items.back();
      page.next = absl::StrCat(page.version, "|", MetaString(last, "namespace"), "|",
                               MetaString(last, "name"));
      break;
    }
    page.items.push_back(object);
  }
  return {std::move(page), {}};
}

std::optional<std::vector<Json>> ObjectStore::EventsAfter(const Collection& in,
                                                          const std::string& ns,
                                                          const LabelSelector& selector,
                                                          int64_t* version,
                                                          http::Deadline deadline) {
  MutexLock lock(&mu_);
  const int64_t wakes = wakes_;
  while (true) {
    if (*version < oldest_) return std::nullopt;
    std::vector<Json> lines;
    auto it = std::partition_point(history_.begin(), history_.end(),
                                   [&](const Event& e) { return e.version <= *version; });
    for (; it != history_.end(); ++it) {
      *version = it->version;
      if (it->collection != in || (!ns.empty() && it->ns != ns)) continue;
      // An object that begins or ceases to match appears or disappears, as far as the watcher can
      // tell.
      const bool now = it->type != "DELETED" && selector.Matches(it->object);
      const bool before = it->type != "ADDED" && selector.Matches(it->old);
      if (!now && !before) continue;
      lines.push_back(
          {{"type", now ? (before ? "MODIFIED" : "ADDED") : "DELETED"}, {"object", it->object}});
    }
    if (!lines.empty()) return lines;
    if (wakes != wakes_ || !changed_.WaitUntil(&mu_, deadline)) return lines;
  }
}

int64_t ObjectStore::version() const {
  MutexLock lock(&mu_);
  return version_;
}

void ObjectStore::Compact() {
  MutexLock lock(&mu_);
  // The version itself moves on, so that even an up-to-date watcher is behind.
  oldest_ = ++version_;
  history_.clear();
  changed_.NotifyAll();
}

void ObjectStore::Wake() {
  MutexLock lock(&mu_);
  ++wakes_;
  changed_.NotifyAll();
}

}  // namespace tensorfleet::testing
