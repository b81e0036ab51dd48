#include "runtime/kernels/resource_manager.h"

namespace tensorfleet {
namespace {

// TensorFlow's clients look for its own mangled name of a variable's class in messages.
std::string TypeName(std::type_index type) {
  return type == typeid(Variable) ? "N10tensorflow3VarE" : type.name();
}

}  // namespace

ResourceManager::ResourceManager(std::string default_container)
    : default_container_(std::move(default_container)) {}
ResourceManager::~ResourceManager() = default;

Status ResourceManager::NotFoundError(absl::string_view container, std::type_index type,
                                      absl::string_view name) const {
  return NotFound("Resource ", container.empty() ? default_container_ : container, "/", name, "/",
                  TypeName(type), " does not exist.");
}

ResourceRef<Resource> ResourceManager::FindErased(absl::string_view container, std::type_index type,
                                                  absl::string_view name) const {
  const Key key{Resolve(std::string(container)), type, std::string(name)};
  MutexLock lock(&mu_);
  const auto it = resources_.find(key);
  return it == resources_.end() ? ResourceRef<Resource>() : it->second;
}

StatusOr<ResourceRef<Resource>> ResourceManager::FindOrMakeErased(
    absl::string_view container, std::type_index type, absl::string_view name,
    const std::function<StatusOr<ResourceRef<Resource>>()>& make) {
  Key key{Resolve(std::string(container)), type, std::string(name)};
  MutexLock lock(&mu_);
  const auto it = resources_.find(key);
  if (it != resources_.end()) return it->second;
  TFLEET_ASSIGN_OR_RETURN(ResourceRef<Resource> made, make());
  resources_.emplace(std::move(key), made);
  return made;
}

Status ResourceManager::AddErased(absl::string_view container, std::type_index type,
                                  absl::string_view name, ResourceRef<Resource> resource) {
  Key key{Resolve(std::string(container)), type, std::string(name)};
  MutexLock lock(&mu_);
  if (!resources_.try_emplace(std::move(key), std::move(resource)).second) {
    return AlreadyExists("Resource ", container.empty() ? default_container_ : container, "/", name,
                         "/", TypeName(type), " already exists.");
  }
  return OkStatus();
}

Status ResourceManager::RemoveErased(absl::string_view container, std::type_index type,
                                     absl::string_view name) {
  const Key key{Resolve(std::string(container)), type, std::string(name)};
  // Declared before the lock, here and below, so that what is removed dies after the lock is
  // released: a resource may use this manager while it goes.
  ResourceRef<Resource> removed;
  MutexLock lock(&mu_);
  const auto it = resources_.find(key);
  if (it == resources_.end()) return NotFoundError(container, type, name);
  removed = std::move(it->second);
  resources_.erase(it);
  generation_.fetch_add(1, std::memory_order_release);
  return OkStatus();
}

Status ResourceManager::Remove(const ResourceHandle& handle) {
  std::vector<ResourceRef<Resource>> removed;
  MutexLock lock(&mu_);
  for (auto it = resources_.begin(); it != resources_.end();) {
    const auto next = std::next(it);
    if (it->first.container == Resolve(handle.container) && it->first.name == handle.name) {
      removed.push_back(std::move(it->second));
      resources_.erase(it);
    }
    it = next;
  }
  if (removed.empty()) {
    return NotFound("Resource ", Resolve(handle.container), "/", handle.name, "/", handle.type_name,
                    " does not exist.");
  }
  generation_.fetch_add(1, std::memory_order_release);
  return OkStatus();
}

void ResourceManager::Clear(absl::string_view container) {
  const std::string name = Resolve(std::string(container));
  std::vector<ResourceRef<Resource>> removed;
  MutexLock lock(&mu_);
  for (auto it = resources_.begin(); it != resources_.end();) {
    const auto next = std::next(it);
    if (it->first.container == name) {
      removed.push_back(std::move(it->second));
      resources_.erase(it);
    }
    it = next;
  }
  generation_.fetch_add(1, std::memory_order_release);
}

void ResourceManager::ClearAll() {
  absl::flat_hash_map<Key, ResourceRef<Resource>> removed;
  MutexLock lock(&mu_);
  removed.swap(resources_);
  generation_.fetch_add(1, std::memory_order_release);
}

int64_t ResourceManager::size() const {
  MutexLock lock(&mu_);
  return static_cast<int64_t>(resources_.size());
}

}  // namespace tensorfleet
