// The resources of one device, by container, type and name. Shared by all sessions of a device
// unless a session is isolated and has one of its own. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <typeindex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"
#include "runtime/base/status.h"
#include "runtime/kernels/resource.h"
#include "runtime/tensor/resource_handle.h"

namespace tensorfleet {

class ResourceManager {
 public:
  // `default_container` is what "" means: the job's name.
  explicit ResourceManager(std::string default_container);
  ~ResourceManager();

  const std::string& default_container() const { return default_container_; }

  // Errors: NotFound `Resource C/NAME/TYPE does not exist.` `T` is the exact class that was stored.
  template <typename T>
  StatusOr<ResourceRef<T>> Find(absl::string_view container, absl::string_view name) const;
  // The resource, made by `make` (StatusOr<ResourceRef<T>>()) when absent. `make` runs under the
  // lock.
  template <typename T, typename Make>
  StatusOr<ResourceRef<T>> FindOrMake(absl::string_view container, absl::string_view name,
                                      Make make);
  // Errors: AlreadyExists.
  template <typename T>
  Status Add(absl::string_view container, absl::string_view name, ResourceRef<T> resource);
  // Errors: NotFound.
  template <typename T>
  Status Remove(absl::string_view container, absl::string_view name);
  // Removes whatever type is under the handle's container and name. Errors: NotFound.
  Status Remove(const ResourceHandle& handle);

  // Drops everything in `container` ("" is the default one); unknown containers are fine.
  void Clear(absl::string_view container);
  void ClearAll();
  int64_t size() const;

  // Goes up with every removal: a kernel that caches a resource looks it up again when this has
  // changed.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

  // A number that no resource of this manager has been given before: names for private resources.
  int64_t NextPrivateId() { return next_private_id_.fetch_add(1); }

 private:
  struct Key {
    std::string container;
    std::type_index type;
    std::string name;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.container, k.type.hash_code(), k.name);
    }
    friend bool operator==(const Key& a, const Key& b) {
      return a.type == b.type && a.name == b.name && a.container == b.container;
    }
  };
  // The type-erased halves of the templates above.
  ResourceRef<Resource> FindErased(absl::string_view container, std::type_index type,
                                   absl::string_view name) const;
  StatusOr<ResourceRef<Resource>> FindOrMakeErased(
      absl::string_view container, std::type_index type, absl::string_view name,
      const std::function<StatusOr<ResourceRef<Resource>>()>& make);
  Status AddErased(absl::string_view container, std::type_index type, absl::string_view name,
                   ResourceRef<Resource> resource);
  Status RemoveErased(absl::string_view container, std::type_index type, absl::string_view name);
  Status NotFoundError(absl::string_view container, std::type_index type,
                       absl::string_view name) const;
  std::string Resolve(std::string container) const {
    return container.empty() ? default_container_ : std::move(container);
  }

  const std::string default_container_;
  std::atomic<uint64_t> generation_{1};
  std::atomic<int64_t> next_private_id_{0};
  mutable Mutex mu_;
  absl::flat_hash_map<Key, ResourceRef<Resource>> resources_ ABSL_GUARDED_BY(mu_);
};

template <typename T>
StatusOr<ResourceRef<T>> ResourceManager::Find(absl::string_view container,
                                               absl::string_view name) const {
  ResourceRef<Resource> found = FindErased(container, typeid(T), name);
  if (!found) return NotFoundError(container, typeid(T), name);
  return ResourceRef<T>(static_cast<T*>(found.get()));
}

template <typename T, typename Make>
StatusOr<ResourceRef<T>> ResourceManager::FindOrMake(absl::string_view container,
                                                     absl::string_view name, Make make) {
  TFLEET_ASSIGN_OR_RETURN(
      ResourceRef<Resource> found,
      FindOrMakeErased(container, typeid(T), name, [&]() -> StatusOr<ResourceRef<Resource>> {
        TFLEET_ASSIGN_OR_RETURN(ResourceRef<T> made, make());
        return ResourceRef<Resource>(made.get());
      }));
  return ResourceRef<T>(static_cast<T*>(found.get()));
}

template <typename T>
Status ResourceManager::Add(absl::string_view container, absl::string_view name,
                            ResourceRef<T> resource) {
  return AddErased(container, typeid(T), name, ResourceRef<Resource>(resource.get()));
}

template <typename T>
Status ResourceManager::Remove(absl::string_view container, absl::string_view name) {
  return RemoveErased(container, typeid(T), name);
}

}  // namespace tensorfleet
